"""Feedback is on the disk before it is acknowledged, whatever happens then."""

import fcntl
import json
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command_line import called
from flushes import flushes_of
from labelgrove import Tagger
from labelgrove.core.errors import InputError, StorageError
from labelgrove.corpus import read_corpus, read_feedback
from labelgrove.service.feedback import FeedbackFile
from processes import gone
from services import serving


def lines(file):
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_lines_are_appended(tmp_path):
    file = FeedbackFile(tmp_path / "f.jsonl")
    file.append([{"text": "ä"}, {"text": "b\n"}])
    file.append([{"text": "c"}])
    assert lines(file.path) == [{"text": "ä"}, {"text": "b\n"}, {"text": "c"}]


APPEND = """
from pathlib import Path
from labelgrove.service.feedback import FeedbackFile

file = FeedbackFile(Path(watched))
for text in ("a", "b"):
    file.append([{"text": text}])
    flushes.append({"acknowledged": os.stat(watched).st_size})
"""


def test_lines_are_flushed_before_they_are_acknowledged(tmp_path):
    flushes = flushes_of(APPEND, tmp_path / "f.jsonl")
    inode, above = (tmp_path / "f.jsonl").stat().st_ino, tmp_path.stat().st_ino
    told = [number for number, each in enumerate(flushes) if "acknowledged" in each]
    assert len(told) == 2
    for begins, ends in zip((0, told[0]), told, strict=True):
        on_disk = [each["bytes"] for each in flushes[begins:ends] if each.get("inode") == inode]
        assert flushes[ends]["acknowledged"] in on_disk
    assert above in [each["inode"] for each in flushes[: told[0]]], "the file's name"


@pytest.mark.parametrize("left", ['{"text": "half', '{"text": "' + "long " * 50_000, "{"])
def test_what_was_never_acknowledged_is_cut_off(tmp_path, left):
    file = FeedbackFile(tmp_path / "f.jsonl")
    for whole in ("", '{"text": "a"}\n'):
        file.path.write_text(whole + left)
        file.append([{"text": "b"}])
        assert file.path.read_text() == whole + '{"text": "b"}\n'


def test_a_last_line_without_an_end_is_kept(tmp_path):
    file = FeedbackFile(tmp_path / "f.jsonl")
    file.path.write_text('{"text": "a"}\n{"text": "edited by hand"}')
    file.append([{"text": "b"}])
    assert [line["text"] for line in lines(file.path)] == ["a", "edited by hand", "b"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is full")
def test_a_full_disk_is_told():
    with pytest.raises(StorageError, match="no space is left"):
        FeedbackFile(Path("/dev/full")).append([{"text": "a"}])


def test_a_place_that_cannot_be_written_is_refused_at_the_start(tmp_path):
    with pytest.raises(InputError, match="--no-feedback"):
        FeedbackFile(tmp_path / "none" / "f.jsonl").check()
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(InputError, match="--no-feedback"):
        FeedbackFile(tmp_path / "folder.jsonl").check()
    FeedbackFile(tmp_path / "f.jsonl").check()
    assert not (tmp_path / "f.jsonl").exists()


def test_a_file_that_was_replaced_meanwhile_gets_the_line(tmp_path):
    """An editor renames a new file into the place of the one that a writer waits for."""
    file = FeedbackFile(tmp_path / "f.jsonl")
    file.append([{"text": "a"}])
    with file.path.open("ab") as held, ThreadPoolExecutor(1) as pool:
        fcntl.flock(held, fcntl.LOCK_EX)
        waits = pool.submit(file.append, [{"text": "b"}])
        while not wait_for_lock(held):
            pass
        (tmp_path / "new").write_text('{"text": "edited"}\n')
        (tmp_path / "new").replace(file.path)
        fcntl.flock(held, fcntl.LOCK_UN)
        waits.result()
    assert [line["text"] for line in lines(file.path)] == ["edited", "b"]


def wait_for_lock(file):
    """Tell whether someone waits for a lock of this file."""
    inode = f":{os.fstat(file.fileno()).st_ino} "
    locks = Path("/proc/locks").read_text().splitlines()
    return any("->" in line and inode in line for line in locks)


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(st.lists(names, max_size=3), names, names)
def test_whatever_is_acknowledged_can_be_learned_from(open_ended, labels, text, name):
    service, file = open_ended
    body = {"text": text, "labels": labels, "id": name, "allow_new": True}
    answer = service.ask("/v1/feedback", body)
    assert answer.status in (200, 422)
    if answer.status == 200:
        kept = read_feedback([file]).documents[text.replace("\0", " ")]  # as every reader does
        assert set(kept.labels) == set(answer.json["labels"])


@pytest.fixture(scope="module")
def open_ended(taggers, tmp_path_factory):
    place = tmp_path_factory.mktemp("any")
    with serving(taggers / "bonsai", "--feedback", place, "--quiet") as service:
        yield service, place / "bonsai.feedback.jsonl"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_service_loses_nothing_acknowledged(taggers, tmp_path, workers):
    """Clients send while everything is killed; what they were told is stored is stored."""
    stored, lock, enough = [], threading.Lock(), threading.Event()

    def send(service, client):
        connection = service.connect()
        try:
            for number in range(100_000):
                text = f"text {number} of {client} " + "word " * 200
                body = {"text": text, "labels": ["fruit"]}
                if service.ask("/v1/feedback", body, connection=connection).status == 200:
                    with lock:
                        stored.append(text)
                        if len(stored) > 200:
                            enough.set()
        except (OSError, HTTPException):
            pass
        finally:
            connection.close()

    with (
        serving(
            taggers / "bonsai", "--feedback", tmp_path, "--workers", workers, "--quiet"
        ) as service,
        ThreadPoolExecutor(8) as clients,
    ):
        sent = [clients.submit(send, service, client) for client in range(8)]
        assert enough.wait(60)
        children = _children(service.process.pid)
        for each in (*children, service.process.pid):
            os.kill(each, signal.SIGKILL)
        service.process.wait()
        assert all(gone(each) for each in children)
        for each in sent:
            each.result()
    file = tmp_path / "bonsai.feedback.jsonl"
    whole, _, _ = file.read_text("utf-8").rpartition("\n")  # the rest was not acknowledged
    assert set(stored) <= {json.loads(line)["text"] for line in whole.splitlines()}
    with serving(taggers / "bonsai", "--feedback", tmp_path) as service:
        assert service.ask("/v1/feedback", {"text": "after", "labels": []}).status == 200
    texts = [document.text for document in read_corpus(file)]
    assert texts[-1] == "after"
    assert set(stored) <= set(texts)


def _children(process):
    with open(f"/proc/{process}/task/{process}/children") as file:  # noqa: PTH123
        return [int(each) for each in file.read().split()]


def test_train_and_learn_read_it(taggers, tmp_path):
    with serving(taggers / "knn", "--feedback", tmp_path, "--quiet") as service:
        for number in range(12):
            body = {"text": f"a yellow lemon, the {number}th", "labels": ["fruit"]}
            assert service.ask("/v1/feedback", body).status == 200
        body = {"text": "a pear", "labels": ["pear"], "allow_new": True}
        assert service.ask("/v1/feedback", body).status == 200
    file = tmp_path / "knn.feedback.jsonl"
    called("train", file, "--out", tmp_path / "trained", "--quiet")
    called("learn", taggers / "knn", file, "--out", tmp_path / "wiser", "--quiet")
    assert Tagger.load(tmp_path / "trained").labels_.ids == ["fruit", "pear"]
    wiser = Tagger.load(tmp_path / "wiser").labels_
    assert "pear" in wiser.ids
    assert wiser.n_documents == Tagger.load(taggers / "knn").labels_.n_documents + 13
