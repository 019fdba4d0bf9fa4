"""Ranked labels for many documents, as two padded arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.features import Rows

RANKING_DEPTH = 100  # labels ranked per document where whole label sets are tuned or scored
HITS_BYTES = 1 << 23  # memory of a block of documents x labels while hits are looked up


@dataclass(frozen=True, eq=False)
class Ranking:
    """The best labels of each document, best first.

    Parameters
    ----------
    labels
        Label numbers, shape (n, k), int32; -1 where a row has fewer than k labels.
    scores
        Probabilities, shape (n, k), float32, descending; 0 beside a -1.

    Examples
    --------
    >>> ranking = Ranking(np.array([[2, 0], [1, -1]]), np.array([[0.9, 0.3], [0.5, 0.0]]))
    >>> ranking.top(1).labels.tolist()
    [[2], [1]]
    >>> ranking.hits(csr_array([[1, 0, 0], [0, 1, 0]])).tolist()
    [[False, True], [True, False]]
    """

    labels: NDArray[np.int32]
    scores: NDArray[np.float32]

    def __post_init__(self) -> None:
        labels = np.ascontiguousarray(self.labels, np.int32)
        scores = np.ascontiguousarray(self.scores, np.float32)
        if labels.ndim != 2 or labels.shape != scores.shape:
            raise ValueError(
                f"labels and scores must be two (n, k) arrays, got {labels.shape}, {scores.shape}"
            )
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "scores", scores)

    @classmethod
    def from_dense(cls, scores: NDArray[np.floating[Any]], k: int) -> Ranking:
        """Rank one batch's block of scores, shape (n, L); equal scores go by label number."""
        n, n_labels = scores.shape
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        k = min(k, n_labels)
        if k < n_labels:
            # everything that could reach the top k, ties at its edge included
            edge = np.partition(scores, n_labels - k, axis=1)[:, n_labels - k, None]
            rows, columns = np.nonzero(scores >= edge)
            return cls.from_pairs(rows, columns, scores[rows, columns], n, k)
        order = np.argsort(-scores, axis=1, kind="stable")
        return cls(order.astype(np.int32), np.take_along_axis(scores, order, axis=1))

    @classmethod
    def from_csr(cls, scores: csr_array, k: int) -> Ranking:
        """Rank the stored entries of sparse scores, shape (n, L)."""
        rows = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
        return cls.from_pairs(rows, scores.indices, scores.data, scores.shape[0], k)

    @classmethod
    def from_pairs(
        cls,
        rows: NDArray[np.integer[Any]],
        labels: NDArray[np.integer[Any]],
        scores: NDArray[np.floating[Any]],
        n: int,
        k: int,
    ) -> Ranking:
        """Rank (row, label, score) triples, each array of shape (m,), into n rows of k."""
        order = np.lexsort((labels, -scores, rows))
        rows, labels, scores = rows[order], labels[order], scores[order]
        columns = np.arange(len(rows)) - np.searchsorted(rows, rows, side="left")
        kept = columns < k
        out_labels = np.full((n, k), -1, np.int32)
        out_scores = np.zeros((n, k), np.float32)
        out_labels[rows[kept], columns[kept]] = labels[kept]
        out_scores[rows[kept], columns[kept]] = scores[kept]
        return cls(out_labels, out_scores)

    @classmethod
    def concatenate(cls, rankings: Sequence[Ranking]) -> Ranking:
        """Put rankings of consecutive batches under one another; shorter ones are padded."""
        k = max((ranking.k for ranking in rankings), default=0)
        padded = [ranking.pad(k) for ranking in rankings] or [cls.empty(0, k)]
        return cls(
            np.concatenate([ranking.labels for ranking in padded]),
            np.concatenate([ranking.scores for ranking in padded]),
        )

    @classmethod
    def empty(cls, n: int, k: int) -> Ranking:
        """Return a ranking of n documents without any label."""
        return cls(np.full((n, k), -1, np.int32), np.zeros((n, k), np.float32))

    @property
    def k(self) -> int:
        """Places per document."""
        return int(self.labels.shape[1])

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: Rows) -> Ranking:
        return Ranking(self.labels[rows], self.scores[rows])

    def top(self, k: int) -> Ranking:
        """Return the first k places."""
        return Ranking(self.labels[:, :k], self.scores[:, :k])

    def pad(self, k: int) -> Ranking:
        """Return the same ranking with at least k places."""
        if k <= self.k:
            return self
        wide = Ranking.empty(len(self), k)
        wide.labels[:, : self.k] = self.labels
        wide.scores[:, : self.k] = self.scores
        return wide

    def with_scores(self, scores: NDArray[np.floating[Any]]) -> Ranking:
        """Return the same labels with other scores, shape (n, k); padding keeps its 0."""
        return Ranking(self.labels, np.where(self.labels >= 0, scores, 0.0))

    def row(self, i: int) -> Iterator[tuple[int, float]]:
        """Iterate over (label, score) of document ``i``, best first, without padding."""
        for label, score in zip(self.labels[i].tolist(), self.scores[i].tolist(), strict=True):
            if label < 0:
                return
            yield label, score

    def to_csr(self, n_labels: int) -> csr_array:
        """Return the scores as a sparse array, shape (n, n_labels)."""
        kept = self.labels >= 0
        offsets = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        return csr_array(
            (self.scores[kept], self.labels[kept], offsets), shape=(len(self), n_labels)
        )

    def hits(self, Y: csr_array) -> NDArray[np.bool_]:
        """Tell which places hold a true label of ``Y`` (n, at least L); shape (n, k)."""
        if Y.shape[0] != len(self):
            raise ValueError(f"the ranking has {len(self)} documents, Y has {Y.shape[0]}")
        width = max(Y.shape[1], int(self.labels.max(initial=-1)) + 1, 1)
        hits: NDArray[np.bool_] = np.zeros(self.labels.shape, np.bool_)
        rows = max(HITS_BYTES // width, 1)
        true = np.zeros((min(rows, len(self)), width), np.bool_)  # one block's truth, reused
        for start in range(0, len(self), rows):
            labels = self.labels[start : start + rows]
            offsets = Y.indptr[start : start + len(labels) + 1]
            stored = slice(offsets[0], offsets[-1])
            kept = Y.data[stored] != 0
            owners = np.repeat(np.arange(len(labels)), np.diff(offsets))
            cells = owners[kept], Y.indices[stored][kept]
            true[cells] = True
            here = np.take_along_axis(true[: len(labels)], np.maximum(labels, 0), axis=1)
            hits[start : start + len(labels)] = here & (labels >= 0)
            true[cells] = False
        return hits


def largest_pairs(
    rows: NDArray[np.integer[Any]],
    labels: NDArray[np.integer[Any]],
    scores: NDArray[np.float32],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Return each pair of a row and a label once, with its largest score, by row and label.

    Parameters
    ----------
    rows, labels, scores
        Pairs with scores, each of shape (m,).

    Examples
    --------
    >>> pairs = np.array([0, 0, 1]), np.array([3, 3, 2]), np.array([0.5, 1.0, 0.25])
    >>> rows, labels, scores = largest_pairs(*pairs)
    >>> labels.tolist(), scores.tolist()
    ([3, 2], [1.0, 0.25])
    """
    order = np.lexsort((-scores, labels, rows))
    owners, numbers = rows[order].astype(np.int64), labels[order].astype(np.int64)
    first = np.ones(len(order), np.bool_)
    first[1:] = (owners[1:] != owners[:-1]) | (numbers[1:] != numbers[:-1])
    return owners[first], numbers[first], scores[order][first]


def true_pairs(
    Y: csr_array, documents: NDArray[np.integer[Any]], labels: NDArray[np.integer[Any]]
) -> NDArray[np.bool_]:
    """Tell which pairs of a document and a label are in ``Y`` (n, L), shape (m,)."""
    width = int(Y.shape[1])
    rows = np.repeat(np.arange(Y.shape[0], dtype=np.int64), np.diff(Y.indptr))
    return np.isin(documents * width + labels, rows * width + Y.indices)


def ndcg(ranking: Ranking, Y: csr_array, k: int) -> NDArray[np.float64]:
    """Return nDCG@k of each document, shape (n,); 0 for a document without a true label."""
    discounts = 1.0 / np.log2(np.arange(2, k + 2))
    hits = ranking.top(k).hits(Y)
    gained = hits @ discounts[: hits.shape[1]]
    n_true = np.minimum(np.diff(Y.indptr), k)
    ideal = np.concatenate([[0.0], np.cumsum(discounts)])[n_true]
    values: NDArray[np.float64] = np.zeros(len(ranking))
    np.divide(gained, ideal, out=values, where=ideal > 0)
    return values
