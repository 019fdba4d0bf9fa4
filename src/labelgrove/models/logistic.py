"""Logistic regression on a few columns, drawn towards weights that are known to be good."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SUREST = 1e-6  # probabilities nearer to 0 or 1 count as this near


def logistic(
    X: Floats, y: Floats, start: Floats, strength: float = 1.0, counts: Floats | None = None
) -> Floats:
    """Return weights (D,) of a logistic regression on X (n, D), drawn towards ``start``.

    Newton's method, with shorter steps where a whole one would go too far.

    Parameters
    ----------
    X, y
        Rows, and 1 for those that are right, 0 for others, shape (n,).
    start
        Weights to begin with, shape (D,).
    strength
        Cost of leaving them: so many times the squared distance.
    counts
        For how many rows each row stands, shape (n,); by default each for itself.
    """
    many = np.ones(len(X)) if counts is None else counts

    def loss(weights: Floats) -> float:
        scores = X @ weights
        return float(
            (many * (np.logaddexp(0.0, scores) - y * scores)).sum()
            + strength * ((weights - start) ** 2).sum()
        )

    weights = start.copy()
    lowest = loss(weights)
    for _ in range(50):
        p = sigmoid(X @ weights)
        slope = X.T @ (many * (p - y)) + 2.0 * strength * (weights - start)
        bend = (X * (many * p * (1.0 - p))[:, None]).T @ X + 2.0 * strength * np.eye(len(weights))
        step = np.linalg.solve(bend, slope)
        while (new := loss(weights - step)) > lowest and np.abs(step).max() > 1e-9:
            step /= 2.0
        if lowest - new <= 1e-9 * max(lowest, 1.0):
            break
        weights, lowest = weights - step, new
    return weights


def log_odds(chances: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Return log(p / (1 - p)) of probabilities, of which none counts as quite 0 or 1."""
    sure = np.clip(chances.astype(np.float64), SUREST, 1 - SUREST)
    return (np.log(sure) - np.log1p(-sure)).astype(np.float32)


def sigmoid(scores: Floats) -> Floats:
    """Return 1 / (1 + exp(-scores)), shape as given."""
    return 0.5 + 0.5 * np.tanh(0.5 * scores)
