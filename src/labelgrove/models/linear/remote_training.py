"""Tasks of a linear training carried out by other processes, in groups that take seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing

from labelgrove.core.progress import Progress
from labelgrove.core.remote import RemoteWorkers
from labelgrove.models.linear.node_training import Level
from labelgrove.models.linear.solver import Solver
from labelgrove.models.linear.tasks import Chunk, NodeTask

Train = Callable[[Level, Solver, NodeTask], Chunk]
SECONDS = 2.0  # that a group should take: sending it takes milliseconds, losing it little
PER_CPU = 4  # groups of a level for each CPU at least, so that all end at about the same time
WORTH_TELLING = 5.0  # seconds


class RemoteTraining:
    """Sends the tasks of a training to other processes.

    Results do not depend on how tasks are grouped: every task is seeded by its own numbers.

    Parameters
    ----------
    workers
        The processes.
    train
        Carries out a task; it brings the features, which are sent once.
    solver
        How a classifier is trained.
    """

    def __init__(self, workers: RemoteWorkers, train: Train, solver: Solver) -> None:
        self._workers, self._solver = workers, solver
        began = time.monotonic()
        self._train = workers.put(train)
        self._waited, self._worked = time.monotonic() - began, 0.0
        self._speed = 0.0  # units of `Level.work` that a worker does in a second

    def carry_out(
        self, level: Level, tasks: Sequence[NodeTask]
    ) -> Generator[tuple[NodeTask, Chunk], None, None]:
        """Yield what each task of a level learns, as it is ready."""
        began = time.monotonic()
        sizes = [level.work(task) for task in tasks]
        shared = (self._train, self._workers.put(level), self._solver)
        with closing(self._workers.run(train_group, self._groups(tasks, sizes), shared)) as results:
            for _, (seconds, learned) in results:
                self._worked += seconds
                size = sum(level.work(task) for task, _ in learned)
                self._speed = max(self._speed, size / max(seconds, 1e-6))
                for task, chunk in learned:
                    # what is read from the object store stays there until it is copied
                    yield task, Chunk(*(array.copy() for array in chunk))
        self._waited += time.monotonic() - began

    def _groups(self, tasks: Sequence[NodeTask], sizes: Sequence[int]) -> Iterator[list[NodeTask]]:
        """Divide tasks; the first groups are single tasks, which tell how large others may be."""
        most = sum(sizes) / (PER_CPU * max(self._workers.cpus, 1))
        group: list[NodeTask] = []
        filled = 0
        for task, size in zip(tasks, sizes, strict=True):
            if group and filled + size > min(most, SECONDS * self._speed):
                yield group
                group, filled = [], 0
            group.append(task)
            filled += size
        if group:
            yield group

    def tell(self, progress: Progress, threads: int) -> None:
        """Say so if the threads of this machine would have done it in half the time."""
        if self._waited > WORTH_TELLING and self._waited > 2 * self._worked / threads:
            progress.say(
                f"the cluster trained for {self._worked:.1f} s in all and took {self._waited:.1f} "
                "s for it: most time went into moving data and waiting, so it is faster without "
                "--cluster"
            )


def train_group(
    tasks: Sequence[NodeTask], train: Train, level: Level, solver: Solver
) -> tuple[float, list[tuple[NodeTask, Chunk]]]:
    """Carry out some tasks; return the seconds that took, and what each learned."""
    began = time.monotonic()
    learned = [(task, train(level, solver, task)) for task in tasks]
    return time.monotonic() - began, learned
