"""A low-rank matrix that keeps some known entries, and linear maps of sparse rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

STEPS = 2  # of the power method in each round
CONJUGATE = 60  # steps of conjugate gradients at most
CLOSE = 1e-4  # of the first residual: conjugate gradients end there
RHO = 1.0  # of the alternating directions
DIRECTIONS = 10  # rounds of them


def completed(
    known: csr_array, size: int, rounds: int, chance: np.random.Generator
) -> NDArray[np.float64]:
    """Return vectors (n, size) whose products are near the known entries of a symmetric matrix.

    Singular value projection of Jain, Meka and Dhillon: from 0 on, a matrix moves to the known
    entries, and then to the nearest one that is a product of such vectors. Its eigenvectors are
    followed by a few steps of the power method.

    Parameters
    ----------
    known
        The entries that are stored are known, shape (n, n).
    size
        Length of a vector.
    rounds
        Moves.
    chance
        Of the first vectors.
    """
    n = known.shape[0]
    size = min(size, n)
    rows = np.repeat(np.arange(n), np.diff(known.indptr))
    basis = np.linalg.qr(chance.standard_normal((n, size)))[0]
    vectors: NDArray[np.float64] = np.zeros((n, size))
    for _ in range(rounds):
        reached = np.empty(known.nnz)
        for first in range(0, known.nnz, 1 << 16):
            part = slice(first, first + (1 << 16))
            reached[part] = (vectors[rows[part]] * vectors[known.indices[part]]).sum(axis=1)
        left = csr_array((known.data - reached, known.indices, known.indptr), known.shape)
        for _ in range(STEPS):
            basis = np.linalg.qr(left @ basis + vectors @ (vectors.T @ basis))[0]
        inner = basis.T @ (left @ basis + vectors @ (vectors.T @ basis))
        values, turn = np.linalg.eigh((inner + inner.T) / 2)
        vectors = (basis @ turn) * np.sqrt(np.maximum(values, 0.0))
    return vectors


def linear_map(
    X: csr_array, Z: NDArray[np.float64], ridge: float, sparsity: float
) -> NDArray[np.float64]:
    """Return V (D, d) that minimises |Z - XV|^2 / 2 + ridge |V|^2 / 2 + sparsity |XV|_1.

    By alternating directions, each by conjugate gradients.

    Parameters
    ----------
    X, Z
        Shapes (n, D) and (n, d).
    ridge
        Above 0.
    sparsity
        Of the results; 0 for a ridge regression.
    """
    V = _ridge(X, X.T @ Z, 1.0, ridge, np.zeros((X.shape[1], Z.shape[1])))
    if not sparsity:
        return V
    results = X @ V
    apart = np.zeros_like(results)
    for _ in range(DIRECTIONS):
        wanted = results + apart
        sparse = np.sign(wanted) * np.maximum(np.abs(wanted) - sparsity / RHO, 0.0)
        apart = wanted - sparse
        V = _ridge(X, X.T @ (Z + RHO * (sparse - apart)), 1.0 + RHO, ridge, V)
        results = X @ V
    return V


def _ridge(
    X: csr_array, target: NDArray[np.float64], scale: float, ridge: float, V: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Solve (scale X'X + ridge I) V = target from V on, all columns at once."""
    residual = target - scale * (X.T @ (X @ V)) - ridge * V
    direction, V = residual.copy(), V.copy()
    squares = (residual**2).sum(axis=0)
    first = np.maximum((target**2).sum(axis=0), 1e-30)
    for _ in range(CONJUGATE):
        if (squares <= CLOSE**2 * first).all():
            break
        image = scale * (X.T @ (X @ direction)) + ridge * direction
        step = squares / np.maximum((direction * image).sum(axis=0), 1e-300)
        V += step * direction
        residual -= step * image
        new = (residual**2).sum(axis=0)
        direction = residual + new / np.maximum(squares, 1e-300) * direction
        squares = new
    return V
