"""Neural models from the command line: killed, interrupted, and given what they cannot use."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from labelgrove.cli.app import run
from labelgrove.models.contract import known_answer

PATIENCE = 120  # seconds, on a machine that is busy with other things
SMALL = {"units": 4, "layers": [4], "vector_size": 4, "batch": 8, "epochs": 4, "device": "cpu",
         "learning_rate": 0.001}  # fmt: skip
TREE = {"tree": "always", "max_leaf": 2, "branching": 2, "levels": 2, "parents": 2}
# the real command on a machine without torch
WITHOUT_TORCH = """
import runpy, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
sys.argv[0] = "labelgrove"
runpy.run_module("labelgrove", run_name="__main__")
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "train.jsonl"
    rows = [{"text": text, "labels": own} for text, own in zip(*known_answer(120), strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def command(corpus, out, *more, model="attentionxml", **settings):
    given = [f"--set={name}={json.dumps(value)}" for name, value in {**SMALL, **settings}.items()]
    files = ("train", str(corpus), "--out", str(out))
    return [*files, "--model", model, "--threads", "1", *given, *map(str, more)]


def trained(corpus, out, *more, **settings):
    """Train to the end, in this process."""
    assert run(command(corpus, out, *more, **settings)) == 0


def told(capsys, arguments, code=2):
    """Run a call that must fail; return its one line."""
    capsys.readouterr()
    assert run(list(arguments)) == code
    *before, line = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("labelgrove: ")
    assert not any(each.startswith("labelgrove: ") for each in before)
    assert "LABELGROVE_TRACEBACK" not in line, "an error that nobody foresaw"
    return line


def steps(run_folder, network):
    """Return the step of the newest checkpoint of a network, 0 without one."""
    found = [int(path.name[-9:]) for path in (run_folder / "model" / network).glob("checkpoint-*")]
    return max(found, default=0)


def stop(corpus, out, number, network, wanted, rest=0.0, **settings):
    """Send a signal to a real training once a network has a checkpoint; return exit and words."""
    arguments = command(corpus, out, checkpoint_minutes=0, **settings)
    process = subprocess.Popen(
        [sys.executable, "-m", "labelgrove", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    folder, ends = out.with_name(f"{out.name}.run"), time.monotonic() + PATIENCE
    try:
        while process.poll() is None and time.monotonic() < ends:
            if steps(folder, network) >= wanted:
                break
            time.sleep(0.001)
        time.sleep(rest)
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
    assert steps(folder, network) >= wanted, said
    assert not out.exists(), "the training ended before it was stopped"
    return process.returncode, said


def arrays(folder):
    return {
        os.fspath(path.relative_to(folder)): np.load(path) for path in sorted(folder.rglob("*.npy"))
    }


def assert_same(found, wanted):
    found, wanted = arrays(found), arrays(wanted)
    assert found.keys() == wanted.keys()
    assert any("network0" in name for name in wanted)
    for name, array in wanted.items():
        np.testing.assert_array_equal(array, found[name], err_msg=name)


# --- killed and interrupted ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "networks"),
    [
        ({"ensemble": 2}, ["network 1", "network 2"]),
        (TREE, ["tree 1 level 1", "tree 1 level 2", "tree 1 level 3"]),
    ],
    ids=["flat", "tree"],
)
def test_killed_and_resumed_training_gives_the_same_weights(
    settings, networks, corpus, tmp_path, capsys
):
    trained(corpus, tmp_path / "whole", **settings)
    out = tmp_path / "resumed"
    rng = np.random.default_rng()  # any moment must do
    network, wanted, rest = rng.choice(networks), int(rng.integers(1, 36)), rng.uniform(0, 0.05)
    print(f"killed {rest:.3f} s after step {wanted} of {network}")
    code, _ = stop(corpus, out, signal.SIGKILL, network, wanted, rest, **settings)
    assert code == -signal.SIGKILL
    capsys.readouterr()
    trained(corpus, out, "--resume", **settings)
    resumed = re.findall(r"resuming after (\d+) steps", capsys.readouterr().err)
    assert any(int(number) >= wanted for number in resumed)
    assert_same(out, tmp_path / "whole")
    assert not out.with_name("resumed.run").exists()


@pytest.fixture(scope="module")
def interrupted(corpus, tmp_path_factory):
    """A place where a training was stopped by Ctrl-C, its exit code and last words."""
    out = tmp_path_factory.mktemp("interrupted") / "t"
    return out, *stop(corpus, out, signal.SIGINT, "network 1", 5)


@pytest.fixture
def left(interrupted, tmp_path):
    """The same with a copy of the run folder, to go on from."""
    shutil.copytree(interrupted[0].with_name("t.run"), tmp_path / "t.run")
    return tmp_path / "t"


def test_ctrl_c_is_answered_in_one_line_and_nothing_is_lost(
    interrupted, left, corpus, tmp_path, capsys
):
    _, code, said = interrupted
    assert code == 130
    last = said.strip().splitlines()[-1]
    assert last == "labelgrove: stopped; the same command with --resume goes on from what was kept"
    assert "Traceback" not in said
    line = told(capsys, command(corpus, left))
    assert "holds a training that was interrupted: --resume goes on with it" in line
    trained(corpus, left, "--resume")
    assert re.search(r"resuming after \d+ steps", capsys.readouterr().err)
    trained(corpus, tmp_path / "whole")
    assert_same(left, tmp_path / "whole")


def test_a_checkpoint_of_another_training(left, corpus, tmp_path, capsys):
    before = steps(left.with_name("t.run"), "network 1")
    again = command(corpus, left, "--resume")
    more = tmp_path / "more.jsonl"
    more.write_text(corpus.read_text() + '{"text": "topic1a", "labels": ["brand new"]}\n')
    rows = [json.loads(line) for line in corpus.read_text().splitlines()]
    other = tmp_path / "other.jsonl"
    for row in rows:
        row["labels"] = [label.replace("00", "12") for label in row["labels"]]
    rows[0]["labels"], rows[1]["labels"] = rows[1]["labels"], rows[0]["labels"]
    other.write_text("".join(json.dumps(row) + "\n" for row in rows))
    few = ["train", str(corpus), "--out", str(left), "--resume", "--model"]
    for call, wanted in [
        ([*few, "xml-rnn"], "model was 'attentionxml' and is 'xml-rnn' now"),
        ([*few, "bonsai"], "holds a training of another kind of model"),
        ([*again, "--set=units=5"], "units was 4 and is 5 now"),
        ([*again, "--set=tree=always"], "tree was 'auto' and is 'always' now"),
        (command(more, left, "--resume"), "was "),
        (command(other, left, "--resume"), "checksum of the data was"),
    ]:
        line = told(capsys, call)
        assert wanted in line
        assert "start anew (resume=False; --overwrite without --resume)" in line
    assert steps(left.with_name("t.run"), "network 1") == before, "nothing is lost"
    trained(corpus, left, "--resume")


def test_a_loss_that_is_not_a_number(left, corpus, capsys):
    good = steps(left.with_name("t.run"), "network 1")
    wild = {"learning_rate": 1e25, "checkpoint_minutes": 0}
    line = told(capsys, command(corpus, left, "--resume", **wild), code=1)
    # the next step spoils the weights, which the step or evaluation after it finds out
    place = rf"at step ({good + 1}|{good + 2}) \(epoch \d\)"
    assert re.search(place + r": lower learning_rate \(now 1e\+25\) or set clip", line)
    assert f"go on from step {good} (resume=True; --resume)" in line
    trained(corpus, left, "--resume", learning_rate=0.0005)
    said = capsys.readouterr().err
    assert f"resuming after {good} steps" in said
    assert "learning_rate is 0.0005 now and was 0.001" in said


# --- what cannot be used ------------------------------------------------------------------------


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there(corpus, tmp_path, capsys):
    line = told(capsys, command(corpus, tmp_path / "t", "--device", "cuda"))
    assert "the device 'cuda' (devices=1) cannot be used here" in line
    assert "device='auto' takes what there is" in line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["device", "precision"])
def test_options_that_a_linear_model_lacks(option, corpus, tmp_path, capsys):
    linear = ["train", str(corpus), "--out", str(tmp_path / "t"), "--model", "parabel"]
    wanted = f"parabel has no setting '{option}': --{option} is for neural models"
    assert wanted in told(capsys, [*linear, f"--{option}", "cpu"])
    assert wanted in told(capsys, [*linear, "--set", f"{option}=cpu"])


def test_precision(corpus, tmp_path, capsys):
    line = told(capsys, command(corpus, tmp_path / "t", "--precision", "16"))
    assert line == "labelgrove: precision must be '32' or 'bf16', got '16'"
    trained(corpus, tmp_path / "t", "--precision", "bf16", epochs=1)
    manifest = json.loads((tmp_path / "t" / "manifest.json").read_text())
    assert manifest["settings"]["precision"] == "bf16"


@pytest.mark.parametrize(
    ("setting", "wanted"),
    [
        ("epochs=0", "epochs must be a whole number from 1, got 0"),
        ("dropout=1.5", "dropout must be a number from 0, below 1, got 1.5"),
        ("layers=[]", "layers must be a list of whole numbers from 1, such as [256], got []"),
        ("branching=3", "branching must be a power of two, such as 8, got 3"),
    ],
)
def test_settings_out_of_range_are_told_before_the_corpus_is_read(
    setting, wanted, tmp_path, capsys
):
    (tmp_path / "bad.jsonl").write_text("not JSON\n")
    line = told(capsys, command(tmp_path / "bad.jsonl", tmp_path / "t", "--set", setting))
    assert line == f"labelgrove: {wanted}"
    assert [path.name for path in tmp_path.iterdir()] == ["bad.jsonl"]


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ("topic1a 1 2 3 4 5\ntopic2a 1 2 3 4 5\n", " holds vectors of 5 numbers, but vector_size"),
        ("topic1a 1 2 3 4\ntopic2a 1 2 3\n", ", line 2: this line has 3 numbers instead of 4"),
        ("een 1 2 3 4\ntwee 1 2 3 4\n", " has a vector for none of the"),
    ],
)
def test_vectors_that_do_not_fit(lines, wanted, corpus, tmp_path, capsys):
    file = tmp_path / "v.txt"
    file.write_text(lines)
    line = told(capsys, command(corpus, tmp_path / "t", vectors=str(file)))
    assert f"{file}{wanted}" in line
    assert [path.name for path in tmp_path.iterdir()] == ["v.txt"], "nothing that asks for --resume"


def test_odd_texts(corpus, tmp_path, capsys):
    """Too long, empty, of unknown words only; and a last batch of one."""
    trained(corpus, tmp_path / "t", length=8, epochs=1, first="none")
    said = capsys.readouterr().err
    cut = re.search(r"^(\d+) documents \((\d+\.\d)%\) have 8 words \(length\) or more", said, re.M)
    assert 0 < int(cut[1]) <= 120
    words = "topic1a topic1b topic1c topic2a topic2b topic2c noise1 noise2"
    texts = [words, f"{words} topic3a topic3b topic3c", "", "nobody knows this"]
    rows = tmp_path / "new.jsonl"
    rows.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    assert run(["tag", str(tmp_path / "t"), str(rows), "-q"]) == 0
    found = [json.loads(line)["labels"] for line in capsys.readouterr().out.splitlines()]
    assert found[0] == found[1], "the words behind the limit say nothing"
    assert [len(labels) for labels in found] == [5, 5, 0, 5]


def test_a_saved_tagger_on_a_machine_without_torch(corpus, tmp_path):
    trained(corpus, tmp_path / "t", "-q", epochs=1)
    calls = [["tag", tmp_path / "t", "--text", "x"], command(corpus, tmp_path / "u")]
    for call in calls:
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_TORCH, *call],
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 2, done.stderr
        (line,) = done.stderr.splitlines()
        assert line == (
            "labelgrove: the model 'attentionxml' needs torch, which is not installed: "
            "pip install 'labelgrove[neural]'"
        )


def test_estimate_tells_and_trains_nothing(corpus, tmp_path, capsys):
    assert run(command(corpus, tmp_path / "t", "--estimate")) == 0
    printed = capsys.readouterr().out
    assert re.search(r"at most about \d+:\d\d:\d\d \(h:mm:ss\)", printed)
    assert re.search(r"and 0\.\d GB of memory", printed)
    assert list(tmp_path.iterdir()) == []
    linear = ["train", str(corpus), "--out", str(tmp_path / "t"), "--estimate"]
    assert "grove cannot tell in advance" in told(capsys, linear)


def test_a_refused_training_is_not_in_the_way_of_the_corrected_one(corpus, tmp_path, capsys):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("topic0a 1 2 3 4\ntopic1a 4 3 2 1\n")
    given = {"vectors": str(vectors), "epochs": 1}
    line = told(capsys, command(corpus, tmp_path / "t", **given, vector_size=7))
    assert "vectors of 4 numbers, but vector_size is 7" in line
    assert not (tmp_path / "t.run").exists()
    trained(corpus, tmp_path / "t", **given)
