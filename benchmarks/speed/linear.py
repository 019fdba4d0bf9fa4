"""Linear models of labelgrove against libpecos, omikuji and napkinXC, on the same features.

    python benchmarks/speed/linear.py --data DIR --work DIR [--sets ...] [--systems ...]
    python benchmarks/speed/linear.py --work DIR --growth

DIR of --data holds a folder for each set with train.jsonl.xz and test.jsonl.xz. The systems are
installed in environments of their own under --work, where features, models and results go too.
Results are kept as they come: a run that was interrupted goes on where it stopped. What is
counted and what is not is told in README.md beside this file.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from figure import Panel, draw, power_law
from machine import machine as described
from scipy.sparse import load_npz

import labelgrove
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import evaluate
from labelgrove.labels import propensities

HERE = Path(__file__).parent
PEERS = HERE / "peers"
THREADS = 2
THREADED = ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON")
SETS = ("debtags", "congress", "tibkat", "finna")
PART = "finna-100k"  # what one-vs-rest is trained on instead of finna
PART_DOCUMENTS = 100_000

# libpecos asks for torch and transformers, which its linear models never import
INSTALL = {
    "libpecos": (["--no-deps", "libpecos==1.2.8"], ["numpy<2", "scipy<1.14", "scikit-learn"]),
    "omikuji": (["omikuji==0.5.2", "numpy", "scipy"],),
    "napkinxc": (["napkinxc==0.7.2", "numpy", "scipy"],),
}


@dataclass(frozen=True)
class System:
    """A row of the tables: a package with settings, or the model of another row asked otherwise."""

    package: str
    settings: dict[str, Any] = field(default_factory=dict)
    flat: bool = False
    extra: bool = False
    trained_as: str | None = None


SYSTEMS = {
    "one-vs-rest": System("labelgrove", {"model": "one-vs-rest"}, flat=True),
    "parabel": System("labelgrove", {"model": "parabel", "trees": 1}),
    "bonsai": System("labelgrove", {"model": "bonsai"}),
    "bonsai, leaves of 100": System("labelgrove", {"model": "bonsai", "max_leaf": 100}, extra=True),
    "bonsai, one tree, cost 0.3": System(
        "labelgrove", {"model": "bonsai", "trees": 1, "cost": 0.3}, extra=True
    ),
    "bonsai, 3 trees": System("labelgrove", {"model": "bonsai", "trees": 3}, extra=True),
    "parabel, 3 trees": System("labelgrove", {"model": "parabel", "trees": 3}, extra=True),
    "libpecos": System("libpecos"),
    "libpecos, sigmoid": System(
        "libpecos", {"post_processor": "sigmoid"}, extra=True, trained_as="libpecos"
    ),
    "libpecos one-vs-all": System("libpecos", {"tree": False}, flat=True),
    "libpecos one-vs-all, sigmoid": System(
        package="libpecos",
        settings={"tree": False, "post_processor": "sigmoid"},
        flat=True,
        extra=True,
        trained_as="libpecos one-vs-all",
    ),
    "omikuji": System("omikuji"),
    "omikuji, as Bonsai": System(
        "omikuji", {"cluster_balanced": False, "cluster_k": 100, "max_depth": 3}
    ),
    "omikuji, as AttentionXML": System("omikuji", {"collapse_every_n_layers": 5}),
    "omikuji, as HOMER": System("omikuji", {"cluster_k": 100}, extra=True),
    "napkinXC": System("napkinxc"),
}
OMIKUJI = ("omikuji", "omikuji, as Bonsai", "omikuji, as AttentionXML")

GROWN = "bonsai, one tree, cost 0.3"  # the same number of trees, however many documents
GROWTH = {  # documents, labels
    "labels, 100,000 documents": [(100_000, labels) for labels in (1_000, 10_000, 100_000)],
    "documents, 10,000 labels": [(n, 10_000) for n in (10_000, 30_000, 100_000, 300_000)],
    "both": [(labels, labels) for labels in (1_000, 10_000, 100_000, 1_000_000)],
}
SERIES = {  # as the figure names them
    "labels, 100,000 documents": "more labels, 100,000 documents",
    "documents, 10,000 labels": "more documents, 10,000 labels",
    "both": "more of both, as many of each",
}
PICTURE = "growth.svg"
PANELS = (  # title, unit, figure, factor
    ("training", "seconds", "train_s", 1.0),
    ("memory of training", "MB", "train_bytes", 1e-6),
    ("ranking 10,000 documents", "seconds", "batch_s", 1.0),
    ("ranking one document", "milliseconds", "single_s", 1e3),
)


# --- running ----------------------------------------------------------------------------------


class FailedError(Exception):
    """A system could not be installed, or a step of it failed."""


class Bench:
    """Runs steps and keeps their results, one JSON line each, under the work folder."""

    def __init__(self, work: Path, limit: float) -> None:
        self.work, self.limit, self.source = work.resolve(), limit, source()
        (self.work / "steps").mkdir(parents=True, exist_ok=True)
        self.lock = (self.work / "lock").open("w")  # held until the process ends, however it ends
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            sys.exit(f"another run works in {self.work}: wait for it, or give another --work")
        self.file = self.work / "results.jsonl"
        self.results: dict[tuple[str, str, str], dict[str, Any]] = {}
        for line in self.file.read_text("utf-8").splitlines() if self.file.exists() else []:
            self._take(json.loads(line))

    # --- results ---

    def _take(self, result: dict[str, Any]) -> None:
        self.results[result["set"], result["system"], result["step"]] = result

    def keep(self, where: str, name: str, step: str, figures: dict[str, Any]) -> None:
        result = {"set": where, "system": name, "step": step, **figures}
        self._take(result)
        with self.file.open("a", encoding="utf-8") as file:
            print(json.dumps(result), file=file)

    def forget(self, where: str, name: str) -> None:
        """Have a system measured again, also by a later run if this one is interrupted."""
        for step in ("train", "predict"):
            if self.done(where, name, step):
                self.keep(where, name, step, {"error": "to be measured again"})

    def get(self, where: str, name: str, step: str) -> dict[str, Any]:
        return self.results.get((where, name, step), {})

    def done(self, where: str, name: str, step: str) -> bool:
        """Tell whether a step succeeded, for our own models with the source as it is now."""
        ours = name in SYSTEMS and SYSTEMS[name].package == "labelgrove"
        now = not ours or self.get(where, name, step).get("source") == self.source
        return now and self.known(where, name, step)

    def known(self, where: str, name: str, step: str) -> bool:
        """Tell whether a step succeeded, possibly with an older source of ours."""
        found = self.get(where, name, step)
        return bool(found) and "error" not in found

    def row(self, where: str, name: str) -> dict[str, Any]:
        """Return all figures of a system on a set, as far as there are any."""
        trained = self.get(where, SYSTEMS[name].trained_as or name, "train")
        return {**trained, **self.get(where, name, "predict")}

    def complete(self, where: str, name: str) -> bool:
        trained = SYSTEMS[name].trained_as or name
        return self.done(where, trained, "train") and self.done(where, name, "predict")

    # --- steps ---

    def make(self, where: str, kind: str, *words: object) -> None:
        """Make the data of a set, once."""
        sizes = self.work / "sets" / where / "sizes.json"
        if not sizes.exists():
            say(f"{where}: data")
            options = ["--target", sizes.parent, *words]
            self._run([sys.executable, PEERS / "make_data.py", kind, *options], f"{where}-data")
        if not self.done(where, "", "sizes"):
            self.keep(where, "", "sizes", json.loads(sizes.read_text("utf-8")))

    def measure(self, where: str, name: str) -> None:
        """Train and predict, unless that is done; what fails is noted, and tried again later."""
        trained = SYSTEMS[name].trained_as or name
        model = self.work / "models" / where / slug(trained)
        if self.complete(where, name):
            return
        if not (self.done(where, trained, "train") and model.exists()):
            shutil.rmtree(model, ignore_errors=True)
            model.parent.mkdir(parents=True, exist_ok=True)
            self._step(where, trained, "train", model)
        if self.done(where, trained, "train"):
            self._step(where, name, "predict", model)

    def _step(self, where: str, name: str, step: str, model: Path) -> None:
        system, title = SYSTEMS[name], f"{where}-{slug(name)}-{step}"
        out = self.work / "steps" / f"{title}.json"
        say(f"{where}: {name}, {step}")
        options = {
            "data": self.work / "sets" / where,
            "model": model,
            "out": out,
            "settings": json.dumps(system.settings),
            "threads": THREADS,
        }
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        try:
            python = self._python(system.package)
            self._run([python, PEERS / f"run_{system.package}.py", step, *words], title)
            found = json.loads(out.read_text("utf-8"))
            if system.package == "labelgrove":
                found["source"] = self.source
                if source() != self.source:
                    raise FailedError("the source of labelgrove has changed meanwhile")
            if step == "predict":
                found |= self._scores(where, out.with_suffix(".npy"))
            say("  " + ", ".join(f"{k} {v:.4g}" for k, v in found.items() if type(v) is float))
        except FailedError as error:
            found = {"error": str(error)}
            say(f"  {error}")
        self.keep(where, name, step, found)

    def _python(self, package: str) -> Path:
        """Return the interpreter of a system, which is installed if need be."""
        if package == "labelgrove":
            return Path(sys.executable)
        folder = self.work / "environments" / package
        python, ready = folder / "bin" / "python", folder / "ready"
        if not ready.exists():
            say(f"  installing {package}")
            self._run([sys.executable, "-m", "venv", "--clear", folder], f"install-{package}")
            for packages in INSTALL[package]:
                self._run([python, "-m", "pip", "install", *packages], f"install-{package}")
            ready.touch()
        return python

    def _run(self, command: list[object], title: str) -> None:
        """Run a process with its output in a log."""
        log = self.work / "steps" / f"{title}.log"
        limits = {f"{name}_NUM_THREADS": str(THREADS) for name in THREADED}
        with log.open("w") as file:
            try:
                done = subprocess.run(
                    [str(word) for word in command],
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    timeout=self.limit,
                    env={**os.environ, **limits},
                )
            except subprocess.TimeoutExpired:
                raise FailedError(f"not done after {self.limit:.0f} s") from None
        if done.returncode:
            last = (log.read_text(errors="replace").strip() or "no output").splitlines()[-1]
            raise FailedError(f"{title} ended with {done.returncode}: {last}")

    def _scores(self, where: str, top: Path) -> dict[str, float]:
        folder = self.work / "sets" / where
        Y, Y_train = load_npz(folder / "Y_test.npz"), load_npz(folder / "Y_train.npz")
        labels = np.load(top)
        # only the order counts: the scores of the systems mean different things
        falling = np.broadcast_to(np.linspace(1, 0.5, labels.shape[1]), labels.shape)
        counts = np.bincount(Y_train.indices, minlength=Y_train.shape[1])
        found = evaluate(
            Y,
            Ranking(labels, np.where(labels >= 0, falling, 0)),
            propensities=propensities(counts, Y_train.shape[0], n_columns=Y.shape[1]),
        )
        return {name: found[name] for name in SCORES}


def source() -> str:
    """Return a checksum of labelgrove's own source."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(Path(labelgrove.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def slug(name: str) -> str:
    return name.lower().replace(",", "").replace(" ", "-")


# --- tables -----------------------------------------------------------------------------------

SCORES = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5")
COLUMNS = {  # title: key, factor, digits
    "train s": ("train_s", 1, 1),
    "cpu s": ("cpu_s", 1, 1),
    "train MB": ("train_bytes", 1e-6, 0),
    "disk MB": ("disk", 1e-6, 1),
    "load s": ("load_s", 1, 3),
    "batch s": ("batch_s", 1, 2),
    "batch MB": ("predict_bytes", 1e-6, 0),
    "single ms": ("single_s", 1e3, 3),
    **{name: (name, 100, 2) for name in SCORES},
}
GOALS = [  # what, ours, theirs, column, goal: a ratio at most, or (for scores) no less
    *(("parabel / libpecos", "parabel", ("libpecos",), *each) for each in [
        *[("train_s", 0.5), ("batch_s", 1.0), ("single_s", 1.0), ("disk", 1.0)],
        *[("P@1", None), ("P@3", None), ("P@5", None)],
    ]),
    *(("bonsai / libpecos", "bonsai", ("libpecos",), *each) for each in [
        *[("train_s", 1.0), ("batch_s", 1.0), ("single_s", 1.0), ("disk", 1.0)],
    ]),
    *(("bonsai - best omikuji", "bonsai", OMIKUJI, name, None) for name in ("P@1", "P@3", "P@5")),
    *(("one-vs-rest / libpecos one-vs-all", "one-vs-rest", ("libpecos one-vs-all",), *each)
      for each in [
        *[("train_s", 0.4), ("disk", 1.0), ("P@1", None), ("P@3", None), ("P@5", None)],
    ]),
]  # fmt: skip


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return [f"| {' | '.join(line)} |" for line in lines] + [""]


def cell(figures: dict[str, Any], key: str, factor: float, digits: int) -> str:
    return f"{figures[key] * factor:,.{digits}f}" if key in figures else ""


def set_table(bench: Bench, where: str) -> list[str]:
    sizes = bench.get(where, "", "sizes")
    rows, notes = [], []
    for name, system in SYSTEMS.items():
        figures = bench.row(where, name)
        if system.trained_as and not bench.get(where, name, "predict"):
            continue  # another row's model, which was not asked
        if figures and not bench.complete(where, name):
            reason = figures.get("error", "measured with an older source")
            notes.append(f"\\* {name}: {reason}.\n")
        if figures:
            mark = "" if bench.complete(where, name) else " \\*"
            rows.append([name + mark, *(cell(figures, *how) for how in COLUMNS.values())])
    told = (
        f"{sizes['documents']:,} training and {sizes['test']:,} test documents, "
        f"{sizes['labels']:,} labels ({sizes['unseen']:,} more only in the test set), "
        f"{sizes['features']:,} features; {sizes['per_document']:.1f} labels and "
        f"{sizes['words']:.0f} features a document."
    )
    lines = [f"## {where}", "", told, "", *table(["system", *COLUMNS], rows)]
    return lines + notes


def goal_table(bench: Bench, sets: list[str]) -> list[str]:
    """Compare ours with theirs: ratios of times and sizes, differences of scores in points."""
    rows = []
    for what, ours, theirs, key, goal in GOALS:
        cells = []
        for where in sets:
            if not all(bench.complete(where, name) for name in (ours, *theirs)):
                cells.append("")
                continue
            own = bench.row(where, ours)[key]
            others = [bench.row(where, name)[key] for name in theirs]
            if goal is None:
                gain = 100 * (own - max(others))
                cells.append(f"{gain:+.2f}{'' if gain >= 0 else ' (short)'}")
            else:
                ratio = own / max(others)
                cells.append(f"{ratio:.2f}{'' if ratio <= goal else ' (short)'}")
        aim = "no less" if goal is None else f"at most {goal:g}"
        title = key if goal is None else {how[0]: t for t, how in COLUMNS.items()}[key].split()[0]
        if any(cells):
            rows.append([what, title, aim, *cells])
    head = ["compared", "figure", "goal", *sets]
    return ["## Against the goals", "", *table(head, rows)] if rows else []


class Point(NamedTuple):
    """What was measured on planted documents; ``size`` is the number that grows."""

    documents: int
    labels: int
    size: int
    figures: dict[str, Any]


def growth_points(bench: Bench) -> dict[str, list[Point]]:
    """Return what was measured in each series of growth."""
    found = {}
    for series, points in GROWTH.items():
        grown = 0 if series.startswith("documents") else 1
        found[series] = [
            Point(*point, size=point[grown], figures=bench.row(planted(*point), GROWN))
            for point in points
            if all(bench.known(planted(*point), GROWN, step) for step in ("train", "predict"))
        ]
    return {series: points for series, points in found.items() if points}


def growing(points: list[Point], key: str) -> tuple[list[int], list[float]]:
    """Return sizes and values of one figure; memory without what an empty process holds."""
    found = {
        point.size: point.figures[key]
        - (point.figures["empty_bytes"] if key == "train_bytes" else 0)
        for point in points
        if key in point.figures
    }
    kept = {size: value for size, value in found.items() if value > 0}
    return list(kept), list(kept.values())


def growth_tables(bench: Bench) -> list[str]:
    """Return the figures of bonsai on planted data, and the exponents of their growth."""
    columns = {key: COLUMNS[key] for key in (*list(COLUMNS)[:8], "P@1", "P@5")}
    lines: list[str] = []
    for series, points in growth_points(bench).items():
        rows = [
            [f"{each.documents:,}", f"{each.labels:,}"]
            + [cell(each.figures, *how) for how in columns.values()]
            for each in points
        ]
        rows.append(["exponent", "", *(exponent(points, how[0]) for how in columns.values())])
        lines += [f"### Growing {series}", "", *table(["documents", "labels", *columns], rows)]
    if not lines:
        return []
    told = (
        f"{GROWN.capitalize()}, on planted documents (`peers/make_data.py`); batch: "
        "10,000 documents. Exponents are slopes of least squares between logarithms; those of "
        "memory, and the figure, leave out what the process holds before it reads any data."
    )
    each = [point for points in growth_points(bench).values() for point in points]
    if any(point.figures.get("source") != bench.source for point in each):
        told += " Some rows are of an older source of labelgrove."
    picture = f"![Time and memory against the number of labels and of documents]({PICTURE})"
    return ["## Growth", "", told, "", picture, "", *lines]


def exponent(points: list[Point], key: str) -> str:
    if key not in ("train_s", "cpu_s", "train_bytes", "disk", "batch_s", "single_s"):
        return ""
    sizes, values = growing(points, key)
    return f"{power_law(sizes, values)[0]:.2f}" if len(sizes) > 1 else ""


def growth_picture(bench: Bench) -> str:
    """Return the figure of growth, or nothing where nothing was measured."""
    measured = growth_points(bench)
    panels = []
    for title, unit, key, factor in PANELS:
        series = {}
        for name, points in measured.items():
            sizes, values = growing(points, key)
            series[SERIES[name]] = sizes, [factor * value for value in values]
        panels.append(Panel(title, unit, series, "labels or documents, whichever grow"))
    return draw("bonsai on planted documents", panels) if measured else ""


def machine(bench: Bench) -> str:
    found = {
        name: version
        for result in bench.results.values()
        for name, version in result.get("versions", {}).items()
        if name not in ("numpy", "scipy")
    }
    return described(found)


def report(bench: Bench) -> str:
    sets = [each for each in (*SETS, PART) if bench.get(each, "", "sizes")]
    lines = [
        "# Linear models: labelgrove against libpecos, omikuji and napkinXC",
        "",
        f"{machine(bench)} {THREADS} threads each, one system at a time. Made with `python "
        "benchmarks/speed/linear.py --data DIR --work DIR` (and `--growth`); README.md tells what "
        "is counted. Scores are in per cent.",
        "",
    ]
    for where in sets:
        lines += set_table(bench, where)
    lines += goal_table(bench, sets) + growth_tables(bench)
    return "\n".join(lines).rstrip() + "\n"


# --- command line -----------------------------------------------------------------------------


def planted(documents: int, labels: int) -> str:
    return f"planted-{documents}-{labels}"


def compare(bench: Bench, data: Path, sets: list[str], names: list[str], again: bool) -> None:
    flat = [name for name in names if SYSTEMS[name].flat]
    trees = [name for name in names if not SYSTEMS[name].flat]
    for each in sets:
        parts = {each: trees, PART: flat} if each == "finna" else {each: names}
        for where, chosen in parts.items():
            few = ("--documents", PART_DOCUMENTS) if where == PART else ()
            if chosen:
                bench.make(where, "texts", "--source", data / each, *few)
            for name in chosen if again else []:
                bench.forget(where, name)
            for name in chosen:
                bench.measure(where, name)


def grow(bench: Bench, most: int, again: bool) -> None:
    points = {point for points in GROWTH.values() for point in points}
    for documents, labels in sorted(points, key=lambda point: point[0] * point[1]):
        where = planted(documents, labels)
        if again:
            bench.forget(where, GROWN)
        if max(labels, documents / 10) > most or bench.done(where, GROWN, "predict"):
            continue
        bench.make(where, "planted", "--documents", documents, "--labels", labels)
        bench.measure(where, GROWN)
        for kind in ("sets", "models"):  # these take gigabytes
            shutil.rmtree(bench.work / kind / where, ignore_errors=True)


def names_of(text: str, known: tuple[str, ...], what: str) -> list[str]:
    chosen = [name for name in known if slug(name) in map(slug, text.split(","))]
    if len(chosen) < len(text.split(",")):
        sys.exit(f"unknown {what} in {text!r}; known: {', '.join(map(slug, known))}")
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder for all that is made")
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--sets", default=",".join(SETS), help="default: %(default)s")
    parser.add_argument(
        "--systems", default="usual", help=f"usual, all, or some of {', '.join(map(slug, SYSTEMS))}"
    )
    parser.add_argument("--out", type=Path, default=HERE / "linear.md", help="the tables")
    parser.add_argument("--again", action="store_true", help="measure what is measured already too")
    parser.add_argument("--limit", type=float, default=7200, help="seconds a step may take")
    parser.add_argument("--growth", action="store_true", help="measure growth on planted data")
    parser.add_argument("--most", type=int, default=1_000_000, help="labels in --growth at most")
    asked = parser.parse_args()
    if asked.data is None and not asked.growth:
        parser.error("give --data, or --growth")
    sets = names_of(asked.sets, SETS, "set")
    if asked.systems in ("usual", "all"):
        names = [n for n, system in SYSTEMS.items() if asked.systems == "all" or not system.extra]
    else:
        names = names_of(asked.systems, tuple(SYSTEMS), "system")
    bench = Bench(asked.work, asked.limit)
    try:
        if asked.data is not None:
            compare(bench, asked.data.resolve(), sets, names, asked.again)
        if asked.growth:
            grow(bench, asked.most, asked.again)
    except FailedError as error:  # no data; what else fails is noted and passed over
        sys.exit(str(error))
    if picture := growth_picture(bench):
        asked.out.with_name(PICTURE).write_text(picture, encoding="utf-8")
    asked.out.write_text(report(bench), encoding="utf-8")
    say(f"tables in {asked.out}")


if __name__ == "__main__":
    main()
