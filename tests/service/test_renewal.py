"""The way around: users judge, the tagger is trained anew, the service answers with it."""

import json
import os
import signal
import time

import pytest

from command_line import called
from processes import PATIENCE
from services import serving

KINDS = {"red apples": ["fruit"], "a red car": ["vehicle"], "an apple pie": ["fruit", "cake"]}


@pytest.fixture
def tagger(tmp_path):
    rows = [{"text": f"{t}, the {i}th", "labels": KINDS[t]} for i in range(30) for t in KINDS]
    train = tmp_path / "train.jsonl"
    train.write_text("\n".join(map(json.dumps, rows)) + "\n")
    called("train", train, "--out", tmp_path / "mine", "-q")
    return tmp_path / "mine"


def judge(service, n):
    for i in range(n):
        asked = {"text": f"a ferry to island {i}", "labels": ["ferry", "vehicle"]}
        assert service.ask("/v1/feedback", {**asked, "allow_new": True}).json["stored"]


def retrained(tagger):
    return called(
        *("retrain", tagger, tagger.parent / "train.jsonl", "--out", tagger, "--overwrite", "-q")
    )


def labels(service):
    asked = {"text": "a ferry to another island", "k": 2}
    (result,) = service.ask("/v1/tag", asked).json["results"]
    return {each["label"] for each in result["labels"]}


@pytest.mark.parametrize("way", ["request", "signal"])
def test_a_service_answers_with_what_its_users_taught(tagger, way):
    with serving(tagger) as service:
        judge(service, 40)
        assert "ferry" not in labels(service)
        done = retrained(tagger)
        assert "learned: 40 of its 40 texts" in done.stdout
        assert "ferry" not in labels(service), "not yet: nobody has asked for it"
        if way == "request":
            assert service.ask("/v1/reload", method="POST").status == 200
        else:
            service.process.send_signal(signal.SIGHUP)
        ends = time.monotonic() + PATIENCE
        while "ferry" not in labels(service) and time.monotonic() < ends:
            time.sleep(0.01)
        assert labels(service) == {"ferry", "vehicle"}
        judge(service, 1)
        assert len(tagger.with_name("mine.feedback.jsonl").read_text().splitlines()) == 41


def test_what_a_killed_service_was_told_is_learned(tagger):
    with serving(tagger) as service:
        judge(service, 40)
        os.kill(service.process.pid, signal.SIGKILL)
        service.process.wait()
    with tagger.with_name("mine.feedback.jsonl").open("a") as file:
        file.write('{"text": "a ferry')
    done = retrained(tagger)
    assert "was not written to its end" in done.stderr
    assert "learned: 40 of its 40 texts" in done.stdout
    with serving(tagger) as service:
        assert labels(service) == {"ferry", "vehicle"}
        judge(service, 1)
    assert "was not written" not in retrained(tagger).stderr
