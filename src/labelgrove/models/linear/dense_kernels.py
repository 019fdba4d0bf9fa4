"""Kernels of dense columns beside sparse features, in training and in ranking.

Arrays in and out, nothing else; each is tested against plain numpy. The solver visits rows one
after another, and multiplying each vector with all weights would read the weights from a slow
cache for every row. So a few rows are scored at once, before any of them moves the weights, and
each gets what the rows before it in its block have moved: their vectors' products times their
changes. The block then moves the weights at once. The result is the same but for rounding.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from labelgrove.models.linear.product_kernels import add_product

BLOCK = 8  # rows that are scored at once
ZERO = np.float32(0.0)


class DenseRows(NamedTuple):
    """The dense columns of the rows that a node learns from.

    Parameters
    ----------
    vectors
        The dense columns of all documents, shape (n, d).
    rows
        The document of each row, shape (m,).
    """

    vectors: NDArray[np.float32]
    rows: NDArray[np.int32]


@njit(cache=True, nogil=True)
def _copy(source, target):
    """Copy one row to another."""
    for f in range(len(source)):
        target[f] = source[f]


@njit(cache=True, nogil=True)
def score_block(order, k, due, epoch, vectors, documents, weights, block, scores):
    """Score the next rows that are due in this epoch, from place k of ``order`` on.

    Row i is ``vectors[documents[i]]``; ``weights`` have the shape (d, width). The vectors go to
    ``block`` (BLOCK, d), the scores to ``scores`` (BLOCK, width). Returns the number of rows.
    """
    size = 0
    while k < len(order) and size < BLOCK:
        i = order[k]
        if due[i] <= epoch:
            _copy(vectors[documents[i]], block[size])
            size += 1
        k += 1
    scores[:] = ZERO
    add_product(block, weights, scores)
    return size


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def add_block_scores(block, scores, at, moved, changes, n_moved, score):
    """Add the scores of row ``at`` of a block to ``score`` (width,).

    They are those of `score_block`, and what rows before it in the block have added to the
    weights since: their vectors ``moved`` (BLOCK, d) times their ``changes`` (BLOCK, width).
    """
    for c in range(len(score)):
        score[c] += scores[at, c]
    for before in range(n_moved):
        product = ZERO
        for f in range(block.shape[1]):
            product += moved[before, f] * block[at, f]
        for c in range(len(score)):
            score[c] += product * changes[before, c]


@njit(cache=True, nogil=True)
def note_change(block, at, change, moved, changes, n_moved):
    """Note that row ``at`` of a block adds its vector times ``change`` (width,) to the weights."""
    _copy(block[at], moved[n_moved])
    _copy(change, changes[n_moved])


@njit(cache=True, nogil=True)
def move_weights(moved, changes, n_moved, weights):
    """Add to the weights (d, width) what the rows of a block have changed."""
    if n_moved:
        add_product(moved[:n_moved].T, changes, weights)


@njit(cache=True, nogil=True)
def write_scores(dense, rows, visits, out_ptr, out, offset, bias, values, scale):
    """Write what dense columns and biases say of the s children of a chunk.

    ``visits`` are the visits, ``rows`` the row of ``dense`` (n, d) of each; the scores of visit v
    go to ``out`` from ``out_ptr[v] + offset`` on. ``values`` (d, s) are the weights in steps,
    ``scale`` (s,) or longer the step of each child, as ``bias`` (s,) is its bias.
    """
    d, s = values.shape
    size = min(len(visits), BLOCK)
    block, scores = np.empty((size, d), np.float32), np.empty((size, s), np.float32)
    for begin in range(0, len(visits), BLOCK):
        here = min(len(visits) - begin, BLOCK)
        for b in range(here):
            _copy(dense[rows[visits[begin + b]]], block[b])
        scores[:] = ZERO
        add_product(block, values, scores[:here])
        for b in range(here):
            first = out_ptr[visits[begin + b]] + offset
            for c in range(s):
                out[first + c] = bias[c] + scores[b, c] * scale[c]
