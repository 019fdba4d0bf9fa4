"""How well a label's documents are told from the others (Table 6 of AttentionXML)."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation.frequency import equal_groups, frequency_groups
from labelgrove.evaluation.scored_ranking import score_ranking

Ties = Literal["none", "half"]
By = Literal["training", "test"]


class Areas(NamedTuple):
    """Areas under curves of each label, shape (M,), NaN where a label has all documents or none.

    Parameters
    ----------
    auc
        Under the curve of true against false positives: the chance that a document with the label
        is scored above one without it, equal scores counting half; `areas` says what documents
        count for which the label is not listed.
    aupr
        Under the curve of precision against recall, as average precision.
    """

    auc: NDArray[np.float64]
    aupr: NDArray[np.float64]


def areas(Y: Any, ranking: Ranking, *, ties: Ties = "none") -> Areas:
    """Return the areas under both curves of every label.

    A ranking lists a few labels of each document. The documents for which a label is not listed,
    or listed with the score 0, come last, and nothing tells them apart; so the ranking should be
    long.

    Parameters
    ----------
    Y
        True labels, sparse, shape (n, M).
    ranking
        n documents.
    ties
        What a document with the label earns where the label is not listed. ``"none"``: nothing,
        a model gains by what it names only. ``"half"``: what a draw is worth among the documents
        for which it is not listed, which is scikit-learn's value with the score 0 for them.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> ranking = Ranking(np.array([[0], [0], [0]]), np.array([[0.9], [0.5], [0.1]]))
    >>> areas(csr_array([[1], [0], [1]]), ranking)
    Areas(auc=array([0.5]), aupr=array([0.83333333]))
    """
    if ties not in get_args(Ties):
        raise UnknownNameError("way with ties", ties, get_args(Ties))
    scored = score_ranking(Y, ranking)
    n, width = scored.Y.shape
    truth, scores = csc_array(scored.Y), csc_array(ranking.to_csr(width))
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
            has[scores.indices[listed]], scores.data[listed], len(own), n, ties
        )
        has[own] = False
    return Areas(auc, aupr)


def _areas(
    true: NDArray[np.bool_], scores: NDArray[np.float32], n_true: int, n: int, ties: Ties
) -> tuple[float, float]:
    """Return both areas for the listed documents of a label; all others come last together."""
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.diff(scores[order], append=np.nan))  # of runs of equal scores
    right = np.append(np.cumsum(true[order])[ends], n_true).astype(np.float64)
    ranked = np.append(ends + 1, n)
    wrong = ranked - right
    gained, passed = np.diff(right, prepend=0.0), np.diff(wrong, prepend=0.0)
    above, earned = right - gained / 2, gained.copy()
    if ties == "none":  # the last step is those that are not listed
        above[-1], earned[-1] = right[-1] - gained[-1], 0.0
    auc = (passed * above).sum() / (n_true * (n - n_true))
    return float(auc), float((earned * right / ranked).sum() / n_true)


def areas_by_frequency(
    Y: Any,
    ranking: Ranking,
    counts: ArrayLike | None = None,
    *,
    by: By = "training",
    n_groups: int = 3,
    least: int = 5,
    ties: Ties = "none",
) -> list[dict[str, float]]:
    """Return the mean areas of frequent and rare labels.

    The labels with enough documents in Y are divided into groups of about the same number of
    occurrences.

    Parameters
    ----------
    Y, ranking, ties
        As of `areas`.
    counts
        Training documents of each label, shape (M,), or fewer: the others have 0. Not used where
        ``by`` is ``"test"``.
    by
        Which occurrences count. ``"training"``: those in training, as `frequency_groups` divides
        them: how much a model could learn of a label. ``"test"``: those in Y, as `equal_groups`
        divides them, which is Table 6 of AttentionXML as it is printed.
    n_groups
        Number of groups.
    least
        Labels with fewer documents in Y are left out.

    Returns
    -------
    A mapping for each group, the frequent first: ``labels`` (how many), ``occurrences`` (their
    documents, by which labels were divided), ``share`` (of the occurrences of all labels, those
    left out too), ``fewest`` and ``most`` (documents of a label), ``AUC``, ``AUPR``. A group
    without labels has NaN for the last four.
    """
    if by not in get_args(By):
        raise UnknownNameError("frequency to group labels by", by, get_args(By))
    by_label = areas(Y, ranking, ties=ties)
    width = len(by_label.auc)
    documents = np.bincount(score_ranking(Y, ranking).Y.indices, minlength=width)
    given = documents.astype(np.float64) if by == "test" else _padded(counts, width)
    chosen = np.flatnonzero((documents >= least) & ~np.isnan(by_label.auc))
    divide = equal_groups if by == "test" else frequency_groups
    groups = divide(given[chosen], n_groups)
    total = max(float(given.sum()), 1.0)
    return [_group(by_label, given, total, chosen[groups == each]) for each in range(n_groups)]


def _padded(counts: ArrayLike | None, width: int) -> NDArray[np.float64]:
    """Return a count for each of so many labels."""
    if counts is None:
        raise InputError("give the training documents of each label as counts, or by='test'")
    known = np.asarray(counts, np.float64)
    if known.ndim != 1 or len(known) > width:
        raise InputError(f"counts have shape {known.shape}, but Y has {width} columns")
    padded = np.zeros(width)
    padded[: len(known)] = known
    return padded


def _group(
    by_label: Areas, given: NDArray[np.float64], total: float, own: NDArray[np.int64]
) -> dict[str, float]:
    """Return the facts of a group of labels."""
    occurrences = float(given[own].sum())
    facts = {"labels": float(len(own)), "occurrences": occurrences, "share": occurrences / total}
    if not len(own):
        return facts | dict.fromkeys(("fewest", "most", "AUC", "AUPR"), float("nan"))
    return facts | {
        "fewest": float(given[own].min()),
        "most": float(given[own].max()),
        "AUC": float(by_label.auc[own].mean()),
        "AUPR": float(by_label.aupr[own].mean()),
    }
