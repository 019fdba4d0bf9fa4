"""Predictions in the form that the labels of the training had, as scikit-learn's users expect."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.ranking import Ranking
from labelgrove.tagger.given import given_labels
from labelgrove.tagger.state import FittedState


def column_names(learned: FittedState) -> tuple[str, ...]:
    """Return the label of each column: those of the training's matrix, else all by number."""
    if learned.columns is not None:
        return learned.columns.names
    return tuple(learned.labels.ids[: learned.labels.n_labels])


def predicted(
    learned: FittedState, ranking: Ranking, threshold: float | str, hierarchy: str | None = None
) -> Any:
    """Return the labels with at least a threshold, in the form that those of the training had.

    Parameters
    ----------
    learned
        With the labels that the ranking numbers.
    ranking
        Of n texts, calibrated.
    threshold, hierarchy
        As for `Tagger.tag`.

    Returns
    -------
    list of lists of label ids, best first; or zeros and ones, shape (n, L), int8: a csr array
    where the training had a sparse matrix, a numpy array where it had a dense one.
    """
    given = given_labels(learned, ranking, ranking.k, threshold, hierarchy)
    if learned.columns is None:
        ids = learned.labels.ids
        return [[ids[label] for label, _ in given.row(row)] for row in range(len(given))]
    Y = _in_columns(learned, given, np.ones(given.labels.shape, np.int8))
    return Y.toarray() if learned.columns.dense else Y


def probabilities(learned: FittedState, ranking: Ranking) -> Any:
    """Return the probabilities of the ranked labels, shape (n, L), float32; others are left out.

    A csr array, or a numpy array where the training had a dense matrix.
    """
    found = _in_columns(learned, ranking, ranking.scores)
    return found.toarray() if learned.columns is not None and learned.columns.dense else found


def _in_columns(learned: FittedState, ranking: Ranking, values: NDArray[Any]) -> csr_array:
    """Return values of the ranked labels as csr, its columns those of `column_names`."""
    names, space = column_names(learned), learned.labels
    columns = np.full(len(space), -1, np.int32)  # of a label; -1 for one that is no column
    for column, name in enumerate(names):
        if name in space:
            columns[space.index(name)] = column
    numbers = columns[ranking.labels]
    given = (ranking.labels >= 0) & (numbers >= 0)
    offsets = np.concatenate([[0], np.cumsum(given.sum(axis=1))])
    shape = (len(ranking), len(names))
    found = csr_array((values[given], numbers[given], offsets), shape=shape)
    found.sort_indices()
    return found
