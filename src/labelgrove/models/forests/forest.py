"""Trees over documents in flat arrays: what they say of rows, and their checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from labelgrove.core import checks
from labelgrove.core.threads import workers
from labelgrove.models.learned_parts import Part
from labelgrove.text.vocabulary import read_only

ROWS = 256  # that are ranked at once
FEW = 8  # rows that are not worth a second thread


class TreesOverDocuments(NamedTuple):
    """Trees whose inner nodes hold a linear separator, and whose leaves hold shares of labels.

    Parameters
    ----------
    roots
        The root of each tree, shape (t,).
    children
        The nodes for rows with a score below 0 and for others, shape (nodes, 2); -1 in a leaf.
    leaf
        The row of ``shares`` of each leaf, -1 for other nodes, shape (nodes,).
    ptr, features, weights, bias
        The separator of node v: ``features[ptr[v]:ptr[v + 1]]`` with their weights, and a constant.
    shares
        What is said of the rows that end in a leaf, shape (leaves, L).
    n_features
        Width of X.
    """

    roots: NDArray[np.int32]
    children: NDArray[np.int32]
    leaf: NDArray[np.int32]
    ptr: NDArray[np.int64]
    features: NDArray[np.int32]
    weights: NDArray[np.float32]
    bias: NDArray[np.float32]
    shares: csr_array
    n_features: int

    @classmethod
    def of(cls, trees: Sequence[Part], n_features: int) -> TreesOverDocuments:
        """Return the forest of some trees, each with the fields above but for the first and last.

        In a tree, nodes, leaves and entries are numbered from 0, and the root is node 0.
        """
        nodes = np.cumsum([0, *(len(tree["leaf"]) for tree in trees)])
        leaves = np.cumsum([0, *(tree["shares"].shape[0] for tree in trees)])
        entries = np.cumsum([0, *(len(tree["features"]) for tree in trees)])

        def joined(name: str, firsts: NDArray[Any]) -> NDArray[Any]:
            parts = [
                np.where(tree[name] < 0, -1, tree[name] + first)
                for tree, first in zip(trees, firsts[:-1].tolist(), strict=True)
            ]
            return np.concatenate(parts).astype(np.int32)

        starts = [tree["ptr"][:-1] + first for tree, first in zip(trees, entries, strict=False)]
        return cls(
            nodes[:-1].astype(np.int32),
            joined("children", nodes),
            joined("leaf", leaves),
            np.concatenate([*starts, entries[-1:]]).astype(np.int64),
            np.concatenate([tree["features"] for tree in trees]),
            np.concatenate([tree["weights"] for tree in trees]),
            np.concatenate([tree["bias"] for tree in trees]),
            csr_array(vstack([tree["shares"] for tree in trees]), dtype=np.float32),
            n_features,
        )

    def check(self, n_labels: int) -> None:
        """Refuse arrays of a file that do not fit each other."""
        checks.whole("n_features", self.n_features, most=2**31 - 1)
        n = len(checks.array("leaf", self.leaf, np.int32, (None,)))
        checks.array("children", self.children, np.int32, (n, 2))
        checks.array("bias", self.bias, np.float32, (n,))
        n_entries = len(checks.array("features", self.features, np.int32, (None,)))
        checks.array("weights", self.weights, np.float32, (n_entries,))
        checks.offsets("ptr", self.ptr, n_entries, n)
        checks.below("features", self.features, self.n_features)
        checks.array("roots", self.roots, np.int32, (None,))
        checks.below("roots", self.roots, n)
        if not isinstance(self.shares, csr_array) or self.shares.shape[1] != n_labels:
            raise ValueError(f"shares must be a sparse matrix of leaves x {n_labels:,} labels")
        checks.array("shares", self.shares.data, np.float32, (None,))
        checks.finite("shares", self.shares.data)
        ends = (self.children < 0).all(axis=1)
        inner = self.children[~ends]
        # so that no row goes round in circles
        if (inner <= np.flatnonzero(~ends)[:, None]).any() or (inner >= n).any():
            raise ValueError("children must come behind their parents")
        checks.below("leaf", self.leaf[ends], self.shares.shape[0])

    def scores(self, X: csr_array, threads: int | None) -> Iterator[tuple[int, csr_array]]:
        """Yield the mean of the trees' shares for a few rows at a time: the first row, and scores.

        Parameters
        ----------
        X
            Features (n, n_features).
        threads
            None for all cores.
        """
        starts = range(0, X.shape[0], ROWS)

        def work(first: int) -> csr_array:
            return self._mean(self.leaves(X, first, min(first + ROWS, X.shape[0])))

        if X.shape[0] <= FEW or workers(threads) == 1:
            yield from ((first, work(first)) for first in starts)
            return
        with ThreadPoolExecutor(workers(threads)) as pool:
            yield from zip(starts, pool.map(work, starts), strict=True)

    def leaves(self, X: csr_array, first: int, last: int) -> NDArray[np.int32]:
        """Return the nodes in which some rows end, shape (last - first, trees)."""
        from labelgrove.models.forests import kernels

        at = np.empty((last - first, len(self.roots)), np.int32)
        # what is on disk is read-only: with all so, the kernel is compiled once
        rows = [read_only(part) for part in (X.indptr, X.indices, X.data)]
        tables = (self.children, self.ptr, self.features, self.weights, self.bias, self.roots)
        value = np.zeros(self.n_features, np.float32)
        kernels.descend(*rows, first, *[read_only(part) for part in tables], value, at)
        return at

    def _mean(self, at: NDArray[np.int32]) -> csr_array:
        """Return the mean shares of the leaves of each row, at (n, trees), shape (n, L)."""
        n, n_trees = at.shape
        share = np.full(at.size, 1 / n_trees, np.float32)
        starts = np.arange(n + 1) * n_trees
        chosen = csr_array((share, self.leaf[at.ravel()], starts), (n, self.shares.shape[0]))
        return csr_array(chosen @ self.shares)

    def spoke(self, X: csr_array, i: int, label: int) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Return how much features of row i led it to leaves that have a label.

        The part of a feature in the score of each node on the way, positive where it points to the
        side that the row took, times the label's share in the leaf; the mean over trees.
        """
        row = slice(X.indptr[i], X.indptr[i + 1])
        values = dict(zip(X.indices[row].tolist(), X.data[row].tolist(), strict=True))
        total = dict.fromkeys(values, 0.0)
        for root, end in zip(self.roots.tolist(), self.leaves(X, i, i + 1)[0], strict=True):
            share = float(self.shares[[self.leaf[end]], [label]][0])
            for node, side in self._path(root, int(end)) if share else ():
                entries = slice(self.ptr[node], self.ptr[node + 1])
                for feature, weight in zip(
                    self.features[entries].tolist(), self.weights[entries].tolist(), strict=True
                ):
                    if feature in values:
                        total[feature] += side * weight * values[feature] * share
        ids = np.array([feature for feature, weight in total.items() if weight], np.int64)
        weights = [weight / len(self.roots) for weight in total.values() if weight]
        return ids, np.array(weights, np.float32)

    def _path(self, root: int, end: int) -> list[tuple[int, int]]:
        """Return the nodes from the root to before a leaf, each with the side taken: -1 or 1."""
        above: list[tuple[int, int]] = []
        while end != root:  # children come behind their parents
            parents, sides = np.nonzero(self.children[root:end] == end)
            end = root + int(parents[0])
            above.append((end, 2 * int(sides[0]) - 1))
        return above
