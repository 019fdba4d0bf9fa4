"""Training chains of labels: each classifier learns from the text and the labels before its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.types import Run
from labelgrove.labels import LabelTree
from labelgrove.models.linear.checkpoints import TaskCheckpoint, fingerprint
from labelgrove.models.linear.forest import Forest
from labelgrove.models.linear.forest_builder import build_forest
from labelgrove.models.linear.node_training import (
    FrequentFirst,
    Level,
    compressed,
    documents_of,
    solve,
    zero_weights,
)
from labelgrove.models.linear.solver import Solver
from labelgrove.models.linear.tasks import Chunk, NodeTask
from labelgrove.models.linear.training import train_levels


def train_chains(
    X: csr_array,
    Y: csr_array,
    orders: Sequence[NDArray[np.integer[Any]]],
    link: float,
    solver: Solver,
    run: Run,
    threads: int | None,
    dense: NDArray[np.float32] | None = None,
) -> tuple[Forest, csr_array]:
    """Train the classifiers of chains of labels.

    The labels before are the true ones, so that no classifier waits for another: tasks run in
    threads or on the run's workers and are resumed as in `train_forest`.

    Parameters
    ----------
    X
        Features, shape (n, D).
    Y
        Labels, shape (n, L).
    orders
        The labels in the order of each of t chains, arrays of shape (L,).
    link
        Value of a label as a feature of those after it.
    solver
        How a classifier is trained.
    run
        Folder, resume, progress and workers.
    threads
        Threads; None for all cores.
    dense
        Dense columns beside X, shape (n, d), or None.

    Returns
    -------
    forest
        A tree for each chain, without nodes between root and labels; the labels are in the order
        of the chain.
    links
        What a label adds to the scores of later ones, shape (t L, L): row ``c * L + i`` is of
        the label at place i of chain c, columns are places.
    """
    X = csr_array(X, dtype=np.float32)
    n_features, n_labels = X.shape[1], Y.shape[1]
    trees = [LabelTree([np.zeros(n_labels, np.int32)])] * len(orders)
    more = [np.array(link), *(np.asarray(order, np.int64) for order in orders)]
    more += [] if dense is None else [dense]
    checkpoint = TaskCheckpoint(run, fingerprint(X, Y, trees, solver, more) if run.folder else "")
    train = partial(_train_task, FrequentFirst(X, dense), link)

    def level_of(number: int, level: int, done: object) -> Level:
        return Level(csr_array(Y[:, orders[number]]), trees[number], level)

    done = train_levels(trees, level_of, train, solver, checkpoint, run, threads)
    texts, links = _split(done, n_features, (len(orders), n_labels))
    links.data *= np.float32(link)
    forest = build_forest(trees, texts, n_features)
    labels = np.concatenate(orders).astype(np.int32)
    return replace(forest, tables=forest.tables._replace(child=labels)), links


def _train_task(
    x: FrequentFirst, link: float, level: Level, solver: Solver, task: NodeTask
) -> Chunk:
    """Train the classifiers of a task; the labels before them are features behind the text's."""
    from labelgrove.models.linear import training_kernels as kernels

    documents = documents_of(task, level, x)
    n_text, n_earlier = len(documents.features), task.last - 1  # the last label is nobody's feature
    ptr, places = level.children(documents.rows, task.node, 0, n_earlier)
    rows = places + np.int32(n_text)
    earlier = kernels.EarlierLabels(ptr, rows, n_text + task.first, np.float32(link))
    weights = zero_weights(n_text + n_earlier, task, x)
    dense = solve(documents, level, solver, task, weights, earlier)
    behind = x.X.shape[1] + np.arange(n_earlier, dtype=np.int32)
    features = np.concatenate([x.order[documents.features], behind])
    return compressed(weights, features, dense, task, solver)


def _split(
    done: Mapping[NodeTask, Chunk], n_features: int, shape: tuple[int, int]
) -> tuple[dict[NodeTask, Chunk], csr_array]:
    """Return chunks of the text's features only, and the weights of labels for (chains, L)."""
    texts: dict[NodeTask, Chunk] = {}
    rows, columns, values = [], [], []
    for task, chunk in done.items():
        cut = int(np.searchsorted(chunk.features, n_features))
        entry = int(chunk.ptr[cut])
        texts[task] = chunk._replace(
            features=chunk.features[:cut],
            ptr=chunk.ptr[: cut + 1],
            labels=chunk.labels[:entry],
            values=chunk.values[:entry],
        )
        places = np.repeat(chunk.features[cut:] - n_features, np.diff(chunk.ptr[cut:]))
        rows.append(task.tree * shape[1] + places)
        columns.append(task.first + chunk.labels[entry:].astype(np.int32))
        values.append(chunk.values[entry:])
    where = np.concatenate(rows), np.concatenate(columns)
    links = csr_array((np.concatenate(values), where), shape=(shape[0] * shape[1], shape[1]))
    links.sum_duplicates()  # tasks end in any order: it sorts
    return texts, links
