"""Runs tests on a copy of the source, in a process that has the heavy libraries already."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import multiprocessing
import os
import re
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "labelgrove"
# imported once and not in every run; nothing of ours, and no plugin of pytest
PRELOADED = [
    *("numpy", "scipy.sparse", "scipy.optimize", "scipy.special", "scipy.stats", "numba"),
    *("sklearn.linear_model", "sklearn.metrics", "sklearn.isotonic", "pyarrow.parquet"),
    *("lightgbm", "pydantic", "typer", "rich.table", "http.client", "_pytest.doctest"),
]
WRONG_TREE = 99  # exit code of a run that imports another copy than it should


@dataclass(frozen=True)
class Outcome:
    """How a run of tests ended: ``caught`` by a failing test, a crash or the time limit."""

    caught: bool
    by: str
    seconds: float


def fresh_tree(place: Path, source: Path) -> Path:
    """Copy a source tree with its compiled kernels; dates stay, so that these are still valid."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(source, place / "src")
    return place


def forget_kernels(tree: Path, file: str) -> None:
    """Remove the compiled kernels of a file and of all that import it.

    The compiler sees that a file has changed, but not that another which it calls has.
    """
    package = tree / "src" / "labelgrove"
    stale, new = set(), {package / file}
    while new:
        stale |= new
        modules = {".".join(path.relative_to(tree / "src").with_suffix("").parts) for path in new}
        importing = re.compile(rf"^from ({'|'.join(map(re.escape, modules))}) import", re.M)
        kernels = package.rglob("*kernels.py")
        new = {path for path in kernels if importing.search(path.read_text("utf-8"))} - stale
    for path in stale:
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.nb?"):
            compiled.unlink()


def run_tests(tree: Path, files: list[str], tests: list[str], limit: float) -> Outcome:
    """Run tests, and the examples in docstrings of files, on a tree until the first fails.

    Parameters
    ----------
    tree
        Folder with ``src``; what the tests write lies there too.
    files
        Files with examples, relative to the package.
    tests
        Test files, relative to the repository.
    limit
        Seconds after which the run is ended and counts as caught.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    process = context.Process(target=_run, args=(tree, files, tests))
    began = time.monotonic()
    process.start()
    assert process.pid is not None
    process.join(limit)
    seconds = time.monotonic() - began
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # also services that a test left behind
    process.join()
    if seconds >= limit:
        return Outcome(True, f"time limit of {limit:.0f} s", seconds)
    if process.exitcode == WRONG_TREE:
        raise RuntimeError(f"the tests do not use {tree}; see {tree / 'log'}")
    log = (tree / "log").read_text("utf-8", "replace") if (tree / "log").exists() else ""
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", log, re.M)
    by = failed[1] if failed else f"exit code {process.exitcode}"
    return Outcome(process.exitcode != 0, by if process.exitcode else "", seconds)


def _run(tree: Path, files: list[str], tests: list[str]) -> None:
    """Run pytest and examples in a new session; this is all that its process does."""
    os.setsid()
    log = os.open(tree / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(log, stream)
    source = str(tree / "src")
    sys.path.insert(0, source)
    os.environ["PYTHONPATH"] = source
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(tree / "hypothesis")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.chdir(ROOT)
    import labelgrove

    if not labelgrove.__file__.startswith(source):
        print(labelgrove.__file__, flush=True)
        os._exit(WRONG_TREE)
    import pytest

    options = ["-x", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={tree / 'tmp'}"]
    code = int(pytest.main([*options, *tests]))
    if code == 0 and not all(map(_examples_hold, files)):
        code = 1
    sys.stdout.flush()
    os._exit(code)  # threads that a bug left hanging do not matter


def _examples_hold(file: str) -> bool:
    """Run the examples of a file; pytest would import it a second time, under another name."""
    module = importlib.import_module(f"labelgrove.{file.removesuffix('.py').replace('/', '.')}")
    failed = doctest.testmod(module).failed
    if failed:
        print(f"FAILED {file}::examples")
    return not failed
