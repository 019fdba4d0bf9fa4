import os
import signal
import socket
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

import cluster_jobs
from labelgrove.cluster import open_cluster, probing, run_tasks
from labelgrove.core.errors import ClusterError, InputError, MissingExtraError
from labelgrove.core.progress import Silent
from processes import PATIENCE, gone, needs_proc

STORE = 100 * 2**20


class Said(Silent):
    def __init__(self):
        self.lines = []

    def say(self, message):
        self.lines.append(message)


def opening(address):
    said = Said()
    try:
        with open_cluster(address, progress=said):
            raise AssertionError("it was opened")
    except ClusterError:
        (first,) = said.lines  # what takes long is said before
        assert first in (f"opening the cluster at {address}", "looking for the cluster")
        raise


@pytest.fixture
def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_an_address_that_does_not_answer(closed_port):
    with pytest.raises(ClusterError, match=f"127.0.0.1:{closed_port} does not answer"):
        opening(f"127.0.0.1:{closed_port}")


def test_a_host_that_is_not_known():
    with pytest.raises(ClusterError, match=r"no-such-host.invalid:6379 does not answer"):
        opening("no-such-host.invalid:6379")


def test_a_service_that_is_no_cluster(monkeypatch):
    monkeypatch.setattr(probing, "PROBE_SECONDS", 3)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(ClusterError, match=f"127.0.0.1:{port} is no Ray cluster"):
            opening(f"127.0.0.1:{port}")


def test_the_address_of_the_environment_is_asked(closed_port, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{closed_port}")
    with pytest.raises(ClusterError, match=f"127.0.0.1:{closed_port} does not answer"):
        opening("auto")


def test_what_is_wrong_in_the_environment_is_named(monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "nonsense")
    with pytest.raises(InputError, match="RAY_ADDRESS must be HOST:PORT, got 'nonsense'"):
        opening("auto")


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"needs ray.*labelgrove\[cluster\]"):
        opening("local:1")


def test_a_full_object_store_on_a_full_disk(monkeypatch):
    monkeypatch.setenv("RAY_local_fs_capacity_threshold", "0.0001")  # any disk is that full
    with open_cluster("local:1", object_store_memory=STORE) as cluster:
        assert [len(zeros) for _, zeros in run_tasks(cluster, cluster_jobs.zeros, [20])]
        with pytest.raises(ClusterError, match=r"task 0 could not be done: the object store and"):
            list(run_tasks(cluster, cluster_jobs.zeros, [120]))
        with pytest.raises(ClusterError, match=r"the object store of this machine and the disk"):
            cluster.put(cluster_jobs.zeros(120))


@needs_proc
def test_a_local_cluster_ends_and_leaves_nothing(capfd):
    home = Path.home() / ".ray"
    said = Said()
    had_home, handler, before = home.exists(), signal.getsignal(signal.SIGTERM), dict(os.environ)
    for number in range(2):  # a second one has another token, and is ended by SIGTERM
        ending = pytest.raises(KeyboardInterrupt) if number else nullcontext()
        with ending, open_cluster("local:1", object_store_memory=STORE, progress=said) as cluster:
            import ray

            node = ray._private.worker._global_node
            folder, processes = Path(node.get_session_dir_path()).parent, node.live_processes()
            assert cluster.cpus == 1
            assert [node.cpus for node in cluster.nodes] == [1]
            assert list(run_tasks(cluster, cluster_jobs.square, [3])) == [(0, 9)]
            if number:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(PATIENCE)
        assert processes
        assert all(gone(each.pid) for _, each in processes)
        assert not folder.exists()
    assert home.exists() == had_home
    assert dict(os.environ) == before
    assert signal.getsignal(signal.SIGTERM) == handler
    assert capfd.readouterr() == ("", "")
    opened = ["starting a cluster on this machine: CPUs 1", "the cluster is open: nodes 1, CPUs 1"]
    assert [line for line in said.lines if line != "starting workers"] == [*opened, *opened]
