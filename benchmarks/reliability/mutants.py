"""How many small bugs do the tests catch? Puts bugs in one at a time and runs the tests.

    python benchmarks/reliability/mutants.py --work build/mutants --each 40
    python benchmarks/reliability/mutants.py --work build/mutants --each 40 --again
    python benchmarks/reliability/mutants.py --work build/mutants --report
    python benchmarks/reliability/mutants.py --files evaluation/threshold.py --each 1000

The source is copied and the bug goes into the copy. The same seed draws the same bugs; results are
written as they come, and a run that was interrupted goes on from there. ``--again`` tries the bugs
that lived once more, after tests were written. ``equivalent.toml`` lists bugs that change nothing
that anyone could see, each with the reason; these are left out.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import shutil
import sys
import threading
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from small_bugs import Bug, bugs_in
from suite import PACKAGE, ROOT, Outcome, forget_kernels, fresh_tree, run_tests

EQUIVALENT = Path(__file__).with_name("equivalent.toml")
GOAL = 0.95

LINEAR = "tests/models/linear/"
SERVICE = "tests/service/"
POWER_LOSS = "tests/test_power_loss.py"
STORAGE = ["tests/core/test_storage.py", "tests/core/test_storage_flushing.py"]
# The tests that cover each file, those that are quick first; the first pattern that fits counts.
# In a folder the test that is named like the file is the first. The examples in a file's
# docstrings are always run too.
AREAS: dict[str, dict[str, list[str]]] = {
    "kernels": {
        "models/linear/product_kernels.py": [LINEAR + "test_dense_kernels.py"],
        "models/linear/dense_kernels.py": [
            *(LINEAR + "test_dense_kernels.py", LINEAR + "test_dense_columns.py"),
        ],
        "models/linear/forest_kernels.py": [
            *(LINEAR + "test_linear_kernels.py", LINEAR + "test_linear_forest.py"),
            LINEAR + "test_dense_columns.py",
        ],
        "models/linear/chain_kernels.py": [LINEAR + "test_classifier_chain.py"],
        "models/linear/training_kernels.py": [
            *(LINEAR + "test_linear_kernels.py", LINEAR + "test_training_kernels.py"),
            *(LINEAR + "test_linear_solver.py", LINEAR + "test_dense_columns.py"),
            *(LINEAR + "test_linear_training.py", LINEAR + "test_classifier_chain.py"),
        ],
        "models/grove/kernels.py": ["tests/models/grove/test_boosting.py"],
        "models/neighbours/kernels.py": [
            *("tests/models/neighbours/test_kernels.py", "tests/models/neighbours/test_memory.py"),
            "tests/models/neighbours/test_neighbourhood.py",
        ],
    },
    "storage": {
        "core/storage.py": [
            *(*STORAGE, "tests/core/test_checks.py", "tests/core/test_replacing.py"),
            *("tests/cli/test_sign.py", "tests/tagger/test_tagger.py"),
        ],
        "core/manifest.py": [
            "tests/core/test_manifest.py",
            *(*STORAGE, "tests/core/test_replacing.py", "tests/cli/test_sign.py"),
        ],
        "core/served_folders.py": [
            *("tests/core/test_served_folders.py", SERVICE + "test_bad_taggers.py"),
        ],
        "core/signing.py": ["tests/core/test_signing.py", "tests/cli/test_sign.py"],
        "core/json_files.py": [
            *("tests/core/test_json_files.py", *STORAGE, "tests/core/test_replacing.py"),
        ],
        "core/replacing.py": [
            *("tests/core/test_leftovers.py", "tests/core/test_replacing.py"),
            "tests/tagger/test_loading.py",
        ],
        "core/snapshot.py": [
            "tests/core/test_snapshot.py",
            *(*STORAGE, "tests/core/test_replacing.py", "tests/tagger/test_loading.py"),
        ],
        "core/durability.py": [
            *("tests/core/test_durability.py", *STORAGE, POWER_LOSS),
        ],
        "core/strings.py": ["tests/core/test_strings.py", *STORAGE],
        "models/linear/checkpoints.py": [
            *(LINEAR + "test_checkpoints.py", POWER_LOSS + "::test_checkpoints_of_linear_models"),
            LINEAR + "test_linear_training.py",
        ],
        "models/neural/training/checkpoint.py": [
            "tests/models/neural/test_checkpoint.py",
            POWER_LOSS + "::test_checkpoints_of_networks",
            POWER_LOSS + "::test_checkpoints_of_networks_that_begin_anew",
            "tests/models/neural/test_neural_training.py",
            # starts processes that would import this program
            "--deselect=tests/models/neural/test_neural_training.py::"
            "test_two_processes_share_every_batch",
        ],
    },
    "service": {
        "service/feedback.py": [SERVICE + "test_feedback.py"],
        "service/bodies.py": [
            SERVICE + "test_bodies.py",
            *(SERVICE + "test_middleware.py", SERVICE + "test_app.py", SERVICE + "test_api.py"),
            *(SERVICE + "test_hostile.py", SERVICE + "test_quotas.py"),
        ],
        "service/connections.py": [
            *(SERVICE + "test_connections.py", SERVICE + "test_hostile.py"),
            SERVICE + "test_running.py",
        ],
        "service/metrics.py": [SERVICE + "test_metrics.py", SERVICE + "test_running.py"],
        "service/problems.py": [
            *(SERVICE + "test_problems.py", SERVICE + "test_middleware.py"),
            *(SERVICE + "test_app.py", SERVICE + "test_api.py", SERVICE + "test_hostile.py"),
        ],
        "service/rates.py": [SERVICE + "test_rates.py", SERVICE + "test_keys_and_rates.py"],
        "service/middleware.py": [
            *(SERVICE + "test_middleware.py", SERVICE + "test_app.py"),
            *(SERVICE + "test_keys_and_rates.py", SERVICE + "test_api.py"),
            *(SERVICE + "test_hostile.py", SERVICE + "test_running.py"),
        ],
        "service/batching.py": [
            *(SERVICE + "test_batching.py", SERVICE + "test_taggers.py"),
            SERVICE + "test_running.py",
        ],
        "service/settings.py": [
            *(SERVICE + "test_settings.py", SERVICE + "test_parts.py"),
            *(SERVICE + "test_keys_and_rates.py", SERVICE + "test_running.py"),
        ],
        "service/served.py": [
            *(SERVICE + "test_served.py", SERVICE + "test_parts.py", SERVICE + "test_app.py"),
            *(SERVICE + "test_api.py", SERVICE + "test_running.py"),
        ],
        "service/server.py": [
            *(SERVICE + "test_server.py", SERVICE + "test_api.py", SERVICE + "test_stopping.py"),
            *(SERVICE + "test_running.py", SERVICE + "test_hostile.py"),
            *(SERVICE + "test_keys_and_rates.py", SERVICE + "test_bad_taggers.py"),
        ],
        "service/signals.py": [
            *(SERVICE + "test_signals.py", SERVICE + "test_app.py", SERVICE + "test_running.py"),
        ],
        "service/taggers.py": [
            *(SERVICE + "test_taggers.py", SERVICE + "test_app.py", SERVICE + "test_api.py"),
            *(SERVICE + "test_bad_taggers.py", SERVICE + "test_running.py"),
            SERVICE + "test_renewal.py",
        ],
        "service/workers.py": [
            *(SERVICE + "test_workers.py", SERVICE + "test_bad_taggers.py"),
            *(SERVICE + "test_stopping.py", SERVICE + "test_running.py"),
        ],
        "service/snapshots.py": [SERVICE + "test_snapshots.py", SERVICE + "test_bad_taggers.py"],
        "service/trial.py": [
            *(SERVICE + "test_trial.py", SERVICE + "test_bad_taggers.py"),
            SERVICE + "test_running.py",
        ],
        "service/versions.py": [
            *(SERVICE + "test_versions.py", SERVICE + "test_bad_taggers.py"),
            SERVICE + "test_running.py",
        ],
        "service/leaving.py": [SERVICE + "test_leaving.py", SERVICE + "test_stopping.py"],
        "service/*.py": [
            *(SERVICE + "test_app.py", SERVICE + "test_middleware.py", SERVICE + "test_openapi.py"),
            *(SERVICE + "test_parts.py", SERVICE + "test_taggers.py", SERVICE + "test_api.py"),
            *(SERVICE + "test_hostile.py", SERVICE + "test_quotas.py", SERVICE + "test_schema.py"),
        ],
    },
    "evaluation": {"evaluation/*.py": ["tests/evaluation"]},
}


def main() -> int:
    """Try as many bugs as asked for; return 1 if too many live."""
    arguments = _arguments()
    work: Path = arguments.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    results = Results(work / "results.jsonl")
    equivalent = _equivalent()
    files = {area: _files(area, arguments.files) for area in arguments.areas}
    drawn = {
        area: _drawn(files[area], area, arguments.each, arguments.seed)
        for area in files
        if files[area]
    }
    if not drawn:
        sys.exit(f"no file of {', '.join(files)} is like {' or '.join(arguments.files)}")
    wanted = [
        (area, bug)
        for turn in zip_longest(drawn)
        for area, bug in turn
        if _place(bug) not in equivalent and results.wants(bug, arguments.again)
    ]
    if wanted and not arguments.report:
        _try_all(wanted, files, work, results, arguments)
    return _report(drawn, results, equivalent)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--work", type=Path, default=ROOT / "build" / "mutants", help="folder for results and trees"
    )
    parser.add_argument("--each", type=int, default=40, help="bugs to draw in each area")
    parser.add_argument("--areas", nargs="+", choices=list(AREAS), default=list(AREAS))
    parser.add_argument(
        "--files", nargs="+", default=["*"], help="only files like these, such as service/r*.py"
    )
    parser.add_argument("--seed", type=int, default=0, help="another seed draws other bugs")
    parser.add_argument("--jobs", type=int, default=2, help="bugs to try at once")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no bug later")
    parser.add_argument("--again", action="store_true", help="try those that lived again")
    parser.add_argument("--report", action="store_true", help="try nothing, only show the results")
    return parser.parse_args()


# --- which bugs -----------------------------------------------------------------------------------


def tests_of(area: str, file: str) -> list[str] | None:
    """Return the tests that cover a file, or None if the area does not have it."""
    for pattern, tests in AREAS[area].items():
        if fnmatch(file, pattern):
            folders = [ROOT / test for test in tests if (ROOT / test).is_dir()]
            named = [each for folder in folders for each in folder.glob(f"*_{Path(file).stem}.py")]
            return [*(str(each.relative_to(ROOT)) for each in named), *tests]
    return None


def _files(area: str, patterns: Sequence[str] = ("*",)) -> list[str]:
    """Return the files of an area that are like one of the patterns."""
    files = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
    wanted = [file for file in files if any(fnmatch(file, each) for each in patterns)]
    return [file for file in wanted if tests_of(area, file) is not None]


def _drawn(files: list[str], area: str, n: int, seed: int) -> list[tuple[str, Bug]]:
    """Return n bugs of files; a larger n has those of a smaller one first."""
    bugs = [bug for file in files for bug in bugs_in(PACKAGE / file, file)]
    bugs.sort(key=lambda bug: hashlib.sha256(f"{seed} {bug.name}".encode()).digest())
    return [(area, bug) for bug in bugs[:n]]


def zip_longest(drawn: dict[str, list[tuple[str, Bug]]]) -> list[list[tuple[str, Bug]]]:
    """Return the bugs in turns, one of each area, so that an early end leaves all areas alike."""
    longest = max(map(len, drawn.values()), default=0)
    return [[bugs[i] for bugs in drawn.values() if i < len(bugs)] for i in range(longest)]


Place = tuple[str, str, str, int]


def _place(bug: Bug) -> Place:
    return bug.file, bug.old, bug.new, bug.nth


def _equivalent() -> dict[Place, str]:
    """Return the reasons for bugs that change nothing, by their places."""
    listed = tomllib.loads(EQUIVALENT.read_text("utf-8"))["bug"]
    return {
        (each["file"], each["old"], each["new"], each.get("nth", 0)): each["why"] for each in listed
    }


# --- trying them ----------------------------------------------------------------------------------


class Results:
    """Results in a file of JSON lines; the last of a bug counts."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        self.found: dict[str, dict[str, Any]] = {
            each["name"]: each for each in map(json.loads, lines)
        }

    def wants(self, bug: Bug, again: bool) -> bool:
        """Tell whether a bug has still to be tried."""
        found = self.found.get(bug.name)
        return found is None or (again and not found["caught"])

    def add(self, area: str, bug: Bug, outcome: Outcome) -> None:
        """Keep a result."""
        line = {"name": bug.name, "area": area, "file": bug.file, "line": bug.line}
        line |= {"kind": bug.kind, "old": bug.old, "new": bug.new, **vars(outcome)}
        with self._lock:
            self.found[bug.name] = line
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _try_all(
    wanted: list[tuple[str, Bug]],
    files: dict[str, list[str]],
    work: Path,
    results: Results,
    arguments: argparse.Namespace,
) -> None:
    ends = time.monotonic() + 60 * arguments.minutes
    with ThreadPoolExecutor(arguments.jobs) as pool:
        areas = list(dict.fromkeys(area for area, _ in wanted))
        found = pool.map(lambda area: _limit(area, files[area], work), areas)
        limits = dict(zip(areas, found, strict=True))
    done = 0

    def one(area: str, bug: Bug) -> None:
        nonlocal done
        if time.monotonic() > ends:
            return
        tests = tests_of(area, bug.file)
        assert tests is not None
        tree = fresh_tree(work / f"tree-{bug.name}", work / area / "src")
        try:
            forget_kernels(tree, bug.file)
            path = tree / "src" / "labelgrove" / bug.file
            path.write_text(bug.put_into(path.read_text("utf-8")), "utf-8")
            outcome = run_tests(tree, [bug.file], tests, limits[area])
        finally:
            shutil.rmtree(tree, ignore_errors=True)
        results.add(area, bug, outcome)
        done += 1
        how = "caught" if outcome.caught else "LIVED "
        print(f"{done}/{len(wanted)} {how} {outcome.seconds:4.0f} s  {_title(bug)}", flush=True)

    with ThreadPoolExecutor(arguments.jobs) as pool:
        for each in [pool.submit(one, *bug) for bug in wanted]:
            each.result()


def _limit(area: str, files: list[str], work: Path) -> float:
    """Run all tests of an area's files without a bug; return the time limit with one.

    They must pass. Kernels are compiled on the way, so that a bug in one file leaves the others
    compiled.
    """
    clean = fresh_tree(work / area, ROOT / "src")
    tests = list(dict.fromkeys(test for file in files for test in tests_of(area, file) or []))
    outcome = run_tests(clean, files, tests, float(10**4))
    if outcome.caught:
        sys.exit(f"{outcome.by} fails without a bug; see {clean / 'log'}")
    print(f"{area}: all tests pass without a bug, in {outcome.seconds:.0f} s", flush=True)
    return outcome.seconds + 60


# --- telling --------------------------------------------------------------------------------------


def _title(bug: Bug) -> str:
    return f"{bug.file}:{bug.line} {bug.kind}"


def _report(
    drawn: dict[str, list[tuple[str, Bug]]], results: Results, equivalent: dict[Place, str]
) -> int:
    """Print living bugs and a table; return 1 if fewer were caught than the goal."""
    rows, living = [], []
    for area, bugs in drawn.items():
        same = [bug for _, bug in bugs if _place(bug) in equivalent]
        tried = [bug for _, bug in bugs if bug not in same and bug.name in results.found]
        lived = [bug for bug in tried if not results.found[bug.name]["caught"]]
        living += lived
        rows.append((area, len(tried), len(tried) - len(lived), len(lived), len(same)))
    for bug in living:
        print(f"\n{_title(bug)}")
        print("\n".join(_diff(bug)))
    rows.append(("all", *(sum(row[i] for row in rows) for i in range(1, 5))))
    print("\n| area | made | caught | lived | caught, % | equivalent, left out |")
    print("|---|---|---|---|---|---|")
    for name, made, caught, lived, same_ones in rows:
        share = f"{100 * caught / made:.1f}" if made else "-"
        print(f"| {name} | {made} | {caught} | {lived} | {share} | {same_ones} |")
    _, made, caught, *_ = rows[-1]
    return int(caught < GOAL * made)


def _diff(bug: Bug) -> list[str]:
    lines = difflib.unified_diff(bug.old.splitlines(), bug.new.splitlines(), n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


if __name__ == "__main__":
    sys.exit(main())
