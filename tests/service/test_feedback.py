"""Feedback is on the disk before it is acknowledged, whatever happens then."""

import contextlib
import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command_line import called
from flushes import flushes_of
from labelgrove import Tagger
from labelgrove.core.errors import FullDiskError, InputError, StorageError
from labelgrove.corpus import read_corpus, read_feedback
from labelgrove.service import feedback as module
from labelgrove.service.feedback import FeedbackFile
from processes import PATIENCE, gone
from services import eventually, made, serving


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


@pytest.mark.parametrize("before", ['{"text": "a"}\n', '{"text": "edited by hand"}'])
def test_what_a_full_disk_cuts_short_is_removed_and_no_more(tmp_path, before):
    file = FeedbackFile(tmp_path / "f.jsonl")
    file.path.write_text(before)
    kept = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, kept[1]))
    try:
        with pytest.raises(FullDiskError, match="no space is left on the disk"):
            file.append([{"text": "longer than ten bytes"}])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)
    assert file.path.read_text() == before.rstrip("\n") + "\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is full")
def test_a_full_disk_is_told():
    with pytest.raises(StorageError, match="no space is left"):
        FeedbackFile(Path("/dev/full")).append([{"text": "a"}])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is full")
def test_a_full_disk_is_answered_with_507(taggers, tmp_path):
    (tmp_path / "bonsai.feedback.jsonl").symlink_to("/dev/full")
    with serving(taggers / "bonsai", "--feedback", tmp_path) as service:
        got = service.ask("/v1/feedback", {"text": "a", "labels": ["fruit"]})
        assert got.status == 507
        assert "no space is left on the disk" in got.detail
        assert "Traceback" not in service.log()
        assert service.ask("/v1/tag", {"text": "red"}).status == 200


def test_a_file_that_another_process_holds_for_long_keeps_nobody_waiting(tmp_path):
    """What cannot be written is written aside, and moved as soon as the file is free."""
    file, other = (FeedbackFile(tmp_path / "f.jsonl") for _ in range(2))
    file.append([{"text": "a"}])
    with file.path.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # as by a process that is frozen
        for text in ("b", "c"):
            assert file.append([{"text": text}]) == [True]
        other.collect()
        assert [line["text"] for line in lines(file.path)] == ["a"]
        (aside,) = tmp_path.glob("*.aside-*")
        assert [line["text"] for line in lines(aside)] == ["b", "c"]
        other.collect()
        assert aside.exists(), "its process lives"
    eventually(lambda: not aside.exists())  # though nobody says anything more
    file.append([{"text": "d"}])
    assert [line["text"] for line in lines(file.path)] == ["a", "b", "c", "d"]


def test_what_a_process_left_aside_is_collected_by_the_next(tmp_path):
    (tmp_path / "f.jsonl.aside-4194305").write_text('{"text": "b"}\n{"text": "ha')
    FeedbackFile(tmp_path / "f.jsonl").collect()
    assert lines(tmp_path / "f.jsonl") == [{"text": "b"}]
    assert [each.name for each in tmp_path.iterdir()] == ["f.jsonl"]


def test_a_place_that_cannot_be_written_is_refused_at_the_start(tmp_path):
    with pytest.raises(InputError, match="--no-feedback"):
        FeedbackFile(tmp_path / "none" / "f.jsonl").check()
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(InputError, match="--no-feedback"):
        FeedbackFile(tmp_path / "folder.jsonl").check()
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(InputError, match="is a pipe or a socket"):
        FeedbackFile(tmp_path / "pipe.jsonl").check()
    FeedbackFile(tmp_path / "f.jsonl").check()
    assert not (tmp_path / "f.jsonl").exists()


def test_a_file_that_was_replaced_meanwhile_gets_the_line(tmp_path):
    """An editor renames a new file into the place of the one that a writer waits for."""
    file = FeedbackFile(tmp_path / "f.jsonl")
    file.append([{"text": "a"}])
    with file.path.open("ab") as held, ThreadPoolExecutor(1) as pool:
        fcntl.flock(held, fcntl.LOCK_EX)
        waits = pool.submit(file.append, [{"text": "b"}])
        while opened(file.path) < 2:
            pass
        (tmp_path / "new").write_text('{"text": "edited"}\n')
        (tmp_path / "new").replace(file.path)
        fcntl.flock(held, fcntl.LOCK_UN)
        waits.result()
    assert [line["text"] for line in lines(file.path)] == ["edited", "b"]


def opened(path):
    """Return how often this process has a file open."""
    found = 0
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # it was closed meanwhile
            found += each.readlink() == path
    return found


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


@pytest.mark.parametrize("workers", [1, 2])
def test_feedback_is_not_kept_where_it_would_be_replaced(taggers, workers):
    bonsai, knn = taggers / "bonsai", taggers / "knn"
    place = (bonsai, knn)[workers - 1]  # of the same tagger, or of another
    command = [sys.executable, "-m", "labelgrove", "serve", bonsai, "--feedback", place]
    done = subprocess.run(
        [*command, "--workers", str(workers), "--port", "0"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2, "a service that starts is stopped after a while, and fails here"
    assert f"bonsai.feedback.jsonl would lie in the saved tagger {place}" in done.stderr
    assert "name another folder by --feedback" in done.stderr


def test_feedback_inside_a_tagger_stops_its_replacement(tmp_path):
    tagger = made(tmp_path / "mine")
    inside = tmp_path / "mine" / "mine.feedback.jsonl"
    inside.write_text('{"text": "acknowledged"}\n')
    with pytest.raises(InputError, match=r"'mine\.feedback\.jsonl'\. Nothing is overwritten"):
        tagger.save(tmp_path / "mine", overwrite=True)
    assert inside.read_text() == '{"text": "acknowledged"}\n'


class Clock:
    """Time that passes by sleeping; long pauses, as those of another thread, are real but short."""

    def __init__(self):
        self.now, self.slept = 100.0, []

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        if seconds > 0.1:
            time.sleep(0.005)
        else:
            self.now += seconds


def test_a_file_is_waited_for_two_seconds_and_then_looked_at_often(tmp_path, monkeypatch):
    clock, flushed = Clock(), []
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(module, "flush", flushed.append)
    file = FeedbackFile(tmp_path / "f.jsonl")
    before = set(threading.enumerate())
    with file.path.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert file.append([{"text": "a"}]) == [True]
        looks = [each for each in clock.slept if each < 0.1]
        assert set(looks) == {0.002}
        assert sum(looks) == pytest.approx(2.0, abs=0.003)
        assert set(flushed) == {tmp_path}, "the name of the file aside is on the disk"
        clock.slept.clear()
        eventually(lambda: len(clock.slept) > 3)
        assert set(clock.slept) == {0.2}
        (mover,) = set(threading.enumerate()) - before
        assert mover.daemon, "it does not keep a service from ending"
    mover.join(PATIENCE)
    assert not mover.is_alive()
    assert lines(file.path) == [{"text": "a"}]


def test_the_folder_is_flushed_once_for_each_new_file(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(module, "flush", flushed.append)
    file = FeedbackFile(tmp_path / "f.jsonl")
    for number in (1, 1, 2):
        if number > len(flushed) > 0:
            (tmp_path / "new").write_text("")
            (tmp_path / "new").replace(file.path)
        file.append([{"text": "ä"}])
        assert flushed == [tmp_path] * number
    assert file.path.read_text("utf-8") == '{"text": "ä"}\n', "as it was written"


def test_an_error_that_is_no_full_disk_is_told_as_it_is(tmp_path):
    with pytest.raises(StorageError, match="not be written: No such file or directory") as refused:
        FeedbackFile(tmp_path / "none" / "f.jsonl").append([{"text": "a"}])
    assert not isinstance(refused.value, FullDiskError)


def test_a_folder_that_does_not_exist_is_told_to_be_missing(tmp_path):
    with pytest.raises(InputError, match=r"the folder .*none does not exist: make it"):
        FeedbackFile(tmp_path / "none" / "f.jsonl").check()


def test_a_folder_that_may_not_be_written_is_refused_at_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr(module.os, "access", lambda place, mode: place != tmp_path)
    with pytest.raises(InputError, match="is no folder that can be written to"):
        FeedbackFile(tmp_path / "f.jsonl").check()


@pytest.mark.parametrize("tail", [1, 4, 13, 14, 15])
def test_the_last_line_is_found_however_much_is_read_at_once(tmp_path, monkeypatch, tail):
    monkeypatch.setattr(module, "TAIL", tail)
    file = FeedbackFile(tmp_path / "f.jsonl")
    whole = '{"text": "a"}\n'
    for left, kept in (("", ""), ('{"te', ""), ('{"text": 2}', '{"text": 2}\n')):
        for before in ("", whole, whole * 2):
            file.path.write_text(before + left)
            file.append([{"text": "b"}])
            assert file.path.read_text() == before + kept + '{"text": "b"}\n'
