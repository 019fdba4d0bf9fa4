"""Thresholds that keep a promise on new documents: at least this precision, or this recall.

What held-out documents show is partly luck, and the threshold that looks just good enough there is
too low half of the time. So a threshold counts as good enough only if the lower end of an exact
interval (Clopper and Pearson 1934) is. Labels of one document are right or wrong together, so the
interval counts documents rather than labels: those with more labels weigh more, which leaves as
many independent observations as Kish (1965) counts, (sum of g)^2 / (sum of g^2) for documents with
g labels. The promise holds for documents that are drawn as the held-out ones were.
"""

from __future__ import annotations

from math import ceil, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import InputError
from labelgrove.evaluation.held_out import HeldOutPlaces

Floats = NDArray[np.float64]

CONFIDENCE = 0.9  # benchmarks/quality/promises.md: how often promises hold


class Promise(NamedTuple):
    """A threshold that keeps a promise, or what could be promised instead.

    Parameters
    ----------
    threshold
        Labels with at least this score are given; None if the promise cannot be made.
    best
        The highest precision, or recall, that can be promised.
    """

    threshold: float | None
    best: float


def promise_precision(
    places: HeldOutPlaces, precision: float, confidence: float = CONFIDENCE
) -> Promise:
    """Find the lowest threshold of which given labels are right so often.

    Parameters
    ----------
    places
        Held-out documents.
    precision
        Share of the given labels that are to be right, all documents together.
    confidence
        Share of the promises that are to hold.

    Examples
    --------
    >>> scores, hits = np.linspace(1, 0.5, 100, dtype=np.float32), np.arange(100) < 60
    >>> places = HeldOutPlaces(scores, hits, np.arange(101), np.ones(100, np.int32))
    >>> promise = promise_precision(places, 0.9)  # 60 of the first 62 are right
    >>> round(promise.threshold, 2), round(promise.best, 2)
    (0.69, 0.96)
    """
    _check(precision, confidence)
    sums = places.sweep
    if not len(sums.thresholds):
        return Promise(None, 0.0)
    low = lower_bound(sums.correct / sums.given, sums.given**2 / sums.squares, confidence)
    kept = np.flatnonzero(low >= precision)
    threshold = float(sums.thresholds[kept[-1]]) if len(kept) else None
    return Promise(threshold, float(low.max()))


def promise_recall(places: HeldOutPlaces, recall: float, confidence: float = CONFIDENCE) -> Promise:
    """Find the highest threshold that gives such a share of the true labels.

    The parameters are as for `promise_precision`.
    """
    _check(recall, confidence)
    sums, true = places.sweep, places.n_true.astype(np.float64)
    if not len(sums.thresholds) or not true.any():
        return Promise(None, 0.0)
    low = lower_bound(sums.correct / true.sum(), true.sum() ** 2 / (true @ true), confidence)
    kept = np.flatnonzero(low >= recall)
    threshold = float(sums.thresholds[kept[0]]) if len(kept) else None
    return Promise(threshold, float(low.max()))


def fewest_documents(share: float, confidence: float = CONFIDENCE) -> int:
    """Return how many documents without any error can promise a share.

    Examples
    --------
    >>> fewest_documents(0.9), fewest_documents(0.95)
    (22, 45)
    """
    _check(share, confidence)
    return ceil(log(1 - confidence) / log(share))


def lower_bound(share: Floats | float, n: Floats | float, confidence: float) -> Floats:
    """Return what the true share is at least, with confidence; all of one shape.

    Parameters
    ----------
    share
        The share of n independent observations that are right.
    n
        Their number, which need not be whole.
    confidence
        Probability that the bound holds.

    Examples
    --------
    >>> float(lower_bound(1.0, 22, 0.9).round(4))  # 0.1 ** (1 / 22)
    0.9006
    """
    from scipy.special import betaincinv  # only for promises: tagging is faster without

    right = np.asarray(share, np.float64) * n
    wrong = np.maximum(n - right, 0.0)
    bound = betaincinv(np.where(right > 0, right, 1.0), wrong + 1.0, 1.0 - confidence)
    found: Floats = np.where(right > 0, bound, 0.0)
    return found


def _check(share: float, confidence: float) -> None:
    for name, value in (("a promised share", share), ("confidence", confidence)):
        if not 0 < value < 1:
            raise InputError(f"{name} must be above 0 and below 1, got {value}")
