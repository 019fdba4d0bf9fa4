"""One monotone map from a model's scores to probabilities, learned on held-out documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.core.errors import InputError
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation.at_k import ratio
from labelgrove.evaluation.scored_ranking import ScoredRanking, score_ranking

Floats = NDArray[np.float64]

FEW_HITS = 10  # fewer hits say nothing: the scores stay as they are
ENOUGH = 300  # hits and misses each from which on steps are safer than a curve of fixed shape
EDGE = 1e-6  # no fitted probability is nearer to 0 or 1 than this; float32 still tells it from 1
SLIGHT = 0.01  # share of the way to 0 or 1 that probabilities go where nothing is known
PRIOR_VARIANCE = 10.0  # of the fixed shape's slope around 1 and shift around 0


@dataclass(frozen=True, eq=False)
class Calibration:
    """A monotone map, linear between knots and level beyond the first and the last.

    Being monotone it never changes the order of a ranking, only what its scores mean.

    Parameters
    ----------
    x
        Scores, shape (m,), strictly increasing, m at least 1.
    y
        Their probabilities, shape (m,), never decreasing, in [0, 1].

    Examples
    --------
    >>> calibration = Calibration(np.array([0.0, 0.5, 1.0]), np.array([0.1, 0.2, 0.9]))
    >>> calibration.apply(np.array([0.25, 0.5, 2.0], np.float32)).round(3).tolist()
    [0.15000000596046448, 0.20000000298023224, 0.8999999761581421]
    >>> Calibration.identity().apply(np.array([0.25], np.float32)).tolist()
    [0.25]
    """

    x: Floats
    y: Floats

    def __post_init__(self) -> None:
        x, y = np.asarray(self.x, np.float64), np.asarray(self.y, np.float64)
        if x.ndim != 1 or x.shape != y.shape or len(x) == 0:
            raise InputError(
                f"a calibration needs knots x and y of one shape (m,), got {x.shape}, {y.shape}"
            )
        if not ((np.diff(x) > 0).all() and np.isfinite(x).all()):
            raise InputError("the knots x of a calibration must be finite and strictly increasing")
        if not ((np.diff(y) >= 0).all() and y[0] >= 0 and y[-1] <= 1):
            raise InputError("the knots y of a calibration must lie in [0, 1] and never decrease")
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)

    @classmethod
    def identity(cls) -> Calibration:
        """Return the map that leaves probabilities as they are."""
        return cls(np.array([0.0, 1.0]), np.array([0.0, 1.0]))

    def apply(self, scores: ArrayLike) -> NDArray[np.float32]:
        """Return probabilities of any shape, float32; equal or rising scores never fall."""
        values = np.clip(np.asarray(scores, np.float64), self.x[0], self.x[-1])
        if len(self.x) == 1:
            return np.full(values.shape, self.y[0], np.float32)
        right = np.clip(np.searchsorted(self.x, values, side="right"), 1, len(self.x) - 1)
        left = right - 1
        part = (values - self.x[left]) / (self.x[right] - self.x[left])
        probabilities = self.y[left] + part * (self.y[right] - self.y[left])
        # rounding must not lift a value above its right knot, or order could change there
        return np.minimum(probabilities, self.y[right]).astype(np.float32)


def fit_calibration(Y: Any, ranking: Ranking) -> Calibration:
    """Learn probabilities from the hits of a ranking of held-out documents.

    All filled places count, as one (score, hit) each. What is fitted depends on how many there
    are: with at least 300 hits and 300 misses isotonic regression; with at least 10 hits a
    logistic curve over the log-odds of the score, held near the identity by a Gaussian prior;
    with fewer the identity. Fitted probabilities are strictly between 0 and 1: each step of
    the isotonic regression counts one more observation, a hit to the share that hits have
    overall. The map goes through the middle of each step, so that scores of one step keep their
    order instead of becoming one probability.

    Parameters
    ----------
    Y
        True labels, sparse, shape (n, M).
    ranking
        n documents that the model did not learn from.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> ranking = Ranking(np.zeros((40, 1)), np.full((40, 1), 0.9))
    >>> Y = csr_array(np.arange(40)[:, None] % 2)  # 0.9 is claimed, half of it is true
    >>> round(float(fit_calibration(Y, ranking).apply(0.9)), 2)
    0.5
    """
    scores, hits = _scores_and_hits(score_ranking(Y, ranking))
    n_hits = int(hits.sum())
    if n_hits < FEW_HITS:
        return Calibration.identity()
    if min(n_hits, len(hits) - n_hits) < ENOUGH:
        return _logistic(scores, hits)
    return _isotonic(scores, hits)


def _scores_and_hits(scored: ScoredRanking) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return score and hit of each filled place, both (places,)."""
    filled = scored.ranking.labels >= 0
    return scored.ranking.scores[filled], scored.hits[filled]


def _isotonic(scores: NDArray[np.float32], hits: NDArray[np.bool_]) -> Calibration:
    from scipy.optimize import isotonic_regression

    x, group = np.unique(scores, return_inverse=True)  # equal scores are one observation
    n = np.bincount(group).astype(np.float64)
    n_hits = np.bincount(group, weights=hits)
    steps = isotonic_regression(n_hits / n, weights=n).blocks
    starts = steps[:-1]
    n_steps, n_hits = np.add.reduceat(n, starts), np.add.reduceat(n_hits, starts)
    overall = (hits.sum() + 0.5) / (len(hits) + 1.0)
    # small steps move more towards the overall share, which may undo the order: restore it
    y = isotonic_regression((n_hits + overall) / (n_steps + 1.0), weights=n_steps).x
    rises = np.append(True, np.diff(y) > 0)
    starts, y = starts[rises], np.clip(y[rises], EDGE, 1 - EDGE)
    return _through_centres(x.astype(np.float64), n, starts, y)


def _through_centres(x: Floats, n: Floats, starts: NDArray[np.int64], y: Floats) -> Calibration:
    """Return a map that rises everywhere through the steps of a regression.

    It is linear between the steps' mean scores. On the outer side of the first step and of the
    last it goes on as steeply as it arrives at the middle, and beyond all known scores it rises
    by next to nothing.

    Parameters
    ----------
    x, n
        The known scores, rising, and how often each occurs, both (scores,).
    starts, y
        Where each step starts in ``x``, and its probability, both (steps,).
    """
    centres = np.add.reduceat(x * n, starts) / np.add.reduceat(n, starts)
    first_end = x[(starts[1] if len(starts) > 1 else len(x)) - 1]
    ends = np.interp([first_end, x[starts[-1]]], centres, y)
    bottom = max(2 * y[0] - ends[0], y[0] / 2) if ends[0] > y[0] else _slightly_down(y[0])
    top = min(2 * y[-1] - ends[1], (1 + y[-1]) / 2) if ends[1] < y[-1] else _slightly_up(y[-1])
    knots, values = [*centres], [*y]
    if x[0] < centres[0]:
        knots, values = [x[0], *knots], [bottom, *values]
    if x[-1] > centres[-1]:
        knots, values = [*knots, x[-1]], [*values, top]
    if knots[0] > 0:
        knots, values = [0.0, *knots], [_slightly_down(values[0]), *values]
    if knots[-1] < 1:
        knots, values = [*knots, 1.0], [*values, _slightly_up(values[-1])]
    return Calibration(np.array(knots), np.clip(values, EDGE, 1 - EDGE))


def _slightly_down(probability: float) -> float:
    return probability - SLIGHT * max(probability - EDGE, 0.0)


def _slightly_up(probability: float) -> float:
    return probability + SLIGHT * max(1 - EDGE - probability, 0.0)


def _logistic(scores: NDArray[np.float32], hits: NDArray[np.bool_]) -> Calibration:
    from scipy.optimize import minimize
    from scipy.special import expit, logit

    odds = logit(np.clip(scores.astype(np.float64), EDGE, 1 - EDGE))
    identity = np.array([1.0, 0.0])

    def loss(shape: Floats) -> tuple[float, Floats]:
        z = shape[0] * odds + shape[1]
        away = (shape - identity) / PRIOR_VARIANCE
        wrong = expit(z) - hits
        value = np.logaddexp(0.0, z).sum() - z[hits].sum() + away @ (shape - identity) / 2
        return float(value), np.array([wrong @ odds, wrong.sum()]) + away

    optimum = minimize(
        loss, identity, jac=True, method="L-BFGS-B", bounds=[(0.0, None), (None, None)]
    )
    slope, shift = optimum.x
    grid = np.linspace(logit(EDGE), logit(1 - EDGE), 201)
    return Calibration(expit(grid), np.clip(expit(slope * grid + shift), EDGE, 1 - EDGE))


@dataclass(frozen=True, eq=False)
class Reliability:
    """How often scores come true, bin by bin; m bins of equal width over [0, 1].

    Parameters
    ----------
    edges
        Where the bins begin and end, shape (m + 1,).
    counts
        Filled places in each bin, shape (m,).
    scores
        Their mean score, shape (m,); 0 in an empty bin.
    hits
        Their share of hits, shape (m,); 0 in an empty bin.
    """

    edges: Floats
    counts: NDArray[np.int64]
    scores: Floats
    hits: Floats


def reliability(Y: Any, ranking: Ranking, bins: int = 15) -> Reliability:
    """Compare scores with the share of hits among them.

    Parameters
    ----------
    Y
        True labels, sparse, shape (n, M).
    ranking
        n documents; take ``ranking.top(k)`` to look at the first k places only.
    bins
        Number of bins.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> ranking = Ranking(np.array([[0, 1], [1, 0]]), np.array([[0.9, 0.2], [0.7, 0.4]]))
    >>> found = reliability(csr_array([[1, 0], [0, 1]]), ranking, bins=2)
    >>> found.counts.tolist(), found.scores.round(2).tolist(), found.hits.tolist()
    ([2, 2], [0.3, 0.8], [0.0, 1.0])
    """
    if bins < 1:
        raise InputError(f"bins must be at least 1, got {bins}")
    scores, hits = _scores_and_hits(score_ranking(Y, ranking))
    inside = np.clip(scores.astype(np.float64), 0.0, 1.0)
    place = np.minimum((inside * bins).astype(np.int64), bins - 1)
    counts = np.bincount(place, minlength=bins)
    return Reliability(
        np.linspace(0.0, 1.0, bins + 1),
        counts,
        ratio(np.bincount(place, weights=inside, minlength=bins), counts),
        ratio(np.bincount(place, weights=hits, minlength=bins), counts),
    )


def expected_calibration_error(Y: Any, ranking: Ranking, bins: int = 15) -> float:
    """Return the mean distance of score and share of hits, bins weighed by their filled places.

    The parameters are those of `reliability`. With many places per document most scores are near
    0 and right to be so, which makes the error small; compare only rankings of one width.
    """
    curve = reliability(Y, ranking, bins)
    total = int(curve.counts.sum())
    return float(curve.counts @ np.abs(curve.scores - curve.hits) / total) if total else 0.0
