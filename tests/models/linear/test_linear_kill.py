"""Training from the command line is killed, resumed, and ends as if nothing had happened."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

# The real command, but every finished group of labels is written at once instead of each half
# minute, and with a rest, so that there is time to kill it.
EAGER = """
import runpy, sys, time
from labelgrove.models.linear import checkpoints

def add(self, task, chunk, original=checkpoints.TaskCheckpoint.add):
    original(self, task, chunk)
    time.sleep(0.05)

checkpoints.FLUSH_SECONDS = 0.0
checkpoints.TaskCheckpoint.add = add
sys.argv[0] = "labelgrove"
runpy.run_module("labelgrove", run_name="__main__")
"""
SETTINGS = {"branching": 8, "max_leaf": 20, "threads": 1}
PATIENCE = 120  # seconds, on a machine that is busy with other things


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Documents of words that are drawn for one or two of 300 labels, and noise."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("corpus") / "train.jsonl"
    with path.open("w") as file:
        for _ in range(1500):
            labels = np.unique((300 * rng.random(2) ** 2).astype(int))
            words = [f"w{label}x{rng.integers(8)}" for label in labels for _ in range(4)]
            words += [f"noise{number}" for number in rng.integers(0, 500, 30)]
            row = {"text": " ".join(words), "labels": [f"label{label}" for label in labels]}
            file.write(json.dumps(row) + "\n")
    return path


def command(corpus, out, *more, program=("-m", "labelgrove")):
    settings = [f"--set={name}={value}" for name, value in SETTINGS.items()]
    return [
        sys.executable,
        *program,
        "train",
        corpus,
        "--out",
        out,
        "--model=bonsai",
        *settings,
        *more,
    ]


def train(corpus, out, *more):
    """Train to the end; return what was said."""
    done = subprocess.run(
        command(corpus, out, *more), capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def parts(run, step):
    return len(list((run / step).glob("part-*")))


def kill(corpus, out, step, more_parts, rest, *more):
    """Kill a training at rest seconds after a step of it has written some more parts."""
    run = out.with_name(f"{out.name}.run")
    wanted = parts(run, step) + more_parts
    process = subprocess.Popen(
        command(corpus, out, *more, program=("-c", EAGER)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    ends = time.monotonic() + PATIENCE
    try:
        while process.poll() is None and parts(run, step) < wanted and time.monotonic() < ends:
            time.sleep(0.002)
        time.sleep(rest)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert process.returncode == -signal.SIGKILL, "the training ended before it was killed"
    assert parts(run, step) >= wanted
    assert not out.exists()


def arrays(folder):
    return {
        os.fspath(path.relative_to(folder)): np.load(path) for path in sorted(folder.rglob("*.npy"))
    }


def test_killed_and_resumed_training_gives_the_same_tagger(corpus, tmp_path):
    train(corpus, tmp_path / "whole")
    out = tmp_path / "resumed"
    rng = np.random.default_rng()  # any moment must do
    drawn = rng.integers(1, 8, 2).tolist()
    rests = rng.uniform(0, 0.1, 2).tolist()
    print("killed after parts:", drawn, "and seconds:", rests)
    kill(corpus, out, "model", drawn[0], rests[0])
    kill(corpus, out, "final", drawn[1], rests[1], "--resume")  # after the trial that is calibrated
    said = train(corpus, out, "--resume")
    resumed = [int(n) for n in re.findall(r"resuming: (\d+) groups of labels are done", said)]
    assert resumed[1] >= drawn[1]
    assert resumed[0] > resumed[1], "the trial was done when the final training was killed"
    whole, found = arrays(tmp_path / "whole"), arrays(out)
    assert whole.keys() == found.keys()
    assert any("entry_value" in name for name in whole)
    for name, array in whole.items():
        np.testing.assert_array_equal(array, found[name], err_msg=name)
    assert not out.with_name("resumed.run").exists()
