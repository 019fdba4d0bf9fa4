"""How many labels to put in the head and in each tail cluster of `LabelClusters`.

What clusters cost and save is told by equations 6 to 14 of section 3.3 of Ye, Chen, Wang and
Davison (ICML 2020). Small heads are fast, but in the paper's ablations more labels in the head and
fewer clusters gave the better precision (EURLex: about 3 points of P@1 between 70 % and 10 % of the
labels in the head; Wiki10: little), since labels of the tails are judged from fewer numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import InputError

# Nanoseconds of one core of an AMD EPYC with float32, from benchmarks/speed/output_layer.py
# --constants; only what they are to one another matters.
PRODUCT = 0.075  # the six multiplications and additions of a step per weight and visiting document
WEIGHT = 4.0  # gradient and optimiser of a weight that a batch needs at all, however many visit
SCORE = 8.0  # loss and gradient of one label of one document, behind the products
CLUSTER = 800_000.0  # what a further cluster costs before it holds anything
WORTH = 0.9  # what more clusters must bring a step down to
PER_DECADE = 24  # cut points tried between n and 10 n labels


class ClusterCosts(NamedTuple):
    """What clusters cost, beside one linear layer to all labels.

    Costs are multiplications of a forward pass. K is the number of tail clusters.

    Parameters
    ----------
    weights
        Equation 6, with the whole numbers to which the layer rounds d / q**i.
    weights_approx
        Equation 7.
    linear_weights
        Equation 8.
    shrinkage
        Equation 9: linear_weights / weights_approx. Also what equation 14 comes to if every batch
        visits all clusters.
    visits
        Chance p_i that at least one document of a batch visits each tail cluster, shape (K,).
    shares
        Share of the documents that visit each tail cluster, shape (K,).
    step
        Equation 12, in which one visitor makes a whole batch visit.
    expected
        The same with ``shares`` for p_i: our layer computes a cluster for its visitors only.
    linear_step
        Equation 13.
    speedup
        Equation 14: linear_step / step.
    """

    weights: int
    weights_approx: float
    linear_weights: int
    shrinkage: float
    visits: NDArray[np.float64]
    shares: NDArray[np.float64]
    step: float
    expected: float
    linear_step: float
    speedup: float


def tail_width(n_inputs: int, decay: float, i: int) -> int:
    """Return the size of the vectors from which tail cluster i, counted from 1, is judged.

    Examples
    --------
    >>> [tail_width(384, 2.0, i) for i in (1, 2, 3)]
    [192, 96, 48]
    """
    return max(1, int(n_inputs / decay**i))


def even_or_given(n_labels: int, proportions: int | Sequence[float]) -> tuple[int, ...]:
    """Return the sizes of clusters that hold given shares of the labels, at least one each.

    Parameters
    ----------
    n_labels
        Number of labels.
    proportions
        Shares of head and tail clusters, which sum to 1; or the number of clusters, for even ones.

    Examples
    --------
    >>> even_or_given(3956, (0.5, 0.5)), even_or_given(10, 4), even_or_given(5, (0.98, 0.01, 0.01))
    ((1978, 1978), (3, 2, 3, 2), (3, 1, 1))
    """
    if isinstance(proportions, int):
        if proportions < 1:
            raise InputError(f"there must be 1 cluster or more, got {proportions}")
        proportions = [1 / proportions] * proportions
    shares = np.asarray(proportions, np.float64)
    if shares.ndim != 1 or not (shares > 0).all() or abs(shares.sum() - 1) > 0.01:
        raise InputError(
            f"the proportions of clusters must be above 0 and sum to 1, got {proportions!r}: such "
            "as (0.5, 0.5)"
        )
    n = len(shares)
    if n > n_labels:
        raise InputError(f"{n} clusters are too many for {n_labels:,} labels: give fewer")
    places = np.arange(n)
    ends = np.floor(np.cumsum(shares / shares.sum()) * n_labels + 0.5).astype(np.int64)
    # at least one label more than the cluster before, and one left for each behind
    ends = np.maximum.accumulate(np.maximum(ends - places, 1)) + places
    ends = np.minimum(ends, n_labels - places[::-1])
    return tuple(np.diff(ends, prepend=0).tolist())


def cluster_costs(
    counts: NDArray[Any],
    sizes: Sequence[int],
    n_inputs: int,
    decay: float,
    batch: int,
    n_documents: int,
) -> ClusterCosts:
    """Return equations 6 to 14 for clusters of these labels.

    Labels are taken to be given to documents independently: a document visits a cluster whose
    labels occur c times among n documents with the chance 1 - exp(-c / n). Labels that go together
    make this less.

    Parameters
    ----------
    counts
        Training documents of each label, in any order, shape (L,).
    sizes
        Labels in the head and in each tail cluster.
    n_inputs, decay
        Size d of a text's vector, and the factor q by which tails have smaller ones.
    batch
        Documents of a step.
    n_documents
        Training documents.

    Examples
    --------
    >>> costs = cluster_costs(np.full(8, 5000), (4, 4), 16, 2.0, 32, 1000)
    >>> costs.weights, round(costs.speedup, 2)
    (240, 1.33)
    """
    falling = _falling(counts, n_documents)
    check_sizes(sizes, len(falling))
    check_decay(decay)
    ends = np.cumsum(sizes)
    n_labels, K = int(ends[-1]), len(sizes) - 1
    tails = np.asarray(sizes[1:], np.int64)
    mass = np.add.reduceat(falling, ends[:-1])[:K] / n_documents if K else np.zeros(0)
    visits, shares = -np.expm1(-batch * mass), -np.expm1(-mass)
    smaller = tails / decay ** np.arange(1, K + 1)  # l_i / q^i
    widths = [tail_width(n_inputs, decay, i) for i in range(1, K + 1)]
    per_tail = sum(w * (n_inputs + int(n)) for w, n in zip(widths, tails, strict=True))
    approx = n_inputs * (sizes[0] + float(smaller.sum()))
    step = batch * n_inputs * (sizes[0] + float((visits * smaller).sum()))
    linear_step = float(batch * n_inputs * n_labels)
    return ClusterCosts(
        weights=n_inputs * (int(sizes[0]) + K) + per_tail,
        weights_approx=approx,
        linear_weights=n_inputs * n_labels,
        shrinkage=n_inputs * n_labels / approx,
        visits=visits,
        shares=shares,
        step=step,
        expected=batch * n_inputs * (sizes[0] + float((shares * smaller).sum())),
        linear_step=linear_step,
        speedup=linear_step / step,
    )


def choose_sizes(
    counts: NDArray[Any],
    n_inputs: int,
    decay: float,
    batch: int,
    n_documents: int,
    most: int = 4,
) -> tuple[int, ...]:
    """Return the sizes for which a training step is fastest, with ``most`` clusters at most.

    Only labels that make up 1 / q**i of all uses at most may be judged from d / q**i numbers or
    fewer: for q = 2 the head holds half of the uses at least. Time alone would put almost all
    labels in the last cluster, and others of one label before it to get there. Few labels stay in
    one head, since another cluster must save a tenth of a step; the more unevenly labels are used,
    the smaller is the head. The paper's ablations tell the price (see this module): who has time
    for better precision gives proportions with a larger head.

    Parameters
    ----------
    counts
        Training documents of each label, in any order, shape (L,).
    n_inputs, decay, batch, n_documents
        As of `cluster_costs`.
    most
        Clusters at most, the head included.

    Examples
    --------
    >>> choose_sizes(np.arange(300, 0, -1), 384, 2.0, 32, 10_000)
    (300,)
    """
    falling = _falling(counts, n_documents)
    check_decay(decay)
    if most < 1:
        raise InputError(f"there must be 1 cluster or more, got most={most}")
    n_labels = len(falling)
    n_cuts = int(PER_DECADE * np.log10(n_labels)) + 2
    cuts = np.unique(np.rint(np.geomspace(1, n_labels, n_cuts)).astype(np.int64))
    mass = np.cumsum(falling)[cuts - 1] / n_documents
    left = mass[-1] - mass
    # least[j]: time of the first cuts[j] labels in i + 1 clusters; before[i]: where the last began
    least = _time(0, cuts, mass, n_inputs, decay, batch)
    best, chosen, before = float(least[-1]), 0, []
    between, inside = cuts - cuts[:, None], mass - mass[:, None]
    for i in range(1, min(most, len(cuts))):
        times = least[:, None] + _time(i, between, inside, n_inputs, decay, batch)
        times[between <= 0] = np.inf
        times[left > mass[-1] * (decay**-i + 1e-9)] = np.inf
        before.append(len(cuts) - 1 - times[::-1].argmin(axis=0))  # of equal ones the larger head
        least = times.min(axis=0)
        if least[-1] < WORTH * best:
            best, chosen = float(least[-1]), i
    ends, j = [n_labels], len(cuts) - 1
    for i in reversed(range(chosen)):
        j = int(before[i][j])
        ends.append(int(cuts[j]))
    return tuple(np.diff(ends[::-1], prepend=0).tolist())


def sizes_for(
    clusters: Literal["auto"] | Sequence[float],
    counts: NDArray[Any],
    n_inputs: int,
    decay: float,
    batch: int,
    n_documents: int,
) -> list[int]:
    """Return the sizes of clusters with given shares of the labels, or chosen ones for "auto"."""
    if isinstance(clusters, str):
        return list(choose_sizes(counts, n_inputs, decay, batch, n_documents))
    if len(clusters) > len(counts):  # there is nothing to share
        return [1] * len(counts)
    return list(even_or_given(len(counts), clusters))


def _time(
    i: int,
    labels: NDArray[np.int64],
    mass: NDArray[np.float64],
    n_inputs: int,
    decay: float,
    batch: int,
) -> NDArray[np.float64]:
    """Return the time of cluster i, 0 for the head, with so many labels and uses per document.

    In nanoseconds of one core, for forward and backward pass and the optimiser: ``PRODUCT`` for
    each weight and document that visits the cluster, ``SCORE`` for each label and such document,
    ``WEIGHT`` for each weight and ``CLUSTER`` for each tail cluster that the batch visits.
    """
    if i == 0:
        per_label = n_inputs * (PRODUCT * batch + WEIGHT) + SCORE * batch
        return np.asarray(labels * per_label, np.float64)
    mass = np.maximum(mass, 0.0)  # also of cuts in the wrong order, which do not count
    width = tail_width(n_inputs, decay, i)
    visitors, visited = -batch * np.expm1(-mass), -np.expm1(-batch * mass)
    weights = width * (labels + n_inputs)
    gate = n_inputs * (PRODUCT * batch + WEIGHT)
    found: NDArray[np.float64] = (
        weights * (PRODUCT * visitors + WEIGHT * visited)
        + SCORE * visitors * labels
        + CLUSTER * visited
        + gate
    )
    return found


def _falling(counts: NDArray[Any], n_documents: int) -> NDArray[np.float64]:
    """Return how often labels occur, the most frequent first, shape (L,)."""
    found = np.asarray(counts, np.float64)
    if found.ndim != 1 or not len(found) or not (np.isfinite(found) & (found >= 0)).all():
        raise InputError(
            "counts must hold the number of documents of each label, none below 0: give one array "
            f"of shape (labels,), not one of shape {found.shape} from {counts!r:.60}"
        )
    if n_documents < 1:
        raise InputError(f"n_documents must be 1 or more, got {n_documents}")
    return np.sort(found)[::-1]


def check_sizes(sizes: Sequence[int], n_labels: int) -> None:
    """Refuse sizes that do not divide the labels."""
    if not len(sizes) or min(sizes) < 1 or sum(sizes) != n_labels:
        raise InputError(
            f"the sizes of clusters must be 1 or more and sum to the {n_labels:,} labels, got "
            f"{tuple(sizes)}: even_or_given makes such sizes from proportions"
        )


def check_decay(decay: float) -> None:
    """Refuse a factor by which vectors would grow."""
    if not decay >= 1:
        raise InputError(f"decay must be 1 or more, got {decay}: 2 halves the vectors of each tail")
