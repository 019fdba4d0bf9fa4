"""From a ranking to a set of labels for each document."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError
from labelgrove.core.ranking import Ranking


@dataclass(frozen=True, eq=False)
class Decision:
    """Which of the ranked labels a document is given: by score, by place, or both.

    Parameters
    ----------
    threshold
        Give labels with at least this score; None for any score. Compared in float32, the
        precision of the scores, so that a score of 0.7 reaches a threshold of 0.7. An array,
        shape (L,), has a threshold for each label; `tune_label_thresholds` finds one.
    top
        Give at most this many labels; None for any number.
    at_least_one
        Give the first label even where its score is below the threshold.

    Examples
    --------
    >>> ranking = Ranking(np.array([[2, 0], [1, -1]]), np.array([[0.9, 0.3], [0.4, 0.0]]))
    >>> Decision(threshold=0.5).mask(ranking).tolist()
    [[True, False], [False, False]]
    >>> Decision(threshold=0.5, at_least_one=True).mask(ranking).tolist()
    [[True, False], [True, False]]
    >>> Decision(top=2).to_csr(ranking, n_labels=3).toarray().astype(int).tolist()
    [[1, 0, 1], [0, 1, 0]]
    """

    threshold: float | NDArray[np.floating] | None = None
    top: int | None = None
    at_least_one: bool = False

    def __post_init__(self) -> None:
        if self.threshold is not None and np.isnan(self.threshold).any():
            raise InputError("the threshold is not a number (NaN): give one between 0 and 1")
        if self.top is not None and self.top < 1:
            raise InputError(f"top must be at least 1, got {self.top}")
        if self.threshold is None and self.top is None:
            raise InputError("a decision needs a threshold, or a number of labels as top")

    def mask(self, ranking: Ranking) -> NDArray[np.bool_]:
        """Tell which places are given, shape (n, k)."""
        given: NDArray[np.bool_] = ranking.labels >= 0
        if self.threshold is not None:
            given &= ranking.scores >= self._least(ranking.labels)
        if self.top is not None:
            given[:, self.top :] = False
        if self.at_least_one:
            given[:, :1] = ranking.labels[:, :1] >= 0
        return given

    def _least(self, labels: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the threshold of each place, shape (n, k), or one for all."""
        least = np.asarray(self.threshold, np.float32)
        if least.ndim == 0:
            return least
        if (labels >= len(least)).any():
            raise InputError(
                f"there are thresholds of {len(least):,} labels, none of label {labels.max()}"
            )
        thresholds: NDArray[np.float32] = least[labels]
        return thresholds

    def to_csr(self, ranking: Ranking, n_labels: int) -> csr_array:
        """Return the given labels as a boolean array, shape (n, n_labels)."""
        given = self.mask(ranking)
        offsets = np.concatenate([[0], np.cumsum(given.sum(axis=1))])
        labels = ranking.labels[given]
        sets = csr_array(
            (np.ones(len(labels), np.bool_), labels, offsets), shape=(len(ranking), n_labels)
        )
        sets.sort_indices()
        return sets


def as_decision(threshold: float | Decision) -> Decision:
    """Return a decision, made of a plain threshold where need be."""
    return threshold if isinstance(threshold, Decision) else Decision(threshold=float(threshold))


def capped_rows(ranking: Ranking, threshold: float | Decision, n_labels: int) -> int:
    """Count the documents whose set of labels may be cut off by the ranking's width.

    Those are the rows whose last place is filled and still reaches the threshold, so that
    further labels might have too. Set metrics (F1, Hamming loss, subset accuracy) are then those
    of a ranking with k places; rank with a larger k to be rid of the cap.

    Parameters
    ----------
    ranking
        k places per document.
    threshold
        A score, or a whole decision; one with ``top`` at most k is never capped.
    n_labels
        Number of labels that the model knows; with k = n_labels nothing is cut off.

    Examples
    --------
    >>> ranking = Ranking(np.array([[2, 0], [1, -1]]), np.array([[0.9, 0.6], [0.4, 0.0]]))
    >>> capped_rows(ranking, 0.5, n_labels=3), capped_rows(ranking, 0.5, n_labels=2)
    (1, 0)
    """
    decision = as_decision(threshold)
    if ranking.k == 0 or ranking.k >= n_labels:
        return 0
    if decision.top is not None and decision.top <= ranking.k:
        return 0
    last = ranking.labels[:, -1] >= 0
    if decision.threshold is not None:
        # of labels behind the last place nobody knows which, so the lowest threshold counts
        last &= ranking.scores[:, -1] >= np.float32(np.min(decision.threshold))
    return int(last.sum())
