"""Taggers compared on one test set: which is better, where, and whether it is luck."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError
from labelgrove.core.progress import Progress
from labelgrove.core.ranking import RANKING_DEPTH
from labelgrove.core.wording import several
from labelgrove.corpus import Corpus
from labelgrove.evaluation import (
    LOWER_IS_BETTER,
    Decision,
    Interval,
    additive,
    areas_by_frequency,
    best_of,
    by_frequency,
    check_metrics,
    frequency_groups,
    holm,
    labels_in_use,
    wilcoxon,
)
from labelgrove.evaluation.resampling import (
    AVERAGES,
    Additive,
    Sums,
    enough_samples,
    resampled,
    values,
)
from labelgrove.evaluation.significance import FEWEST, difference, interval, without_noise
from labelgrove.labels import LabelMatcher, LabelSpace
from labelgrove.report.contestants import Contestant, alike
from labelgrove.report.luck import LEVEL, MAIN
from labelgrove.report.verdict import Verdict, judge
from labelgrove.report.wording import GROUPS

METRICS = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@5", "micro-F1", "macro-F1")
FOUND_IN = 5  # places among which the labels of a group are looked for
FOR_A_PAIR = 200  # samples; p-values from fewer could not be small after Holm's correction


class PairedTaggers(NamedTuple):
    """Two contestants by one metric, the better one first.

    Parameters
    ----------
    metric
        Its name.
    first, second
        Numbers of the contestants.
    value
        How much the metric of the first is above that of the second.
    low, high
        The difference lies there in 95 of 100 samples; None with too few documents.
    p
        Of the paired bootstrap, after Holm's correction; None with too few documents.
    wilcoxon
        Of the signed-rank test over documents, corrected too; None also for metrics that are no
        means over documents.
    better, worse
        Documents on which the first is better, or worse; None for such metrics.
    """

    metric: str
    first: int
    second: int
    value: float
    low: float | None
    high: float | None
    p: float | None
    wilcoxon: float | None
    better: int | None
    worse: int | None


@dataclass(frozen=True, eq=False)
class Comparison:
    """What a comparison on one test set found.

    Parameters
    ----------
    test
        Name of the documents.
    documents
        How many there are.
    metrics
        The metrics compared.
    contestants
        The taggers, their labels numbered alike.
    scores
        For each contestant each metric, with its interval.
    pairs
        Every two contestants by every metric.
    group_sizes
        Labels in each group of frequency, those that occur in training or test.
    groups
        For each contestant the groups of labels, the frequent first: ``found`` (share of their
        occurrences among the best five), ``macro-F1``, ``AUC`` and ``AUPR``.
    resamples
        Samples that the bootstrap drew.
    notes
        What a reader should know.
    verdict
        Who is better by the main metric.
    learned
        Of how many documents each contestant has learned the text; None if it does not know.
    without_learned
        The metrics of each on the documents whose text none of them has learned, and how many
        these are; None where they are all documents or none.
    """

    test: str
    documents: int
    metrics: tuple[str, ...]
    contestants: Sequence[Contestant]
    scores: Sequence[Mapping[str, Interval]]
    pairs: Sequence[PairedTaggers]
    group_sizes: Sequence[int]
    groups: Sequence[Sequence[Mapping[str, float]]]
    resamples: int
    notes: Sequence[str]
    verdict: Verdict
    learned: Sequence[int | None] = ()
    without_learned: tuple[int, Sequence[Mapping[str, float]]] | None = None

    @property
    def names(self) -> list[str]:
        """The contestants' names."""
        return [each.name for each in self.contestants]

    @property
    def tested(self) -> bool:
        """Whether there are documents enough for p-values."""
        return self.documents >= FEWEST

    def best(self, metric: str) -> set[int]:
        """Return the numbers of the contestants with the best value."""
        values = [scores[metric].value for scores in self.scores]
        return best_of(values, lower_is_better=metric in LOWER_IS_BETTER)

    def level_with_best(self, metric: str) -> set[int]:
        """Return the numbers of those that are not significantly worse than a best one."""
        best = self.best(metric)
        return {
            pair.second
            for pair in self.pairs
            if pair.metric == metric and pair.first in best and (pair.p or 0) >= LEVEL
        } - best


def compare(
    contestants: Sequence[Contestant],
    corpus: Corpus,
    *,
    metrics: Sequence[str] = METRICS,
    resamples: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Compare what several taggers answered to the documents of a corpus.

    All are judged in one label space, with the labels of all of them: a label that one does not
    know counts as a miss for it. PSP weighs labels by the largest count that any of them has seen.

    Parameters
    ----------
    contestants
        What `ask` or `ask_saved` returned, two or more.
    corpus
        The same documents again, with their labels.
    metrics
        Names as `evaluate` gives them, all but ``coverage@k``.
    resamples
        Samples of the bootstrap; by default 1,000, or 200 with more than 50,000 documents, or
        200 for each pair where that is more.
    seed
        Of the samples.
    progress
        Where progress is shown; nowhere by default.
    """
    names = check_metrics(metrics)
    if len(contestants) < 2:
        raise InputError(f"a comparison needs two taggers or more, got {len(contestants)}")
    asked = alike(contestants)
    space = asked[0].labels
    match = LabelMatcher.of_space(space)
    Y = space.encode((match(document.labels) for document in corpus), unseen="append")
    n_pairs = len(asked) * (len(asked) - 1) // 2
    drawn = max(enough_samples(Y.shape[0]), FOR_A_PAIR * n_pairs)
    if resamples is not None:
        drawn = resamples
    parts = [_sums(Y, each, names) for each in asked]
    samples = resampled(parts, resamples=drawn, seed=seed, progress=progress)
    scores = [
        {name: interval(value, own[name]) for name, value in values(part).items()}
        for part, own in zip(parts, samples, strict=True)
    ]
    main = MAIN if names == METRICS else names[0]
    return Comparison(
        test=corpus.name,
        documents=Y.shape[0],
        metrics=names,
        contestants=asked,
        scores=scores,
        pairs=[pair for name in names for pair in _pairs(name, scores, parts, samples)],
        group_sizes=_group_sizes(Y, space),
        groups=[_by_frequency(Y, each, space) for each in asked],
        resamples=drawn,
        notes=_notes(contestants, space, Y),
        verdict=judge(
            main,
            asked,
            [each[main].value for each in scores],
            [each[main] for each in samples],
            Y.shape[0],
        ),
        learned=[None if each.learned is None else int(each.learned.sum()) for each in asked],
        without_learned=_without_learned(Y, asked, names),
    )


def _sums(Y: csr_array, asked: Contestant, metrics: Sequence[str]) -> Mapping[str, Additive]:
    """Return the metrics of a contestant as sums over documents."""
    space = asked.labels
    return additive(
        Y,
        asked.ranking,
        metrics,
        propensities=space.propensities(n_columns=Y.shape[1]),
        threshold=asked.decision,
        n_labels=labels_in_use(Y, space.n_labels),
    )


def _without_learned(
    Y: csr_array, asked: Sequence[Contestant], metrics: Sequence[str]
) -> tuple[int, Sequence[Mapping[str, float]]] | None:
    """Return how many documents none has learned, and the metrics on them; None: all or none."""
    new = np.ones(Y.shape[0], np.bool_)
    for each in asked:
        if each.learned is not None:
            new &= ~each.learned
    if new.all() or not new.any():
        return None
    parts = (_sums(Y[new], replace(each, ranking=each.ranking[new]), metrics) for each in asked)
    return int(new.sum()), [values(part) for part in parts]


def ranking_depth(metrics: Iterable[str]) -> int:
    """Return how many labels per document the metrics need, at least 100.

    Examples
    --------
    >>> ranking_depth(["P@5", "nDCG@200", "micro-F1"])
    200
    """
    return max(RANKING_DEPTH, *(int(f"0{metric.partition('@')[2]}") for metric in metrics))


def _pairs(
    metric: str,
    scores: Sequence[Mapping[str, Interval]],
    parts: Sequence[Mapping[str, Additive]],
    samples: Sequence[Mapping[str, NDArray[np.float64]]],
) -> list[PairedTaggers]:
    """Return all pairs by one metric, p-values corrected for their number."""
    sign = -1 if metric in LOWER_IS_BETTER else 1
    pairs: list[PairedTaggers] = []
    for pair in combinations(range(len(scores)), 2):
        # the better one first, of equal ones that which was given first
        ahead = without_noise(scores[pair[0]][metric].value - scores[pair[1]][metric].value)
        first, second = pair if sign * ahead >= 0 else pair[::-1]
        gap = difference(
            scores[first][metric].value - scores[second][metric].value,
            samples[first][metric] - samples[second][metric],
        )
        own, other = parts[first][metric], parts[second][metric]
        p, better, worse = None, None, None
        if metric not in AVERAGES and isinstance(own, Sums) and isinstance(other, Sums):
            p = wilcoxon(own.part, other.part).p
            gaps = without_noise(sign * (own.part - other.part))
            better, worse = int((gaps > 0).sum()), int((gaps < 0).sum())
        pairs.append(PairedTaggers(metric, first, second, *gap, p, better, worse))
    if parts[0][metric].part.shape[-1] < FEWEST:
        return [each._replace(low=None, high=None, p=None, wilcoxon=None) for each in pairs]
    return _corrected(pairs)


def _corrected(pairs: Sequence[PairedTaggers]) -> list[PairedTaggers]:
    by_bootstrap = holm([pair.p for pair in pairs if pair.p is not None])
    by_ranks = holm([pair.wilcoxon for pair in pairs if pair.wilcoxon is not None])
    return [
        pair._replace(p=p, wilcoxon=by_ranks[i] if by_ranks else None)
        for i, (pair, p) in enumerate(zip(pairs, by_bootstrap, strict=True))
    ]


def _group_sizes(Y: csr_array, space: LabelSpace) -> list[int]:
    """Count the labels of each group, without concepts that no document has."""
    counts = np.zeros(Y.shape[1], np.int64)
    counts[: space.n_labels] = space.counts
    used = (counts > 0) | (np.bincount(Y.indices, minlength=len(counts)) > 0)
    sizes = np.bincount(frequency_groups(counts, len(GROUPS))[used], minlength=len(GROUPS))
    return [int(size) for size in sizes]


def _by_frequency(Y: csr_array, asked: Contestant, space: LabelSpace) -> list[dict[str, float]]:
    """Return how one does on frequent and rare labels, with equal shares of all occurrences."""
    n_groups = len(GROUPS)
    in_top, given = (
        by_frequency(Y, asked.ranking, space.counts, n_groups=n_groups, threshold=decision)
        for decision in (Decision(top=FOUND_IN), asked.decision)
    )
    ranked = areas_by_frequency(
        Y, asked.ranking.top(RANKING_DEPTH), space.counts, n_groups=n_groups
    )
    return [
        {
            "found": one["micro-recall"],
            "macro-F1": two["macro-F1"],
            "AUC": three["AUC"],
            "AUPR": three["AUPR"],
        }
        for one, two, three in zip(in_top, given, ranked, strict=True)
    ]


def _notes(contestants: Sequence[Contestant], space: LabelSpace, Y: csr_array) -> list[str]:
    """Return what a reader should know about labels and documents."""
    told = ", ".join(f"{each.name} {_told(each.decision)}" for each in contestants)
    notes = [
        f"{each.name} has learned from the texts of {several(int(each.learned.sum()), 'document')} "
        f"of the {Y.shape[0]:,}: its scores on them are too high"
        for each in contestants
        if each.learned is not None and each.learned.any()
    ]
    notes.append(f"F1 counts the labels with at least this probability: {told}")
    notes += [
        f"{each.name} knows {each.labels.n_labels:,} of the {space.n_labels:,} labels that "
        "the taggers know together; the others are misses for it"
        for each in contestants
        if each.labels.n_labels < space.n_labels
    ]
    if any(_counts(each.labels) != _counts(contestants[0].labels) for each in contestants):
        notes.append(
            "the taggers have learned from different documents: PSP and the groups by frequency "
            "take the largest count of a label that any of them has seen, for all"
        )
    if unseen := labels_in_use(Y, space.n_labels) - space.n_labels:
        share = (Y.indices >= space.n_labels).mean()
        notes.append(
            f"{several(unseen, 'label')} ({share:.1%} of the occurrences) "
            "none of them knows: misses for all"
        )
    if bare := int((np.diff(Y.indptr) == 0).sum()):
        notes.append(f"{several(bare, 'document')} without a label count 0 in P, R and nDCG")
    if Y.shape[0] < FEWEST:
        notes.append(
            f"{several(Y.shape[0], 'document')} cannot tell luck from skill: there are neither "
            f"intervals nor p-values, which take {FEWEST}"
        )
    return notes


def _told(decision: Decision) -> str:
    if isinstance(decision.threshold, np.ndarray):
        return "by label"
    return f"{decision.threshold:.2g}"


def _counts(space: LabelSpace) -> dict[str, int]:
    return dict(zip(space.ids, space.counts.tolist(), strict=False))
