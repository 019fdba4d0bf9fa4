"""How good a ranking of documents with known labels is, and what a reader should know of that."""

from __future__ import annotations

import re
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError
from labelgrove.core.progress import Progress, Silent
from labelgrove.core.ranking import RANKING_DEPTH, Ranking
from labelgrove.core.reader_words import for_reader
from labelgrove.core.wording import several
from labelgrove.corpus import Corpus
from labelgrove.evaluation import (
    Decision,
    HeldOutPlaces,
    ThresholdOutcome,
    capped_rows,
    evaluate,
    hierarchical_scores,
    intervals,
    labels_in_use,
    score_ranking,
    set_scores,
)
from labelgrove.evaluation.held_out import TABLE
from labelgrove.labels import LabelMatcher, LabelSpace
from labelgrove.tagger import batches
from labelgrove.tagger.given import given_labels
from labelgrove.tagger.outside import told_outside
from labelgrove.tagger.state import FittedState
from labelgrove.tagger.thresholds import decide, threshold_note
from labelgrove.text.copies import text_hash

# ranks batches of texts to a depth; gives the number of each and its ranking, in any order
RankBatches: TypeAlias = Callable[[Iterable[list[str]], int], Iterable[tuple[int, Ranking]]]


WITH_INTERVAL = re.compile(r"(?:P|R|nDCG)@\d+|micro-F1")
HIERARCHY_NOTES = {
    "closed": "with --hierarchy closed they also count all labels above these; rankings stay as "
    "they are",
    "leaf": "with --hierarchy leaf they leave out labels that stand above another of these; "
    "rankings stay as they are",
}


class Scores(dict[str, float]):
    """Metrics by name, with ``notes`` on what a reader should know about them.

    ``documents`` tells how many were scored, ``seconds`` how long it took to tag them.
    ``learned_texts`` tells how many of them have a text that the tagger learned from (None if it
    does not know), and ``without_learned_texts`` has the metrics on the others, if both exist.
    ``by_threshold`` tells what other thresholds would give, the highest first. ``intervals`` has
    the 95 % intervals of some metrics over documents, where they were asked for.
    """

    by_threshold: Sequence[ThresholdOutcome] = ()
    intervals: Mapping[str, tuple[float, float]] = MappingProxyType({})
    learned_texts: int | None = None
    without_learned_texts: Mapping[str, float] | None = None

    def __init__(
        self, values: Mapping[str, float], notes: list[str], documents: int, seconds: float = 0.0
    ) -> None:
        super().__init__(values)
        self.notes, self.documents, self.seconds = notes, documents, seconds

    @property
    def about_learned_texts(self) -> str:
        """The title of a table of ``without_learned_texts``."""
        n = self.learned_texts or 0
        texts = "the text" if n == 1 else f"the {n:,} texts"
        return f"without {texts} that the tagger has learned from"


def rank_corpus(
    learned: FittedState,
    corpus: Corpus,
    k: int,
    *,
    title: str = "tagging",
    space: LabelSpace | None = None,
    rank_batches: RankBatches | None = None,
    hashes: array[int] | None = None,
    progress: Progress | None = None,
) -> tuple[Ranking, csr_array]:
    """Return the best k labels of documents, and their true labels.

    Parameters
    ----------
    learned
        What ranks.
    corpus
        The documents; read once.
    k
        Labels per document.
    title
        What progress says is being done.
    space
        Numbers the true labels; by default the space of ``learned``.
    rank_batches
        What ranks in place of ``learned``, with the same result, such as a cluster.
    hashes
        The hash of each text is appended to it, where it is given.
    progress
        Where progress is shown.

    Returns
    -------
    ranking, Y
        Y has shape (n, M). Its columns are the labels and concepts of the space, then the ids
        that it does not know, in sorted order.
    """
    rankings: dict[int, Ranking] = {}
    truth: list[Sequence[str]] = []
    numbered = space or learned.labels
    match = LabelMatcher.of_space(numbered)

    def texts() -> Iterator[list[str]]:
        for batch in batches.of_documents(corpus):
            truth.extend(match(document.labels) for document in batch)
            if hashes is not None:
                hashes.extend(text_hash(document.text) for document in batch)
            yield [document.text for document in batch]

    total = len(corpus) if isinstance(corpus, Sized) else None
    said = progress or Silent()
    with told_outside(learned.model, said), said.task(title, total) as shown:
        ranked = rank_batches or (lambda many, k: enumerate(learned.rank(x, k) for x in many))
        for number, ranking in ranked(texts(), k):
            rankings[number] = ranking
            shown.advance(len(ranking.labels))  # once they are tagged, not read
    if not truth:
        raise InputError(f"{corpus.name} holds no documents to score on")
    if progress and (note := match.note(unmatched=False)):
        progress.say(note)
    Y = numbered.encode(truth, unseen="append")
    return Ranking.concatenate([rankings[number] for number in sorted(rankings)]), Y


def score_corpus(
    learned: FittedState,
    corpus: Corpus,
    *,
    ks: tuple[int, ...] = (1, 3, 5),
    threshold: float | str = "auto",
    hierarchy: str | None = None,
    counted: LabelSpace | None = None,
    with_intervals: bool = False,
    rank_batches: RankBatches | None = None,
    progress: Progress | None = None,
) -> tuple[Ranking, csr_array, Scores]:
    """Rank the documents of a corpus and score the ranking.

    If the tagger has learned from some of the texts, the scores say so, and hold those on the
    other documents.

    Parameters
    ----------
    learned, corpus, rank_batches, progress
        As of `rank_corpus`, which is asked for as many labels as the metrics need.
    ks, threshold, hierarchy, counted
        As of `evaluate_ranking`; ``counted`` also numbers the true labels.
    with_intervals
        Find the 95 % intervals over documents too.

    Returns
    -------
    ranking, Y, scores
        As of `rank_corpus`, and the metrics.
    """
    hashes, started = array("Q"), time.monotonic()
    ranking, Y = rank_corpus(
        learned,
        corpus,
        max(RANKING_DEPTH, *ks),
        space=counted,
        rank_batches=rank_batches,
        hashes=hashes,
        progress=progress,
    )
    seconds = time.monotonic() - started
    score = partial(
        evaluate_ranking,
        learned,
        ks=ks,
        threshold=threshold,
        hierarchy=hierarchy,
        counted=counted,
    )
    scores = score(ranking, Y)
    scores.seconds = seconds
    if with_intervals:
        counted_sets = [name for name in scores if hierarchy is None or "@" in name]
        scores.intervals = score_intervals(learned, ranking, Y, counted_sets, threshold)
    if (known := learned.are_learned(hashes)) is not None:
        scores.learned_texts = n = int(known.sum())
        if 0 < n < len(known):
            scores.without_learned_texts = dict(score(ranking[~known], Y[~known]))
        if n:
            scores.notes.insert(0, _learned_texts_note(n, len(known)))
    return ranking, Y, scores


def _learned_texts_note(n: int, n_documents: int) -> str:
    what = "all have texts" if n == n_documents else f"{n:,} have a text"
    return (
        f"of the {n_documents:,} test documents, {what} that the tagger has learned from: scores "
        "on them are too high"
    )


def evaluate_ranking(
    learned: FittedState,
    ranking: Ranking,
    Y: csr_array,
    *,
    ks: tuple[int, ...] = (1, 3, 5),
    threshold: float | str = "auto",
    hierarchy: str | None = None,
    counted: LabelSpace | None = None,
) -> Scores:
    """Return the metrics of what `rank_corpus` returned.

    Where labels have parents, hierarchical precision, recall and F1 are among them.

    Parameters
    ----------
    learned
        What ranked.
    ranking
        Of the n documents.
    Y
        True labels, shape (n, M); columns from L on are those that it does not know.
    ks
        Depths at which rankings are cut.
    threshold
        From which probability on a label counts as given; as for `Tagger.tag`.
    hierarchy
        Whether broader labels are given too, or left out; as for `Tagger.tag`.
    counted
        The label space whose counts tell for PSP how rare labels are, and whose labels the
        Hamming loss is over; that of ``learned`` by default.
    """
    space, decision = learned.labels, decide(learned, threshold)
    whole = counted or space
    n_labels = labels_in_use(Y, whole.n_labels)
    values = evaluate(
        Y, ranking, ks=ks, threshold=decision,
        propensities=whole.propensities(n_columns=Y.shape[1]), n_labels=n_labels,
    )  # fmt: skip
    if len(whole.parents.indices):
        given = given_labels(learned, ranking, ranking.k, threshold, hierarchy)
        if hierarchy is not None:
            values |= set_scores(score_ranking(Y, given), given.labels >= 0, n_labels)
        every = Decision(top=max(given.k, 1))
        values |= hierarchical_scores(Y, given, whole.parents, every)
    notes = [
        f"precision, recall and F1 count labels with a probability of at least {_told(decision)}"
    ]
    if hierarchy is not None:
        notes.append(for_reader(HIERARCHY_NOTES[hierarchy]))
    if capped := capped_rows(ranking, decision, space.n_labels):
        notes.append(
            f"{several(capped, 'document')} may have more than {ranking.k} labels above the "
            f"threshold; precision, recall and F1 count the best {ranking.k}"
        )
    if unseen := labels_in_use(Y, space.n_labels) - space.n_labels:
        share = (Y.indices >= space.n_labels).mean()
        notes.append(
            f"{several(unseen, 'label')} ({share:.1%} of the occurrences) "
            f"{'is' if unseen == 1 else 'are'} not in the training data and "
            f"{'counts as a miss' if unseen == 1 else 'count as misses'}"
        )
    if bare := int((np.diff(Y.indptr) == 0).sum()):
        notes.append(
            f"{several(bare, 'document has', 'documents have')} no label and "
            f"{'counts' if bare == 1 else 'count'} 0 in P, R and nDCG"
        )
    if note := threshold_note(learned, threshold):
        notes.append(note)
    scores = Scores(values, notes, len(ranking))
    if hierarchy is not None:  # the table tells what thresholds alone give
        return scores
    chosen = () if isinstance(decision.threshold, np.ndarray) else (decision.threshold or 0.0,)
    places = HeldOutPlaces.of(Y, ranking, most=len(ranking))
    scores.by_threshold = places.table({*TABLE, *chosen})
    return scores


def held_out_scores(learned: FittedState) -> dict[str, float]:
    """Return the metrics on held-out documents by name; empty where none were held out."""
    return {} if learned.held_out is None else dict(evaluate_ranking(learned, *learned.held_out))


def about_held_out(learned: FittedState, scores: Iterable[str]) -> dict[str, Any]:
    """Return how many documents were held out and intervals of the scores on them, for readers."""
    if learned.held_out is None:
        return {}
    ranking, Y = learned.held_out
    found = score_intervals(learned, ranking, Y, scores)
    return {"documents": len(ranking), "intervals": {name: [*pair] for name, pair in found.items()}}


def score_intervals(
    learned: FittedState,
    ranking: Ranking,
    Y: csr_array,
    scores: Iterable[str],
    threshold: float | str = "auto",
) -> dict[str, tuple[float, float]]:
    """Return the 95 % intervals over documents of those scores that have one that is cheap.

    Parameters
    ----------
    learned, ranking, Y, threshold
        As of `evaluate_ranking`.
    scores
        Names of metrics.
    """
    names = [name for name in scores if WITH_INTERVAL.fullmatch(name)]
    return intervals(Y, ranking, names, threshold=decide(learned, threshold))


def _told(decision: Decision) -> str:
    if isinstance(decision.threshold, np.ndarray):
        return f"{decision.threshold.min():.3g} to {decision.threshold.max():.3g}, by label"
    return f"{decision.threshold:.3g}"
