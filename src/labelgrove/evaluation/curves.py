"""Precision against recall, at every threshold of a ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import InputError
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation.decision import Decision, as_decision
from labelgrove.evaluation.scored_ranking import score_ranking
from labelgrove.evaluation.sets import counts_by_document

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PrecisionRecall:
    """Micro precision and recall of thresholds, the highest threshold first; m points.

    Parameters
    ----------
    thresholds
        Labels with at least this score are given, shape (m,), falling.
    precision, recall
        Of the labels given then, shape (m,); recall never falls.
    chosen
        Precision and recall of the threshold that was asked for, exact, or None.
    """

    thresholds: Floats
    precision: Floats
    recall: Floats
    chosen: tuple[float, float] | None = None


def precision_recall(
    Y: Any, ranking: Ranking, *, threshold: float | Decision | None = None, points: int = 300
) -> PrecisionRecall:
    """Return micro precision and recall at every threshold of a ranking, thinned to draw.

    What is not listed cannot be given, so recall may end below 1; without any true label it is 0.

    Parameters
    ----------
    Y
        True labels, sparse, shape (n, M).
    ranking
        n documents.
    threshold
        A threshold, or a whole `Decision`, whose point is wanted too.
    points
        At most so many points are kept, evenly along the curve, the first and the last among them.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> ranking = Ranking(np.array([[0, 1], [1, 0]]), np.array([[0.9, 0.5], [0.7, 0.5]]))
    >>> curve = precision_recall(csr_array([[1, 1], [0, 1]]), ranking, threshold=0.6)
    >>> curve.recall.round(2).tolist(), curve.precision.tolist(), curve.chosen
    ([0.33, 0.67, 1.0], [1.0, 1.0, 0.75], (1.0, 0.6666666666666666))
    """
    if points < 2:
        raise InputError(f"a curve needs two points or more, got points={points}")
    scored = score_ranking(Y, ranking)
    filled = ranking.labels >= 0
    scores = ranking.scores[filled]
    order = np.argsort(-scores, kind="stable")
    scores = scores[order]
    # equal scores are in or out together: only the end of each run is a possible cut
    ends = np.flatnonzero(np.append(scores[1:] != scores[:-1], True)[: len(scores)])
    correct = np.cumsum(scored.hits[filled][order])[ends]
    precision = correct / (ends + 1.0)
    recall = correct / max(scored.Y.nnz, 1)
    kept = _thinned(precision, recall, points)
    chosen = None
    if threshold is not None:
        total = counts_by_document(scored, as_decision(threshold).mask(ranking)).total()
        chosen = float(total.precision[0]), float(total.recall[0])
    return PrecisionRecall(
        scores[ends][kept].astype(np.float64), precision[kept], recall[kept], chosen
    )


def _thinned(precision: Floats, recall: Floats, points: int) -> NDArray[np.int64]:
    """Return which points to keep so that they lie evenly along the curve."""
    if len(recall) <= points:
        return np.arange(len(recall))
    steps = np.hypot(np.diff(precision), np.diff(recall))
    along = np.append(0.0, np.cumsum(steps))
    wanted = np.linspace(0.0, along[-1], points)
    return np.unique(np.append(np.searchsorted(along, wanted)[:-1], len(recall) - 1))
