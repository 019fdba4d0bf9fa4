"""How many different sets of labels are given, and how many of them are new (Table 6 of LACO)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.ranking import Ranking
from labelgrove.evaluation.decision import Decision, as_decision
from labelgrove.evaluation.scored_ranking import binary, score_ranking

Ints = NDArray[np.int64]


def perfect_ranking(Y: Any) -> Ranking:
    """Return the ranking of a system that gives every document exactly its true labels.

    It makes the row "Ground Truth" of a table of systems, and a reference where a perfect system
    is not at 0: ``pair_divergence(train, perfect_ranking(Y))`` is how far the test documents are
    from those learned from.

    Parameters
    ----------
    Y
        True labels, sparse, shape (n, M).

    Examples
    --------
    >>> Y, train = csr_array([[1, 1, 0], [0, 1, 1]]), csr_array([[1, 1, 0]])
    >>> found = combinations(Y, perfect_ranking(Y), train)
    >>> found["given"], found["given-unseen"], found["subset-accuracy"]
    (2.0, 1.0, 1.0)
    """
    true = csr_array(binary(Y) != 0, dtype=np.float32)
    return Ranking.from_csr(true, int(np.diff(true.indptr).max(initial=1)))


def combinations(
    Y: Any, ranking: Ranking, train: Any, *, threshold: float | Decision = 0.5
) -> dict[str, float]:
    """Count the different sets of labels that are true and that are given.

    A set is unseen if no training document has exactly its labels. The empty set is a set as any
    other. A ranking of k places gives sets of k labels at most: see `capped_rows`.

    Parameters
    ----------
    Y
        True labels, sparse, shape (n, M).
    ranking
        n documents.
    train
        Labels of the documents learned from, sparse, shape (m, L), numbered as in Y. L and M may
        differ.
    threshold
        Score from which on a label is given, or a whole `Decision`.

    Returns
    -------
    ``true``, ``given``
        Number of different sets in Y, and among those given (C_Test in the paper).
    ``true-unseen``, ``given-unseen``
        How many of each were never seen in training.
    ``found-unseen``
        How many of ``true-unseen`` are given to at least one of the documents that have them.
    ``documents-unseen``
        Number of documents whose true set was never seen in training.
    ``subset-accuracy``, ``subset-accuracy-unseen``
        Share of all documents, and of ``documents-unseen``, that are given their true set.

    Examples
    --------
    >>> ranking = Ranking(np.array([[0, 1], [2, 1]]), np.array([[0.9, 0.2], [0.8, 0.7]]))
    >>> found = combinations(csr_array([[1, 1, 0], [0, 1, 1]]), ranking, csr_array([[1, 1, 0]]))
    >>> found["given"], found["given-unseen"]  # {0} and {1, 2}: neither was learned from
    (2.0, 2.0)
    >>> found["true-unseen"], found["found-unseen"], found["subset-accuracy"]
    (1.0, 1.0, 0.5)
    """
    scored = score_ranking(Y, ranking)
    sets = as_decision(threshold).to_csr(ranking, scored.Y.shape[1])
    known: dict[bytes, int] = {}
    _number(binary(train, "train"), known)
    n_seen = len(known)  # what gets a number from here on is unseen
    true, given = _number(scored.Y, known), _number(sets, known)
    right, unseen = true == given, true >= n_seen
    different = {"true": np.unique(true), "given": np.unique(given)}
    values = {name: len(each) for name, each in different.items()}
    values |= {f"{name}-unseen": (each >= n_seen).sum() for name, each in different.items()}
    values["found-unseen"] = len(np.unique(true[right & unseen]))
    values["documents-unseen"] = unseen.sum()
    shares = {
        "subset-accuracy": right.mean(),
        "subset-accuracy-unseen": right[unseen].mean() if unseen.any() else 0.0,
    }
    return {name: float(value) for name, value in (values | shares).items()}


def _number(sets: csr_array, known: dict[bytes, int]) -> Ints:
    """Return a number for each row, shape (n,), the same for equal rows.

    ``known`` is from the labels of a row, as bytes, to its number, and learns the new ones. Exact,
    which a hash of numbers would not be.
    """
    labels = sets.indices.astype(np.int64)
    ends = (sets.indptr.astype(np.int64) * labels.itemsize).tolist()
    whole = labels.tobytes()
    numbers = (known.setdefault(whole[start:end], len(known)) for start, end in pairwise(ends))
    return np.fromiter(numbers, np.int64, sets.shape[0])
