"""The threshold that gives the best F1 on held-out documents, found exactly."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import UnknownNameError
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation.at_k import ratio
from labelgrove.evaluation.judged import judge

GOALS = ("micro-F1", "macro-F1")
FALLBACK = 0.5  # where no threshold is better than another


class Threshold(NamedTuple):
    """A threshold and the score it reaches on the data it was tuned on."""

    value: float
    score: float


def tune_threshold(
    Y: Any, ranking: Ranking, goal: str = "micro-F1", *, at_least_one: bool = False
) -> Threshold:
    """Find the threshold with the best F1 over all thresholds there are.

    All scores are sorted once and swept from the top; every distinct score is tried, for macro-F1
    too, where only the F1 of the label that joins changes. The value lies halfway between the
    last score that is in and the first that is out, exact in float32. Of equal F1s the
    highest threshold wins; if no threshold finds a single true label the value is 0.5.

    Parameters
    ----------
    Y
        True labels, sparse, shape (n, M).
    ranking
        n documents with enough places: what is not ranked cannot be given.
    goal
        ``"micro-F1"`` or ``"macro-F1"``, as `evaluate` defines them.
    at_least_one
        Tune for a decision that gives the first label always.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> ranking = Ranking(np.array([[0, 1], [1, 0]]), np.array([[0.9, 0.5], [0.75, 0.25]]))
    >>> tune_threshold(csr_array([[1, 0], [0, 1]]), ranking)
    Threshold(value=0.625, score=1.0)
    """
    if goal not in GOALS:
        raise UnknownNameError("goal", goal, GOALS)
    judged = judge(Y, ranking)
    filled = ranking.labels >= 0
    scores = ranking.scores.copy()
    if at_least_one:
        scores[:, :1] = np.inf
    scores = scores[filled]
    order = np.argsort(-scores, kind="stable")
    scores, hits, labels = scores[order], judged.hits[filled][order], ranking.labels[filled][order]
    if not hits.any():
        return Threshold(FALLBACK, 0.0)
    true = judged.n_positives
    curve = _micro(hits, true) if goal == "micro-F1" else _macro(hits, labels, true)
    # equal scores are in or out together: only the end of each run is a possible cut
    ends = np.flatnonzero(np.append(scores[1:] != scores[:-1], True))
    best = int(ends[curve[ends].argmax()])
    low = float(scores[best + 1]) if best + 1 < len(scores) else None
    return Threshold(_between(float(scores[best]), low), float(curve[best]))


def _micro(hits: NDArray[np.bool_], true: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return micro-F1 after each of the places, best first; shape (places,)."""
    f1: NDArray[np.float64] = 2.0 * np.cumsum(hits) / (np.arange(1, len(hits) + 1) + true.sum())
    return f1


def _macro(
    hits: NDArray[np.bool_], labels: NDArray[np.int32], true: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return macro-F1 after each of the places, best first; shape (places,)."""
    order = np.argsort(labels, kind="stable")  # label by label, best first within each
    labels, hits = labels[order], hits[order]
    first = np.append(True, labels[1:] != labels[:-1])
    starts = np.flatnonzero(first).astype(np.int32)
    lengths = np.diff(np.append(starts, len(labels)))
    given = np.arange(1, len(labels) + 1, dtype=np.int32) - np.repeat(starts, lengths)
    correct = np.cumsum(hits, dtype=np.int32)
    correct -= np.repeat(correct[starts] - hits[starts], lengths)  # what other labels had before
    f1 = ratio(2 * correct, given + true[labels])
    joins = np.empty(len(f1), np.bool_)
    joins[order] = first & (true[labels] == 0)  # such a label enters the mean when first given
    change = np.empty(len(f1))
    change[order] = f1 - np.where(first, 0.0, np.append(0.0, f1[:-1]))
    return ratio(np.cumsum(change), (true > 0).sum() + np.cumsum(joins))


def _between(high: float, low: float | None) -> float:
    """Return a float32 threshold that lets ``high`` in and keeps ``low`` out."""
    if low is None:
        return high if np.isfinite(high) else FALLBACK
    if not np.isfinite(high):  # only the first places are in, and those by right
        return float(np.nextafter(np.float32(low), np.float32(np.inf)))
    middle = float(np.float32((high + low) / 2))
    return middle if middle > low else high
