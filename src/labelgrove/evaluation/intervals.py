"""Intervals of metrics over documents, without drawing documents anew: cheap enough for any save.

A metric that is a sum over documents divided by another is a ratio of two means, and the variance
of such a ratio follows from how much single documents depart from it (the delta method). For some
hundred documents and more this agrees with the bootstrap.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import Any

import numpy as np

from labelgrove.core.ranking import Ranking
from labelgrove.evaluation.decision import Decision
from labelgrove.evaluation.resampling import Sums, additive

SPREAD = 1.96  # standard errors to either side, for 95 %
FEWEST = 30  # documents; an interval of fewer would promise more than is known


def intervals(
    Y: Any, ranking: Ranking, metrics: Iterable[str], *, threshold: float | Decision = 0.5
) -> dict[str, tuple[float, float]]:
    """Return the 95 % interval of each metric over documents; none for fewer than 30 documents.

    Parameters
    ----------
    Y, ranking, threshold
        As in `evaluate`.
    metrics
        Names of metrics that are means over documents or micro averages, but those that need
        propensities.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> ranking = Ranking(np.zeros((100, 1), np.int32), np.ones((100, 1), np.float32))
    >>> Y = csr_array(np.eye(2, dtype=np.float32)[[0, 1] * 50])
    >>> low, high = intervals(Y, ranking, ["P@1"])["P@1"]
    >>> round(low, 2), round(high, 2)
    (0.4, 0.6)
    """
    if len(ranking) < FEWEST:
        return {}
    parts = additive(Y, ranking, metrics, threshold=threshold)
    return {name: _interval(each) for name, each in parts.items() if isinstance(each, Sums)}


def _interval(sums: Sums) -> tuple[float, float]:
    whole, n = float(sums.whole.sum()), len(sums.part)
    if whole <= 0:
        return 0.0, 1.0
    value = float(sums.part.sum()) / whole
    error = sqrt(n / (n - 1) * float(np.square(sums.part - value * sums.whole).sum())) / whole
    return max(0.0, value - SPREAD * error), min(1.0, value + SPREAD * error)
