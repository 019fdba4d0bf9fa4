"""How well frequent and rare labels are found: groups of labels by frequency, and their metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.core.errors import InputError
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation.decision import Decision, as_decision
from labelgrove.evaluation.scored_ranking import score_ranking
from labelgrove.evaluation.sets import averages, counts_by_label


def frequency_groups(counts: ArrayLike, n_groups: int = 4) -> NDArray[np.int64]:
    """Divide labels into groups that hold equal shares of all occurrences, the frequent first.

    The first group is a handful of labels, the last the long tail. A label belongs where the
    first of its occurrences falls, all labels laid end to end; labels of one count may be parted,
    by number. Labels that training never saw are in the last group.

    Parameters
    ----------
    counts
        Training documents of each label, shape (L,).
    n_groups
        Number of groups; one may be empty where a label outweighs more than a share.

    Returns
    -------
    Group of each label, 0 the most frequent, shape (L,).

    Examples
    --------
    >>> frequency_groups([1, 6, 2, 3, 0], n_groups=2).tolist()
    [1, 0, 1, 1, 1]
    """
    given = np.asarray(counts, np.float64)
    if n_groups < 1:
        raise InputError(f"n_groups must be at least 1, got {n_groups}")
    groups = np.full(len(given), n_groups - 1, np.int64)
    total = given.sum()
    if total > 0:
        order = np.argsort(-given, kind="stable")
        before = np.cumsum(given[order]) - given[order]
        groups[order] = np.minimum((before / total * n_groups).astype(np.int64), n_groups - 1)
    return groups


def equal_groups(counts: ArrayLike, n_groups: int = 3) -> NDArray[np.int64]:
    """Divide labels into groups whose occurrences are as equal as possible, the frequent first.

    Labels of one count stay together, so that a group is a range of counts: the groups of Table 6
    of AttentionXML. Of all such divisions this one has the smallest sum of the squares of the
    groups' occurrences.

    Parameters
    ----------
    counts
        Documents of each label, shape (L,).
    n_groups
        Number of groups; with fewer different counts the last ones are empty.

    Returns
    -------
    Group of each label, 0 the most frequent, shape (L,).

    Examples
    --------
    >>> equal_groups([1, 6, 2, 2, 0], n_groups=2).tolist()
    [1, 0, 1, 1, 1]
    """
    given = np.asarray(counts, np.float64)
    if n_groups < 1:
        raise InputError(f"n_groups must be at least 1, got {n_groups}")
    levels, level_of, labels = np.unique(-given, return_inverse=True, return_counts=True)
    ends = _equal_cuts(np.cumsum(-levels * labels), min(n_groups, len(levels)))
    return np.searchsorted(ends, level_of).astype(np.int64)


def _equal_cuts(until: NDArray[np.float64], n_groups: int) -> NDArray[np.int64]:
    """Return the last count of each group of `equal_groups`, by number; (n_groups,).

    ``until`` has the occurrences of each count and all larger ones, shape (counts,); ``least[e]``
    is the smallest sum of squares of so many groups that end with count e.
    """
    least = until**2
    earlier = []  # for each number of groups and each end: where the group before ends
    for _ in range(n_groups - 1):
        before, sums = np.zeros(len(until), np.int64), np.full(len(until), np.inf)
        for end in range(1, len(until)):
            own = (until[end] - until[:end]) ** 2 + least[:end]
            before[end] = own.argmin()
            sums[end] = own[before[end]]
        earlier.append(before)
        least = sums
    ends = [len(until) - 1]
    for before in reversed(earlier):
        ends.append(int(before[ends[-1]]))
    return np.array(ends[::-1])


def by_frequency(
    Y: Any,
    ranking: Ranking,
    counts: ArrayLike,
    *,
    n_groups: int = 4,
    threshold: float | Decision = 0.5,
) -> list[dict[str, float]]:
    """Return micro and macro precision, recall and F1 of each group of labels.

    Macro-F1 of the four groups is what Figure 2 of LACO shows.

    Parameters
    ----------
    Y
        True labels, sparse, shape (n, M).
    ranking
        n documents.
    counts
        Training documents of each label, shape (M,), or fewer: the others have 0.
    n_groups, threshold
        As in `frequency_groups` and `evaluate`.

    Returns
    -------
    A mapping for each group, the frequent first: ``labels`` (how many), ``occurrences`` (in
    training), and the metrics, all 0 in a group without labels.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> ranking = Ranking(np.array([[0, 1], [0, 2]]), np.array([[0.9, 0.8], [0.7, 0.6]]))
    >>> groups = by_frequency(csr_array([[1, 1, 0], [1, 0, 0]]), ranking, [9, 3, 2], n_groups=2)
    >>> [(each["labels"], each["macro-F1"]) for each in groups]
    [(1.0, 1.0), (2.0, 0.5)]
    """
    scored = score_ranking(Y, ranking)
    given = np.asarray(counts, np.int64)
    width = scored.Y.shape[1]
    if given.ndim != 1 or len(given) > width:
        raise InputError(f"counts have shape {given.shape}, but Y has {width} columns")
    padded = np.concatenate([given, np.zeros(width - len(given), np.int64)])
    groups = frequency_groups(padded, n_groups)
    by_label = counts_by_label(scored, as_decision(threshold).mask(ranking))
    results = []
    for group in range(n_groups):
        member = groups == group
        facts = {"labels": float(member.sum()), "occurrences": float(padded[member].sum())}
        results.append(facts | averages(by_label[member]))
    return results
