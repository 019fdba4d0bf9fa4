"""Rows of a sparse matrix that are far from one another, or at least no copies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, hstack

COPY = 0.95  # the cosine from which on two texts are copies, as among neighbours
ROUNDING = 1e-5  # of a cosine in float32


def unit_rows(X: csr_array) -> csr_array:
    """Return rows brought to length 1, shape (m, D + 1); empty ones have the last column.

    Examples
    --------
    >>> unit_rows(csr_array([[3.0, 4.0], [0.0, 0.0]])).toarray().round(2).tolist()
    [[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]]
    """
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    empty = (lengths == 0).astype(lengths.dtype)
    return csr_array(hstack([diags_array(1 / (lengths + empty)) @ X, csr_array(empty[:, None])]))


def best_rows(X: csr_array, weights: NDArray[np.floating], n: int) -> list[int]:
    """Return up to n rows, the heaviest first, that are no copies of one another.

    Parameters
    ----------
    X
        Rows of length 1, shape (m, D).
    weights
        How much each row is wanted, shape (m,).
    n
        How many.

    Examples
    --------
    >>> X = csr_array(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    >>> best_rows(X, np.array([0.9, 0.8, 0.7]), 2)
    [0, 2]
    """
    return _heaviest(X, weights, n, np.ones(X.shape[0], np.bool_))


def spread_rows(
    X: csr_array,
    copies: csr_array,
    weights: NDArray[np.floating],
    n: int,
    random: np.random.Generator,
) -> list[int]:
    """Return up to n rows that are far from one another, drawn at random as k-means++ does.

    The chance of a row is its weight times the square of its distance (one minus the cosine) to
    the nearest row that is drawn already. When all are at distance 0, the heaviest follow.

    Parameters
    ----------
    X
        What distances are between: rows of length 1, shape (m, D).
    copies
        The same documents by their texts: of copies only one is drawn, shape (m, W).
    weights
        How much each row is wanted, shape (m,), not negative.
    n
        How many.
    random
        What draws.

    References
    ----------
    Arthur, Vassilvitskii: k-means++, the advantages of careful seeding. SODA 2007.
    """
    distances, free = np.ones(X.shape[0]), np.ones(X.shape[0], np.bool_)
    rows: list[int] = []
    while len(rows) < n:
        chances = np.cumsum(weights * free * distances**2)
        if not len(chances) or chances[-1] <= 0:
            break
        drawn = np.searchsorted(chances, random.random() * chances[-1], side="right")
        row = int(min(drawn, len(chances) - 1))
        rows.append(row)
        distances = np.minimum(distances, np.maximum(1.0 - ROUNDING - _likeness(X, row), 0.0))
        free &= _likeness(copies, row) < COPY
    return rows + _heaviest(copies, weights, n - len(rows), free)


def _heaviest(
    X: csr_array, weights: NDArray[np.floating], n: int, free: NDArray[np.bool_]
) -> list[int]:
    rows: list[int] = []
    for row in np.argsort(-weights, kind="stable").tolist():
        if len(rows) >= n:
            break
        if free[row]:
            rows.append(row)
            free &= _likeness(X, row) < COPY
    return rows


def _likeness(X: csr_array, row: int) -> NDArray[np.float64]:
    """Return the cosine of each row with one of them, shape (m,)."""
    one = np.zeros(X.shape[1], X.dtype)
    start, end = X.indptr[row], X.indptr[row + 1]
    one[X.indices[start:end]] = X.data[start:end]
    return np.asarray(X @ one, np.float64)
