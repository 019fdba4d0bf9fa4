"""Tagging on a real cluster gives what tagging without one gives."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

import cluster_jobs
from labelgrove.cluster import tagging
from labelgrove.cluster.tagging import rank_batches_on, tag_on_node, tag_parts_on
from labelgrove.core.errors import ClusterError
from labelgrove.core.progress import Silent
from labelgrove.corpus import read_corpus
from labelgrove.models.contract import known_answer
from labelgrove.tagger import Tagger, batches
from labelgrove.tagger.bulk import InputFile, PartTask, tag_files
from processes import PATIENCE

FILES = 6
# Ray 2.60's core sometimes dies of this when its driver ends while a task does; parts stay whole
RAYS_BUG = "An unexpected system state has occurred"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "tagger"
    Tagger("bonsai", validation=0, threads=1).fit(*known_answer(60)).save(folder)
    return folder


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    texts, _ = known_answer(FILES * 20)
    for number in range(FILES):
        rows = [json.dumps({"text": text}) for text in texts[number * 20 : number * 20 + 20]]
        (folder / f"documents-{number}.jsonl").write_text("\n".join(rows) + "\n")
    return sorted(map(str, folder.iterdir()))


@pytest.fixture(scope="module")
def expected(saved, inputs, tmp_path_factory):
    """What is written without a cluster."""
    out = tmp_path_factory.mktemp("expected") / "out"
    tag_files(saved, inputs, out)
    return parts(out)


def parts(out):
    return {path.name: path.read_bytes() for path in Path(out).glob("part-*")}


class Said(Silent):
    def __init__(self):
        self.lines = []

    def say(self, message):
        self.lines.append(message)


def test_the_parts_are_the_same_as_without_a_cluster(
    small_cluster, saved, inputs, expected, tmp_path
):
    out, on_cluster = tmp_path / "out", tag_parts_on(small_cluster)
    outcome = tag_files(saved, inputs, out, tag_parts=on_cluster)
    assert (outcome.parts, outcome.documents) == (FILES, 20 * FILES)
    assert parts(out) == expected
    assert sorted(path.name for path in out.iterdir()) == [*sorted(expected), "parts.json"]


def test_unreadable_inputs_are_named_and_few_inputs_are_told(
    small_cluster, saved, inputs, expected, tmp_path
):
    bad, said = tmp_path / "bad.jsonl", Said()
    bad.write_text("no JSON\n")
    outcome = tag_files(
        saved,
        [inputs[0], str(bad)],
        tmp_path / "out",
        tag_parts=tag_parts_on(small_cluster),
        progress=said,
    )
    assert list(outcome.problems) == [str(bad)]
    assert "bad.jsonl, line 1: not JSON" in outcome.problems[str(bad)]
    assert parts(tmp_path / "out") == {"part-00000.jsonl": expected["part-00000.jsonl"]}
    tag_files(
        saved, inputs[:1], tmp_path / "few", tag_parts=tag_parts_on(small_cluster), progress=said
    )
    assert said.lines == [
        "1 inputs for 2 CPUs: each is tagged by one CPU, so divide large files",
    ]


def test_a_worker_that_is_killed_in_mid_part(
    small_cluster, saved, inputs, expected, tmp_path, monkeypatch
):
    monkeypatch.setattr(tagging, "tag_on_node", cluster_jobs.tag_and_die_once)
    own = tmp_path / "tagger"
    shutil.copytree(saved, own)
    tag_files(own, inputs, tmp_path / "out", tag_parts=tag_parts_on(small_cluster))
    assert (tmp_path / "tries").exists()
    assert parts(tmp_path / "out") == expected
    tag_files(own, inputs, tmp_path / "out")  # nothing to do, and what was left is removed
    assert len(list((tmp_path / "out").iterdir())) == FILES + 1


def test_a_long_part_is_seen_to_advance(small_cluster, monkeypatch):
    monkeypatch.setattr(tagging, "SECONDS", 0.05)
    seen = []
    with tagging._Counter.started(seen.append) as counter:
        counter.actor.set.remote(0, 7)
        counter.actor.set.remote(1, 5)
        wait_for(lambda: 12 in seen)
        counter.forget(0)
        counter.actor.set.remote(0, 9)  # comes late
        wait_for(lambda: seen[-1] == 5)


def wait_for(condition):
    ends = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.01)


def a_task(out, source):
    return PartTask(0, InputFile(str(source), "1"), str(out), "0", "jsonl", 5, None, {})


def test_what_a_node_does_not_see_is_told(small_cluster, saved, inputs, tmp_path):
    checksum = json.loads((saved / "manifest.json").read_text())["checksum"]
    task = a_task(tmp_path, inputs[0])
    with pytest.raises(ClusterError, match=r"node .* does not see the tagger's folder /nowhere"):
        tag_on_node(task, "/nowhere", checksum, None)
    with pytest.raises(ClusterError, match=r"node .* has another tagger in .*checksum .* 123456"):
        tag_on_node(task, str(saved), "123456", None)
    with pytest.raises(ClusterError, match=r"does not see the folder of the results"):
        tag_on_node(task, str(saved), checksum, None)
    (tmp_path / "parts.json").touch()
    result = tag_on_node(a_task(tmp_path, "/nowhere/d.jsonl"), str(saved), checksum, None)
    assert "does not see /nowhere/d.jsonl" in result.problem
    moved = tmp_path / "moved"
    shutil.copytree(saved, moved)

    def elsewhere(saved_tagger, *others):
        shutil.rmtree(moved)
        return tag_parts_on(small_cluster)(replace(saved_tagger, checksum="other"), *others)

    with pytest.raises(ClusterError, match="does not see the tagger's folder"):
        tag_files(moved, inputs, tmp_path / "out", tag_parts=elsewhere)


def test_scores_are_the_same_as_without_a_cluster(small_cluster, saved, monkeypatch):
    monkeypatch.setattr(batches, "FIRST_DOCUMENTS", 16)
    tagger, corpus = Tagger.load(saved), read_corpus(known_answer(150))
    here = tagger.evaluate(corpus)
    there = tagger.evaluate(corpus, rank_batches=rank_batches_on(small_cluster, saved))
    assert there == here
    assert there.documents == 150


def test_a_driver_that_is_stopped_or_killed_goes_on(
    small_cluster, saved, inputs, expected, tmp_path
):
    """SIGTERM, then a kill, then a run to the end: no part twice, and all as without a cluster."""
    many = tmp_path / "many"
    many.mkdir()
    for number in range(200):
        shutil.copy(inputs[number % FILES], many / f"{number:03}.jsonl")
    out = tmp_path / "out"
    words = ["tag", str(saved), str(many / "*.jsonl"), "--out", str(out), "--cluster", "local:1"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        stopped = started(words, scratch)
        wait_for(lambda: finished(out) or stopped.poll() is not None)
        stopped.send_signal(signal.SIGTERM)
        said = stopped.communicate(timeout=PATIENCE)[1]
        if RAYS_BUG not in said:
            assert stopped.returncode == 143, said
            assert not list(Path(scratch).glob("lg-*"))
            assert said.splitlines()[-1] == (
                f"labelgrove: stopped; finished parts stay in {out}, and the same command goes on"
            )
        first = finished(out)
        killed = started(words, scratch)
        wait_for(lambda: len(finished(out)) > len(first) or killed.poll() is not None)
        processes = children(killed.pid)
        killed.kill()
        killed.communicate(timeout=PATIENCE)
        second = finished(out)
        assert 0 < len(first) < len(second) < 200
        assert first.items() <= second.items()  # no part twice
        on_cluster = tag_parts_on(small_cluster)
        outcome = tag_files(saved, [str(many / "*.jsonl")], out, tag_parts=on_cluster)
        kill(processes)  # those of its cluster take a minute to end by themselves
    assert (outcome.parts, outcome.documents) == (200, 200 * 20)
    assert second.items() <= times(out).items()
    for number, content in enumerate(parts(out)[name] for name in sorted(parts(out))):
        assert content == expected[f"part-{number % FILES:05}.jsonl"]


def started(words, scratch):
    return subprocess.Popen(
        [sys.executable, "-m", "labelgrove", *words, "--quiet"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": scratch},
    )


def times(out):
    return {path.name: path.stat().st_mtime_ns for path in out.glob("part-*")}


def finished(out):
    """The parts that have a note, and when they were written."""
    noted = {f"part-{note.stem}.jsonl" for note in out.glob(".finished-*/*.json")}
    return {name: when for name, when in times(out).items() if name in noted}


def children(process):
    return psutil.Process(process).children(recursive=True)


def kill(processes):
    for each in processes:
        with suppress(psutil.NoSuchProcess):  # it also knows when a number belongs to another
            each.kill()
