"""Labels that always stand together, and labels that nearly always bring another one along."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

FEWEST = 10  # documents of a label, for its companions to mean something
SHARE = 0.97  # of a label's documents that have the other one too
MOST = 2000  # documents of a label that are looked at
BROADER = 1.5  # times as many documents has the broader of two labels, or more
EVERYWHERE = 0.5  # of all documents: a label that is no news beside any other


class Companions(NamedTuple):
    """Pairs of label numbers.

    Parameters
    ----------
    same
        Two labels, each nearly always with the other; the one with more documents first.
    narrower
        A label and a broader one that nearly always stands beside it; frequent labels first.
    """

    same: list[tuple[int, int]]
    narrower: list[tuple[int, int]]


def companions(Y: csr_array) -> Companions:
    """Return labels that stand together; time and memory grow with the labels of documents.

    Parameters
    ----------
    Y
        Labels, shape (n, L).

    Examples
    --------
    >>> Y = csr_array(np.repeat([[1, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 1]], [10, 10, 30], axis=0))
    >>> companions(Y)
    Companions(same=[(0, 1)], narrower=[(0, 2), (1, 2)])
    """
    from labelgrove.checking import kernels

    rows, columns = csr_array(Y), Y.tocsc()
    counts = np.diff(columns.indptr)
    labels, others, _ = kernels.companions(
        rows.indptr.astype(np.int64), rows.indices.astype(np.int32),
        columns.indptr.astype(np.int64), columns.indices.astype(np.int32), FEWEST, SHARE, MOST,
    )  # fmt: skip
    pairs = set(zip(labels.tolist(), others.tolist(), strict=True))
    most_first = sorted(pairs, key=lambda pair: (-counts[pair[0]], pair))
    same = [
        (one, other)
        for one, other in most_first
        if (other, one) in pairs and (counts[one], -one) > (counts[other], -other)
    ]
    narrower = [
        (one, other)
        for one, other in most_first
        if (other, one) not in pairs
        and counts[other] >= BROADER * counts[one]
        and counts[other] < EVERYWHERE * Y.shape[0]
    ]
    return Companions(same, narrower)
