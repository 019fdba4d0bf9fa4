"""``--threshold precision=0.9`` from outside."""

import json

import pytest

from command_line import called, fails


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("promises") / "t"
    options = ("--model", "bonsai", "--validation", "0.3", "-q", "--threads", "1")
    called("train", data / "train.csv", "--out", folder, *options)
    return folder


def test_tag_assigns_sure_labels_and_tells_what_is_left(trained, data):
    done = called("tag", trained, data / "test.jsonl", "-k", "12", "--threshold", "precision=0.9")
    rows = [json.loads(line)["labels"] for line in done.stdout.splitlines()]
    labels, bare = sum(map(len, rows)), sum(not row for row in rows)
    assert f"{labels:,} labels assigned to {len(rows) - bare} of {len(rows)} docum" in done.stderr
    assert f"; {bare} documents got none" in done.stderr or not bare
    assert "with 90% confidence" in done.stderr
    quiet = called(
        *("tag", trained, data / "test.jsonl", "-k", "12", "--threshold", "precision=0.9", "-q")
    )
    assert quiet.stdout == done.stdout
    assert not quiet.stderr


def test_evaluate_scores_the_promise(trained, data):
    said = called("evaluate", trained, data / "test.jsonl", "--threshold", "precision=0.9").stdout
    (line,) = [line for line in said.splitlines() if line.startswith("micro-precision")]
    assert float(line.split()[1]) >= 90
    assert "precision=0.9: labels with a probability of at least" in said


def test_a_promise_that_cannot_be_kept_is_one_line(trained, data):
    line = fails("tag", trained, data / "test.jsonl", "--threshold", "precision=0.999")
    assert "cannot promise precision=0.999: that takes at least 2,302 held-out documents" in line
    assert "the most it can promise is precision=0.9" in line
    line = fails("tag", trained, "--text", "x", "--threshold", "precision=2")
    assert "give one above 0 and below 1, such as precision=0.9" in line
