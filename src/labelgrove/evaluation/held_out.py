"""Scores and hits of held-out documents: what any threshold would give there, kept small.

A ranking of held-out documents with its true labels is large and is not saved with a tagger. This
is what is left of it: the scores of the likely labels, whether each is right, and how many true
labels each document has. Precision, recall and work to expect follow from it for every threshold.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core import checks
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation.scored_ranking import score_ranking

Floats = NDArray[np.float64]

MOST = 10_000  # documents that are kept: they tell a precision of 0.9 within 0.01
LEAST = 0.01  # places with a lower score are left out: nobody gives such labels
TABLE = (0.9, 0.8, 0.7, 0.5, 0.3, 0.2, 0.1)  # thresholds of a table


class ThresholdOutcome(NamedTuple):
    """What a threshold gives on documents with known labels.

    Parameters
    ----------
    threshold
        Labels with at least this score are given.
    precision
        Share of the given labels that are right; 0 where none is given.
    recall
        Share of the true labels that are given.
    labels
        Given labels per document.
    documents
        Share of the documents that are given at least one label.
    """

    threshold: float
    precision: float
    recall: float
    labels: float
    documents: float


class Sweep(NamedTuple):
    """Sums over documents at each distinct score taken as threshold, the highest first; all (m,).

    ``given`` and ``correct`` count labels, ``squares`` sums the squares of the number of labels
    that each document is given.
    """

    thresholds: NDArray[np.float32]
    given: Floats
    correct: Floats
    squares: Floats


@dataclass(frozen=True, eq=False)
class HeldOutPlaces:
    """Ranked labels of n documents that training has not seen; m of them in all.

    Parameters
    ----------
    scores
        Probabilities, shape (m,), document by document, best first within each.
    hits
        Which of these labels are right, shape (m,).
    offsets
        Where each document starts, shape (n + 1,).
    n_true
        Number of true labels of each document, shape (n,).

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> ranking = Ranking(np.array([[0, 1], [1, 0]]), np.array([[0.75, 0.5], [0.5, 0.25]]))
    >>> places = HeldOutPlaces.of(csr_array([[1, 0], [1, 1]]), ranking)
    >>> outcome = places.at(0.5)
    >>> outcome.labels, outcome.documents, round(outcome.precision, 2)
    (1.5, 1.0, 0.67)
    """

    scores: NDArray[np.float32]
    hits: NDArray[np.bool_]
    offsets: NDArray[np.int64]
    n_true: NDArray[np.int32]

    @classmethod
    def of(
        cls, Y: Any, ranking: Ranking, *, most: int = MOST, least: float = LEAST
    ) -> HeldOutPlaces:
        """Return the places of a ranking that say something.

        Parameters
        ----------
        Y
            True labels, sparse, shape (n, M).
        ranking
            n documents, with probabilities.
        most
            Of more documents so many are drawn.
        least
            Places with a lower score are left out.
        """
        scored = score_ranking(Y, ranking)
        n_true, filled = scored.n_true, (ranking.labels >= 0) & (ranking.scores >= least)
        scores, hits = ranking.scores, scored.hits
        if len(ranking) > most:
            drawn = generator(0, "held-out places").choice(len(ranking), most, replace=False)
            drawn.sort()
            n_true, filled = n_true[drawn], filled[drawn]
            scores, hits = scores[drawn], hits[drawn]
        offsets = np.concatenate([[0], np.cumsum(filled.sum(axis=1))]).astype(np.int64)
        return cls(scores[filled], hits[filled], offsets, n_true.astype(np.int32))

    def __len__(self) -> int:
        return len(self.n_true)

    def check(self) -> None:
        """Refuse saved arrays that do not belong together."""
        checks.array("scores", self.scores, np.float32, (None,))
        checks.finite("scores", self.scores)
        checks.array("hits", self.hits, np.bool_, (len(self.scores),))
        checks.array("n_true", self.n_true, np.int32, (None,))
        checks.whole("held-out documents", len(self.n_true), least=1)
        checks.below("n_true", self.n_true, 2**31 - 1)
        checks.offsets("offsets", self.offsets, len(self.scores), len(self.n_true))

    def at(self, threshold: float, k: int | None = None) -> ThresholdOutcome:
        """Return what a threshold gives, with at most k labels of a document."""
        kept = self.scores >= np.float32(threshold)
        if k is not None:
            kept &= self._positions < k
        given, correct = int(kept.sum()), int(self.hits[kept].sum())
        with_one = int((np.bincount(self._documents[kept], minlength=len(self)) > 0).sum())
        n = len(self)
        return ThresholdOutcome(
            threshold,
            correct / max(given, 1),
            correct / max(int(self.n_true.sum()), 1),
            given / n,
            with_one / n,
        )

    def table(self, thresholds: Iterable[float] = TABLE) -> list[ThresholdOutcome]:
        """Return what each of several thresholds gives, the highest first."""
        return [self.at(threshold) for threshold in sorted(thresholds, reverse=True)]

    @cached_property
    def sweep(self) -> Sweep:
        """The sums at every threshold there is."""
        order = np.argsort(-self.scores, kind="stable")
        scores = self.scores[order]
        # equal scores are in or out together: only the end of each run is a possible cut
        ends = np.flatnonzero(np.append(scores[1:] != scores[:-1], True)[: len(scores)])
        # a document's labels come in their order, so its position tells what it has already
        more: Floats = np.cumsum(2.0 * self._positions[order] + 1.0)
        return Sweep(
            scores[ends],
            ends.astype(np.float64) + 1.0,
            np.cumsum(self.hits[order], dtype=np.float64)[ends],
            more[ends],
        )

    @property
    def _documents(self) -> NDArray[np.int64]:
        """The document of each place, shape (m,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @property
    def _positions(self) -> NDArray[np.int64]:
        """The position of each place in its document, counted from 0, shape (m,)."""
        starts = np.repeat(self.offsets[:-1], np.diff(self.offsets))
        return np.arange(len(self.scores)) - starts
