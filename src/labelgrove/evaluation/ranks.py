"""Systems compared over several data sets: ranks, Wilcoxon, Friedman and the critical difference.

After Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.core.errors import InputError
from labelgrove.evaluation.significance import FEWEST, wilcoxon, without_noise

Floats = NDArray[np.float64]


class OverSets(NamedTuple):
    """A test over data sets; where there is no p-value, ``note`` says why.

    Parameters
    ----------
    statistic
        The test's statistic.
    p
        Two-sided.
    note
        Empty where there is a p-value.
    """

    statistic: float | None
    p: float | None
    note: str = ""


class Ranks(NamedTuple):
    """How systems rank over data sets.

    Parameters
    ----------
    average
        Mean rank of each system, 1 the best, shape (systems,).
    friedman
        Whether the ranks differ more than luck would have it.
    critical
        Two systems whose average ranks differ by less are not told apart (Nemenyi's test); None
        where there is no Friedman test.
    """

    average: Floats
    friedman: OverSets
    critical: float | None


def ranks(scores: ArrayLike, *, lower_is_better: bool = False, alpha: float = 0.05) -> Ranks:
    """Rank systems on each data set and test the ranks.

    Parameters
    ----------
    scores
        A score of each system on each data set, shape (data sets, systems).
    lower_is_better
        Whether small scores are good ones.
    alpha
        Level of the critical difference.

    Examples
    --------
    >>> ranks([[0.9, 0.8, 0.7], [0.9, 0.8, 0.8]]).average.tolist()
    [1.0, 2.25, 2.75]
    """
    given = _table(scores)
    average = average_ranks(given, lower_is_better=lower_is_better)
    n_sets, n_systems = given.shape
    if n_systems < 3:
        note = f"Friedman's test needs three systems, here are {n_systems}"
        return Ranks(average, OverSets(None, None, note), None)
    if n_sets < FEWEST:
        return Ranks(average, OverSets(None, None, _too_few(n_sets)), None)
    return Ranks(average, _friedman(given), critical_difference(n_systems, n_sets, alpha))


def average_ranks(scores: ArrayLike, *, lower_is_better: bool = False) -> Floats:
    """Return the mean rank of each system, 1 the best, equal scores sharing theirs; (systems,)."""
    from scipy import stats

    given = _table(scores)
    each = stats.rankdata(given if lower_is_better else -given, axis=1)
    average: Floats = each.mean(axis=0)
    return average


def best_of(scores: Sequence[float | None], *, lower_is_better: bool = False) -> set[int]:
    """Return the numbers of the best scores, of those that are there.

    Examples
    --------
    >>> best_of([0.3, None, 0.1 + 0.2, 0.2])
    {0, 2}
    """
    given = np.array(scores, np.float64)  # None becomes NaN
    there = {i: s for i, s in enumerate(without_noise(given)) if not np.isnan(s)}
    top = (min if lower_is_better else max)(there.values(), default=None)
    return {number for number, score in there.items() if score == top}


def critical_difference(n_systems: int, n_sets: int, alpha: float = 0.05) -> float:
    """Return by how much average ranks must differ to differ significantly (Nemenyi 1963).

    It is ``q sqrt(k (k + 1) / 6 N)`` for k systems on N data sets, with q the upper quantile of
    the studentized range of k values, divided by the square root of 2.

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)  # Demšar's example has 1.25
    1.25
    """
    from scipy import stats

    q = stats.studentized_range.ppf(1 - alpha, n_systems, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_systems * (n_systems + 1) / (6 * n_sets)))


def wilcoxon_over_sets(first: ArrayLike, second: ArrayLike) -> OverSets:
    """Return the Wilcoxon signed-rank test of two systems over data sets.

    Parameters
    ----------
    first, second
        The scores of each on the same data sets, both (data sets,).

    Examples
    --------
    >>> wilcoxon_over_sets([0.9, 0.8], [0.8, 0.7]).note
    '2 data sets are too few for a p-value, it takes 6'
    """
    own, others = np.asarray(first, np.float64), np.asarray(second, np.float64)
    test = wilcoxon(own, others)
    if len(own) < FEWEST:
        return OverSets(test.statistic, None, _too_few(len(own)))
    return OverSets(test.statistic, test.p)


def _friedman(given: Floats) -> OverSets:
    from scipy import stats

    if (given == given[:, :1]).all():  # no set tells any two apart
        return OverSets(0.0, 1.0)
    test = stats.friedmanchisquare(*given.T)
    return OverSets(float(test.statistic), float(test.pvalue))


def _too_few(n_sets: int) -> str:
    told = "1 data set is" if n_sets == 1 else f"{n_sets} data sets are"
    return f"{told} too few for a p-value, it takes {FEWEST}"


def _table(scores: ArrayLike) -> Floats:
    given: Floats = np.asarray(scores, np.float64)
    if given.ndim != 2 or 0 in given.shape:
        raise InputError(f"scores need the shape (data sets, systems), got {given.shape}")
    if np.isnan(given).any():
        row, column = np.argwhere(np.isnan(given))[0]
        raise InputError(
            f"system {column} has no score on data set {row}: rank what has all of them"
        )
    return without_noise(given)
