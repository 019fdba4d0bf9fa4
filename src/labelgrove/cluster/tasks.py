"""Functions run on a cluster: some at a time, tried again if a worker or a node dies."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from typing import Any

from labelgrove.cluster.connection import Cluster
from labelgrove.cluster.failures import explain, pack, unpack
from labelgrove.cluster.versions import compare, versions_here
from labelgrove.core.errors import InputError

NAMESPACE = b"labelgrove"  # of the keys that say that a run has begun
PATIENCE = 10.0  # seconds without a result after which the user is told why
PER_CPU = 2  # tasks submitted for each CPU, so that none waits for the next


def run_tasks(
    cluster: Cluster,
    function: Callable[..., Any],
    jobs: Iterable[Any],
    *,
    shared: Sequence[Any] = (),
    in_flight: int | None = None,
    max_retries: int = 3,
    patience: float = PATIENCE,
) -> Generator[tuple[int, Any], None, None]:
    """Run ``function(job, *shared)`` for each job, and give results as they are ready.

    Parameters
    ----------
    cluster
        Where they run, each on one CPU.
    function
        A function of a module that nodes can import. It may run again after a worker died in
        it, so what it writes must be whole or absent.
    jobs
        What is to be done; read only as far as there is room for more.
    shared
        Further arguments of every call. Large ones come from `Cluster.put`, so that they are
        sent to each node once.
    in_flight
        Most tasks that are submitted at a time; two for each CPU of the cluster by default.
    max_retries
        How many times a task is tried again if its process or node dies.
    patience
        Seconds without a result after which the user is told what is waited for.

    Yields
    ------
    The number of a job, counted from 0, and its result, in the order of completion. An error
    that ``function`` raises is raised here, and the other tasks are cancelled.
    """
    if in_flight is not None and in_flight < 1:
        raise InputError(f"in_flight must be a whole number from 1, got {in_flight!r}")
    import ray

    run = uuid.uuid4().bytes
    remote = ray.remote(num_cpus=1, max_retries=max_retries)(_work)
    beginning = _FirstTask(cluster, run)
    waiting: dict[Any, int] = {}  # references of results, and the numbers of their jobs
    numbered = enumerate(jobs)
    fixed = (function, tuple(cluster.versions.items()), run)
    try:
        while True:
            room = PER_CPU * max(cluster.cpus, 1) if in_flight is None else in_flight
            for number, job in islice(numbered, max(room - len(waiting), 0)):
                waiting[remote.remote(*fixed, job, *shared)] = number
            if not waiting:
                return
            ready, _ = ray.wait(list(waiting), timeout=patience)
            if not ready:
                beginning.tell()
            for reference in ready:
                number = waiting.pop(reference)
                try:
                    succeeded, value = ray.get(reference)
                except ray.exceptions.RayError as error:
                    raise explain(error, number, max_retries + 1) from error
                del reference  # or the object store keeps the result
                if not succeeded:
                    raise unpack(value)
                yield number, value
    finally:
        for reference in waiting:
            with suppress(ray.exceptions.RayError):
                ray.cancel(reference)  # by force Ray aborts if a result comes meanwhile
        beginning.forget()


class _FirstTask:
    """Whether a task of a run has begun: Ray does not tell running tasks from waiting ones."""

    def __init__(self, cluster: Cluster, run: bytes) -> None:
        self._cluster, self._run = cluster, run
        self._begun, self._free = False, cluster.free_cpus > 0
        self._told: set[str] = set()

    def tell(self) -> None:
        """Say what is waited for, once, if no task has begun."""
        from ray.experimental.internal_kv import _internal_kv_exists

        cpus = self._cluster.cpus
        if cpus < 1:
            self._say("waiting for a node: the cluster has no CPU")
        elif not self._begun:
            self._begun = bool(_internal_kv_exists(self._run, namespace=NAMESPACE))
            if not self._begun:
                taken = f"waiting for a free CPU of the cluster: all {cpus} are taken"
                self._say("starting workers" if self._free else taken)

    def forget(self) -> None:
        """Remove what tasks left in the cluster's table."""
        from ray.experimental.internal_kv import _internal_kv_del, _internal_kv_initialized

        with suppress(Exception):  # the cluster may be gone, and the key is small
            if _internal_kv_initialized():
                _internal_kv_del(self._run, namespace=NAMESPACE)

    def _say(self, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            self._cluster.progress.say(message)


def _work(
    function: Callable[..., Any],
    versions: tuple[tuple[str, str], ...],
    run: bytes,
    job: Any,
    *shared: Any,
) -> tuple[bool, Any]:
    """Run a job in a worker; return whether that succeeded, and its result or error."""
    try:
        _prepare(versions, run)
        return True, function(job, *shared)
    except Exception as error:
        return False, pack(error)


@cache
def _prepare(versions: tuple[tuple[str, str], ...], run: bytes) -> None:
    """Do what the first task of a run in a process has to: nodes may have joined meanwhile."""
    import socket

    from ray.experimental.internal_kv import _internal_kv_put

    compare(socket.gethostname(), versions_here(), dict(versions))
    _internal_kv_put(run, b"", namespace=NAMESPACE)
