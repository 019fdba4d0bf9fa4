"""Metrics of label sets: precision, recall and F1 from counts by label or by document."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.evaluation.at_k import ratio
from labelgrove.evaluation.scored_ranking import ScoredRanking

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Counts:
    """Correct, given and true labels, counted by label or by document.

    Parameters
    ----------
    correct
        Given and true, shape (m,).
    given
        Given, shape (m,).
    true
        True, shape (m,).

    Examples
    --------
    >>> counts = Counts(np.array([1, 0]), np.array([2, 0]), np.array([1, 3]))
    >>> counts.precision.tolist(), counts.recall.tolist()
    ([0.5, 0.0], [1.0, 0.0])
    >>> counts.total().f1.tolist()  # 2 * 1 / (2 + 4)
    [0.3333333333333333]
    """

    correct: Ints
    given: Ints
    true: Ints

    @property
    def precision(self) -> Floats:
        """Correct / given, shape (m,); 0 where nothing is given."""
        return ratio(self.correct, self.given)

    @property
    def recall(self) -> Floats:
        """Correct / true, shape (m,); 0 where nothing is true."""
        return ratio(self.correct, self.true)

    @property
    def f1(self) -> Floats:
        """2 correct / (given + true), shape (m,); 0 where both are 0."""
        return ratio(2 * self.correct, self.given + self.true)

    @property
    def wrong(self) -> Ints:
        """Labels given but not true, or true but not given, shape (m,)."""
        return self.given + self.true - 2 * self.correct

    def __getitem__(self, chosen: NDArray[np.bool_]) -> Counts:
        return Counts(self.correct[chosen], self.given[chosen], self.true[chosen])

    def total(self) -> Counts:
        """Return the sums, shape (1,)."""
        return Counts(*(part.sum(keepdims=True) for part in (self.correct, self.given, self.true)))

    def occurring(self) -> Counts:
        """Return the entries where something is true or given: the whole of macro averages."""
        return self[(self.given > 0) | (self.true > 0)]


def counts_by_label(scored: ScoredRanking, given: NDArray[np.bool_]) -> Counts:
    """Count by label, m = M; ``given`` tells which places are given, shape (n, k)."""
    labels, width = scored.ranking.labels, scored.Y.shape[1]
    return Counts(
        np.bincount(labels[given & scored.hits], minlength=width),
        np.bincount(labels[given], minlength=width),
        scored.n_positives,
    )


def counts_by_document(scored: ScoredRanking, given: NDArray[np.bool_]) -> Counts:
    """Count by document, m = n; ``given`` tells which places are given, shape (n, k)."""
    return Counts(
        (given & scored.hits).sum(axis=1, dtype=np.int64),
        given.sum(axis=1, dtype=np.int64),
        scored.n_true,
    )


def averages(by_label: Counts) -> dict[str, float]:
    """Return micro and macro precision, recall and F1 from counts by label."""
    total, each = by_label.total(), by_label.occurring()
    scores = {}
    for name, counts in (("micro", total), ("macro", each)):
        for metric in ("precision", "recall", "F1"):
            values: Floats = getattr(counts, metric.lower())
            scores[f"{name}-{metric}"] = float(values.mean()) if len(values) else 0.0
    return scores
