"""A tagger's answers to documents whose labels are known: what a report is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.progress import Progress
from labelgrove.core.types import Document
from labelgrove.corpus import Corpus
from labelgrove.evaluation import Decision, ScoredRanking, labels_in_use, score_ranking
from labelgrove.labels import LabelSpace
from labelgrove.report.choosing import ChosenDocument, choose
from labelgrove.tagger import Scores, Tagger
from labelgrove.tagger.scoring import RankBatches, score_corpus


@dataclass(frozen=True, eq=False)
class Assessment:
    """A tagger, its ranking of n documents, and their true labels.

    Parameters
    ----------
    tagger
        What was asked.
    test
        Name of the documents' file.
    scored
        Ranking, truth (n, M) and hits.
    decision
        From which probability on a label is given.
    ks
        The depths at which rankings are cut.
    scores
        All metrics, what a reader should know of them, and what reading and tagging took.
    names
        A name for each of the M columns, no two alike.
    examples
        The documents that are shown.
    skipped
        Bad rows of the file that were left out.
    """

    tagger: Tagger
    test: str
    scored: ScoredRanking
    decision: Decision
    ks: tuple[int, ...]
    scores: Scores
    names: Sequence[str]
    examples: Sequence[tuple[ChosenDocument, Document]]
    skipped: int

    @property
    def space(self) -> LabelSpace:
        """The labels that the tagger knows."""
        return self.tagger.labels_

    @property
    def given(self) -> NDArray[np.bool_]:
        """Which places are given, shape (n, k)."""
        return self.decision.mask(self.scored.ranking)

    @property
    def n_used(self) -> int:
        """Number of labels that training or test documents have."""
        return labels_in_use(self.scored.Y, self.space.n_labels)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Training documents of each column of the truth, shape (M,)."""
        counts = np.zeros(self.scored.Y.shape[1], np.int64)
        counts[: self.space.n_labels] = self.space.counts
        return counts


def assess(
    tagger: Tagger,
    corpus: Corpus,
    *,
    ks: tuple[int, ...] = (1, 3, 5),
    threshold: float | str = "auto",
    rank_batches: RankBatches | None = None,
    progress: Progress | None = None,
) -> Assessment:
    """Tag documents with known labels and keep what a report tells of it.

    Parameters
    ----------
    tagger
        A fitted tagger.
    corpus
        Documents with labels; read twice, the second time for names and examples.
    ks, threshold, rank_batches, progress
        As of `Tagger.evaluate`.
    """
    decision = tagger.decision(threshold)
    ranking, Y, scores = score_corpus(
        tagger.learned_,
        corpus,
        ks=ks,
        threshold=threshold,
        with_intervals=True,
        rank_batches=rank_batches,
        progress=progress,
    )
    scored = score_ranking(Y, ranking)
    chosen = {each.row: each for each in choose(scored, decision.mask(ranking))}
    names, documents = _read_again(tagger.labels_, corpus, chosen)
    return Assessment(
        tagger=tagger,
        test=corpus.name,
        scored=scored,
        decision=decision,
        ks=ks,
        scores=scores,
        names=names,
        examples=[(each, documents[row]) for row, each in chosen.items()],
        skipped=corpus.skipped,
    )


def _read_again(
    space: LabelSpace, corpus: Corpus, rows: Iterable[int]
) -> tuple[list[str], dict[int, Document]]:
    """Return a name for each column of the truth, and the documents of these rows.

    A name that several labels share has the id behind it.
    """
    wanted = set(rows)
    unknown: set[str] = set()
    documents: dict[int, Document] = {}
    for row, document in enumerate(corpus):
        unknown.update(label for label in document.labels if label not in space)
        if row in wanted:
            documents[row] = document
    ids = [*space.ids, *sorted(unknown)]
    names = [*space.names, *ids[len(space) :]]
    times = Counter(names)
    shown = [
        name if times[name] == 1 else f"{name} ({label})"
        for name, label in zip(names, ids, strict=True)
    ]
    return shown, documents
