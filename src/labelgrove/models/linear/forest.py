"""Trees of linear classifiers in flat arrays, and beam search down them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.ranking import Ranking
from labelgrove.core.threads import workers

CELLS = 1 << 24  # scores held at once: rows are ranked in batches of this many
FEW = 8  # rows that are ranked one by one
# Labels that each of several trees names at least: were they only k, a label's mean would depend
# on k, since what a tree does not name counts as 0.
NAMED = 100


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees whose inner nodes hold a classifier for each child; leaves are labels.

    Nodes of all trees are numbered together; the children of node v are
    ``child[child_ptr[v]:child_ptr[v + 1]]``. All paths of a tree are equally long; on the last
    level children are labels. The weights of a node lie in one or more chunks, each for a run of
    its children: sparse rows by feature. A node with a single child has no chunk.

    Parameters
    ----------
    roots
        The root node of each tree, shape (t,).
    depths
        The number of levels below each root, shape (t,).
    child_ptr, child
        Children of each node, shapes (v + 1,) and (m,).
    bias
        Of each child's classifier, shape (m,).
    chunk_ptr
        Chunks of each node, shape (v + 1,).
    chunk_child
        The first child of each chunk, counted within its node, shape (c,).
    chunk_rows
        Rows of each chunk, shape (c + 1,).
    row_feature, row_ptr
        Feature of each row, ascending within a chunk, and its entries, shapes (r,) and (r + 1,).
    entry_label, entry_value
        Child within the chunk, and weight, shape (e,).
    n_features
        Width of X.
    """

    roots: NDArray[np.int32]
    depths: NDArray[np.int32]
    child_ptr: NDArray[np.int64]
    child: NDArray[np.int32]
    bias: NDArray[np.float32]
    chunk_ptr: NDArray[np.int64]
    chunk_child: NDArray[np.int32]
    chunk_rows: NDArray[np.int64]
    row_feature: NDArray[np.int32]
    row_ptr: NDArray[np.int64]
    entry_label: NDArray[np.uint16]
    entry_value: NDArray[np.float32]
    n_features: int

    def arrays(self) -> dict[str, Any]:
        """Return all fields by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of the fields."""
        return [field.name for field in fields(cls)]

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
        owner = np.repeat(np.arange(len(self.child_ptr) - 1), np.diff(self.child_ptr))
        ends = [*self.roots[1:].tolist(), len(self.child_ptr) - 1]
        for root, depth, end in zip(self.roots.tolist(), self.depths.tolist(), ends, strict=True):
            # a tree's last level is its last nodes, whose children are labels
            places = np.arange(self.child_ptr[root], self.child_ptr[end])
            inner = self._inner(root, depth)
            leaves = places[owner[places] >= inner]
            place = int(leaves[np.flatnonzero(self.child[leaves] == label)[0]])
            for _ in range(depth):
                node = int(owner[place])
                total += self._weights(node, place - int(self.child_ptr[node]), features)
                if node != root:
                    above = places[owner[places] < inner]
                    place = int(above[np.flatnonzero(self.child[above] == node)[0]])
        return total

    def _inner(self, root: int, depth: int) -> int:
        """Return the first node of a tree's last level."""
        first, last = root, root + 1
        for _ in range(depth - 1):
            children = self.child[self.child_ptr[first] : self.child_ptr[last]]
            first, last = int(children.min()), int(children.max()) + 1
        return first

    def _weights(
        self, node: int, child: int, features: NDArray[np.integer[Any]]
    ) -> NDArray[np.float32]:
        """Return the weights of features in the classifier of one child, shape (m,)."""
        found = np.zeros(len(features), np.float32)
        chunks = range(self.chunk_ptr[node], self.chunk_ptr[node + 1])
        for chunk in (c for c in chunks if self.chunk_child[c] <= child):
            first, last = self.chunk_rows[chunk], self.chunk_rows[chunk + 1]
            rows = first + np.searchsorted(self.row_feature[first:last], features)
            for i in np.flatnonzero(rows < last):
                row = rows[i]
                if self.row_feature[row] == features[i]:
                    entries = slice(self.row_ptr[row], self.row_ptr[row + 1])
                    own = self.entry_label[entries] == child - self.chunk_child[chunk]
                    found[i] += self.entry_value[entries][own].sum()
        return found

    def rank(
        self,
        X: csr_array,
        k: int,
        beam: int,
        sharpness: float,
        threads: int | None = None,
        carry: float = 1.0,
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
        """
        named = k if len(self.roots) == 1 else max(k, NAMED)
        if X.shape[0] <= FEW:
            return _mean(self._rank_few(X, named, beam, sharpness, carry), k)
        widest = int(np.diff(self.child_ptr).max(initial=1))
        rows = max(1, CELLS // (widest * max(beam, 1)))
        parts = []
        with ThreadPoolExecutor(workers(threads)) as pool:
            for start in range(0, X.shape[0], rows):
                batch = X[start : start + rows]
                trees = [
                    self._descend(batch, root, depth, named, beam, sharpness, carry, pool)
                    for root, depth in zip(self.roots.tolist(), self.depths.tolist(), strict=True)
                ]
                parts.append(_mean(trees, k))
        return Ranking.concatenate(parts) if parts else Ranking.empty(0, k)

    def _rank_few(
        self, X: csr_array, k: int, beam: int, sharpness: float, carry: float
    ) -> list[Ranking]:
        """Rank row by row in each tree, without threads, tables or anything else to set up."""
        from labelgrove.models.linear import kernels

        trees = []
        for root, depth in zip(self.roots.tolist(), self.depths.tolist(), strict=True):
            nodes = np.empty((X.shape[0], k), np.int32)
            logps = np.empty((X.shape[0], k), np.float32)
            for i in range(X.shape[0]):
                row = slice(X.indptr[i], X.indptr[i + 1])
                kernels.rank_one(
                    *(X.indices[row], X.data[row], root, depth, beam),
                    *(np.float32(sharpness), np.float32(carry)),
                    *(self.child_ptr, self.child, self.bias, self.chunk_ptr, self.chunk_child),
                    *(self.chunk_rows, self.row_feature, self.row_ptr),
                    *(self.entry_label, self.entry_value, nodes[i], logps[i]),
                )
            trees.append(Ranking(nodes, np.exp(logps)))
        return trees

    def _descend(
        self,
        X: csr_array,
        root: int,
        depth: int,
        k: int,
        beam: int,
        sharpness: float,
        carry: float,
        pool: ThreadPoolExecutor,
    ) -> Ranking:
        from labelgrove.models.linear import kernels

        n = X.shape[0]
        nodes = np.full((n, 1), root, np.int32)
        logps = np.zeros((n, 1), np.float32)
        for level in range(depth):
            kept = nodes >= 0
            pair_ptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
            pair_node, pair_logp = nodes[kept], logps[kept]
            if level == depth - 1:
                pair_logp *= np.float32(carry)
            pair_row = np.repeat(np.arange(n), np.diff(pair_ptr))
            sizes = self.child_ptr[pair_node + 1] - self.child_ptr[pair_node]
            pair_out = np.concatenate([[0], np.cumsum(sizes)])
            out = self._score(X, pair_row, pair_node, pair_out, pool)
            width = min(k if level == depth - 1 else beam, int(sizes.max(initial=1)) * max(beam, 1))
            nodes = np.full((n, max(width, 1)), -1, np.int32)
            logps = np.full(nodes.shape, -np.inf, np.float32)
            kernels.select(
                *(pair_ptr, pair_node, pair_logp, pair_out, out, self.child_ptr, self.child),
                *(np.float32(sharpness), nodes, logps),
            )
        return Ranking(nodes, np.exp(logps)).pad(k)

    def _score(
        self,
        X: csr_array,
        pair_row: NDArray[np.int64],
        pair_node: NDArray[np.int32],
        pair_out: NDArray[np.int64],
        pool: ThreadPoolExecutor,
    ) -> NDArray[np.float32]:
        """Return the children's scores of all visits, shape (pair_out[-1],)."""
        from labelgrove.models.linear import kernels

        order = np.argsort(pair_node, kind="stable")
        starts = np.flatnonzero(np.diff(pair_node[order], prepend=-1))
        groups = np.split(order, starts[1:]) if len(order) else []
        jobs = [
            (pairs, chunk)
            for pairs in groups
            for chunk in range(
                self.chunk_ptr[pair_node[pairs[0]]], self.chunk_ptr[pair_node[pairs[0]] + 1]
            )
        ]
        out = self._biases(pair_node, pair_out)

        def work(part: list[tuple[NDArray[np.int64], int]]) -> None:
            place = np.full(self.n_features, -1, np.int64)
            for pairs, chunk in part:
                kernels.score_chunk(
                    *(X.indptr, X.indices, X.data, pairs, pair_row, pair_out, out, chunk),
                    *(self.chunk_child, self.chunk_rows, self.row_feature, self.row_ptr),
                    *(self.entry_label, self.entry_value, place),
                )

        n_parts = pool._max_workers if len(order) > 64 else 1
        list(pool.map(work, [jobs[i::n_parts] for i in range(n_parts)]))
        return out

    def _biases(
        self, pair_node: NDArray[np.int32], pair_out: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the scores every visit starts from: the children's biases."""
        within = np.arange(pair_out[-1]) - np.repeat(pair_out[:-1], np.diff(pair_out))
        first = np.repeat(self.child_ptr[pair_node], np.diff(pair_out))
        biases: NDArray[np.float32] = self.bias[first + within]
        return biases


def _mean(rankings: list[Ranking], k: int) -> Ranking:
    """Average the scores of rankings and keep the best k; a label that one lacks has 0 there."""
    if len(rankings) == 1:
        return rankings[0]
    width = max(int(ranking.labels.max(initial=0)) for ranking in rankings) + 1
    total = sum(ranking.to_csr(width) for ranking in rankings)
    return Ranking.from_csr(csr_array(total / len(rankings)), k)
