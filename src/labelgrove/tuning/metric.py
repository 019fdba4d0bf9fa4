"""By which metric trials are compared."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from labelgrove.core.errors import UnknownNameError
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import evaluate

DEPTHS = (1, 3, 5)  # at which rankings are always cut


@dataclass(frozen=True)
class Metric:
    """A metric of `labelgrove.evaluation.evaluate`.

    Parameters
    ----------
    name
        Such as ``"nDCG@5"``, ``"PSP@5"`` or ``"micro-F1"``.

    Examples
    --------
    >>> Metric("P@10").ks, Metric("hamming-loss").less_is_better
    ((1, 3, 5, 10), True)
    """

    name: str = "nDCG@5"

    def __post_init__(self) -> None:
        one = np.ones((1, 1), np.float32)
        known = evaluate(
            csr_array(one), Ranking(np.zeros((1, 1), np.int32), one), ks=self.ks,
            propensities=np.ones(1),
        )  # fmt: skip
        if self.name not in known:
            raise UnknownNameError("metric", self.name, known)

    @property
    def ks(self) -> tuple[int, ...]:
        """The depths at which rankings are cut."""
        match = re.search(r"@([1-9]\d{0,4})$", self.name)
        return tuple(sorted({*DEPTHS, *([int(match[1])] if match else [])}))

    @property
    def less_is_better(self) -> bool:
        """True where 0 is best."""
        return self.name == "hamming-loss"

    @property
    def goal(self) -> str:
        """Which of the tuned thresholds tells the labels that are given."""
        return "macro" if self.name.startswith("macro-") else "micro"

    def better(self, one: float, other: float) -> bool:
        """Tell whether one score is better than another."""
        return one < other if self.less_is_better else one > other
