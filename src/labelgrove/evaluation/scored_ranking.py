"""A ranking beside the truth: checked once, compared once, then asked by every metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from labelgrove.core.errors import InputError
from labelgrove.core.ranking import Ranking


@dataclass(frozen=True, eq=False)
class ScoredRanking:
    """A ranking with its hits; made by `score_ranking`.

    Parameters
    ----------
    Y
        True labels, shape (n, M), each entry stored once and not 0.
    ranking
        The ranking, n documents and k places.
    hits
        Which places hold a true label, shape (n, k).

    Examples
    --------
    >>> ranking = Ranking(np.array([[2, 0], [1, -1]]), np.array([[0.9, 0.3], [0.5, 0.0]]))
    >>> scored = score_ranking(csr_array([[1, 0, 0], [0, 1, 1]]), ranking)
    >>> scored.hits.tolist()
    [[False, True], [True, False]]
    >>> scored.n_true.tolist()
    [1, 2]
    """

    Y: csr_array
    ranking: Ranking
    hits: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.ranking)

    @property
    def n_true(self) -> NDArray[np.int64]:
        """Number of true labels of each document, shape (n,)."""
        counts: NDArray[np.int64] = np.diff(self.Y.indptr).astype(np.int64)
        return counts

    @property
    def n_positives(self) -> NDArray[np.int64]:
        """Number of documents that each label truly has, shape (M,)."""
        return np.bincount(self.Y.indices, minlength=self.Y.shape[1])


def score_ranking(Y: Any, ranking: Ranking) -> ScoredRanking:
    """Compare a ranking with the true labels.

    Parameters
    ----------
    Y
        True labels, sparse, shape (n, M); what is not 0 is true. Columns beyond those that the
        ranking knows are labels of the test set only: they can never be hit.
    ranking
        n documents; within a document every label stands once.
    """
    Y = binary(Y)
    if Y.shape[0] != len(ranking):
        raise InputError(f"the ranking has {len(ranking)} documents, Y has {Y.shape[0]}")
    check_ranking(ranking, Y)
    return ScoredRanking(Y, ranking, ranking.hits(Y))


def check_ranking(ranking: Ranking, Y: csr_array) -> None:
    """Refuse a Y without documents or with too few columns, and scores that are not numbers."""
    if Y.shape[0] == 0:
        raise InputError("nothing to evaluate: Y has no documents")
    if (ranking.labels >= Y.shape[1]).any():
        raise InputError(
            f"the ranking names label number {ranking.labels.max()}, but Y has {Y.shape[1]} "
            "columns: give Y at least as many columns as the model has labels"
        )
    if np.isnan(ranking.scores).any():
        i = int(np.isnan(ranking.scores).any(axis=1).argmax())
        raise InputError(f"the scores of document {i} are not numbers (NaN): check the model")


def binary(Y: Any, name: str = "Y") -> csr_array:
    """Return Y as csr with every true entry once, indices sorted; a clean Y is not copied."""
    if not issparse(Y):
        raise InputError(f"{name} must be a sparse matrix of documents x labels")
    Y = csr_array(Y)
    if Y.has_canonical_format and (Y.data != 0).all():
        return Y
    Y = Y.copy()
    Y.eliminate_zeros()
    Y.data = np.ones(Y.nnz, np.bool_)  # before summing: duplicates must not cancel out
    Y.sum_duplicates()
    return Y
