"""Documents divided into shares, of which each is left out of a training once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.features import Features, TokenSequences, Views
from labelgrove.core.random import generator

BLOCK = 50_000  # documents that are looked at together, so that memory does not grow with all


def shares_of(
    Y: csr_array, folds: int, seed: int, copies: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Divide documents into shares, shape (n,); those with labels are in at least two of them.

    Copies are in the same share: a model that has learned a text is no judge of it.

    Parameters
    ----------
    Y
        Labels, shape (n, L).
    folds
        Number of shares.
    seed
        Of the division.
    copies
        As `copies_of` returns; None if no document has a copy.
    """
    n = Y.shape[0]
    copies = np.arange(n) if copies is None else copies
    firsts = np.unique(copies)
    random = generator(seed, "folds")
    labelled = np.bincount(copies, np.diff(Y.indptr), minlength=n)[firsts] > 0
    order = [random.permutation(np.flatnonzero(each)) for each in (labelled, ~labelled)]
    shares = np.empty(n, np.int64)
    shares[firsts[np.concatenate(order)]] = np.arange(len(firsts)) % folds
    return shares[copies]


def different(Y: csr_array, copies: NDArray[np.int64]) -> int:
    """Return the number of documents with labels, copies counted once."""
    return len(np.unique(copies[np.diff(Y.indptr) > 0]))


def copies_of(X: Features) -> NDArray[np.int64]:
    """Return for each document the first one with the same features, shape (n,).

    Documents without any features are no copies of one another.

    Examples
    --------
    >>> copies_of(csr_array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])).tolist()
    [0, 1, 0, 3, 4]
    """
    if isinstance(X, Views):
        X = next(iter(X[view] for view in X))
    n = X.shape[0]
    keys, filled = np.empty(n, np.uint64), np.empty(n, np.bool_)
    for start in range(0, n, BLOCK):
        block = slice(start, min(start + BLOCK, n))
        keys[block], filled[block] = _keys(X[block])
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return np.where(filled, first[which], np.arange(n)).astype(np.int64)


def _keys(X: Any) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Return a number for each document that hardly two share, and whether it has features."""
    if isinstance(X, TokenSequences):
        offsets = X.offsets
        numbers = np.arange(len(X.tokens)) - np.repeat(offsets[:-1], np.diff(offsets))
        entries = _mixed(X.tokens, numbers)
    elif isinstance(X, np.ndarray):
        rows = np.ascontiguousarray(X, np.float32)
        offsets = np.arange(rows.shape[0] + 1) * rows.shape[1]
        columns = np.tile(np.arange(rows.shape[1]), rows.shape[0])
        entries = _mixed(columns, rows.view(np.uint32).ravel())
    else:
        offsets = X.indptr
        entries = _mixed(X.indices, X.data.astype(np.float32).view(np.uint32))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entries, dtype=np.uint64)])
    return sums[offsets[1:]] - sums[offsets[:-1]], np.diff(offsets) > 0


def _mixed(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a number for each pair that hardly two pairs have in common."""
    mixed = first.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= (second.astype(np.uint64) + np.uint64(1)) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(32))
