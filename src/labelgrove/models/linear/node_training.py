"""One task of training: the documents of a node, the solver, the weights worth keeping."""

from __future__ import annotations

import threading
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from labelgrove.labels import LabelTree, propensities
from labelgrove.models.linear.solver import Solver
from labelgrove.models.linear.tasks import Chunk, NodeTask

LANES = 16  # the solver's columns come in multiples of this
TINY = float(np.finfo(np.float32).tiny)  # what is smaller is nothing, also with threshold 0


def _view(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an array.

    Arrays that another process reads from shared memory are read-only, which numba compiles for
    anew. With such views everywhere, the same compiled code runs in threads and on a cluster.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def _read_only(matrix: csr_array) -> csr_array:
    """Return the same matrix with read-only arrays."""
    found = copy(matrix)
    found.data, found.indices, found.indptr = map(
        _view, (matrix.data, matrix.indices, matrix.indptr)
    )
    return found


class FrequentFirst:
    """X with its features renumbered, the most frequent first: what is used often lies together.

    Attributes
    ----------
    X
        Shape (n, D).
    order
        The number in the original of each feature, shape (D,).
    dense
        Dense columns beside them, shape (n, d), or None.
    """

    def __init__(self, X: csr_array, dense: NDArray[np.float32] | None = None) -> None:
        order = np.argsort(-np.bincount(X.indices, minlength=X.shape[1]), kind="stable")
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        self.X = _read_only(csr_array((X.data, place[X.indices], X.indptr), shape=X.shape))
        self.order = order.astype(np.int32)
        self.dense = None if dense is None else _view(dense)
        self._scratch = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_scratch"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._scratch = threading.local()

    def scratch(self) -> NDArray[np.int32]:
        """Return this thread's own array of -1, one per feature."""
        if not hasattr(self._scratch, "place"):
            self._scratch.place = np.full(self.X.shape[1], -1, np.int32)
        place: NDArray[np.int32] = self._scratch.place
        return place

    def zeros(self, rows: int, columns: int) -> NDArray[np.float32]:
        """Return this thread's own array, emptied: new memory for every task would be slower."""
        if not hasattr(self._scratch, "zeros") or self._scratch.zeros.size < rows * columns:
            self._scratch.zeros = np.empty(rows * columns, np.float32)
        zeros: NDArray[np.float32] = self._scratch.zeros[: rows * columns].reshape(rows, columns)
        zeros[:] = 0
        return zeros


class Level:
    """The documents and true children of every node of one level of a tree."""

    def __init__(self, Y: csr_array, tree: LabelTree, level: int) -> None:
        self._below = _read_only(csr_array(tree.indicators(Y, level + 1)))
        self._parent = _view(np.ascontiguousarray(tree.levels[level], np.int32))
        offsets, nodes = tree.children(level)
        self._place = np.empty(len(nodes), np.int32)
        self._place[nodes] = np.arange(len(nodes)) - np.repeat(offsets[:-1], np.diff(offsets))
        self._place = _view(self._place)
        here = tree.indicators(Y, level) if level else np.ones((Y.shape[0], 1), np.float32)
        self._here = csc_array(here)
        counts = np.bincount(self._below.indices, minlength=len(nodes))
        self._offsets, self._rarity = offsets, 1 / propensities(counts, Y.shape[0])[nodes]

    def add(self, likely: csr_array) -> None:
        """Let nodes learn also from the documents that are stored in ``likely`` (n, nodes)."""
        likely.data[:] = 1
        self._here = csc_array(self._here + likely)

    def rows(self, node: int) -> NDArray[np.int32]:
        """Return the documents that ``node`` learns from, ascending."""
        ptr = self._here.indptr
        return np.sort(self._here.indices[ptr[node] : ptr[node + 1]])

    def children(
        self, rows: NDArray[np.int32], node: int, first: int, last: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return which children of ``node`` documents have, of those from ``first`` to ``last``.

        As offsets per document, and places of children counted from ``first``.
        """
        from labelgrove.models.linear import training_kernels as kernels

        below = (self._below.indptr, self._below.indices)
        found: tuple[NDArray[np.int64], NDArray[np.int32]] = kernels.truth(
            *below, rows, self._parent, self._place, node, first, last
        )
        return found

    def true_cost(self, task: NodeTask, solver: Solver) -> NDArray[np.float32]:
        """Return what a document counts for each child of the task that it has."""
        rarity = self._rarity[self._offsets[task.node] :][task.first : task.last]
        return (solver.cost * rarity**solver.tail).astype(np.float32)

    def work(self, task: NodeTask) -> int:
        """Return a guess of the work of a task."""
        ptr = self._here.indptr
        return int(ptr[task.node + 1] - ptr[task.node]) * (task.last - task.first)


class Documents(NamedTuple):
    """The rows of X that a task learns from, with their features numbered anew from 0.

    Parameters
    ----------
    rows
        Their numbers in X, shape (m,).
    indptr, indices, data
        Their features, as of a csr array.
    features
        The number in X of each feature, shape (f,).
    dense
        The dense columns of all rows of X, shape (n, d), or None.
    """

    rows: NDArray[np.int32]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float32]
    features: NDArray[np.int32]
    dense: NDArray[np.float32] | None


def documents_of(task: NodeTask, level: Level, x: FrequentFirst) -> Documents:
    """Return the documents that a task learns from."""
    from labelgrove.models.linear import training_kernels as kernels

    rows = level.rows(task.node)
    indptr, indices, data, features = kernels.gather(
        x.X.indptr, x.X.indices, x.X.data, rows, x.scratch()
    )
    return Documents(rows, indptr, indices, data, features, x.dense)


def train_task(x: FrequentFirst, level: Level, solver: Solver, task: NodeTask) -> Chunk:
    """Train the classifiers of a task on the features of the text."""
    documents = documents_of(task, level, x)
    weights = zero_weights(len(documents.features), task, x)
    dense = solve(documents, level, solver, task, weights)
    return compressed(weights, x.order[documents.features], dense, task, solver)


def zero_weights(n_features: int, task: NodeTask, x: FrequentFirst) -> NDArray[np.float32]:
    """Return the weights to begin with, shape (features + 1, at least the task's children)."""
    return x.zeros(n_features + 1, -(-(task.last - task.first) // LANES) * LANES)


def solve(
    documents: Documents,
    level: Level,
    solver: Solver,
    task: NodeTask,
    weights: NDArray[np.float32],
    earlier: Any = None,
) -> NDArray[np.float32]:
    """Train all classifiers of a task, into ``weights``.

    Returns the weights of the dense columns, shape (children, d), with d = 0 where there are none.

    Parameters
    ----------
    documents
        What to learn from.
    level
        Of the task's node.
    solver
        How to train.
    task
        Which children of the node.
    weights
        All zero; the last row is the bias.
    earlier
        The `EarlierLabels` of a chain, or None.
    """
    from labelgrove.models.linear import dense_kernels
    from labelgrove.models.linear import training_kernels as kernels

    n_labels, dense = task.last - task.first, None
    if documents.dense is not None:
        dense_weights = dense_kernels.zero_weights(n_labels, documents.dense.shape[1])
        dense = dense_kernels.DenseRows(documents.dense, documents.rows, dense_weights)
    true_ptr, true = level.children(documents.rows, task.node, task.first, task.last)
    seed = solver.seed * 1_000_003 + task.node * 8191 + task.first + task.level
    kernels.solve(
        *(documents.indptr, documents.indices, documents.data, true_ptr, true, weights),
        *(np.float32(solver.cost), level.true_cost(task, solver), solver.loss == "logistic"),
        *(solver.epochs, np.float32(solver.tolerance), seed % 2**31, earlier, dense),
    )
    return np.zeros((n_labels, 0), np.float32) if dense is None else dense.label_weights(n_labels)


def compressed(
    weights: NDArray[np.float32],
    features: NDArray[np.int32],
    dense: NDArray[np.float32],
    task: NodeTask,
    solver: Solver,
) -> Chunk:
    """Return the weights that reach the threshold, and all of the dense columns (children, d).

    ``features`` are the numbers of the rows of ``weights``; one for the bias follows.
    """
    from labelgrove.models.linear import training_kernels as kernels

    n_labels, threshold = task.last - task.first, max(solver.threshold, TINY)
    kept = kernels.compress(weights, n_labels, features, np.argsort(features), threshold)
    return Chunk(*[*kept, weights[-1, :n_labels].copy(), dense])
