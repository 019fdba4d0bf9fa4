"""Label vectors: what the documents of a label have in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from labelgrove.core.errors import InputError
from labelgrove.core.features import TokenSequences, as_bag
from labelgrove.labels.blocks import product_blocks

_PRODUCTS = 40_000_000  # multiplications at a time


def label_vectors(
    X: csr_array | TokenSequences, Y: csr_array, heaviest: int | None = None
) -> csr_array:
    """Return for each label the normalised sum of its documents' normalised features.

    Parabel's "positive instance feature aggregation". A label without documents gets an empty
    row.

    Parameters
    ----------
    X
        Features of documents, shape (n, D).
    Y
        Binary labels of documents, shape (n, L).
    heaviest
        Keep this many features of each label, those with the largest absolute value; the row is
        normalised afterwards. By default all, which frequent labels of long documents make
        large.

    Returns
    -------
    csr_array
        Shape (L, D), float32, sorted indices, rows of length 1 or 0.

    Examples
    --------
    >>> X = csr_array([[3.0, 4.0, 0.0], [0.0, 0.0, 2.0]])
    >>> label_vectors(X, csr_array([[1, 1, 0], [0, 1, 0]])).toarray().round(2)
    array([[0.6 , 0.8 , 0.  ],
           [0.42, 0.57, 0.71],
           [0.  , 0.  , 0.  ]], dtype=float32)
    """
    if heaviest is not None and heaviest < 1:
        raise InputError(f"heaviest must be 1 or more, got {heaviest}")
    X = normalised(as_bag(X))
    if X.shape[0] != Y.shape[0]:
        raise InputError(f"X has {X.shape[0]} rows, Y has {Y.shape[0]}")
    T = csr_array((Y != 0).T, dtype=np.float32)  # documents of each label, shape (L, n)
    blocks = [csr_array((0, X.shape[1]), dtype=np.float32)]
    for _, block in product_blocks(T, X, _PRODUCTS):
        blocks.append(normalised(block if heaviest is None else keep_heaviest(block, heaviest)))
    return csr_array(vstack(blocks, format="csr", dtype=np.float32))


def normalised(X: csr_array) -> csr_array:
    """Return X (n, D) as float32 with rows of length 1; empty rows stay."""
    from labelgrove.labels.kernels import scale_rows

    data = np.array(X.data, np.float32)
    scale_rows(offsets64(X), data)
    return csr_array((data, X.indices, X.indptr), shape=X.shape)


def offsets64(X: csr_array) -> NDArray[np.int64]:
    """Return the row offsets in the one type the kernels are compiled for."""
    return np.require(X.indptr, np.int64, ["C", "W", "E"])


def keep_heaviest(X: csr_array, m: int) -> csr_array:
    """Return X (n, D) with the m entries of largest absolute value of each row.

    Of equal ones those that stand first in the row are kept.
    """
    from labelgrove.labels.kernels import heaviest_entries

    kept = heaviest_entries(offsets64(X), np.array(X.data, np.float32), m)
    offsets = np.concatenate([[0], np.cumsum(kept)])[X.indptr]
    return csr_array((X.data[kept], X.indices[kept], offsets), shape=X.shape)
