"""How often labels stand together."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, vstack

from labelgrove.core.errors import InputError
from labelgrove.labels.blocks import product_blocks
from labelgrove.labels.vectors import keep_heaviest

_PAIRS = 20_000_000  # label pairs at a time


def cooccurrence(Y: csr_array, top: int | None = None) -> csr_array:
    """Return how many documents each two labels share, shape (L, L), int32.

    The diagonal holds the labels' own counts. Worked in blocks of labels, so that documents
    with thousands of labels need memory for the answer and one block only.

    Parameters
    ----------
    Y
        Binary labels of documents, shape (n, L).
    top
        Keep this many strongest companions of each label, and the diagonal; of equally strong
        ones those with the lower number. The result is then not symmetric. By default all.

    Examples
    --------
    >>> cooccurrence(csr_array([[1, 1, 0], [1, 1, 1]])).toarray()
    array([[2, 2, 1],
           [2, 2, 1],
           [1, 1, 1]], dtype=int32)
    """
    if top is not None and top < 0:
        raise InputError(f"top must be 0 or more, got {top}")
    Y = csr_array(Y != 0, dtype=np.int32)
    blocks = [csr_array((0, Y.shape[1]), dtype=np.int32)]
    for start, block in product_blocks(csr_array(Y.T), Y, _PAIRS):
        blocks.append(block if top is None else _strongest(block, start, top))
    return csr_array(vstack(blocks, format="csr", dtype=np.int32))


def conditional(counts: csr_array) -> csr_array:
    """Return P(column | row) from co-occurrence counts with their diagonal, (L, L), float32.

    Examples
    --------
    >>> conditional(cooccurrence(csr_array([[1, 0], [1, 1]]))).toarray()
    array([[1. , 0.5],
           [1. , 1. ]], dtype=float32)
    """
    own = np.repeat(counts.diagonal(), np.diff(counts.indptr))
    shares = (counts.data / np.maximum(own, 1)).astype(np.float32)
    return csr_array((shares, counts.indices, counts.indptr), shape=counts.shape)


def _strongest(block: csr_array, start: int, top: int) -> csr_array:
    """Keep the diagonal and ``top`` others of each row; row i is label start + i."""
    rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    # a label with documents stands with itself, in the first place
    strength = np.where(block.indices == rows + start, np.inf, block.data)
    ranked = csr_array(
        (strength, np.arange(block.nnz), block.indptr), shape=(block.shape[0], block.nnz)
    )
    kept = keep_heaviest(ranked, top + 1)
    return csr_array(
        (block.data[kept.indices], block.indices[kept.indices], kept.indptr), shape=block.shape
    )
