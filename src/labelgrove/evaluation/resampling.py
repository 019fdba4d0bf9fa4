"""What metrics add up document by document, so that documents can be drawn anew.

A metric is not kept as a value but as the sums it is made of. Weights of the documents then give
its value on any sample of them, without judging a ranking twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.progress import Progress, Silent
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import at_k
from labelgrove.evaluation.decision import Decision, as_decision
from labelgrove.evaluation.scored_ranking import ScoredRanking, score_ranking
from labelgrove.evaluation.scores import AT_K, OF_SETS, PROPENSITY, check_width, of_sets, parse
from labelgrove.evaluation.sets import counts_by_document

Floats = NDArray[np.float64]

AVERAGES = tuple(
    f"{kind}-{of}" for kind in ("micro", "macro") for of in ("precision", "recall", "F1")
)
LOWER_IS_BETTER = frozenset({"hamming-loss"})
SAMPLES, FEWER_SAMPLES = 1000, 200
MANY = 50_000  # documents above which fewer are drawn
BLOCK_BYTES = 1 << 26  # of weights and sums by label of the samples that are drawn at once


@dataclass(frozen=True, eq=False)
class Sums:
    """A metric that is a sum over documents divided by another: means, PSP, micro averages.

    Parameters
    ----------
    part
        What each document adds above, shape (n,).
    whole
        What it adds below, shape (n,); ones for a mean.
    """

    part: Floats
    whole: Floats


@dataclass(frozen=True, eq=False)
class LabelSums:
    """A macro average: the mean over labels of a sum over documents divided by another.

    Parameters
    ----------
    part, whole
        What documents add above and below for each label, sparse, shape (labels, n).
    counted
        A label is in the mean where this sums to more than 0, sparse, shape (labels, n).
    """

    part: csr_array
    whole: csr_array
    counted: csr_array


Additive = Sums | LabelSums


def additive(
    Y: Any,
    ranking: Ranking,
    metrics: Iterable[str],
    *,
    propensities: NDArray[np.floating] | None = None,
    threshold: float | Decision = 0.5,
    n_labels: int | None = None,
) -> dict[str, Additive]:
    """Return what each metric is made of, for `bootstrap` and `paired_bootstrap`.

    Parameters
    ----------
    Y, ranking, propensities, threshold, n_labels
        As in `evaluate`.
    metrics
        Names as `evaluate` gives them, with any k; all but ``coverage@k``.

    Examples
    --------
    >>> ranking = Ranking(np.array([[2, 0], [1, -1]]), np.array([[0.9, 0.3], [0.5, 0.0]]))
    >>> found = additive(csr_array([[0, 0, 1], [1, 1, 0]]), ranking, ["R@1", "micro-F1"])
    >>> values(found)
    {'R@1': 0.75, 'micro-F1': 0.8}
    """
    names = check_metrics(metrics)
    scored = score_ranking(Y, ranking)
    given = as_decision(threshold).mask(ranking)
    parts: dict[str, Additive] = {}
    for metric in names:
        if metric in AVERAGES:
            kind, _, of = metric.partition("-")
            parts[metric] = (_micro if kind == "micro" else _macro)(scored, given, of)
        else:
            parts[metric] = _mean(scored, given, metric, propensities, n_labels)
    return parts


def check_metrics(metrics: Iterable[str]) -> tuple[str, ...]:
    """Return metrics, each once, if `additive` knows all of them."""
    names = tuple(dict.fromkeys(metrics))
    for name in names:
        if name in AVERAGES:
            continue
        try:
            parse(name)
        except UnknownNameError:
            known = [*(f"{each}@k" for each in (*AT_K, *PROPENSITY)), *AVERAGES, *OF_SETS]
            raise UnknownNameError("metric", name, known) from None
    return names


def _mean(
    scored: ScoredRanking,
    given: NDArray[np.bool_],
    metric: str,
    propensities: NDArray[np.floating] | None,
    n_labels: int | None,
) -> Sums:
    name, k = parse(metric)
    if name in PROPENSITY:
        if propensities is None:
            raise InputError(f"{metric} needs propensities: LabelSpace.propensities gives them")
        return Sums(*at_k.propensity_gains(scored, k, propensities, discounted=PROPENSITY[name]))
    if name in OF_SETS:
        values = of_sets(scored, given, name, check_width(n_labels, scored))
    else:
        values = AT_K[name](scored, k)
    return Sums(values, np.ones(len(scored)))


def _micro(scored: ScoredRanking, given: NDArray[np.bool_], of: str) -> Sums:
    counts = counts_by_document(scored, given)
    part, whole = {
        "precision": (counts.correct, counts.given),
        "recall": (counts.correct, counts.true),
        "F1": (2 * counts.correct, counts.given + counts.true),
    }[of]
    return Sums(part.astype(np.float64), whole.astype(np.float64))


def _macro(scored: ScoredRanking, given: NDArray[np.bool_], of: str) -> LabelSums:
    true_rows = np.repeat(np.arange(len(scored)), scored.n_true)
    labels, rows = scored.ranking.labels, np.nonzero(given)[0]
    used = np.union1d(scored.Y.indices, labels[given])  # the others are in no mean

    def by_label(numbers: NDArray[np.integer[Any]], documents: NDArray[np.integer[Any]]) -> Any:
        positions = np.searchsorted(used, numbers)
        cells = (np.ones(len(positions)), (positions, documents))
        return csr_array(cells, shape=(len(used), len(scored)))

    true = by_label(scored.Y.indices, true_rows)
    named = by_label(labels[given], rows)
    hit = scored.hits[given]
    correct = by_label(labels[given][hit], rows[hit])
    both = csr_array(true + named)
    if of == "F1":
        return LabelSums(2 * correct, both, both)
    return LabelSums(correct, named if of == "precision" else true, both)


def values(metrics: Mapping[str, Additive]) -> dict[str, float]:
    """Return the metrics of all documents, as `evaluate` gives them."""
    (row,) = _values(metrics, np.ones((1, _documents([metrics]))))
    return {name: float(value) for name, value in zip(metrics, row, strict=True)}


def enough_samples(n: int) -> int:
    """Return how many samples of n documents to draw: of many fewer, which take long.

    Examples
    --------
    >>> enough_samples(50_000), enough_samples(50_001)
    (1000, 200)
    """
    return SAMPLES if n <= MANY else FEWER_SAMPLES


def resampled(
    systems: Sequence[Mapping[str, Additive]],
    *,
    resamples: int = SAMPLES,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[dict[str, Floats]]:
    """Return the metrics of several systems on samples of the documents, the same for all.

    A sample is n documents drawn with replacement. It depends on the seed and on n only.

    Parameters
    ----------
    systems
        What `additive` gave for each system, of the same n documents.
    resamples
        Number of samples.
    seed
        Of the draws.
    progress
        Where progress is shown; nowhere by default.

    Returns
    -------
    For each system the values of each metric, shape (resamples,).
    """
    if resamples < 1:
        raise InputError(f"resamples must be at least 1, got {resamples}")
    n = _documents(systems)
    rng = generator(seed, "bootstrap")
    samples = [(metrics, np.empty((resamples, len(metrics)))) for metrics in systems]
    block = max(BLOCK_BYTES // (8 * (2 * n + _widest(systems))), 1)
    with (progress or Silent()).task("drawing", resamples, "samples") as task:
        for start in range(0, resamples, block):
            rows = range(start, min(start + block, resamples))
            drawn = [np.bincount(rng.integers(n, size=n), minlength=n) for _ in rows]
            weights = np.array(drawn, np.float64)
            for metrics, values in samples:
                values[start : rows.stop] = _values(metrics, weights)
            task.advance(len(rows))
    return [{name: values[:, i] for i, name in enumerate(metrics)} for metrics, values in samples]


def _documents(systems: Sequence[Mapping[str, Additive]]) -> int:
    lengths = {each.part.shape[-1] for metrics in systems for each in metrics.values()}
    if len(lengths) != 1:
        told = " and ".join(f"{n:,}" for n in sorted(lengths)) or "no metric"
        raise InputError(f"samples are of the same documents for all systems, got {told}")
    return int(lengths.pop())


def _widest(systems: Sequence[Mapping[str, Additive]]) -> int:
    """Return how many sums by label there are at once for a sample."""
    each = [metric for metrics in systems for metric in metrics.values()]
    return 4 * max((one.part.shape[0] for one in each if isinstance(one, LabelSums)), default=0)


def _values(metrics: Mapping[str, Additive], weights: Floats) -> Floats:
    """Return the metrics under weights of the documents (samples, n): (samples, metrics)."""
    values = np.empty((len(weights), len(metrics)))
    plain = [i for i, each in enumerate(metrics.values()) if isinstance(each, Sums)]
    sums = [each for each in metrics.values() if isinstance(each, Sums)]
    if sums:
        part = weights @ np.column_stack([each.part for each in sums])
        values[:, plain] = at_k.ratio(
            part, weights @ np.column_stack([each.whole for each in sums])
        )
    across = np.ascontiguousarray(weights.T)
    for i, each in enumerate(metrics.values()):
        if isinstance(each, LabelSums):
            values[:, i] = _macro_values(each, across)
    return values


def _macro_values(each: LabelSums, across: Floats) -> Floats:
    """Return a macro average under weights of the documents (n, samples): (samples,)."""
    whole = each.whole @ across
    counted = whole if each.counted is each.whole else each.counted @ across
    by_label = at_k.ratio(each.part @ across, whole)
    return at_k.ratio(by_label.sum(axis=0), (counted > 0).sum(axis=0))
