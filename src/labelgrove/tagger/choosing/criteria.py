"""How much a person's answer about a document may teach, by what a tagger thinks of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.ranking import Ranking


def uncertainty(ranking: Ranking) -> NDArray[np.float64]:
    """Return how unsure a tagger is of the labels it would give, shape (n,), from 0 to 1.

    The probabilities of a document add up to the number of labels that it is expected to have.
    Of so many labels, the best ones, this is the mean probability that they are wrong. So a
    document with many labels is not uncertain for that alone.

    Parameters
    ----------
    ranking
        Calibrated, and deep enough for nearly all labels of a document.

    Examples
    --------
    >>> labels = np.array([[0, 1, 2], [0, 1, 2]])
    >>> ranking = Ranking(labels, np.array([[0.9, 0.7, 0.4], [0.5, 0.3, 0.2]]))
    >>> uncertainty(ranking).round(2).tolist()  # two labels are expected, and one
    [0.2, 0.5]
    """
    if not ranking.k:
        return np.ones(len(ranking))
    scores = ranking.scores.astype(np.float64)
    expected = np.clip(np.rint(scores.sum(axis=1)), 1, ranking.k).astype(np.int64)
    sums = np.cumsum(scores, axis=1)[np.arange(len(scores)), expected - 1]
    return np.asarray(np.clip(1.0 - sums / expected, 0.0, 1.0))


def rarity(ranking: Ranking, counts: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return what a document may add to labels that have few documents, shape (n,).

    Each label counts by its probability, divided by one more than the documents that it has.

    Parameters
    ----------
    ranking
        Calibrated.
    counts
        Training documents of each label, shape (L,).

    Examples
    --------
    >>> ranking = Ranking(np.array([[0, 1], [1, -1]]), np.array([[0.8, 0.4], [0.9, 0.0]]))
    >>> rarity(ranking, np.array([1, 99])).round(3).tolist()
    [0.404, 0.009]
    """
    gains = ranking.scores / (1.0 + counts[np.maximum(ranking.labels, 0)])
    return np.asarray(np.where(ranking.labels >= 0, gains, 0.0).sum(axis=1))


def label_profiles(ranking: Ranking, counts: NDArray[np.integer]) -> csr_array:
    """Return what labels documents probably have, as rows of a sparse array, shape (n, L).

    A label's probability is divided by the root of one more than its documents, so that
    documents whose rare labels differ are unlike each other though their frequent ones agree.

    Parameters
    ----------
    ranking, counts
        As for `rarity`.
    """
    profiles = ranking.to_csr(len(counts))
    profiles.data = profiles.data / np.sqrt(1.0 + counts[profiles.indices])
    return profiles


def shares(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the share of documents that are not above each one, shape (n,), greater than 0.

    Ranks mean the same for every tagger, whatever its probabilities are like.

    Examples
    --------
    >>> shares(np.array([0.1, 0.9, 0.1, 0.5])).tolist()
    [0.5, 1.0, 0.5, 0.75]
    """
    return np.searchsorted(np.sort(values), values, side="right") / max(len(values), 1)
