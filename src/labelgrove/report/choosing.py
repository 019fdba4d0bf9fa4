"""Which documents a report shows: some right, some partly, some badly wrong."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.evaluation import ScoredRanking, counts_by_document

KINDS = ("all right", "partly right", "badly wrong")
EACH = 3  # documents of a kind


class ChosenDocument(NamedTuple):
    """A document that is shown: its row, counted from 0, and its kind."""

    row: int
    kind: str


def choose(
    scored: ScoredRanking, given: NDArray[np.bool_], each: int = EACH
) -> list[ChosenDocument]:
    """Choose documents of each kind, evenly spread over the test set.

    With three of a kind they are those nearest to a sixth, a half and five sixths of the way
    through the documents of that kind. Documents without a true label are not shown.

    Parameters
    ----------
    scored
        The ranking and its hits.
    given
        Which places are given, shape (n, k).
    each
        At most so many documents of a kind.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from labelgrove.core.ranking import Ranking
    >>> from labelgrove.evaluation import score_ranking
    >>> ranking = Ranking(np.array([[0], [0], [0]]), np.ones((3, 1)))
    >>> scored = score_ranking(csr_array([[1, 0], [1, 1], [0, 1]]), ranking)
    >>> [each.kind for each in choose(scored, np.ones((3, 1), bool))]
    ['all right', 'partly right', 'badly wrong']
    """
    counts = counts_by_document(scored, given)
    labelled = counts.true > 0
    right, wrong = labelled & (counts.wrong == 0), labelled & (counts.correct == 0)
    documents = []
    for kind, member in zip(KINDS, (right, labelled & ~right & ~wrong, wrong), strict=True):
        rows = np.flatnonzero(member)
        n = min(each, len(rows))
        spread = (np.arange(n) + 0.5) * len(rows) / max(n, 1)
        documents += [ChosenDocument(int(row), kind) for row in rows[spread.astype(np.int64)]]
    return documents
