"""Searches whose trials a real cluster makes: they find what a search on one machine finds."""

import json
import os
import signal
import tempfile
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

import labelgrove.cluster
from command_line import called
from labelgrove.cluster import ClusterTrials, open_cluster
from labelgrove.cluster.connection import ClusterNode
from labelgrove.cluster.trial_process import pack_files, unpack_files
from labelgrove.core.errors import ClusterError
from labelgrove.core.progress import Silent
from labelgrove.corpus import read_corpus
from labelgrove.models import MODELS
from labelgrove.models.contract import known_answer
from labelgrove.tuning import tune
from labelgrove.tuning.dataset_cache import DatasetCache
from processes import PATIENCE

STORE = 200 * 2**20
WORDS = {
    **{"model": "planted", "trials": 6, "jobs": 1, "threads": 1},
    "ranges": {"x": "-10..10", "text.min_df": "1,2"},
}


@pytest.fixture(scope="module")
def small_cluster(planted_for_all):
    with open_cluster("local:2", object_store_memory=STORE) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def corpus():
    return known_answer(400)


@pytest.fixture(scope="module")
def hosts(small_cluster):
    return ClusterTrials(small_cluster)


def told(found):
    """Return all that a search has found but the seconds."""
    return [{**trial.record(), "seconds": 0} for trial in found.trials]


@pytest.fixture(scope="module")
def alone(corpus):
    """A search on this machine, with trials that are asked whether to go on."""
    return tune(*corpus, **WORDS)


def test_the_search_is_the_same_as_without_a_cluster(hosts, corpus, alone):
    shared = tune(*corpus, **WORDS, hosts=hosts)
    assert told(shared) == told(alone)
    assert shared.facts == alone.facts
    assert len(shared.trials) == 6
    assert {trial.values["text.min_df"] for trial in shared.trials} == {1, 2}
    assert any(trial.steps for trial in shared.trials)


def test_a_killed_process_costs_the_trial_that_it_made(hosts, corpus, alone, tmp_path):
    (tmp_path / "hold").write_text("3")  # the second trial has learned from a part when it waits
    killed = []

    def kill():
        ends = time.monotonic() + PATIENCE
        while not (tmp_path / "holding").exists() and time.monotonic() < ends:
            time.sleep(0.01)
        killed.append(int((tmp_path / "holding").read_text()))
        (tmp_path / "hold").unlink()
        os.kill(killed[0], signal.SIGKILL)

    other = threading.Thread(target=kill, daemon=True)
    other.start()
    shared = tune(*corpus, **WORDS, hosts=hosts, settings={"notes": str(tmp_path)})
    assert killed
    assert told(shared) == told(alone)


def test_trials_that_fail_do_not_end_the_search(small_cluster, corpus):
    ranges = {"x": "1", "mood": "well,fails,dies"}
    hosts = ClusterTrials(small_cluster, max_retries=1)
    found = tune(
        *corpus, model="planted", trials=30, ranges=ranges, prune=False, jobs=2, hosts=hosts
    )
    failed = {trial.values["mood"]: trial.message for trial in found.trials if trial.message}
    assert failed == {
        "fails": "this mood never learns",
        "dies": "its process or node died in each of 2 attempts: there may not be enough memory "
        "for it",
    }
    assert found.best.values["mood"] == "well"


class Interrupting(Silent):
    """Stands for Ctrl-C after some trials."""

    def __init__(self, after):
        self.after = after

    def say(self, message):
        self.after -= "trial" in message
        if not self.after:
            raise KeyboardInterrupt


def test_ctrl_c_and_resume(hosts, corpus, alone, tmp_path):
    first = tune(*corpus, **WORDS, folder=tmp_path, hosts=hosts, progress=Interrupting(3))
    assert not first.complete
    assert 1 <= len(first.trials) < 6
    rest = tune(*corpus, **WORDS, folder=tmp_path, hosts=hosts, resume=True)
    for name in ("values", "scores", "state"):
        found = [getattr(trial, name) for trial in rest.trials]
        assert found == [getattr(trial, name) for trial in alone.trials]


@pytest.mark.parametrize(
    ("cpus", "jobs", "threads", "shared"),
    [
        ([8], None, None, (8, 1)),
        ([8], 2, None, (2, 4)),
        ([3, 3], 2, None, (2, 3)),
        ([3, 3], 3, None, (3, 1)),
        ([3, 3], 9, None, (6, 1)),
        ([4, 4], 2, 4, (2, 2)),
        ([0, 4], None, 2, (2, 1)),
    ],
)
def test_trials_fit_on_nodes(cpus, jobs, threads, shared):
    class Nodes:
        nodes = tuple(ClusterNode(str(n), str(n), each, 0) for n, each in enumerate(cpus))

    assert ClusterTrials(Nodes()).share(jobs, threads) == shared


def test_a_cluster_without_cpus_is_refused():
    class Nodes:
        nodes = (ClusterNode("1", "1", 0, 0),)

    with pytest.raises(ClusterError, match="the cluster has no CPU"):
        ClusterTrials(Nodes()).share(None, None)


def test_files_reach_nodes_that_cannot_read_the_folder(tmp_path):
    folder = tmp_path / "data"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "a.npy").write_bytes(b"\x00\x01")
    (folder / "empty").touch()
    files = pack_files(folder)
    for _ in range(2):  # the second comes too late
        unpack_files(files, tmp_path / "copies" / "data")
    assert (tmp_path / "copies" / "data" / "deep" / "a.npy").read_bytes() == b"\x00\x01"
    assert (tmp_path / "copies" / "data" / "empty").read_bytes() == b""
    assert [path.name for path in (tmp_path / "copies").iterdir()] == ["data"]


def test_the_command_searches_and_trains_on_a_cluster(small_cluster, tmp_path, monkeypatch):
    asked = []

    def opened(address, progress):
        asked.append(address)
        return nullcontext(small_cluster)

    monkeypatch.setattr(labelgrove.cluster, "open_cluster", opened)
    lines = [json.dumps({"text": f"w{n % 9}", "labels": [f"l{n % 9}"]}) for n in range(120)]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    words = ["tune", tmp_path / "train.jsonl", "--trials=2", "--train"]
    done = called(*words, "--out", tmp_path / "found", "--cluster=auto")
    assert asked == ["auto", "auto"], "for the search and for the training"
    assert "2 trials: " in done.stdout
    assert (tmp_path / "found" / "tagger" / "manifest.json").exists()
    assert "no part of this training" not in done.stderr


def test_a_node_that_cannot_read_the_folder_gets_a_copy(small_cluster, corpus, tmp_path):
    made = DatasetCache(
        *(read_corpus(corpus), None, 0.1),
        **{"seed": 0, "threads": 1, "folder": tmp_path, "progress": Silent()},
    )
    folder = made.find(MODELS.create("knn"), {})
    order = {"model": "knn", "settings": {}, "dataset": str(folder), "metric": "nDCG@5"}
    with ClusterTrials(small_cluster, max_retries=0).pool(1, 1) as pool:
        pool._home = "another node"
        pool._files_of(str(folder))
        folder.rename(tmp_path / "out of reach")
        pool.submit(7, {**order, "prune": False})
        task, message = pool.receive(PATIENCE)
        copies = Path(tempfile.gettempdir()) / f"labelgrove-{pool._search}"
        assert copies.exists()
    assert (task, message.keys()) == (7, {"scores", "seconds"})
    assert not copies.exists()
