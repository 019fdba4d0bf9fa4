"""Kernels of ranking by chains of labels.

Arrays in and out, nothing else; each is tested against plain numpy.
"""

import numpy as np

from labelgrove.core.jit import njit
from labelgrove.models.linear.forest_kernels import score_chunk

ONE = np.float32(1.0)
ZERO = np.float32(0.0)


@njit(cache=True, nogil=True)
def score_root(indptr, indices, data, dense, first, last, root, tables, out):
    """Write the scores of all children of a root into ``out`` of shape (n, children).

    Rows are those from ``first`` to before ``last`` of a csr matrix, with dense columns beside it
    or None; columns are the children in
    their order in ``tables``.
    """
    n, width = out.shape
    rows = np.arange(first, last)
    visits = np.arange(n)
    places = visits * width
    flat = out.reshape(-1)
    scratch = np.empty(0, np.int32)
    for chunk in range(tables.chunk_ptr[root], tables.chunk_ptr[root + 1]):
        scratch = score_chunk(
            indptr, indices, data, dense, rows, visits, places, flat, root, chunk, tables, scratch
        )


@njit(cache=True, nogil=True)
def follow(scores, link_ptr, link_to, link_value, labels, sharpness, hard, total):
    """Go along a chain and add the probabilities of its labels to ``total`` of shape (n, L).

    ``scores`` of shape (n, L), by place in the chain, hold what the text says of each label;
    the label at place j, if it is said to be there, adds ``link_value[e]`` to the score at
    ``link_to[e]`` for e from ``link_ptr[j]`` to before ``link_ptr[j + 1]``. If ``hard``, it is
    there if its probability is above a half; otherwise as much as its probability says.
    ``labels`` is the label at each place. ``scores`` end as those of the chain.
    """
    for i in range(scores.shape[0]):
        row = scores[i]
        for j in range(len(row)):
            p = 1.0 / (1.0 + np.exp(-np.float64(sharpness) * np.float64(row[j])))
            total[i, labels[j]] += p
            said = np.float32(p)
            if hard:
                said = ONE if row[j] > ZERO else ZERO
            if said > ZERO:
                for e in range(link_ptr[j], link_ptr[j + 1]):
                    row[link_to[e]] += said * link_value[e]
