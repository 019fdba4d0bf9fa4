"""What every system goes through, each step in a process of its own.

The drivers beside this file run in the environments of the systems, so only numpy and scipy are
asked for here. A step's figures go to a JSON file, since some systems write to standard output.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, load_npz

PLACES = 5  # labels asked for
SINGLES = 500  # documents ranked one by one
TURNS, PATIENCE = 3, 10.0  # turns whose median counts; none is begun after so many seconds


class Driver:
    """A system under measurement; a subclass fills in what it needs.

    Parameters
    ----------
    data
        Folder of the set: X_train, Y_train, X_test as .npz, train.txt as sparse text.
    model
        Folder of the trained model.
    settings
        Of the system.
    threads
        Threads it may use.
    """

    package = ""

    def __init__(self, data: Path, model: Path, settings: dict[str, Any], threads: int) -> None:
        self.data, self.folder, self.settings, self.threads = data, model, settings, threads
        self.model: Any = None

    def warm_up(self) -> None:
        """Compile what is compiled at run time; not counted."""

    def read(self) -> None:
        """Read the training data; not counted."""
        self.X, self.Y = self.matrix("X_train"), self.matrix("Y_train")

    def train(self) -> None:
        """Train from features and labels: label vectors, clustering and classifiers."""
        raise NotImplementedError

    def save(self) -> None:
        """Write the model, unless training did."""

    def load(self) -> None:
        """Make the model in the folder ready to predict."""
        raise NotImplementedError

    def rank(self, X: csr_matrix) -> np.ndarray:
        """Return the best labels of all rows, shape (n, 5), -1 where there are fewer."""
        raise NotImplementedError

    def native(self, row: csr_matrix) -> Any:
        """Return a row in the form in which the system takes single documents; not counted."""
        return row

    def rank_one(self, document: Any) -> Any:
        """Rank a single document."""
        raise NotImplementedError

    def matrix(self, name: str) -> csr_matrix:
        return csr_matrix(load_npz(self.data / f"{name}.npz"))


def padded(rows: list[list[int]]) -> np.ndarray:
    """Return lists of labels, best first, as an array, shape (n, 5)."""
    labels = np.full((len(rows), PLACES), -1, np.int32)
    for i, row in enumerate(rows):
        labels[i, : len(row)] = row[:PLACES]
    return labels


def peak_bytes() -> int:
    """Return the most memory this process has held."""
    try:  # getrusage would count the parent's pages of before exec too
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def seconds(call: Any, *arguments: Any) -> float:
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def train(driver: Driver) -> dict[str, Any]:
    driver.warm_up()
    empty = peak_bytes()
    driver.read()
    cpu = time.process_time()
    turns = [seconds(driver.train)]
    cpu = time.process_time() - cpu
    driver.save()
    size = sum(path.stat().st_size for path in driver.folder.rglob("*") if path.is_file())
    found = {"cpu_s": cpu, "disk": size, "train_bytes": peak_bytes(), "empty_bytes": empty}
    while len(turns) < TURNS and sum(turns) < PATIENCE:
        turns.append(seconds(driver.train))
    return {"train_s": statistics.median(turns), "turns": len(turns), **found}


def predict(driver: Driver, top: Path) -> dict[str, Any]:
    X = driver.matrix("X_test")
    spent = {"load_s": seconds(driver.load)}
    chosen = np.random.default_rng(0).permutation(X.shape[0])[:SINGLES]
    documents = [driver.native(X[i]) for i in chosen]
    for document in documents[:20]:  # warm up both ways
        driver.rank_one(document)
    driver.rank(X[:100])

    turns: list[float] = []
    while len(turns) < TURNS and sum(turns) < PATIENCE:
        start = time.perf_counter()
        labels = driver.rank(X)
        turns.append(time.perf_counter() - start)
    np.save(top, labels)
    singles = [seconds(driver.rank_one, document) for document in documents]
    spent |= {"batch_s": statistics.median(turns), "single_s": statistics.median(singles)}
    return {**spent, "predict_bytes": peak_bytes(), "documents": X.shape[0]}


def main(kind: type[Driver]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("step", choices=["train", "predict"])
    for name in ("data", "model", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--settings", type=json.loads, default={})
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    driver = kind(asked.data, asked.model, asked.settings, asked.threads)
    if asked.step == "train":
        found = train(driver)
    else:
        found = predict(driver, asked.out.with_suffix(".npy"))
    packages = (kind.package, "numpy", "scipy")
    found["versions"] = {name: metadata.version(name) for name in packages}
    asked.out.write_text(json.dumps(found), encoding="utf-8")
