"""Whether a score or a difference is more than luck: bootstrap, Wilcoxon, Holm.

The documents of a test set are a sample. The bootstrap draws samples of the same size from it, with
replacement, and looks how the scores vary (Efron 1979); systems that are compared get the same
samples, so that what makes a document hard for all of them cancels out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.core.errors import InputError
from labelgrove.evaluation.resampling import Additive, resampled, values

Floats = NDArray[np.float64]

FEWEST = 6  # five pairs of one mind give Wilcoxon's p = 2 / 2**5 = 0.0625, whatever the scores


class Interval(NamedTuple):
    """A metric and where it lies in most samples."""

    value: float
    low: float
    high: float


class Difference(NamedTuple):
    """How much a metric of one system is above that of another.

    ``low`` and ``high`` are where the difference lies in most samples; ``p`` is two-sided.
    """

    value: float
    low: float
    high: float
    p: float


class SignedRanks(NamedTuple):
    """The Wilcoxon signed-rank test.

    ``statistic`` is the smaller sum of ranks; ``different`` counts the pairs that differ, and the
    others say nothing.
    """

    statistic: float
    p: float
    different: int


def bootstrap(
    metrics: Mapping[str, Additive], *, resamples: int = 1000, level: float = 0.95, seed: int = 0
) -> dict[str, Interval]:
    """Return each metric with its percentile interval over samples of the documents.

    Parameters
    ----------
    metrics
        What `additive` gave.
    resamples
        Number of samples.
    level
        Share of the samples inside the interval.
    seed
        Of the draws.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from labelgrove.core.ranking import Ranking
    >>> from labelgrove.evaluation import additive
    >>> Y = csr_array(np.arange(100)[:, None] % 2)  # every other document has the label
    >>> ranking = Ranking(np.zeros((100, 1)), np.ones((100, 1)))
    >>> [round(part, 2) for part in bootstrap(additive(Y, ranking, ["P@1"]))["P@1"]]
    [0.5, 0.41, 0.6]
    """
    (samples,) = resampled([metrics], resamples=resamples, seed=seed)
    return {name: interval(value, samples[name], level) for name, value in values(metrics).items()}


def paired_bootstrap(
    first: Mapping[str, Additive],
    second: Mapping[str, Additive],
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, Difference]:
    """Return how much each metric of the first is above that of the second.

    Both are drawn with the same documents.

    Parameters
    ----------
    first, second
        What `additive` gave for the same metrics of the same documents.
    resamples, level, seed
        As in `bootstrap`.
    """
    if list(first) != list(second):
        raise InputError(f"both need the same metrics, got {list(first)} and {list(second)}")
    own, others = resampled([first, second], resamples=resamples, seed=seed)
    above, below = values(first), values(second)
    return {
        name: difference(above[name] - below[name], own[name] - others[name], level)
        for name in first
    }


def interval(value: float, samples: Floats, level: float = 0.95) -> Interval:
    """Return a score with the percentile interval of its samples, shape (resamples,).

    The samples are moved so that their mean is the score, see `centred`.
    """
    low, high = _span(centred(value, samples), level)
    return Interval(value, max(low, 0.0), min(high, 1.0))  # moved, a score may leave [0, 1]


def difference(value: float, samples: Floats, level: float = 0.95) -> Difference:
    """Return a difference with interval and p-value from its samples, shape (resamples,).

    The samples are moved so that their mean is the difference, see `centred`. The p-value is twice
    the share of those in which the sign is another. Samples without a difference count for either
    sign, before they are moved too: a small move must not make them one of many with a sign. One
    is added to both counts: the difference itself is one sample more, and no p-value is 0.
    """
    moved = centred(value, samples)
    gaps, equal = without_noise(moved), without_noise(samples) == 0
    rare = min(int((equal | (gaps <= 0)).sum()), int((equal | (gaps >= 0)).sum()))
    p = min(2 * (rare + 1) / (len(samples) + 1), 1.0)
    return Difference(value, *_span(moved, level), p)


def centred(value: float, samples: Floats) -> Floats:
    """Return samples of a metric, shape (resamples,), moved so that their mean is its value.

    Means over documents hardly move. Macro averages do: rare labels fall out of many samples, and
    F1 of a label with few documents is curved, so that the samples lie beside the value.
    """
    moved: Floats = value + without_noise(samples - samples.mean())
    return moved


def _span(samples: Floats, level: float) -> tuple[float, float]:
    if not 0 < level < 1:
        raise InputError(f"level must be above 0 and below 1, got {level}")
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def wilcoxon(first: ArrayLike, second: ArrayLike) -> SignedRanks:
    """Return the two-sided Wilcoxon signed-rank test of pairs of values.

    Pairs that do not differ are left out; without any that differ p is 1.

    Parameters
    ----------
    first, second
        A metric of the same documents, both (n,): what `per_document` gives.

    Examples
    --------
    >>> wilcoxon([0.5, 0.6, 0.7], [0.5, 0.6, 0.7])
    SignedRanks(statistic=0.0, p=1.0, different=0)
    """
    from scipy import stats

    own, others = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if own.shape != others.shape or own.ndim != 1:
        raise InputError(
            f"pairs need two arrays of one shape (n,), got {own.shape}, {others.shape}"
        )
    gaps = without_noise(own - others)
    gaps = gaps[gaps != 0]
    if not len(gaps):
        return SignedRanks(0.0, 1.0, 0)
    test = stats.wilcoxon(gaps)
    return SignedRanks(float(test.statistic), float(test.pvalue), len(gaps))


def without_noise(scores: ArrayLike) -> Floats:
    """Return scores or differences of them, any shape, without what sums leave by rounding.

    What is equal then differs by 0, and scores or gaps of one size share their ranks.
    """
    given: Floats = np.asarray(scores, np.float64)
    return np.round(given, 12)


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number, after Holm (1979).

    The smallest is multiplied by how many there are, the next by one fewer, and so on; none is
    below one before it, or above 1.

    Examples
    --------
    >>> holm([0.04, 0.01, 0.03])
    [0.06, 0.03, 0.06]
    """
    given = np.asarray(p, np.float64)
    order = np.argsort(given, kind="stable")
    grown = given[order] * np.arange(len(given), 0, -1)
    corrected = np.empty(len(given))
    corrected[order] = np.minimum(np.maximum.accumulate(grown), 1.0)
    return [float(value) for value in corrected]
