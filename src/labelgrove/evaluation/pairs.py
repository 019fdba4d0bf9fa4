"""How far given labels stand together as they should (equation 8 and Table 5 of LACO).

Zhang, Zhang, Yan, Liu and Cao, "Enhancing label correlation feedback in multi-label text
classification via multi-task learning", Findings of ACL 2021.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.ranking import Ranking
from labelgrove.evaluation.decision import Decision, as_decision
from labelgrove.evaluation.scored_ranking import binary, check_ranking
from labelgrove.labels.pairs import cooccurrence

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def pair_divergence(
    Y: Any, ranking: Ranking, *, threshold: float | Decision = 0.5
) -> dict[str, float]:
    """Return the conditional Kullback-Leibler divergence of label pairs, KL(true || given).

    Let g(b|a) be the share of the documents with label a that have b too, by Y, and p(b|a) the
    same by the given labels.

    - **Over which pairs.** All ordered pairs of two different labels that stand together in at
      least one document of Y. Pairs that are only given count nowhere.
    - **Smoothing.** With K(a) labels that stand beside a in Y, both shares are taken as if there
      were K(a) + 1 more documents with a: one with each of these labels, and one with none of
      them. So a share is (#(a, b) + 1) / (#(a) + K(a) + 1), and 1 / (K(a) + 1) where a label is
      never given. The paper does not say how it smooths.
    - **A total** over all pairs, in natural logarithms, no mean: to compare data sets divide by
      ``labels`` or ``pairs``.

    ``KL`` is the equation as printed, the sum of g log(g / p). The shares of one label do not
    add up to 1, so it may fall below 0: a model that gives every label to every document has the
    lowest value of all. ``whole-KL`` therefore adds what the absence of b contributes,
    (1 - g) log((1 - g) / (1 - p)). It is never below 0, and 0 only where all shares agree.

    Parameters
    ----------
    Y
        True labels, sparse, shape (m, M), of the test documents or of those learned from: they
        need not be the ranking's documents.
    ranking
        n documents; the labels it names are columns of Y.
    threshold
        Score from which on a label is given, or a whole `Decision`.

    Returns
    -------
    ``KL``, ``whole-KL``, ``pairs`` (summed over) and ``labels`` (those that are an a).

    Examples
    --------
    >>> Y = csr_array([[1, 1], [1, 0]])
    >>> ranking = Ranking(np.array([[0, 1], [0, 1]]), np.array([[0.9, 0.8], [0.7, 0.2]]))
    >>> pair_divergence(Y, ranking)
    {'KL': 0.0, 'whole-KL': 0.0, 'pairs': 2.0, 'labels': 2.0}
    >>> pair_divergence(Y, ranking, threshold=0.1)["KL"] < 0  # given together too often
    True
    """
    Y = binary(Y)
    check_ranking(ranking, Y)
    true = cooccurrence(Y)
    given = cooccurrence(as_decision(threshold).to_csr(ranking, Y.shape[1]))
    a, b = _places(true)
    apart = a != b
    a, b = a[apart], b[apart]
    companions = np.bincount(a, minlength=Y.shape[1])
    extra = companions[a] + 1
    g = (true.data[apart] + 1.0) / (true.diagonal()[a] + extra)
    p = (_counts_at(given, a, b) + 1.0) / (given.diagonal()[a] + extra)
    there = float((g * np.log(g / p)).sum())
    absent = float(((1 - g) * np.log((1 - g) / (1 - p))).sum())  # no share reaches 1
    return {
        "KL": there,
        "whole-KL": there + absent,
        "pairs": float(len(a)),
        "labels": float((companions > 0).sum()),
    }


def _places(counts: csr_array) -> tuple[Ints, Ints]:
    """Return row and column of each stored entry, each of shape (entries,)."""
    entries = counts.tocoo()
    return entries.row.astype(np.int64), entries.col.astype(np.int64)


def _counts_at(counts: csr_array, a: Ints, b: Ints) -> Ints:
    """Return the entries at (a, b), 0 where none is stored; all of shape (pairs,)."""
    numbers: Ints = np.zeros(len(a), np.int64)
    if counts.nnz:
        rows, columns = _places(counts)
        stored, wanted = rows * counts.shape[1] + columns, a * counts.shape[1] + b
        place = np.minimum(np.searchsorted(stored, wanted), len(stored) - 1)
        same = stored[place] == wanted
        numbers[same] = counts.data[place[same]]
    return numbers
