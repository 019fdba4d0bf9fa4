"""The thresholds that give the best F1 on held-out documents, found exactly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import UnknownNameError
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation.at_k import ratio
from labelgrove.evaluation.scored_ranking import ScoredRanking, score_ranking

GOALS = ("micro-F1", "macro-F1")
FALLBACK = 0.5  # where no threshold is better than another
STRENGTH = 5.0  # documents of a label that the threshold of all weighs as much as; see LOG.md


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
    scored = score_ranking(Y, ranking)
    if at_least_one:
        scores = ranking.scores.copy()
        scores[:, :1] = np.inf
        scored = replace(scored, ranking=Ranking(ranking.labels, scores))
    scores, hits, labels = _best_first(scored)
    if not hits.any():
        return Threshold(FALLBACK, 0.0)
    true = scored.n_positives
    curve = _micro(hits, true) if goal == "micro-F1" else _macro(hits, labels, true)
    # equal scores are in or out together: only the end of each run is a possible cut
    ends = np.flatnonzero(np.append(scores[1:] != scores[:-1], True))
    best = int(ends[curve[ends].argmax()])
    low = float(scores[best + 1]) if best + 1 < len(scores) else None
    return Threshold(_between(float(scores[best]), low), float(curve[best]))


def tune_label_thresholds(
    Y: Any, ranking: Ranking, n_labels: int, common: float, *, strength: float = STRENGTH
) -> NDArray[np.float32]:
    """Find a threshold for each label: its own best one, drawn towards that of all labels.

    The scores of a label are swept as those of all are by `tune_threshold`, and the threshold
    with the label's best F1 is its own. With few true documents that is mostly chance, so what
    is returned is (t own + strength common) / (t + strength) for a label with t true documents. A
    label of which no true document is ranked has the common threshold.

    Parameters
    ----------
    Y
        True labels, sparse, shape (n, M), M at least L.
    ranking
        n documents with enough places.
    n_labels
        L, the number of labels that the model knows.
    common
        The threshold of all labels, best that of macro-F1.
    strength
        True documents of a label that the common threshold weighs as much as; 0 for own ones only.

    Returns
    -------
    Thresholds, shape (L,), float32, for `Decision`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> ranking = Ranking(np.array([[0, 1], [1, 0]]), np.array([[0.75, 0.5], [0.75, 0.25]]))
    >>> Y = csr_array([[1, 1], [0, 1]])
    >>> tune_label_thresholds(Y, ranking, 2, 0.25, strength=0).tolist()
    [0.5, 0.5]
    >>> tune_label_thresholds(Y, ranking, 2, 0.25, strength=2).tolist()
    [0.3333333432674408, 0.375]
    """
    scored = score_ranking(Y, ranking)
    thresholds = np.full(n_labels, common, np.float32)
    scores, hits, labels = _best_first(scored)
    if not hits.any():
        return thresholds
    order, starts, f1 = _f1_by_label(hits, labels, scored.n_positives)
    scores, labels = scores[order].astype(np.float64), labels[order]
    lengths = np.diff(np.append(starts, len(labels)))
    last = np.zeros(len(labels), np.bool_)  # place of its label
    last[starts - 1] = True
    below = np.roll(scores, -1)  # the score of the next place
    f1[~last & (scores == below)] = -np.inf  # no cut between equal scores
    best = np.maximum.reduceat(f1, starts)
    cuts = np.flatnonzero(f1 == np.repeat(best, lengths))
    cuts = cuts[np.unique(labels[cuts], return_index=True)[1]]  # of equal F1s the highest
    cuts = cuts[best > 0]
    high, low = scores[cuts], below[cuts]
    middle = ((high + low) / 2).astype(np.float32)
    own = np.where(last[cuts] | (middle <= low), high, middle)
    true = scored.n_positives[labels[cuts]]
    thresholds[labels[cuts]] = (true * own + strength * common) / (true + strength)
    return thresholds


def _best_first(
    scored: ScoredRanking,
) -> tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.int32]]:
    """Return scores, hits and labels of the filled places, highest score first; (places,)."""
    filled = scored.ranking.labels >= 0
    scores = scored.ranking.scores[filled]
    order = np.argsort(-scores, kind="stable")
    return scores[order], scored.hits[filled][order], scored.ranking.labels[filled][order]


def _micro(hits: NDArray[np.bool_], true: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return micro-F1 after each of the places, best first; shape (places,)."""
    f1: NDArray[np.float64] = 2.0 * np.cumsum(hits) / (np.arange(1, len(hits) + 1) + true.sum())
    return f1


def _macro(
    hits: NDArray[np.bool_], labels: NDArray[np.int32], true: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return macro-F1 after each of the places, best first; shape (places,)."""
    order, starts, f1 = _f1_by_label(hits, labels, true)
    first = np.zeros(len(f1), np.bool_)
    first[starts] = True
    joins = np.empty(len(f1), np.bool_)
    joins[order] = first & (true[labels[order]] == 0)  # such a label enters when first given
    change = np.empty(len(f1))
    change[order] = f1 - np.where(first, 0.0, np.roll(f1, 1))
    return ratio(np.cumsum(change), (true > 0).sum() + np.cumsum(joins))


def _f1_by_label(
    hits: NDArray[np.bool_], labels: NDArray[np.int32], true: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return the F1 of a label after each of its places, label by label, best first within each.

    With it come the order of the places, both (places,), and where each label starts in it.
    """
    order = np.argsort(labels, kind="stable")
    labels, hits = labels[order], hits[order]
    starts = np.flatnonzero(np.append(True, labels[1:] != labels[:-1])).astype(np.int32)
    lengths = np.diff(np.append(starts, len(labels)))
    given = np.arange(1, len(labels) + 1, dtype=np.int32) - np.repeat(starts, lengths)
    correct = np.cumsum(hits, dtype=np.int32)
    correct -= np.repeat(correct[starts] - hits[starts], lengths)  # what other labels had before
    return order, starts, ratio(2 * correct, given + true[labels])


def _between(high: float, low: float | None) -> float:
    """Return a float32 threshold that lets ``high`` in and keeps ``low`` out."""
    if low is None:
        return high if np.isfinite(high) else FALLBACK
    if not np.isfinite(high):  # only the first places are in, and those by right
        return float(np.nextafter(np.float32(low), np.float32(np.inf)))
    middle = float(np.float32((high + low) / 2))
    return middle if middle > low else high
