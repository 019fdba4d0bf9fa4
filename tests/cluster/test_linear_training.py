"""Linear training on a real cluster: the bytes are those of one machine, whatever dies."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext

import numpy as np
import pytest
from scipy.sparse import csr_array

import cluster_jobs
from command_line import called, labelgrove
from labelgrove.cluster import ClusterWorkers
from labelgrove.core.errors import ClusterError
from labelgrove.core.features import Views
from labelgrove.core.progress import Silent
from labelgrove.core.types import FitContext, Run
from labelgrove.models.grove.grove import Grove
from labelgrove.models.linear import remote_training, tasks
from labelgrove.models.linear.bonsai import Bonsai
from labelgrove.models.linear.classifier_chain import ClassifierChain
from labelgrove.models.linear.one_vs_rest import OneVsRest
from labelgrove.models.linear.parabel import Parabel
from labelgrove.tagger import Tagger
from processes import PATIENCE, gone, needs_proc

N_LABELS, D = 60, 10
GIVEN = {"dense": "static:potion", "dense_weight": 0.5}
MODELS = {
    "one-vs-rest": OneVsRest(),
    "classifier-chain": ClassifierChain(chains=2),
    "parabel": Parabel(max_leaf=8),
    "bonsai": Bonsai(branching=4, max_leaf=8, trees=2),
    "bonsai, dense": Bonsai(branching=4, max_leaf=8, **GIVEN),
    "classifier-chain, dense": ClassifierChain(chains=2, **GIVEN),
}


@pytest.fixture(autouse=True)
def narrow_blocks(monkeypatch):
    monkeypatch.setattr(tasks, "BLOCK", 4)  # many tasks for few labels


@pytest.fixture(scope="module")
def data():
    """Words give away the labels, vectors the sum of their directions."""
    rng = np.random.default_rng(0)
    Y = (rng.random((400, N_LABELS)) < 2.5 / N_LABELS).astype(np.float32)
    noise = rng.random((400, 30)) * (rng.random((400, 30)) < 0.2)
    text = csr_array(np.hstack([Y * rng.uniform(0.5, 1, Y.shape), noise]).astype(np.float32))
    dense = Y @ rng.standard_normal((N_LABELS, D)) + 0.1
    dense /= np.linalg.norm(dense, axis=1, keepdims=True)
    return Views({"text": text, "dense": dense.astype(np.float32)}), csr_array(Y)


class Watched(ClusterWorkers):
    """Counts groups; has a worker killed once if ``mark`` is a path."""

    def __init__(self, cluster, mark=None):
        super().__init__(cluster)
        self.mark, self.groups = mark, []

    def run(self, function, jobs, shared=()):
        def noted():
            for job in jobs:
                self.groups.append(len(job))
                yield job

        if self.mark is None:
            return super().run(function, noted(), shared)
        return super().run(cluster_jobs.die_once_in, noted(), (function, str(self.mark), *shared))


class Stopping(Silent):
    """Interrupts like Ctrl-C after some groups of labels."""

    def __init__(self, after):
        self.after = after

    def task(self, *arguments, **options):
        return nullcontext(self)

    def advance(self, steps=1, **facts):
        self.after -= 1
        if self.after == 0:
            raise KeyboardInterrupt


def fitted(model, data, **run):
    X, Y = data
    X = X if getattr(model, "dense", "") else X["text"]
    return model.fresh().fit(X, Y, context=FitContext(run=Run(**run)))


def written(folder):
    """Return the bytes of all files, without the moment at which the folder was made.

    The last line of the card has the checksum of the manifest, which tells that moment.
    """
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found[os.fspath(path.relative_to(folder))] = path.read_bytes()
    about = json.loads(found.pop("manifest.json", b"{}"))
    if "README.md" in found:
        found["README.md"] = found["README.md"].rpartition(b"<!-- labelgrove card")[0]
    about.pop("created", None)
    about.pop("checksum", None)  # of the manifest itself
    return found, about


def assert_same(one, other):
    (files, about), (others, other_about) = written(one), written(other)
    assert files.keys() == others.keys()
    assert [name for name in files if files[name] != others[name]] == []
    assert about == other_about
    assert len(files) > 3


@pytest.mark.parametrize("name", MODELS)
def test_the_bytes_are_those_of_one_machine(small_cluster, data, name, tmp_path):
    workers = Watched(small_cluster)
    fitted(MODELS[name], data).save(tmp_path / "alone")
    fitted(MODELS[name], data, workers=workers).save(tmp_path / "cluster")
    assert_same(tmp_path / "alone", tmp_path / "cluster")
    assert workers.n_done == len(workers.groups) > 1


def test_the_grouping_changes_nothing(small_cluster, data, tmp_path, monkeypatch):
    counts = []
    for seconds in (0, 1000):
        monkeypatch.setattr(remote_training, "SECONDS", seconds)
        workers = Watched(small_cluster)
        fitted(MODELS["bonsai"], data, workers=workers).save(tmp_path / str(seconds))
        counts.append(workers.groups)
    assert set(counts[0]) == {1}
    assert len(counts[1]) < len(counts[0])
    assert sum(counts[0]) == sum(counts[1])
    assert_same(tmp_path / "0", tmp_path / "1000")


def test_a_model_made_of_models_uses_it_too(small_cluster, tmp_path):
    labels = [[f"label {number % 7}", f"label {number % 3}"] for number in range(150)]
    texts = [
        " ".join(f"{each.replace(' ', '')}x{n % 5}" for each in row) for n, row in enumerate(labels)
    ]
    workers = ClusterWorkers(small_cluster)
    for name, run in (("alone", Run()), ("cluster", Run(workers=workers))):
        Tagger(Grove(), threads=1).fit(texts, labels, run=run).save(tmp_path / name)
    assert workers.n_done
    assert_same(tmp_path / "alone", tmp_path / "cluster")


def test_a_killed_worker_costs_one_group(small_cluster, data, tmp_path):
    workers = Watched(small_cluster, tmp_path / "mark")
    fitted(MODELS["bonsai"], data).save(tmp_path / "alone")
    fitted(MODELS["bonsai"], data, workers=workers).save(tmp_path / "cluster")
    assert (tmp_path / "mark").exists()
    assert workers.n_done == len(workers.groups)
    assert_same(tmp_path / "alone", tmp_path / "cluster")


def test_ctrl_c_keeps_what_is_done_and_frees_the_cluster(small_cluster, data, tmp_path):
    run, model = tmp_path / "run", MODELS["bonsai"]
    workers = ClusterWorkers(small_cluster)
    with pytest.raises(KeyboardInterrupt):
        fitted(model, data, workers=workers, folder=run, progress=Stopping(5))
    assert len([*run.glob("part-*")]) == 1
    resumed = Watched(small_cluster)
    fitted(model, data, workers=resumed, folder=run, resume=True).save(tmp_path / "resumed")
    whole = Watched(small_cluster)
    fitted(model, data, workers=whole).save(tmp_path / "whole")
    assert sum(resumed.groups) == sum(whole.groups) - 5
    assert_same(tmp_path / "resumed", tmp_path / "whole")


def test_errors_of_workers_keep_what_is_done(small_cluster, data, tmp_path, monkeypatch):
    class Failing(ClusterWorkers):
        def run(self, function, jobs, shared=()):
            for number, result in super().run(function, jobs, shared):
                if self.n_done == 4:
                    raise ClusterError("task 3 could not be done: its node ran out of memory")
                yield number, result

    with pytest.raises(ClusterError, match="task 3 could not be done"):
        fitted(MODELS["bonsai"], data, workers=Failing(small_cluster), folder=tmp_path / "run")
    assert len([*(tmp_path / "run").glob("part-*")]) == 1


def test_a_cluster_that_is_not_worth_it_is_told(small_cluster, data, monkeypatch):
    class Told(Silent):
        lines = ()

        def say(self, message):
            self.lines = (*self.lines, message)

    told, workers = Told(), ClusterWorkers(small_cluster)
    fitted(MODELS["one-vs-rest"], data, workers=workers, progress=told)
    assert told.lines == (), "it took no time"
    monkeypatch.setattr(remote_training, "WORTH_TELLING", 0)
    fitted(OneVsRest(threads=1000), data, workers=workers, progress=told)
    assert "most time went into moving data" in told.lines[-1]


EAGER = """
import runpy, sys, time
from labelgrove.models.linear import checkpoints, tasks

def add(self, task, chunk, original=checkpoints.TaskCheckpoint.add):
    original(self, task, chunk)
    time.sleep(0.05)

checkpoints.FLUSH_SECONDS = 0.0
checkpoints.TaskCheckpoint.add = add
sys.argv[0] = "labelgrove"
runpy.run_module("labelgrove", run_name="__main__")
"""


def ray_processes():
    """Return the processes of local clusters, by the folder that their names begin with."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True)
    return {
        int(line.split(None, 1)[0]): line
        for line in listed.stdout.splitlines()[1:]
        if "/lg-" in line and ("raylet" in line or "gcs_server" in line)
    }


@needs_proc
def test_a_killed_driver_leaves_no_process_and_goes_on(tmp_path):
    """From the command line, on a cluster of its own; it goes on without one."""
    rng = np.random.default_rng(0)
    with (tmp_path / "train.jsonl").open("w") as file:
        for _ in range(600):
            labels = rng.integers(0, 100, 2).tolist()
            words = [f"w{label}x{rng.integers(8)}" for label in labels for _ in range(4)]
            row = {"text": " ".join(words), "labels": [f"label{label}" for label in labels]}
            file.write(json.dumps(row) + "\n")
    settings = ["--model=bonsai", "--set=branching=8", "--set=max_leaf=8", "--validation=0"]
    call = ["train", tmp_path / "train.jsonl", *settings, "--threads=1", "--out"]
    others, run = ray_processes(), tmp_path / "found.run" / "model"
    process = subprocess.Popen(
        [sys.executable, "-c", EAGER, *map(str, call), tmp_path / "found", "--cluster=local:2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    ends = time.monotonic() + PATIENCE
    try:
        while process.poll() is None and len([*run.glob("part-*")]) < 2:
            assert time.monotonic() < ends
            time.sleep(0.002)
        own = ray_processes().keys() - others.keys()
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert process.returncode == -signal.SIGKILL, "the training ended before it was killed"
    assert all(map(gone, own))
    said = labelgrove(*call, tmp_path / "found", "--resume").stderr
    assert "resuming: " in said
    labelgrove(*call, tmp_path / "whole")
    assert_same(tmp_path / "found", tmp_path / "whole")


def test_a_model_without_use_for_a_cluster_is_refused_before_one_is_opened(tmp_path):
    (tmp_path / "train.jsonl").write_text('{"text": "a b", "labels": ["l"]}\n' * 20)
    words = ["train", tmp_path / "train.jsonl", "--out", tmp_path / "t", "--model=knn"]
    done = called(*words, "--cluster=local:1", check=2)
    assert done.stderr.startswith("labelgrove: no part of a training of knn can run on a cluster")
    assert not (tmp_path / "t").exists()


def test_an_estimate_tells_of_the_cluster(tmp_path):
    lines = [json.dumps({"text": f"w{n % 9}", "labels": [f"l{n % 9}"]}) for n in range(120)]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    words = ["train", tmp_path / "train.jsonl", "--out", tmp_path / "t", "--estimate"]
    done = called(*words, "--model=bonsai", "--cluster=local:64")
    assert "training will take about 0:00:0" in done.stdout
    assert "on the 64 CPUs of the cluster about 0:00:0" in done.stdout
    assert not (tmp_path / "t").exists()
