"""A grove is killed while it trains, resumed, and ends as if nothing had happened."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from grove_corpora import squares

# The real command, with a rest after every ranking of a fold, so that there is time to kill it.
SLOW = """
import runpy, sys, time
from labelgrove.models.grove import folds

def keep(self, step, ranking, original=folds._Kept.keep):
    original(self, step, ranking)
    time.sleep(0.1)

folds._Kept.keep = keep
sys.argv[0] = "labelgrove"
runpy.run_module("labelgrove", run_name="__main__")
"""
PATIENCE = 120  # seconds, on a machine that is busy with other things


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "train.jsonl"
    rows = zip(*squares(400), strict=True)
    lines = [json.dumps({"text": text, "labels": labels}) for text, labels in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def command(corpus, out, *more, program=("-m", "labelgrove")):
    start = [sys.executable, *program, "train", corpus, "--out", out]
    return [*start, "--model=grove", "--set=threads=1", *more]


def train(corpus, out, *more):
    """Train to the end."""
    done = subprocess.run(
        command(corpus, out, *more), capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr


def rankings(run, step):
    """Return the times at which rankings of a step were finished, by name."""
    found = (run / step / "rankings").glob("[!.]*")
    return {path.name: path.stat().st_mtime_ns for path in found}


def kill(corpus, out, step, more_rankings, rest, *more):
    """Kill a training at rest seconds after a step has finished some more rankings."""
    run = out.with_name(f"{out.name}.run")
    wanted = len(rankings(run, step)) + more_rankings
    process = subprocess.Popen(
        command(corpus, out, *more, program=("-c", SLOW)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    ends = time.monotonic() + PATIENCE
    try:
        while process.poll() is None and time.monotonic() < ends:
            if len(rankings(run, step)) >= wanted:
                break
            time.sleep(0.002)
        time.sleep(rest)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert process.returncode == -signal.SIGKILL, "the training ended before it was killed"
    assert len(rankings(run, step)) >= wanted
    assert not out.exists()
    return rankings(run, step)


def arrays(folder):
    return {
        os.fspath(path.relative_to(folder)): np.load(path) for path in sorted(folder.rglob("*.npy"))
    }


def test_killed_and_resumed_training_gives_the_same_tagger(corpus, tmp_path):
    train(corpus, tmp_path / "whole")
    out = tmp_path / "resumed"
    random = np.random.default_rng()  # any moment must do
    drawn, rests = random.integers(1, 6, 2).tolist(), random.uniform(0, 0.1, 2).tolist()
    print("killed after rankings:", drawn, "and seconds:", rests)
    first = kill(corpus, out, "model", drawn[0], rests[0])
    second = kill(corpus, out, "model", drawn[1], rests[1], "--resume")
    assert second.items() >= first.items(), "a finished ranking was made again"
    train(corpus, out, "--resume")
    whole, found = arrays(tmp_path / "whole"), arrays(out)
    assert whole.keys() == found.keys()
    assert any("ranker.weights" in name for name in whole)
    for name, array in whole.items():
        np.testing.assert_array_equal(array, found[name], err_msg=name)
    assert not out.with_name("resumed.run").exists()
