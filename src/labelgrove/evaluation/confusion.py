"""Which labels are given in place of which: the most confused pairs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from labelgrove.core.ranking import Ranking
from labelgrove.evaluation.decision import Decision, as_decision
from labelgrove.evaluation.scored_ranking import score_ranking

AT_ONCE = 1 << 21  # pairs that are added up at once: with a low threshold there are very many


class Confusion(NamedTuple):
    """A true label that was missed and one that was given wrongly, in the same documents.

    Parameters
    ----------
    missed, given
        Numbers of the two labels.
    weight
        How many times the one stood in the place of the other; see `confused_labels`.
    documents
        In how many documents the one is missed and the other given.
    """

    missed: int
    given: int
    weight: float
    documents: int


def confused_labels(
    Y: Any, ranking: Ranking, *, threshold: float | Decision = 0.5, most: int = 20
) -> list[Confusion]:
    """Return the pairs of labels that are most often taken for one another, the heaviest first.

    In a document with m missed and w wrong labels nobody knows which was taken for which. At most
    min(m, w) were, so each of its m w pairs weighs 1 / max(m, w), and a document with many of
    both adds little to any one pair. A document without the one or the other adds nothing.

    Parameters
    ----------
    Y
        True labels, sparse, shape (n, M).
    ranking
        n documents.
    threshold
        Score from which on a label is given, or a whole `Decision`.
    most
        Return at most so many pairs.

    Examples
    --------
    >>> ranking = Ranking(np.array([[1], [1], [2]]), np.ones((3, 1)))
    >>> confused_labels(csr_array([[1, 0, 0], [1, 1, 0], [1, 0, 0]]), ranking, most=1)
    [Confusion(missed=0, given=1, weight=1.0, documents=1)]
    """
    scored = score_ranking(Y, ranking)
    width = scored.Y.shape[1]
    named = as_decision(threshold).to_csr(ranking, width).astype(np.float64)
    true = scored.Y.astype(bool).astype(np.float64)
    correct = named.multiply(true)
    missed, wrong = csr_array(true - correct), csr_array(named - correct)
    n_wrong = np.diff(wrong.indptr)
    weights = diags_array(1.0 / np.maximum(np.maximum(np.diff(missed.indptr), n_wrong), 1))
    weighted = csr_array(weights @ wrong)
    by_label = csr_array(missed.T)
    confusions: list[Confusion] = []
    for rows in _blocks(by_label @ n_wrong):
        confusions += _heaviest(by_label[rows], rows.start, weighted, wrong, most)
        confusions = sorted(confusions, key=_order)[:most]
    return confusions


def _heaviest(
    missed: csr_array, first: int, weighted: csr_array, wrong: csr_array, most: int
) -> list[Confusion]:
    """Return the heaviest pairs of some missed labels, shape (labels, n), numbered from first."""
    pairs, counts = (csr_array(missed @ each) for each in (weighted, wrong))
    pairs.sort_indices()
    counts.sort_indices()
    rows = first + np.repeat(np.arange(pairs.shape[0]), np.diff(pairs.indptr))
    order = np.lexsort((pairs.indices, rows, -counts.data, -pairs.data))[:most]
    return [
        Confusion(int(rows[i]), int(pairs.indices[i]), float(pairs.data[i]), int(counts.data[i]))
        for i in order
    ]


def _order(pair: Confusion) -> tuple[float, int, int, int]:
    return (-pair.weight, -pair.documents, pair.missed, pair.given)


def _blocks(sizes: NDArray[np.floating]) -> Iterator[slice]:
    """Cut rows, whose most pairs are given, into runs of some million pairs, or of one row."""
    numbers = np.cumsum(sizes) // AT_ONCE
    starts = np.flatnonzero(np.diff(numbers, prepend=np.nan))
    for start, end in pairwise([*starts.tolist(), len(sizes)]):
        yield slice(start, end)
