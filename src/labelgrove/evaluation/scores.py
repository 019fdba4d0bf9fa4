"""Every metric at once, under the names that the papers use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import at_k
from labelgrove.evaluation.decision import Decision, as_decision
from labelgrove.evaluation.scored_ranking import ScoredRanking, score_ranking
from labelgrove.evaluation.sets import averages, counts_by_document, counts_by_label

Floats = NDArray[np.float64]

AT_K = {"P": at_k.precision, "R": at_k.recall, "nDCG": at_k.ndcg}
PROPENSITY = {"PSP": False, "PSnDCG": True}  # discounted or not
OF_SETS = ("samples-F1", "hamming-loss", "subset-accuracy")


def evaluate(
    Y: Any,
    ranking: Ranking,
    *,
    ks: Iterable[int] = (1, 3, 5),
    propensities: NDArray[np.floating] | None = None,
    threshold: float | Decision = 0.5,
    n_labels: int | None = None,
) -> dict[str, float]:
    """Score a ranking; all values are fractions in [0, 1].

    The keys, in this order: ``P@k``, ``R@k``, ``nDCG@k`` for each k; with propensities ``PSP@k``
    and ``PSnDCG@k``; ``micro-`` and ``macro-`` ``precision``, ``recall`` and ``F1``;
    ``samples-F1``, ``hamming-loss``, ``subset-accuracy``; ``coverage@k``. ``docs/metrics.md``
    has the formulas. In short:

    - Means are over all documents; one without true labels counts 0 in the metrics at k.
    - P@k divides by k, R@k by the number of true labels, nDCG@k by the DCG of min(k, true)
      hits; places that are missing or padded are misses.
    - PSP@k and PSnDCG@k are the gain of all documents divided by the gain of the best ranking.
    - Macro averages are over the labels with a true or a given document; 0/0 is 0.
    - Set metrics see at most the ranking's k labels: `capped_rows` tells if that cuts any off.

    Parameters
    ----------
    Y
        True labels, sparse, shape (n, M). Columns beyond those that the ranking knows are labels
        of the test set only, and count as misses.
    ranking
        n documents.
    ks
        Depths at which rankings are cut.
    propensities
        p of each label, shape (M,), as `LabelSpace.propensities` gives them.
    threshold
        Score from which on a label is given, or a whole `Decision`.
    n_labels
        Number of columns that the Hamming loss is averaged over; M when None.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> ranking = Ranking(np.array([[2, 0], [1, -1]]), np.array([[0.9, 0.3], [0.5, 0.0]]))
    >>> scores = evaluate(csr_array([[0, 0, 1], [1, 1, 0]]), ranking, ks=(1, 2))
    >>> scores["P@2"], scores["R@2"], scores["micro-recall"]
    (0.5, 0.75, 0.6666666666666666)
    """
    depths = _check_ks(ks)
    scored = score_ranking(Y, ranking)
    width = check_width(n_labels, scored)
    values = {
        f"{name}@{k}": float(of(scored, k).mean()) for name, of in AT_K.items() for k in depths
    }
    if propensities is not None:
        for name, discounted in PROPENSITY.items():
            for k in depths:
                gains = at_k.propensity_gains(scored, k, propensities, discounted=discounted)
                values[f"{name}@{k}"] = _share(*gains)
    values |= set_scores(scored, as_decision(threshold).mask(ranking), width)
    values |= {f"coverage@{k}": at_k.coverage(scored, k) for k in depths}
    return values


def set_scores(scored: ScoredRanking, given: NDArray[np.bool_], n_labels: int) -> dict[str, float]:
    """Return the metrics of label sets, as `evaluate` names them.

    Parameters
    ----------
    scored
        A ranking with its hits, n documents.
    given
        Which places are given, shape (n, k).
    n_labels
        Number of labels that the Hamming loss is averaged over.
    """
    values = averages(counts_by_label(scored, given))
    return values | {name: float(of_sets(scored, given, name, n_labels).mean()) for name in OF_SETS}


def per_document(
    Y: Any,
    ranking: Ranking,
    metric: str,
    *,
    propensities: NDArray[np.floating] | None = None,
    threshold: float | Decision = 0.5,
    n_labels: int | None = None,
) -> Floats:
    """Return a metric document by document, shape (n,), for tests of significance.

    The mean is the value that `evaluate` gives. For PSP@k and PSnDCG@k a document's value is its
    gain divided by the mean of the best gains, so it may exceed 1; two rankings of the same
    documents share that divisor and compare fairly. (For a bootstrap see
    `propensity_gains`.)

    Parameters
    ----------
    Y, ranking, propensities, threshold, n_labels
        As in `evaluate`.
    metric
        ``P@k``, ``R@k``, ``nDCG@k``, ``PSP@k``, ``PSnDCG@k`` with any k, ``samples-F1``,
        ``hamming-loss`` or ``subset-accuracy``. The others are not means over documents.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> ranking = Ranking(np.array([[2, 0], [1, -1]]), np.array([[0.9, 0.3], [0.5, 0.0]]))
    >>> per_document(csr_array([[0, 0, 1], [1, 1, 0]]), ranking, "R@1").tolist()
    [1.0, 0.5]
    """
    name, k = parse(metric)
    scored = score_ranking(Y, ranking)
    if name in OF_SETS:
        given = as_decision(threshold).mask(ranking)
        return of_sets(scored, given, name, check_width(n_labels, scored))
    if name in AT_K:
        return AT_K[name](scored, k)
    if propensities is None:
        raise InputError(f"{metric} needs propensities: LabelSpace.propensities gives them")
    gained, best = at_k.propensity_gains(scored, k, propensities, discounted=PROPENSITY[name])
    return at_k.ratio(gained, np.full(len(gained), best.mean()))


def of_sets(scored: ScoredRanking, given: NDArray[np.bool_], name: str, n_labels: int) -> Floats:
    """Return a metric of ``OF_SETS`` of each document, shape (n,)."""
    counts = counts_by_document(scored, given)
    if name == "samples-F1":
        return counts.f1
    if name == "hamming-loss":
        return at_k.ratio(counts.wrong, np.full(len(scored), n_labels))
    return np.where(counts.wrong == 0, 1.0, 0.0)


def _share(gained: Floats, best: Floats) -> float:
    return float(gained.sum() / best.sum()) if best.sum() > 0 else 0.0


def parse(metric: str) -> tuple[str, int]:
    """Return the name and the k of a metric that is a mean over documents; k is 0 without one."""
    match = re.fullmatch(r"(\w+)@([1-9]\d*)", metric)
    if match and (match[1] in AT_K or match[1] in PROPENSITY):
        return match[1], int(match[2])
    if metric in OF_SETS:
        return metric, 0
    known = [*(f"{name}@k" for name in (*AT_K, *PROPENSITY)), *OF_SETS]
    raise UnknownNameError("metric per document", metric, known)


def labels_in_use(Y: csr_array, n_known: int) -> int:
    """Return how many labels the Hamming loss of a tagger is averaged over.

    Those are the labels it knows, and the others that documents have: concepts of a vocabulary
    that nobody uses are no labels.

    Parameters
    ----------
    Y
        True labels, sparse, shape (n, M); the first columns are those that the tagger knows.
    n_known
        How many it knows.

    Examples
    --------
    >>> labels_in_use(csr_array([[1, 0, 0, 0], [0, 0, 0, 1]]), n_known=2)
    3
    """
    return n_known + len(np.unique(Y.indices[Y.indices >= n_known]))


def _check_ks(ks: Iterable[int]) -> list[int]:
    depths = sorted(set(ks))
    for k in depths:
        if k < 1:
            raise InputError(f"ks must be at least 1, got {k}")
    return depths


def check_width(n_labels: int | None, scored: ScoredRanking) -> int:
    """Return the number of labels that the Hamming loss is averaged over."""
    if n_labels is None:
        return max(int(scored.Y.shape[1]), 1)
    named = scored.ranking.labels
    used = len(np.union1d(scored.Y.indices, named[named >= 0]))
    if n_labels < max(used, 1):
        raise InputError(f"n_labels is {n_labels}, but {used} labels are true or ranked")
    return n_labels
