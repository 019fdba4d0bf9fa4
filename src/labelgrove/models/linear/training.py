"""Training the classifiers of label trees, level after level."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.threads import workers
from labelgrove.core.types import Run
from labelgrove.labels import LabelTree
from labelgrove.models.linear.checkpoints import TaskCheckpoint, fingerprint
from labelgrove.models.linear.forest import Forest
from labelgrove.models.linear.forest_builder import build_forest
from labelgrove.models.linear.node_training import FrequentFirst, Level, train_task
from labelgrove.models.linear.remote_training import RemoteTraining
from labelgrove.models.linear.solver import Solver
from labelgrove.models.linear.tasks import Chunk, NodeTask, in_threads, tasks_of


def train_forest(
    X: csr_array,
    Y: csr_array,
    trees: Sequence[LabelTree],
    solver: Solver,
    run: Run,
    threads: int | None,
    dense: NDArray[np.float32] | None = None,
) -> Forest:
    """Train every classifier of some label trees.

    The root learns from all documents, also from those without labels; a node from those that
    have a label below it and, with ``solver.negatives``, that the levels above find likely to.
    Tasks of a level are independent, so they run in threads or on the run's workers and in any
    order, level after level; finished ones are kept in the run folder, and a resumed training does
    not repeat them.

    Parameters
    ----------
    X
        Features, shape (n, D).
    Y
        Labels, shape (n, L).
    trees
        Trees over the L labels.
    solver
        How a classifier is trained.
    run
        Folder, resume, progress and workers.
    threads
        Threads; None for all cores.
    dense
        Dense columns beside X, shape (n, d), or None.
    """
    X = csr_array(X, dtype=np.float32)
    # a checksum reads all of X: only where there is something to compare it with
    more = () if dense is None else (dense,)
    checkpoint = TaskCheckpoint(run, fingerprint(X, Y, trees, solver, more) if run.folder else "")
    x = FrequentFirst(X, dense)

    def level_of(number: int, level: int, done: dict[NodeTask, Chunk]) -> Level:
        here = Level(Y, trees[number], level)
        if level and solver.negatives:
            above = _upper_part(trees[number], number, level, done, X.shape[1])
            here.add(_likely(X, dense, above, trees[number].n_nodes(level), solver, threads))
        return here

    work = partial(train_task, x)
    done = train_levels(trees, level_of, work, solver, checkpoint, run, threads)
    return build_forest(trees, done, X.shape[1])


def train_levels(
    trees: Sequence[LabelTree],
    level_of: Callable[[int, int, dict[NodeTask, Chunk]], Level],
    train: Callable[[Level, Solver, NodeTask], Chunk],
    solver: Solver,
    checkpoint: TaskCheckpoint,
    run: Run,
    threads: int | None,
) -> dict[NodeTask, Chunk]:
    """Return what every task of some trees learns.

    Parameters
    ----------
    trees
        Trees over the labels.
    level_of
        Returns what the nodes of a level learn from: given the number of the tree, the level, and
        what has been learned so far.
    train
        Carries out a task.
    solver
        How a classifier is trained.
    checkpoint
        Tasks that are finished.
    run
        Shows the progress; its workers carry out tasks, if there are any.
    threads
        Threads; None for all cores.
    """
    done = checkpoint.load()
    n_threads = workers(threads)
    remote = None if run.workers is None else RemoteTraining(run.workers, train, solver)

    def carry_out(
        here: Level, todo: Sequence[NodeTask]
    ) -> Generator[tuple[NodeTask, Chunk], None, None]:
        if remote is not None:
            return remote.carry_out(here, todo)
        return in_threads(partial(train, here, solver), todo, n_threads)

    levels = [(number, level) for number, tree in enumerate(trees) for level in range(tree.depth)]
    total = sum(len(list(tasks_of(number, trees[number], level))) for number, level in levels)
    with run.progress.task("training", total, "groups of labels", len(done)) as shown:
        try:
            for number, level in levels:
                todo = [t for t in tasks_of(number, trees[number], level) if t not in done]
                if not todo:
                    continue
                here = level_of(number, level, done)
                todo.sort(key=here.work, reverse=True)
                with closing(carry_out(here, todo)) as results:
                    for task, chunk in results:
                        done[task] = chunk
                        checkpoint.add(task, chunk)
                        shown.advance()
        finally:  # also when interrupted: what is done is kept
            checkpoint.flush()
    if remote is not None:
        remote.tell(run.progress, n_threads)
    return done


def _upper_part(
    tree: LabelTree, number: int, level: int, done: dict[NodeTask, Chunk], n_features: int
) -> Forest:
    """Return the levels above ``level`` of a tree, whose nodes are the forest's labels."""
    own = {task._replace(tree=0): chunk for task, chunk in done.items() if task.tree == number}
    return build_forest([LabelTree(tree.levels[:level])], own, n_features)


def _likely(
    X: csr_array,
    dense: NDArray[np.float32] | None,
    above: Forest,
    n_nodes: int,
    solver: Solver,
    threads: int | None,
) -> csr_array:
    """Return the nodes of a tree's last level that it finds most likely, shape (n, n_nodes)."""
    beam = max(10, solver.negatives)
    found = above.rank(
        X, min(solver.negatives, n_nodes), beam, solver.sharpness, threads, dense=dense
    )
    return found.to_csr(n_nodes)
