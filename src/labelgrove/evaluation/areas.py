"""How well a label's documents are told from the others (Table 6 of AttentionXML)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array

from labelgrove.core.ranking import Ranking
from labelgrove.evaluation.frequency import frequency_groups
from labelgrove.evaluation.judged import judge


class Areas(NamedTuple):
    """Areas under curves of each label, shape (M,), NaN where a label has all documents or none.

    Parameters
    ----------
    auc
        Under the curve of true against false positives: the chance that a document with the label
        is scored above one without it, equal scores counting half.
    aupr
        Under the curve of precision against recall, as average precision.
    """

    auc: NDArray[np.float64]
    aupr: NDArray[np.float64]


def areas(Y: Any, ranking: Ranking) -> Areas:
    """Return the areas under both curves of every label.

    A label that is not among the ranked ones of a document has the score 0 there, so the ranking
    should be long.

    Parameters
    ----------
    Y
        True labels, sparse, shape (n, M).
    ranking
        n documents.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> ranking = Ranking(np.array([[0], [0], [0]]), np.array([[0.9], [0.5], [0.1]]))
    >>> areas(csr_array([[1], [0], [1]]), ranking)
    Areas(auc=array([0.5]), aupr=array([0.83333333]))
    """
    judged = judge(Y, ranking)
    n, width = judged.Y.shape
    truth, scores = csc_array(judged.Y), csc_array(ranking.to_csr(width))
    scores.eliminate_zeros()  # as if it were not listed
    auc, aupr = np.full(width, np.nan), np.full(width, np.nan)
    has = np.zeros(n, bool)
    for label in np.flatnonzero(np.diff(truth.indptr)):
        own = truth.indices[truth.indptr[label] : truth.indptr[label + 1]]
        if len(own) == n:
            continue
        listed = slice(scores.indptr[label], scores.indptr[label + 1])
        has[own] = True
        auc[label], aupr[label] = _areas(
            has[scores.indices[listed]], scores.data[listed], len(own), n
        )
        has[own] = False
    return Areas(auc, aupr)


def _areas(
    true: NDArray[np.bool_], scores: NDArray[np.float32], n_true: int, n: int
) -> tuple[float, float]:
    """Return both areas for the listed documents of a label; all others share the score 0."""
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.diff(scores[order], append=-1.0))  # of runs of equal scores
    right = np.append(np.cumsum(true[order])[ends], n_true).astype(np.float64)
    wrong = np.append(ends + 1, n) - right
    gained, passed = np.diff(right, prepend=0.0), np.diff(wrong, prepend=0.0)
    auc = (passed * (right - gained / 2)).sum() / (n_true * (n - n_true))
    found = np.maximum(right + wrong, 1.0)
    return float(auc), float((gained * right / found).sum() / n_true)


def areas_by_frequency(
    Y: Any, ranking: Ranking, counts: ArrayLike, *, n_groups: int = 3, least: int = 5
) -> list[dict[str, float]]:
    """Return the mean areas of frequent and rare labels.

    Labels are divided so that the groups hold equal shares of all occurrences in training.

    Parameters
    ----------
    Y, ranking
        As of `areas`.
    counts
        Training documents of each label, shape (M,), or fewer: the others have 0.
    n_groups
        Number of groups.
    least
        Labels with fewer documents in Y are left out.

    Returns
    -------
    A mapping for each group, the frequent first: ``labels``, ``occurrences``, ``AUC``, ``AUPR``.
    """
    found = areas(Y, ranking)
    width = len(found.auc)
    given = np.zeros(width)
    given[: len(np.asarray(counts))] = counts
    documents = np.bincount(judge(Y, ranking).Y.indices, minlength=width)
    chosen = np.flatnonzero((documents >= least) & ~np.isnan(found.auc))
    groups = frequency_groups(given[chosen], n_groups)
    return [
        {
            "labels": float(len(own)),
            "occurrences": float(given[own].sum()),
            "AUC": float(found.auc[own].mean()) if len(own) else float("nan"),
            "AUPR": float(found.aupr[own].mean()) if len(own) else float("nan"),
        }
        for own in (chosen[groups == group] for group in range(n_groups))
    ]
