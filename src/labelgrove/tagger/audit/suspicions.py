"""The labels that are most probably missing, and those that are most probably wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.progress import Progress
from labelgrove.core.random import generator
from labelgrove.corpus.review import MISSING, WRONG
from labelgrove.tagger import batches
from labelgrove.tagger.audit.companions import LabelCompanions
from labelgrove.tagger.audit.evidence import AuditEvidence, LabelPairs
from labelgrove.tagger.audit.judge import LabelJudge

SAMPLE = 20_000  # documents that the judge learns from at most
ROWS = 400_000  # pairs that it learns from at most
BLOCK = 2_000  # documents of which it learns at once
OTHERS = 2.0  # pairs that nothing speaks for, for each label that is given
UNLIKELY = {MISSING: 0.1, WRONG: 0.1}  # what scores below this is not suggested
MISTAKES = 0.02  # wrong and missing labels that are expected, for each that is given


@dataclass(frozen=True)
class Suspicion:
    """A label that is probably missing or wrong.

    Parameters
    ----------
    document, label
        Numbers of both.
    kind
        ``"missing"`` or ``"wrong"``.
    score
        How probable it is that the label is missing, or wrong.
    """

    document: int
    label: int
    kind: str
    score: float


class Suspicions:
    """The best suspicions of each kind.

    Parameters
    ----------
    most
        Suspicions of each kind that are kept.
    least
        By kind, the score that one needs.
    """

    def __init__(self, most: int, least: Mapping[str, float] = UNLIKELY) -> None:
        self._most, self._least = most, least
        empty = np.empty(0, np.int64)
        nothing = empty, empty, np.empty(0, np.float64)
        self.passed = dict.fromkeys((MISSING, WRONG), 0)  # pairs with the score that they need
        self._best = dict.fromkeys((MISSING, WRONG), nothing)

    def add(self, pairs: LabelPairs, chances: Mapping[str, NDArray[np.float64]]) -> None:
        """Take what is best of judged pairs.

        Parameters
        ----------
        pairs
            A document and a label each.
        chances
            By kind, how probable it is that the document should have the label, shape (m,).
        """
        for kind, fits, scores in (
            (MISSING, ~pairs.given, chances[MISSING]),
            (WRONG, pairs.given, 1.0 - chances[WRONG]),
        ):
            fits = fits & (scores >= self._least[kind])
            self.passed[kind] += int(fits.sum())
            texts, labels, old = self._best[kind]
            texts = np.concatenate([texts, pairs.texts[fits]])
            labels = np.concatenate([labels, pairs.labels[fits]])
            score = np.concatenate([old, scores[fits]])
            best = np.lexsort((labels, texts, -score))[: self._most]
            self._best[kind] = texts[best], labels[best], score[best]

    def of(self, kind: str) -> list[Suspicion]:
        """Return the suspicions of a kind, best first."""
        texts, labels, scores = self._best[kind]
        return [
            Suspicion(text, label, kind, score)
            for text, label, score in zip(
                texts.tolist(), labels.tolist(), scores.tolist(), strict=True
            )
        ]


def find(
    evidence: AuditEvidence,
    wanted: NDArray[np.bool_],
    most: int,
    least: Mapping[str, float],
    seed: int,
    progress: Progress,
    mistakes: float = MISTAKES,
) -> Suspicions:
    """Judge all pairs that may be wrong or missing, and return the best.

    A document is judged by what the documents of other folds teach. Where none of these has a
    label, nothing can speak for it, so it is not called wrong.

    Parameters
    ----------
    evidence
        What is known of all documents.
    wanted
        The documents whose labels are judged, shape (n,).
    most
        Suspicions of each kind.
    least
        By kind, the score that one needs.
    seed
        Of the documents and pairs that the judge learns from.
    progress
        Where it is shown.
    mistakes
        Wrong and missing labels that are expected, for each that is given.
    """
    scores = evidence.scores
    found = Suspicions(most, least)
    judges = _judges(evidence, seed)
    with progress.task("judging labels", len(scores.shares)) as shown:
        for fold, judge in enumerate(judges):
            companions = _companions(evidence, fold)
            own = np.flatnonzero((scores.shares == fold) & wanted)
            for part in batches.of_rows(len(own)):
                rows = own[part]
                pairs = evidence.pairs(rows, evidence.candidates(rows), companions)
                chances = judge.chances(pairs.table)
                chances[WRONG] = _right_if_given(chances[WRONG], companions, pairs.labels, mistakes)
                chances[MISSING] = _forgotten_if_absent(chances[MISSING], mistakes)
                found.add(pairs, chances)
                shown.advance(len(rows))
    return found


def _right_if_given(
    probable: NDArray[np.float64],
    companions: LabelCompanions,
    labels: NDArray[np.int64],
    mistakes: float,
) -> NDArray[np.float64]:
    """Return how probable given labels are right, by Bayes' rule, shape (m,).

    A label that the judge finds improbable was given nonetheless, which speaks for it: mistakes are
    rare too. Half of them are expected to strike all labels alike, half of them frequent ones.

    Parameters
    ----------
    probable
        How probable the judge finds each label, not knowing that it is given, shape (m,).
    companions
        Of the documents that the judge learned from.
    labels
        Numbers of the labels, shape (m,).
    mistakes
        Share of the given labels that is expected to be wrong.
    """
    counts = companions.counts
    by_mistake = mistakes * (counts.mean() + counts[labels]) / (2 * max(companions.documents, 1))
    right = probable / np.maximum(probable + by_mistake * (1.0 - probable), 1e-12)
    return np.where(counts[labels] == 0, 1.0, right)


def _forgotten_if_absent(probable: NDArray[np.float64], mistakes: float) -> NDArray[np.float64]:
    """Return how probable labels are that were not given, by Bayes' rule, shape (m,).

    Parameters
    ----------
    probable
        How probable the judge finds each label, not knowing that it is absent, shape (m,).
    mistakes
        Share of the labels that are forgotten.
    """
    forgotten = mistakes * probable
    return forgotten / np.maximum(forgotten + 1.0 - probable, 1e-12)


def _judges(evidence: AuditEvidence, seed: int) -> list[LabelJudge]:
    """Return a judge for each fold, which has learned from the others."""
    n = evidence.Y.shape[0]
    random = generator(seed, "audit")
    chosen = np.zeros(n, np.bool_)
    chosen[random.permutation(n)[:SAMPLE]] = True
    lessons = []
    for fold in range(evidence.scores.folds):
        rows = np.flatnonzero(chosen & (evidence.scores.shares == fold))
        companions = _companions(evidence, fold)
        lessons += [
            (fold, *_lesson(evidence, rows[first : first + BLOCK], companions, random))
            for first in range(0, len(rows), BLOCK)
        ]
    folds = np.concatenate([np.full(len(pairs.given), fold) for fold, pairs, _ in lessons])
    table = np.concatenate([pairs.table for _, pairs, _ in lessons])
    given = np.concatenate([pairs.given for _, pairs, _ in lessons])
    counts = np.concatenate([counts for _, _, counts in lessons])
    judges = []
    for fold in range(evidence.scores.folds):
        others = np.flatnonzero(folds != fold)
        if len(others) > ROWS:
            others = np.sort(random.permutation(others)[:ROWS])
        lesson = table[others], given[others], counts[others]
        judges.append(LabelJudge.learn(*lesson))
    return judges


def _lesson(
    evidence: AuditEvidence,
    rows: NDArray[np.int64],
    companions: LabelCompanions,
    random: np.random.Generator,
) -> tuple[LabelPairs, NDArray[np.float64]]:
    """Return pairs of documents, and for how many each stands, shape (m,).

    A label that nobody names is nearly always absent. Were only those taken of which the document
    has the label, a judge would learn the contrary: so some others stand for all that are absent.
    """
    n_labels = evidence.Y.shape[1]
    candidates = evidence.candidates(rows)
    n_given = int(np.diff(evidence.Y.indptr)[rows].sum())
    drawn = random.integers(0, len(rows) * n_labels, max(int(OTHERS * n_given), len(rows)))
    others = np.setdiff1d(rows[drawn // n_labels] * n_labels + drawn % n_labels, candidates)
    keys = np.union1d(candidates, others)
    counts = np.ones(len(keys))
    unnamed = len(rows) * n_labels - len(candidates)
    counts[np.isin(keys, others, assume_unique=True)] = unnamed / max(len(others), 1)
    return evidence.pairs(rows, keys, companions), counts


def _companions(evidence: AuditEvidence, fold: int) -> LabelCompanions:
    return LabelCompanions.of(evidence.Y[np.flatnonzero(evidence.scores.shares != fold)])


def in_turn(*lists: list[Suspicion]) -> Iterator[Suspicion]:
    """Yield the first of each list, then the second of each, and so on."""
    for place in range(max(map(len, lists), default=0)):
        yield from (each[place] for each in lists if place < len(each))
