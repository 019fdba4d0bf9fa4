"""How long a linear training will take: some of its tasks are carried out and timed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.random import generator
from labelgrove.labels import LabelTree
from labelgrove.models.linear.node_training import FrequentFirst, Level, train_task
from labelgrove.models.linear.solver import Solver
from labelgrove.models.linear.tasks import BLOCK, Chunk, NodeTask, tasks_of

MOST_DOCUMENTS = 20_000  # of more, a random part is learned from
SECONDS = 4.0  # that the tasks of a level may take, beyond which no other is begun
MOST_TASKS = 24  # of a level
RANKING = 0.1  # of the work of the levels above: ranking by them for negatives, which is not timed
FLOAT = 4  # bytes


class TaskEstimate(NamedTuple):
    """What the tasks of a training need.

    Parameters
    ----------
    work
        Seconds of one CPU, which divide.
    ranking
        Seconds of one CPU in which threads of this machine rank negatives.
    memory
        Bytes on one machine.
    """

    work: float
    ranking: float
    memory: int


def estimate_tasks(
    X: csr_array,
    Y: csr_array,
    trees: Sequence[LabelTree],
    solver: Solver,
    threads: int,
    dense: NDArray[np.float32] | None = None,
) -> TaskEstimate:
    """Return about what `train_forest` needs with the same arguments.

    In each level some tasks are carried out, large and small ones, and what they need for a unit
    of work is taken for all. Instead of the negatives that the levels above would find, random
    ones are learned from, which are easier.
    """
    n = X.shape[0]
    rows = np.arange(n)
    if n > MOST_DOCUMENTS:
        rows = np.sort(generator(solver.seed, "estimate").permutation(n)[:MOST_DOCUMENTS])
    more = n / max(len(rows), 1)
    X_part, Y_part = csr_array(X[rows]), csr_array(Y[rows])
    x = FrequentFirst(X_part, None if dense is None else dense[rows])
    _warm_up(x, Y_part, solver)
    work = ranking = model = 0.0
    for number, tree in enumerate(trees):
        above = 0.0
        for level in range(tree.depth):
            here = Level(Y_part, tree, level)
            if level and solver.negatives:
                here.add(_random_nodes(len(rows), tree.n_nodes(level), solver))
                ranking += RANKING * above
            tasks = list(tasks_of(number, tree, level))
            if not tasks:
                continue
            seconds, held = _timed(tasks, here, partial(train_task, x), solver)
            above += seconds * more
            work += seconds * more
            model += held
    own = n * BLOCK * FLOAT + X.shape[1] * BLOCK * FLOAT + _size(X)  # of a thread: the root's task
    given = 2 * _size(X) + Y.data.nbytes + (0 if dense is None else dense.nbytes)
    return TaskEstimate(work, ranking, int(given + threads * own + 2 * model))


def _timed(
    tasks: Sequence[NodeTask], level: Level, train: partial[Chunk], solver: Solver
) -> tuple[float, float]:
    """Return the seconds of all tasks of a level, and the bytes of what they learn."""
    sizes = np.array([level.work(task) for task in tasks], float)
    # one in each of so many equal parts of the work, so that large tasks count as much as they are
    places = np.cumsum(sizes) / max(sizes.sum(), 1)
    wanted = (np.arange(MOST_TASKS) + 0.5) / MOST_TASKS
    sample = np.unique(np.minimum(np.searchsorted(places, wanted), len(tasks) - 1))
    generator(solver.seed, "estimate", "tasks").shuffle(sample)
    began, done, held = time.perf_counter(), 0.0, 0.0
    for i in sample.tolist():
        learned = train(level, solver, tasks[i])
        done += sizes[i]
        held += sum(array.nbytes for array in learned)
        if time.perf_counter() - began > SECONDS:
            break
    all_of_done = sizes.sum() / max(done, 1)
    return (time.perf_counter() - began) * all_of_done, held * all_of_done


def _random_nodes(n: int, n_nodes: int, solver: Solver) -> csr_array:
    """Return as many nodes for each of n documents as the levels above would find."""
    width = min(solver.negatives, n_nodes)
    drawn = generator(solver.seed, "estimate", "negatives").integers(0, n_nodes, n * width)
    nodes = csr_array(
        (np.ones(n * width, np.float32), drawn, np.arange(n + 1) * width), shape=(n, n_nodes)
    )
    nodes.sum_duplicates()
    return nodes


def _warm_up(x: FrequentFirst, Y: csr_array, solver: Solver) -> None:
    """Compile or load the kernels, which happens once."""
    few = LabelTree([np.zeros(Y.shape[1], np.int32)])
    empty = csr_array(Y.shape, dtype=np.float32)
    train_task(x, Level(empty, few, 0), solver, NodeTask(0, 0, 0, 0, 1))


def _size(X: csr_array) -> int:
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
