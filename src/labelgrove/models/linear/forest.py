"""Trees of linear classifiers in flat arrays, and beam search down them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.ranking import Ranking
from labelgrove.core.threads import workers
from labelgrove.models.linear.forest_tables import Tables, check_tables, check_trees

CELLS = 1 << 24  # scores held at once: rows are ranked in batches of this many
FEW = 8  # rows that are not worth a second thread
# Labels that each of several trees names at least: were they only k, a label's mean would depend
# on k, since what a tree does not name counts as 0.
NAMED = 100
CHUNK = 256  # children of a chunk at most: their numbers fit into a byte
STEPS = 32767  # weights are whole numbers of steps up to this
DENSE_STEPS = 127  # so are those of dense columns: their many small errors cancel out


# of a forest that was saved before there were dense columns
NO_DENSE = {
    "dense_value": np.empty(0, np.int8),
    "dense_scale": np.empty(0, np.float32),
    "n_dense": 0,
}


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees whose inner nodes hold a classifier for each child; leaves are labels.

    Parameters
    ----------
    roots
        The root node of each tree, shape (t,).
    depths
        The number of levels below each root, shape (t,).
    tables
        Nodes and weights.
    """

    roots: NDArray[np.int32]
    depths: NDArray[np.int32]
    tables: Tables

    @property
    def n_features(self) -> int:
        """Width of X."""
        return self.tables.n_features

    @property
    def n_dense(self) -> int:
        """Number of dense columns."""
        return self.tables.n_dense

    def state(self) -> dict[str, Any]:
        """Return all arrays by name."""
        return {"roots": self.roots, "depths": self.depths, **self.tables._asdict()}

    @classmethod
    def names(cls) -> list[str]:
        """Return the names in `state`."""
        return ["roots", "depths", *Tables._fields]

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Forest:
        """Return the forest that had this state, among which there may be other names."""
        known = {**NO_DENSE, **state}
        tables = Tables(**{name: known[name] for name in Tables._fields})
        return cls(state["roots"], state["depths"], tables)

    def check(self, n_labels: int) -> None:
        """Refuse arrays of a file that do not fit each other, or lead to other labels."""
        check_tables(self.tables)
        check_trees(self.roots, self.depths, self.tables, n_labels)

    def path_weights(self, label: int, features: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Return the weights of features summed along the label's path, over all trees.

        Parameters
        ----------
        label
            The label.
        features
            Feature numbers, shape (m,), as is the result.
        """
        total = np.zeros(len(features), np.float32)
        for node, child in self._paths(label):
            total += self._weights(node, child, features)
        return total

    def label_weights(self, label: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the features that have a weight on the label's path, and their weights.

        Weights are summed along the path and over all trees. Both arrays have shape (m,), and the
        features are sorted.
        """
        parts = [self._child_weights(node, child) for node, child in self._paths(label)]
        features = np.concatenate([features for features, _ in parts])
        features, places = np.unique(features, return_inverse=True)
        total = np.zeros(len(features), np.float32)
        np.add.at(total, places, np.concatenate([weights for _, weights in parts]))
        return features, total

    def _child_weights(
        self, node: int, child: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the features in the classifier of one child, and their weights."""
        tables, chunk = self.tables, self._chunk(node, child)
        first, last = tables.chunk_rows[chunk], tables.chunk_rows[chunk + 1]
        bounds = tables.row_ptr[first + chunk : last + chunk + 1].astype(np.int64)
        entries = slice(*(tables.chunk_entries[chunk] + bounds[[0, -1]]))
        features = np.repeat(tables.row_feature[first:last], np.diff(bounds))
        own = tables.entry_label[entries] == child - tables.chunk_child[chunk]
        weights = tables.entry_value[entries][own] * tables.chunk_scale[chunk]
        return features[own].astype(np.int64), weights.astype(np.float32)

    def path_dense(self, label: int) -> NDArray[np.float32]:
        """Return the weights of the dense columns summed along the label's path, shape (d,)."""
        tables = self.tables
        total = np.zeros(tables.n_dense, np.float32)
        for node, child in self._paths(label):
            chunk, first = self._chunk(node, child), int(tables.child_ptr[node])
            begin = int(tables.chunk_child[chunk])
            last = chunk + 1 == tables.chunk_ptr[node + 1]
            end = int(tables.child_ptr[node + 1]) - first if last else tables.chunk_child[chunk + 1]
            cells = slice((first + begin) * tables.n_dense, (first + int(end)) * tables.n_dense)
            values = tables.dense_value[cells].reshape(tables.n_dense, int(end) - begin)
            total += values[:, child - begin] * tables.dense_scale[first + child]
        return total

    def _paths(self, label: int) -> Iterator[tuple[int, int]]:
        """Yield the nodes above a label and its place among their children, of all trees."""
        child_ptr, child = self.tables.child_ptr, self.tables.child
        owner = np.repeat(np.arange(len(child_ptr) - 1), np.diff(child_ptr))
        ends = [*self.roots[1:].tolist(), len(child_ptr) - 1]
        for root, depth, end in zip(self.roots.tolist(), self.depths.tolist(), ends, strict=True):
            # a tree's last level is its last nodes, whose children are labels
            places = np.arange(child_ptr[root], child_ptr[end])
            inner = self._inner(root, depth)
            leaves = places[owner[places] >= inner]
            place = int(leaves[np.flatnonzero(child[leaves] == label)[0]])
            for _ in range(depth):
                node = int(owner[place])
                yield node, place - int(child_ptr[node])
                if node != root:
                    above = places[owner[places] < inner]
                    place = int(above[np.flatnonzero(child[above] == node)[0]])

    def _inner(self, root: int, depth: int) -> int:
        """Return the first node of a tree's last level."""
        first, last = root, root + 1
        for _ in range(depth - 1):
            ends = self.tables.child_ptr[[first, last]]
            children = self.tables.child[ends[0] : ends[1]]
            first, last = int(children.min()), int(children.max()) + 1
        return first

    def _weights(
        self, node: int, child: int, features: NDArray[np.integer[Any]]
    ) -> NDArray[np.float32]:
        """Return the weights of features in the classifier of one child, shape (m,)."""
        tables = self.tables
        found = np.zeros(len(features), np.float32)
        chunk = self._chunk(node, child)
        first, last = tables.chunk_rows[chunk], tables.chunk_rows[chunk + 1]
        rows = first + np.searchsorted(tables.row_feature[first:last], features)
        for i in np.flatnonzero(rows < last):
            row = rows[i]
            if tables.row_feature[row] == features[i]:
                start, end = tables.row_ptr[[row + chunk, row + chunk + 1]].astype(np.int64)
                entries = slice(*(tables.chunk_entries[chunk] + [start, end]))
                own = tables.entry_label[entries] == child - tables.chunk_child[chunk]
                found[i] = tables.entry_value[entries][own].sum() * tables.chunk_scale[chunk]
        return found

    def _chunk(self, node: int, child: int) -> int:
        """Return the chunk with the weights of a child of a node."""
        chunks = range(self.tables.chunk_ptr[node], self.tables.chunk_ptr[node + 1])
        return max(c for c in chunks if self.tables.chunk_child[c] <= child)

    def rank(
        self,
        X: csr_array,
        k: int,
        beam: int,
        sharpness: float,
        threads: int | None = None,
        carry: float = 1.0,
        *,
        dense: NDArray[np.float32] | None = None,
    ) -> Ranking:
        """Return the best k labels of each row, averaged over the trees.

        Parameters
        ----------
        X
            Features, shape (n, n_features).
        k
            Labels per row.
        beam
            Nodes kept per level.
        sharpness
            Slope of the logistic function that turns a score into a probability.
        threads
            Threads; None for all cores.
        carry
            A label's score is its own probability times that of its path to this power.
        dense
            Dense columns beside X, shape (n, n_dense), or None where there are none.
        """
        labels = np.empty((X.shape[0], k), np.int32)
        scores = np.empty((X.shape[0], k), np.float32)
        n_threads = 1 if X.shape[0] <= FEW else workers(threads)
        rows = X.shape[0]
        if rows > FEW:
            widest = int(np.diff(self.tables.child_ptr).max(initial=1))
            rows = min(-(-rows // n_threads), max(1, CELLS // (widest * beam * n_threads)))

        def work(first: int) -> None:
            part = slice(first, min(first + rows, X.shape[0]))
            self._rank_rows(X, dense, part, beam, sharpness, carry, labels[part], scores[part])

        starts = range(0, X.shape[0], max(rows, 1))
        if n_threads == 1:
            for first in starts:
                work(first)
        else:
            with ThreadPoolExecutor(n_threads) as pool:
                list(pool.map(work, starts))
        return Ranking(labels, scores)

    def _rank_rows(
        self,
        X: csr_array,
        dense: NDArray[np.float32] | None,
        rows: slice,
        beam: int,
        sharpness: float,
        carry: float,
        labels: NDArray[np.int32],
        scores: NDArray[np.float32],
    ) -> None:
        """Rank some rows into ``labels`` and ``scores``, shape (n, k), in all trees."""
        from labelgrove.models.linear import forest_kernels as kernels

        n, k = labels.shape
        n_nodes = len(self.tables.child_ptr) - 1  # a wider beam would only take memory
        several = len(self.roots) > 1
        shape = (len(self.roots), n, max(k, NAMED) if several else k)
        named = np.empty(shape, np.int32) if several else labels[None]
        logps = np.empty(shape, np.float32) if several else scores[None]
        for number, (root, depth) in enumerate(zip(self.roots, self.depths, strict=True)):
            kernels.rank_rows(
                *(X.indptr, X.indices, X.data, dense, rows.start, rows.stop, int(root), int(depth)),
                *(min(max(beam, 1), n_nodes), np.float32(sharpness), np.float32(carry)),
                *(self.tables, named[number], logps[number]),
            )
        np.exp(logps, out=logps)
        if several:
            kernels.average(named, logps, labels, scores)
