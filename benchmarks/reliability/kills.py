"""What the rounds of crash.py share: a small corpus, results to compare with, and the kill."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

FRUITS = ("apple", "pear", "plum", "cherry", "quince", "fig")
DOCUMENTS = 300
# the command, but each finished group of labels is a checkpoint at once, not after half a minute
EAGER = (
    "import runpy; from labelgrove.models.linear import checkpoints; "
    "checkpoints.FLUSH_SECONDS = 0.0; runpy.run_module('labelgrove', run_name='__main__')"
)
BONSAI = ("--model", "bonsai", "--set", "max_leaf=2", "--set", "branching=2")
KNN = ("--model", "knn", "--trials", "3", "--no-prune")


class Lost(Exception):  # noqa: N818
    """Something that was kept is not there, or not whole."""


class Bench:
    """The corpus, what uninterrupted work makes of it, and how long that takes.

    Parameters
    ----------
    place
        Folder for all of it.
    moments
        Draws when to kill.
    """

    def __init__(self, place: Path, moments: random.Random) -> None:
        self.place, self.moments = place, moments
        self.corpus, self.tagger, self.search = (
            place / name for name in ("train.jsonl", "tagger", "search")
        )
        self.seconds: dict[str, float] = {"save": 1.0}

    def prepare(self) -> None:
        """Make the corpus, and do all work once to its end."""
        drawn = random.Random(0)
        with self.corpus.open("w") as file:
            for number in range(DOCUMENTS):
                labels = sorted({drawn.choice(FRUITS), drawn.choice(FRUITS)})
                text = f"{' and '.join(labels)} in garden {number % 17}"
                print(json.dumps({"text": text, "labels": labels}), file=file)
        for kind, words in (
            ("train", self.training(self.tagger)),
            ("tune", self.searching(self.search)),
        ):
            began = time.monotonic()
            done = finished(words)
            if done.returncode:
                raise SystemExit(f"{kind} does not work at all: {done.stderr}")
            self.seconds[kind] = time.monotonic() - began
        self.seconds["retrain"] = self.seconds["train"]

    def training(self, out: Path, *more: str) -> list[str]:
        """Return the command that trains the tagger."""
        words = ["train", str(self.corpus), "--out", str(out), "--threads", "1", *BONSAI]
        return [sys.executable, "-c", EAGER, *words, *more]

    def searching(self, out: Path, *more: str) -> list[str]:
        """Return the command that searches for settings."""
        words = ["tune", str(self.corpus), "--out", str(out), "--threads", "1", *KNN]
        return [sys.executable, "-m", "labelgrove", *words, *more]

    def kill_during(self, kind: str, process: subprocess.Popen[Any]) -> bool:
        """Kill a process at a random moment of its work; return False if it ended by itself."""
        began = time.monotonic()
        try:
            process.wait(self.moments.uniform(0, self.seconds[kind]))
        except subprocess.TimeoutExpired:
            kill(process)
            return True
        self.seconds[kind] = time.monotonic() - began  # it is quicker than it was
        return False


def started(words: list[str], **streams: Any) -> subprocess.Popen[Any]:
    """Start a command as the leader of a group that can be killed as a whole."""
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **streams}
    return subprocess.Popen(words, start_new_session=True, **streams)


def kill(process: subprocess.Popen[Any]) -> None:
    """Kill a process and all in its group."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def finished(words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(words, capture_output=True, encoding="utf-8", check=False)


def must(words: list[str]) -> None:
    """Run a command that has to work after a kill."""
    done = finished(words)
    if done.returncode:
        raise Lost(f"{' '.join(words[2:])} ended with {done.returncode}: {done.stderr[-500:]}")


def must_be_equal(folder: Path, other: Path) -> None:
    """Compare all arrays of two taggers."""
    arrays, others = (
        {path.relative_to(each): np.load(path) for path in each.rglob("*.npy")}
        for each in (folder, other)
    )
    if arrays.keys() != others.keys():
        raise Lost(f"{folder} has other files than {other}")
    for name, array in arrays.items():
        if not np.array_equal(array, others[name]):
            raise Lost(f"{folder / name} differs from {other / name}")
