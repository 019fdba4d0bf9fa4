import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

import cluster_jobs
from labelgrove.cluster import run_tasks
from labelgrove.core.errors import ClusterError, InputError
from labelgrove.core.progress import Silent
from processes import PATIENCE


def gcs_client():
    from ray.experimental.internal_kv import internal_kv_get_gcs_client

    return internal_kv_get_gcs_client()


def wait_for(*paths):
    wait_until(lambda: all(path.exists() for path in paths))


def wait_until(condition):
    ends = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.05)


class Said(Silent):
    def __init__(self):
        self.lines = []

    def say(self, message):
        self.lines.append(message)


def test_every_job_has_one_result(small_cluster):
    results = dict(run_tasks(small_cluster, cluster_jobs.square, range(20)))
    assert results == {number: number * number for number in range(20)}


def test_no_jobs(small_cluster):
    assert list(run_tasks(small_cluster, cluster_jobs.square, [])) == []


def test_results_come_as_they_are_ready(small_cluster):
    list(run_tasks(small_cluster, cluster_jobs.square, range(8)))  # both processes have started
    numbers = [
        number for number, _ in run_tasks(small_cluster, cluster_jobs.sleep_and_square, [2, 0])
    ]
    assert numbers == [1, 0]


def test_few_are_in_flight_and_jobs_are_read_late(small_cluster):
    read = []

    def jobs():
        for number in range(12):
            read.append(number)
            yield number

    done = 0
    for _ in run_tasks(small_cluster, cluster_jobs.square, jobs(), in_flight=3):
        done += 1
        assert len(read) <= done + 2
    assert done == 12


@pytest.mark.parametrize("in_flight", [0, -1])
def test_a_bad_bound_is_refused(small_cluster, in_flight):
    with pytest.raises(InputError, match="in_flight must be a whole number from 1"):
        list(run_tasks(small_cluster, cluster_jobs.square, [1], in_flight=in_flight))


def test_shared_arrays_are_not_copied_and_cannot_be_changed(small_cluster):
    array = np.arange(100_000, dtype=np.float64)
    reference = small_cluster.put(array)
    rows = [np.array([1, 2]), np.array([5])]
    results = dict(run_tasks(small_cluster, cluster_jobs.total, rows, shared=[reference]))
    assert results == {0: (3.0, False), 1: (5.0, False)}


def test_workers_have_one_thread(small_cluster):
    ((_, (counts, _)),) = run_tasks(small_cluster, cluster_jobs.threads, [0])
    assert counts == ["1", "1", "1"]


def test_what_ray_says_of_nodes_stays_out_of_the_results(small_cluster, capfd):
    from ray._private.utils import publish_error_to_driver

    publish_error_to_driver("test", "A node died.", gcs_client=gcs_client())
    time.sleep(1)
    assert capfd.readouterr() == ("", "")


def test_a_killed_worker_costs_one_try(small_cluster, tmp_path):
    jobs = run_tasks(small_cluster, cluster_jobs.die_once, range(4), shared=[str(tmp_path)])
    assert dict(jobs) == {number: number for number in range(4)}
    assert (tmp_path / "1.tries").read_text() == "xx"


def test_a_task_that_always_dies_is_named(small_cluster):
    with pytest.raises(ClusterError, match=r"task 0 could not be done: .* died in each of 2"):
        list(run_tasks(small_cluster, cluster_jobs.die, [0], max_retries=1))


def test_our_errors_keep_their_message_and_exit_code(small_cluster):
    with pytest.raises(InputError) as told:
        list(run_tasks(small_cluster, cluster_jobs.fail, ["row"]))
    assert str(told.value) == "documents.jsonl, line 7: no text"
    assert told.value.exit_code == 2
    assert "in a worker on" in told.value.__notes__[0]
    with pytest.raises(InputError, match=r"^unknown model 'bonsay'; did you mean 'bonsai'"):
        list(run_tasks(small_cluster, cluster_jobs.fail, ["name"]))


def test_other_errors_are_raised_as_they_are_if_they_can_be_sent(small_cluster):
    with pytest.raises(OSError, match="No space left") as told:
        list(run_tasks(small_cluster, cluster_jobs.fail, ["full"]))
    assert told.value.errno == 28
    assert told.value.filename == "/somewhere/part-1"
    with pytest.raises(ClusterError, match="UnpicklableError: lost"):
        list(run_tasks(small_cluster, cluster_jobs.fail, ["other"]))


def test_a_result_that_cannot_be_sent(small_cluster):
    with pytest.raises(ClusterError, match=r"task 0 could not be done: .*generator"):
        list(run_tasks(small_cluster, cluster_jobs.unpicklable_result, [0]))


def test_stopping_early_cancels_the_others(small_cluster):
    jobs = [0, *[60] * 5]
    with closing(run_tasks(small_cluster, cluster_jobs.sleep_and_square, jobs)) as results:
        assert next(results) == (0, 0)
    ((_, value),) = run_tasks(small_cluster, cluster_jobs.square, [3])  # a CPU is free again
    assert value == 9


def test_an_occupied_cluster_is_told(small_cluster, tmp_path):
    said = Said()
    watched = replace(small_cluster, progress=said)
    jobs = [("quick", 0), ("a", 3), ("b", 3)]
    others = run_tasks(small_cluster, cluster_jobs.hold, jobs, shared=[str(tmp_path)])
    with closing(others):
        next(others)
        wait_for(tmp_path / "a", tmp_path / "b")
        wait_until(lambda: small_cluster.free_cpus == 0)
        assert list(run_tasks(watched, cluster_jobs.square, [3], patience=0.5)) == [(0, 9)]
    assert said.lines == ["waiting for a free CPU of the cluster: all 2 are taken"]


def test_workers_that_start_on_free_cpus_are_not_taken_for_others(small_cluster):
    said = Said()
    watched = replace(small_cluster, progress=said)
    wait_until(lambda: small_cluster.free_cpus == 2)
    assert list(run_tasks(watched, cluster_jobs.sleep_and_square, [1], patience=0)) == [(0, 1)]
    assert said.lines == ["starting workers"]


def test_a_long_task_is_not_taken_for_a_waiting_one(small_cluster):
    said = Said()
    watched = replace(small_cluster, progress=said)
    warm = run_tasks(watched, cluster_jobs.sleep_and_square, [0, 3], patience=1.2)
    assert len(list(warm)) == 2
    assert said.lines == []
