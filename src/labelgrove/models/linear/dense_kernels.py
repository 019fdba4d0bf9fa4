"""Kernels of dense columns beside sparse features, in training and in ranking.

Arrays in and out, nothing else; each is tested against plain numpy. The solver visits rows one
after another, and multiplying each vector with all weights would read the weights from a slow
cache for every row. So a few rows are scored at once, before any of them moves the weights; a row
that moves them then corrects the scores of the rows behind it, by the products of their vectors.
The result is the same but for rounding. The weights of a label lie side by side, because few
labels move in a visit.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.jit import interpreting, njit
from labelgrove.models.linear.plain_products import DOT_ROWS, WHOLE_VECTORS

if interpreting():
    from labelgrove.models.linear.plain_products import add_product, write_dots
else:
    from labelgrove.models.linear.product_kernels import add_product, write_dots

BLOCK = 8  # rows that are scored at once
LINE = 16  # numbers in a line of the cache
ZERO = np.float32(0.0)


class DenseRows(NamedTuple):
    """The dense columns of the rows that a node learns from, and their weights.

    Parameters
    ----------
    vectors
        The dense columns of all documents, shape (n, d).
    rows
        The document of each row, shape (m,).
    weights
        As `zero_weights` makes them: a row for each label, a column for each dense column, and
        zeros that fill tiles.
    """

    vectors: NDArray[np.float32]
    rows: NDArray[np.int32]
    weights: NDArray[np.float32]

    def label_weights(self, n_labels: int) -> NDArray[np.float32]:
        """Return a copy of the weights without the zeros that fill tiles, shape (n_labels, d)."""
        return self.weights[:n_labels, : self.vectors.shape[1]].copy()


@njit(cache=True, nogil=True)
def aligned_zeros(rows, columns):
    """Return zeros that begin with a line of the cache: a vector is then never in two of them."""
    spare = np.zeros(rows * columns + LINE, np.float32)
    first = -(spare.ctypes.data // spare.itemsize) % LINE
    return spare[first : first + rows * columns].reshape(rows, columns)


def zero_weights(n_labels: int, d: int) -> NDArray[np.float32]:
    """Return weights to begin with, shape (at least n_labels, at least d), that fill tiles."""
    rows, columns = -(-n_labels // DOT_ROWS) * DOT_ROWS, -(-d // WHOLE_VECTORS) * WHOLE_VECTORS
    weights: NDArray[np.float32] = aligned_zeros(rows, columns)
    return weights


@njit(cache=True, nogil=True)
def _copy(source, target):
    """Copy one row to another."""
    for f in range(len(source)):
        target[f] = source[f]


@njit(cache=True, nogil=True)
def score_block(rows, vectors, documents, weights, block, products, scores):
    """Score the first BLOCK of some rows, which are of `DenseRows`, as ``weights`` are.

    The vectors go to ``block`` (BLOCK, as wide as ``weights``), the products of each with each to
    ``products`` (BLOCK, BLOCK), the scores to ``scores`` (BLOCK, at least labels).
    """
    for b in range(min(len(rows), BLOCK)):
        _copy(vectors[documents[rows[b]]], block[b])
    write_dots(block, block, products)
    write_dots(block, weights, scores)


@njit(cache=True, nogil=True, fastmath={"contract"})
def move_labels(at, labels, steps, block, products, scores, weights):
    """Add row ``at`` of a block times a step to the weights of some labels.

    And to the scores of the rows behind it in the block.
    """
    for t in range(len(labels)):
        moved, step = weights[labels[t]], steps[t]
        for f in range(len(moved)):
            moved[f] += step * block[at, f]
    for behind in range(at + 1, BLOCK):
        for t in range(len(labels)):
            scores[behind, labels[t]] += products[at, behind] * steps[t]


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
