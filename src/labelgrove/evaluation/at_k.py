"""Metrics of the first k places, one value per document.

A place that the ranking does not have, or that is padded, is a miss. Propensity-scored metrics
follow Jain, Prabhu and Varma, "Extreme multi-label loss functions for recommendation, tagging,
ranking & other missing label applications", KDD 2016.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import InputError
from labelgrove.core.ranking import ndcg as core_ndcg
from labelgrove.evaluation.scored_ranking import ScoredRanking

Floats = NDArray[np.float64]


def precision(scored: ScoredRanking, k: int) -> Floats:
    """Return the share of the first k places that are hits, shape (n,); k is the divisor always."""
    shares: Floats = scored.hits[:, :k].sum(axis=1) / k
    return shares


def recall(scored: ScoredRanking, k: int) -> Floats:
    """Return the share of the true labels found in the first k places, shape (n,).

    0 for a document without a true label.
    """
    return ratio(scored.hits[:, :k].sum(axis=1), scored.n_true)


def ndcg(scored: ScoredRanking, k: int) -> Floats:
    """Return nDCG@k, shape (n,); see `labelgrove.core.ranking.ndcg`."""
    return core_ndcg(scored.ranking, scored.Y, k)


def coverage(scored: ScoredRanking, k: int) -> float:
    """Return the share of the truly used labels that are a hit in some document's first k places.

    The whole are the labels with at least one document in Y, those of the test set only included.
    """
    used = int((scored.n_positives > 0).sum())
    hit_labels = np.unique(scored.ranking.labels[:, :k][scored.hits[:, :k]])
    return len(hit_labels) / used if used else 0.0


def propensity_gains(
    scored: ScoredRanking, k: int, propensities: NDArray[np.floating], *, discounted: bool = False
) -> tuple[Floats, Floats]:
    """Return what each document gained in its first k places, and the most it could, both (n,).

    A hit on label l gains 1 / p_l, and with ``discounted`` 1 / (p_l log2(place + 1)). PSP@k and
    PSnDCG@k are the ratio of the two sums over all documents; a bootstrap resamples both arrays
    together.

    Parameters
    ----------
    scored
        The ranking and its hits.
    k
        Number of places.
    propensities
        p of each label, shape (M,), above 0 and at most 1.
    discounted
        False for PSP, True for PSnDCG.
    """
    weights = 1.0 / check_propensities(propensities, scored.Y.shape[1])
    discounts = 1.0 / np.log2(np.arange(k) + 2) if discounted else np.ones(k)
    hits = scored.hits[:, :k]
    gains = np.where(hits, weights[scored.ranking.labels[:, :k]], 0.0)
    gained = gains @ discounts[: gains.shape[1]]
    return gained, _best_gains(scored, k, weights, discounts)


def _best_gains(scored: ScoredRanking, k: int, weights: Floats, discounts: Floats) -> Floats:
    """Return the gain of a ranking that puts the true labels first, the heaviest ahead."""
    Y, n = scored.Y, len(scored)
    rows = np.repeat(np.arange(n), scored.n_true)
    order = np.lexsort((-weights[Y.indices], rows))  # rows are sorted already and stay
    depth = np.arange(len(rows)) - Y.indptr[rows]  # in such a ranking, from 0
    kept = depth < k
    gains = weights[Y.indices[order[kept]]] * discounts[depth[kept]]
    best: Floats = np.bincount(rows[kept], weights=gains, minlength=n).astype(np.float64)
    return best


def check_propensities(propensities: NDArray[np.floating], n_columns: int) -> Floats:
    """Return propensities as float64, shape (M,), or say what is wrong with them."""
    values: Floats = np.asarray(propensities, np.float64)
    if values.shape != (n_columns,):
        raise InputError(
            f"propensities have shape {values.shape}, but Y has {n_columns} columns: "
            f"LabelSpace.propensities(n_columns={n_columns}) gives one for each"
        )
    wrong = ~((values > 0) & (values <= 1))
    if wrong.any():
        i = int(wrong.argmax())
        raise InputError(
            f"propensities must lie above 0 and not above 1, label number {i} has {values[i]:g}: "
            "give propensities, not their inverses"
        )
    return values


def ratio(part: NDArray[np.number], whole: NDArray[np.number]) -> Floats:
    """Divide, with 0 for 0/0; both of one shape."""
    values: Floats = np.zeros(np.shape(whole))
    np.divide(part, whole, out=values, where=np.asarray(whole) > 0)
    return values
