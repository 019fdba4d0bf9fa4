"""Documents whose labels are most like those of others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

ROWS = 64  # that are compared at once
LEAST = 1e-6  # by which scores are moved, so that equal ones fall in random order


def label_neighbours(
    Y: csr_array, k: int, budget: int, chance: np.random.Generator, power: float = 1.0
) -> NDArray[np.int32]:
    """Return the k documents that share most with each document, shape (n, k).

    A label that document j shares with another counts 1 / (number of labels of j)^power. Equal ones
    come in random order. Where there are fewer than k, they are repeated; -1 where there is none.

    Parameters
    ----------
    Y
        Labels (n, L).
    k
        Places.
    budget
        Comparisons for each document on average: the most frequent labels are left out where
        there would be more.
    chance
        Of the random order.
    power
        1/2 to rank documents by the cosines of their labels.
    """
    n = Y.shape[0]
    counts = np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.int64)
    order = np.argsort(counts, kind="stable")
    within = np.cumsum(counts[order] ** 2) <= budget * n
    kept = np.zeros(Y.shape[1], np.float32)
    kept[order[within]] = 1.0
    sizes = np.maximum(np.diff(Y.indptr), 1.0) ** power
    weighed = csr_array((np.repeat(1.0 / sizes, np.diff(Y.indptr)), Y.indices, Y.indptr), Y.shape)
    known = csr_array((kept[Y.indices], Y.indices, Y.indptr), Y.shape)
    known.eliminate_zeros()
    columns = csr_array(weighed.T)
    found = np.full((n, k), -1, np.int32)
    for first in range(0, n, ROWS):
        shared = csr_array(known[first : first + ROWS] @ columns)
        shared.data += LEAST * chance.random(len(shared.data))
        for i in range(shared.shape[0]):
            row = slice(shared.indptr[i], shared.indptr[i + 1])
            others, scores = shared.indices[row], shared.data[row]
            scores[others == first + i] = -1.0
            best = np.argpartition(-scores, k)[: k + 1] if len(scores) > k + 1 else slice(None)
            places = np.argsort(-scores[best], kind="stable")
            nearest = others[best][places][scores[best][places] > 0][:k]
            if len(nearest):
                found[first + i] = np.resize(nearest, k)
    return found
