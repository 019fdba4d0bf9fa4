"""Methods compared over all cells of a table of scores, as Tables 2 and 3 of AttentionXML do it.

A cell is one measurement that all methods have, such as P@3 on one data set. All cells go into one
Wilcoxon test. Cells of one data set are made by the same documents, so they are not independent and
the p-values come out too small: `labelgrove.evaluation.ranks` tests one metric over data sets.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.evaluation.ranks import average_ranks
from labelgrove.evaluation.significance import FEWEST, holm, without_noise

EXACT = 50  # cells up to which the test's distribution is counted, not approximated
Scores = Mapping[str, Mapping[Hashable, float]]


class MethodTest(NamedTuple):
    """The Wilcoxon signed-rank test of two methods over all cells.

    Parameters
    ----------
    first, second
        Names of the methods.
    wins, losses
        Cells in which the first is better, and worse.
    statistic
        The smaller sum of ranks.
    p
        Two-sided, for these two alone; None with fewer than six cells.
    corrected
        The same after Holm's correction for the number of tests.
    """

    first: str
    second: str
    wins: int
    losses: int
    statistic: float
    p: float | None
    corrected: float | None


class MethodRanks(NamedTuple):
    """How methods stand over all cells of a table.

    Parameters
    ----------
    cells
        The cells that all methods have: those that count.
    missing
        Cells that some method lacks.
    average
        Mean rank of each method, 1 the best; equal scores share theirs.
    tests
        Of every two methods, or of one against all others.
    """

    cells: tuple[Hashable, ...]
    missing: tuple[Hashable, ...]
    average: Mapping[str, float]
    tests: tuple[MethodTest, ...]


def rank_methods(
    scores: Scores, *, against: str | None = None, lower_is_better: bool = False
) -> MethodRanks:
    """Rank methods in every cell of a table, and test their differences over all cells at once.

    In the test, cells without a difference are left out (Wilcoxon's own way, scipy's
    ``zero_method="wilcox"``) and differences of one size share their ranks. Up to 50 differences
    the distribution is the exact one for different sizes, above that a normal one. AttentionXML's
    p-values are these, without a correction for their number: ``p``. With several tests read
    ``corrected``.

    Parameters
    ----------
    scores
        For each method its scores by cell, such as ``{"bonsai": {("arxiv", "P@1"): 0.76}}``.
    against
        A method: only it is tested, against each other one, as in the paper. By default every two
        are.
    lower_is_better
        Whether small scores are good ones.

    Examples
    --------
    >>> scores = {
    ...     "a": {"1": 0.9, "2": 0.8, "3": 0.7, "4": 0.6, "5": 0.5, "6": 0.40},
    ...     "b": {"1": 0.8, "2": 0.6, "3": 0.4, "4": 0.2, "5": 0.0, "6": 0.41},
    ... }
    >>> found = rank_methods(scores)
    >>> {method: round(rank, 2) for method, rank in found.average.items()}
    {'a': 1.17, 'b': 1.83}
    >>> found.tests[0]
    MethodTest(first='a', second='b', wins=5, losses=1, statistic=1.0, p=0.0625, corrected=0.0625)
    """
    methods = list(scores)
    if len(methods) < 2:
        raise InputError(f"ranks need two methods or more, got {methods}")
    if against is not None and against not in scores:
        raise UnknownNameError("method", against, methods)
    seen = list(dict.fromkeys(cell for own in scores.values() for cell in own))
    cells = [cell for cell in seen if all(cell in own for own in scores.values())]
    if not cells:
        raise InputError(f"no cell has a score of all of {', '.join(methods)}")
    columns = {name: np.array([own[c] for c in cells], np.float64) for name, own in scores.items()}
    if lower_is_better:
        columns = {name: -column for name, column in columns.items()}
    _check_finite(columns, cells)
    average = average_ranks(np.transpose(list(columns.values())))
    return MethodRanks(
        cells=tuple(cells),
        missing=tuple(cell for cell in seen if cell not in set(cells)),
        average={name: float(rank) for name, rank in zip(methods, average, strict=True)},
        tests=_tests(columns, _pairs(methods, against)),
    )


def _check_finite(columns: Mapping[str, NDArray[np.float64]], cells: list[Hashable]) -> None:
    for name, column in columns.items():
        wrong = np.flatnonzero(~np.isfinite(column))
        if len(wrong):
            raise InputError(
                f"the score of {name} in cell {cells[wrong[0]]!r} is {abs(column[wrong[0]])}, "
                "which has no rank: leave the cell out"
            )


def _pairs(methods: list[str], against: str | None) -> Iterable[tuple[str, str]]:
    if against is None:
        return combinations(methods, 2)
    return [(against, method) for method in methods if method != against]


def _tests(
    columns: Mapping[str, NDArray[np.float64]], pairs: Iterable[tuple[str, str]]
) -> tuple[MethodTest, ...]:
    tests = [_test(one, two, columns[one] - columns[two]) for one, two in pairs]
    if any(test.p is None for test in tests):
        return tuple(tests)
    corrected = holm([test.p for test in tests if test.p is not None])
    return tuple(test._replace(corrected=p) for test, p in zip(tests, corrected, strict=True))


def _test(first: str, second: str, differences: NDArray[np.float64]) -> MethodTest:
    from scipy import stats

    gaps = without_noise(differences)
    wins, losses = int((gaps > 0).sum()), int((gaps < 0).sum())
    enough = len(gaps) >= FEWEST
    gaps = gaps[gaps != 0]
    if not len(gaps):
        return MethodTest(first, second, 0, 0, 0.0, 1.0 if enough else None, None)
    method = "exact" if len(gaps) <= EXACT else "asymptotic"
    test = stats.wilcoxon(gaps, zero_method="wilcox", method=method)
    p = float(test.pvalue) if enough else None
    return MethodTest(first, second, wins, losses, float(test.statistic), p, None)
