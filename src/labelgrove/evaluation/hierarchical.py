"""Hierarchical precision, recall and F1: a near miss in the hierarchy counts as half right.

Kiritchenko, Matwin, Nock and Famili, "Learning and evaluation in the presence of class
hierarchies: application to text categorization", Canadian AI 2006: the labels given and the true
ones are both joined by all that stands above them, then compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.ranking import Ranking
from labelgrove.evaluation.decision import Decision, as_decision
from labelgrove.evaluation.scored_ranking import binary, check_ranking
from labelgrove.evaluation.sets import Counts
from labelgrove.labels.hierarchy import IntLists, above

BLOCK = 4096  # documents whose labels are joined by their ancestors at once


def hierarchical_scores(
    Y: Any, ranking: Ranking, parents: IntLists, threshold: float | Decision = 0.5
) -> dict[str, float]:
    """Return hierarchical precision, recall and F1, micro averages over the documents.

    Parameters
    ----------
    Y, ranking, threshold
        As in `evaluate`.
    parents
        Numbers of the concepts above each label and concept: `LabelSpace.parents`. Columns of Y
        behind them have none.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> parents = IntLists.of([(2,), (2,), (), ()])  # a cat and a dog are pets; a car is not
    >>> ranking = Ranking(np.array([[0]]), np.array([[0.9]]))
    >>> scores = hierarchical_scores(csr_array([[0, 1, 0, 0]]), ranking, parents)
    >>> scores["hierarchical-F1"]  # {cat, pet} instead of {dog, pet}
    0.5
    """
    total = hierarchical_counts(Y, ranking, parents, threshold).total()
    values = {"precision": total.precision, "recall": total.recall, "F1": total.f1}
    return {f"hierarchical-{name}": float(value[0]) for name, value in values.items()}


def hierarchical_counts(
    Y: Any, ranking: Ranking, parents: IntLists, threshold: float | Decision = 0.5
) -> Counts:
    """Count by document, m = n, labels together with all that stands above them.

    A concept above all others, the only one without a parent, is the root and is not counted.
    """
    Y = binary(Y)
    check_ranking(ranking, Y)
    given = as_decision(threshold).mask(ranking)
    counts = Counts(*np.zeros((3, len(ranking)), np.int64))
    width = max(Y.shape[1], len(parents))
    for start in range(0, len(ranking), BLOCK):
        stop = min(start + BLOCK, len(ranking))
        rows, places = np.nonzero(given[start:stop])
        labels = ranking.labels[start:stop][rows, places]
        named = _with_ancestors(parents, rows, labels, width)
        offsets = Y.indptr[start : stop + 1]
        owners = np.repeat(np.arange(stop - start), np.diff(offsets))
        true = _with_ancestors(parents, owners, Y.indices[offsets[0] : offsets[-1]], width)
        both = np.intersect1d(named, true, assume_unique=True)
        parts = (counts.correct, both), (counts.given, named), (counts.true, true)
        for into, pairs in parts:
            into[start:stop] = np.bincount(pairs // width, minlength=stop - start)
    return counts


def _with_ancestors(
    parents: IntLists, rows: NDArray[np.integer], labels: NDArray[np.integer], width: int
) -> NDArray[np.int64]:
    """Return pairs of a row and a label or ancestor, each once, as row * width + number."""
    more_rows, more, _ = above(parents, rows, labels, np.zeros(len(rows), np.float32))
    found = np.concatenate([rows, more_rows]) * width + np.concatenate([labels, more])
    pairs: NDArray[np.int64] = np.unique(found)
    tops = np.flatnonzero(np.diff(parents.offsets) == 0)
    return pairs if len(tops) != 1 else pairs[pairs % width != tops[0]]
