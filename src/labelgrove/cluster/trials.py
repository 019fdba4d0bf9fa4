"""Trials of a search for settings, made on a cluster."""

from __future__ import annotations

import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from labelgrove.cluster.connection import LIBRARIES, Cluster
from labelgrove.cluster.failures import unpack
from labelgrove.cluster.groups import cpus_each
from labelgrove.cluster.tasks import PATIENCE
from labelgrove.cluster.trial_process import TrialProcess, pack_files
from labelgrove.core.errors import ClusterError
from labelgrove.tuning.pool import Message

CLEANING = 5.0  # seconds for nodes to remove their copies of the data


class ClusterTrials:
    """Has a cluster make the trials of a search; give it as ``tune(hosts=...)``.

    Parameters
    ----------
    cluster
        An open cluster.
    max_retries
        How many times a trial is made again if its process or node dies.
    """

    def __init__(self, cluster: Cluster, *, max_retries: int = 3) -> None:
        self._cluster, self._max_retries = cluster, max_retries

    def share(self, jobs: int | None, threads: int | None) -> tuple[int, int]:
        """Return how many trials are made at once, and how many threads each has.

        Parameters
        ----------
        jobs
            Most trials at once; None for one for each CPU.
        threads
            Most threads of all trials together; None for all CPUs.
        """
        nodes = [node.cpus for node in self._cluster.nodes]
        if not sum(nodes):
            raise ClusterError("the cluster has no CPU: start a node with some")
        most = sum(nodes) if threads is None else min(threads, sum(nodes))
        made = most if jobs is None else min(jobs, most)
        return made, min(most // made, cpus_each(nodes, made))

    def pool(self, jobs: int, threads: int) -> ClusterTrialPool:
        """Return processes for so many trials at once."""
        return ClusterTrialPool(self._cluster, jobs, threads, self._max_retries)


@dataclass
class _Slot:
    """A process, and its trial if it has one."""

    actor: Any
    ready: Any  # a reference that is there once the process has started
    task: int | None = None
    order: Message = field(default_factory=dict)
    pending: Any = None  # a reference of the trial's next message
    asked: int = 0  # the step at which the trial waits for an answer
    answers: dict[int, Message] = field(default_factory=dict)
    deaths: int = 0


class ClusterTrialPool:
    """Processes of a cluster that make trials, each started when it is first needed.

    A trial whose process dies is made again from its beginning. It draws the same random numbers,
    so it says the same again, and what was answered before is answered the same.

    Parameters
    ----------
    cluster
        Where they run.
    jobs
        Number of processes.
    threads
        Threads, and so CPUs, of each.
    max_retries
        How many times a trial is made again.
    """

    def __init__(self, cluster: Cluster, jobs: int, threads: int, max_retries: int) -> None:
        import ray

        self._cluster, self._jobs, self._threads = cluster, jobs, threads
        self._max_retries = max_retries
        self._slots: list[_Slot] = []
        self._files: dict[str, list[Any]] = {}  # of each dataset, in the object store
        self._home = ray.get_runtime_context().get_node_id()
        self._search = uuid.uuid4().hex
        self._told, self._free = False, cluster.free_cpus

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        import ray

        actors = [slot.actor for slot in self._slots]
        with suppress(ray.exceptions.RayError):  # a node that is gone cannot clean up
            if any(self._files.values()):
                ray.wait(
                    [actor.forget.remote() for actor in actors],
                    num_returns=len(actors),
                    timeout=CLEANING,
                )
        for actor in actors:
            with suppress(ray.exceptions.RayError):
                ray.kill(actor)

    @property
    def busy(self) -> list[int]:
        """Numbers of the trials under way."""
        return [slot.task for slot in self._slots if slot.task is not None]

    @property
    def is_free(self) -> bool:
        """True if another trial can be submitted."""
        return len(self.busy) < self._jobs

    def submit(self, task: int, order: Message) -> None:
        """Start a trial in a free process."""
        free = [slot for slot in self._slots if slot.task is None]
        slot = free[0] if free else self._start()
        if not free:
            self._slots.append(slot)
        slot.task, slot.order, slot.answers, slot.deaths = task, order, {}, 0
        self._begin(slot)

    def reply(self, task: int, message: Message) -> None:
        """Send the process of a trial the answer that it waits for."""
        slot = next(slot for slot in self._slots if slot.task == task)
        slot.answers[slot.asked] = message
        slot.pending = slot.actor.go_on.remote(message)

    def receive(self, seconds: float | None) -> tuple[int, Message] | None:
        """Return the number of a trial and its next message, or None after ``seconds``.

        Any message without a ``"step"`` ends the trial.
        """
        import ray

        ends = None if seconds is None else time.monotonic() + seconds
        while True:
            left = PATIENCE if ends is None else min(PATIENCE, max(ends - time.monotonic(), 0))
            pending = {slot.pending: slot for slot in self._slots if slot.task is not None}
            ready, _ = ray.wait(list(pending), timeout=left)
            if ready:
                slot = pending[ready[0]]
                task, message = slot.task, self._message(slot)
                if task is not None and message is not None:
                    return task, message
            elif ends is not None and time.monotonic() >= ends:
                return None
            else:
                self._tell()

    def _message(self, slot: _Slot) -> Message | None:
        """Return the next message of a trial, or None if there is nothing to say of it yet."""
        import ray

        try:
            message: Message = ray.get(slot.pending)
        except ray.exceptions.RayError:  # the process or its node died
            return self._again(slot)
        if "failed" in message:
            raise unpack(message["failed"])
        if "step" not in message:
            slot.task = slot.pending = None
            return message
        slot.asked = message["step"]
        if slot.asked in slot.answers:  # it has begun anew and comes by here again
            slot.pending = slot.actor.go_on.remote(slot.answers[slot.asked])
            return None
        return message

    def _again(self, slot: _Slot) -> Message | None:
        """Begin a trial anew in another process, or give it up."""
        import ray

        with suppress(ray.exceptions.RayError):
            ray.kill(slot.actor)
        slot.deaths += 1
        if slot.deaths > self._max_retries:
            self._slots.remove(slot)
            return {
                "error": f"its process or node died in each of {slot.deaths} attempts: there may "
                "not be enough memory for it"
            }
        fresh = self._start()
        slot.actor, slot.ready = fresh.actor, fresh.ready
        self._begin(slot)
        return None

    def _begin(self, slot: _Slot) -> None:
        files = self._files_of(slot.order["dataset"])
        slot.pending = slot.actor.begin.remote(slot.order, files)

    def _files_of(self, folder: str) -> list[Any]:
        """Return a reference of a dataset's files, for nodes that cannot read the folder."""
        if folder not in self._files:
            others = any(node.id != self._home for node in self._cluster.nodes)
            packed = [self._cluster.put(pack_files(Path(folder)))] if others else []
            if not packed:
                return packed  # a node that can join later needs them
            self._files[folder] = packed
        return self._files[folder]

    def _start(self) -> _Slot:
        import ray

        own: dict[str, Any] = {"num_cpus": self._threads, "max_restarts": 0}
        own["max_concurrency"] = 2  # it cleans up also in the middle of a trial
        if self._threads > 1:  # one is what all workers have; with it a waiting process is taken
            threads = {f"{name}_NUM_THREADS": str(self._threads) for name in LIBRARIES}
            own["runtime_env"] = {"env_vars": threads}
        remote = ray.remote(**own)(TrialProcess)
        actor = remote.remote(self._cluster.versions, self._home, self._search)
        return _Slot(actor, actor.ready.remote())

    def _tell(self) -> None:
        """Say what is waited for, once, if a process has not started."""
        import ray

        waiting = [slot.ready for slot in self._slots if slot.task is not None]
        started, _ = ray.wait(waiting, num_returns=len(waiting), timeout=0)
        if not self._told and len(started) < len(waiting):
            self._told = True
            begun = f"{len(started)} of {len(waiting)} trials have begun"
            free = self._free >= self._threads * len(waiting)
            taken = f"waiting for free CPUs, {self._threads} for each trial: {begun}"
            self._cluster.progress.say(f"starting workers: {begun}" if free else taken)
