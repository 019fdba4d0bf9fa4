"""An audit: a corpus is read, models leave parts of it out, and what they say is compared."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features, Views
from labelgrove.core.progress import Progress, Silent
from labelgrove.core.types import Document, Estimate, Run, ViewSpec
from labelgrove.corpus import Corpus
from labelgrove.corpus.review import MISSING, WRONG, ReviewItem, Suggestion
from labelgrove.labels import LabelSpace, Vocabulary
from labelgrove.models.neighbours.memory import Memory, Nearest, unit_rows
from labelgrove.models.shares import copies_of
from labelgrove.tagger.audit.evidence import AuditEvidence
from labelgrove.tagger.audit.folds import FoldModels, near_copies
from labelgrove.tagger.audit.reasons import ReasonWriter
from labelgrove.tagger.audit.suspicions import MISTAKES, UNLIKELY, Suspicion, find, in_turn
from labelgrove.tagger.learning import TrainingTask, new_featurizers, prepare

NEIGHBOURS = 30  # similar documents that vote
BLOCK = 4_096  # documents whose neighbours are found at once
OWN_VIEW = "neighbours"  # of what documents are compared by, where the model reads no tf-idf


@dataclass(frozen=True)
class AuditOptions:
    """How an audit is made.

    Parameters
    ----------
    folds
        Models, of which each leaves out its share of the documents.
    most
        Suggestions of each kind.
    least
        By kind, the score that a suggestion needs.
    mistakes
        Wrong and missing labels that are expected, for each that is given.
    seed
        Of all randomness.
    threads
        None for all cores.
    features
        Settings of the model's views of the text, as of `Tagger`.
    """

    folds: int = 5
    most: int = 1_000
    least: Mapping[str, float] = field(default_factory=lambda: UNLIKELY)
    mistakes: float = MISTAKES
    seed: int = 0
    threads: int | None = None
    features: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class AuditOutcome:
    """What an audit came to.

    Parameters
    ----------
    items
        Documents with suggestions, those with the best first.
    labels
        The labels of the corpus.
    documents, assignments
        Documents, and labels given to them.
    copies
        Documents that are nearly equal to an earlier one.
    missing, wrong
        Numbers of suggestions.
    beyond
        Suggestions that would score high enough, but that more than `AuditOptions.most` beat.
    hidden
        Suggestions that are left out since another document has the same text, or none.
    """

    items: tuple[ReviewItem, ...]
    labels: LabelSpace
    documents: int
    assignments: int
    copies: int
    missing: int
    wrong: int
    beyond: int
    hidden: int


class Gathered(NamedTuple):
    """All that labels are judged by.

    Parameters
    ----------
    task
        Features, labels and featurizers.
    models
        Those that leave a part out.
    evidence
        What they and similar documents say.
    copies
        Documents that are nearly equal to an earlier one.
    """

    task: TrainingTask
    models: FoldModels
    evidence: AuditEvidence
    copies: int


def find_suggestions(
    corpus: Corpus,
    model: Classifier,
    folder: Path,
    *,
    vocabulary: Vocabulary | None = None,
    settled: Container[str] = (),
    options: AuditOptions | None = None,
    progress: Progress | None = None,
) -> AuditOutcome:
    """Find labels of a corpus that are probably wrong or missing.

    Every document is judged by models that did not learn from it, nor from a document that is
    nearly equal to it; by the documents that are most like it; and by its other labels.

    Parameters
    ----------
    corpus
        Documents with labels; it is read again for the texts of suggestions.
    model
        Unfitted.
    folder
        Where finished models lie until the audit has ended: the same audit goes on from there.
    vocabulary
        Names of the labels.
    settled
        Texts whose labels people have judged: nothing is suggested for them.
    options
        How it is made.
    progress
        Where it is shown.
    """
    options, progress = options or AuditOptions(), progress or Silent()
    gathered = gather(corpus, model, folder, vocabulary, options, progress)
    task, models, evidence = gathered.task, gathered.models, gathered.evidence
    X, labels = task.train[0], task.learned.labels
    wanted = np.fromiter((document.text not in settled for document in corpus), np.bool_)
    found = find(
        evidence, wanted, options.most, options.least, options.seed, progress, options.mistakes
    )
    chosen = [*in_turn(found.of(MISSING), found.of(WRONG))]
    writer = ReasonWriter(evidence, labels, model.name, task.learned.featurizers)
    documents = _documents(corpus, chosen, writer, progress)
    reasons = _reasons(
        chosen, writer, models, evidence.scores.shares, models.own_views(X), documents, progress
    )
    items = _items(chosen, reasons, documents, labels)
    kinds = [each.kind for item in items for each in item.suggestions]
    return AuditOutcome(
        items,
        labels,
        documents=int(evidence.Y.shape[0]),
        assignments=int(evidence.Y.nnz),
        copies=gathered.copies,
        missing=kinds.count(MISSING),
        wrong=kinds.count(WRONG),
        beyond=sum(found.passed.values()) - len(chosen),
        hidden=len(chosen) - len(kinds),
    )


def gather(
    corpus: Corpus,
    model: Classifier,
    folder: Path,
    vocabulary: Vocabulary | None,
    options: AuditOptions,
    progress: Progress,
) -> Gathered:
    """Train models that leave a part of a corpus out each; see `find_suggestions`."""
    task = _prepared(corpus, model, vocabulary, options, progress)
    X, Y = task.train
    nearest = _nearest(X, Y, options, progress)
    copies = near_copies(nearest, copies_of(X))
    models = FoldModels(task.learned.model, folder)
    scores = models.out_of_fold(
        X, Y, copies, task.hash_fractions, options.folds, options.seed, task.context
    )
    n_copies = int((copies != np.arange(len(copies))).sum())
    return Gathered(task, models, AuditEvidence(Y, scores, nearest), n_copies)


def estimate_models(
    corpus: Corpus,
    model: Classifier,
    *,
    options: AuditOptions | None = None,
    progress: Progress | None = None,
) -> Estimate:
    """Tell how long the models of an audit will take, and how much memory they need."""
    model.check_estimates()
    options = options or AuditOptions()
    told = _prepared(corpus, model, None, options, progress or Silent()).estimate()
    fits = options.folds - 1  # folds models, each of all documents but one fold
    return told._replace(seconds=told.seconds * fits, divisible=told.divisible * fits)


def _prepared(
    corpus: Corpus,
    model: Classifier,
    vocabulary: Vocabulary | None,
    options: AuditOptions,
    progress: Progress,
) -> TrainingTask:
    """Read the corpus and make the features of the model and of the search for neighbours."""
    if corpus.featurizer is not None:
        raise InputError(
            f"{corpus.name} holds features instead of texts, and nobody could judge their labels: "
            "audit raw texts"
        )
    model.check_settings()
    model.check_needs()
    views = dict(model.views())
    if not any(spec.featurizer == "tf-idf" for spec in views.values()):
        views[OWN_VIEW] = ViewSpec("tf-idf")
    featurizers = new_featurizers(views, options.features, corpus, options.threads)
    return prepare(
        corpus,
        model,
        featurizers,
        vocabulary=vocabulary,
        validation=0.0,
        seed=options.seed,
        run=Run(progress=progress),
        hashed=True,
    )


def _nearest(X: Features, Y: Any, options: AuditOptions, progress: Progress) -> Nearest:
    """Return the documents that are most like each, by the words that they share."""
    view = next(X[name] for name in X if issparse(X[name])) if isinstance(X, Views) else X
    memory = Memory(unit_rows(view), Y)
    vectors, n = memory.vectors, memory.n_documents
    k = min(NEIGHBOURS, max(n - 1, 1))
    found = Nearest(np.full((n, k), -1, np.int32), np.zeros((n, k), np.float32))
    with progress.task("looking for similar documents", n) as shown:
        for first in range(0, n, BLOCK):
            own = np.arange(first, min(first + BLOCK, n))
            part = memory.nearest(vectors[own], k, own=own, threads=options.threads)
            found.documents[own], found.similarities[own] = part.documents, part.similarities
            shown.advance(len(own))
    return found


def _documents(
    corpus: Corpus, chosen: Sequence[Suspicion], writer: ReasonWriter, progress: Progress
) -> dict[int, Document]:
    """Return the documents of suspicions, and those that are shown beside them.

    One without an id has the number of its row as its id.
    """
    wanted = {suspicion.document for suspicion in chosen}
    for suspicion in chosen:
        wanted |= writer.shown_neighbours(suspicion)
    return {
        number: document if document.id else document._replace(id=_row(corpus, number))
        for number, document in enumerate(progress.track(corpus, "reading texts again"))
        if number in wanted
    }


def _row(corpus: Corpus, number: int) -> str | None:
    """Return the row of the latest document; None where bad rows before it were not counted."""
    return str(corpus.position or number + 1) if corpus.position or not corpus.skipped else None


def _reasons(
    chosen: Sequence[Suspicion],
    writer: ReasonWriter,
    models: FoldModels,
    shares: NDArray[np.int64],
    X: Features,
    documents: Mapping[int, Document],
    progress: Progress,
) -> list[tuple[str, ...]]:
    """Return the reasons of each suspicion; those of a fold are asked of its model together."""
    texts = {number: document.text for number, document in documents.items()}
    words = [""] * len(chosen)
    folds = shares[[suspicion.document for suspicion in chosen]]
    with progress.task("reasons", len(chosen), "suggestions") as shown:
        for fold in np.unique(folds).tolist():
            model = models.read(fold)
            for place in np.flatnonzero(folds == fold).tolist():
                suspicion = chosen[place]
                words[place] = writer.of_words(suspicion, model, X, texts[suspicion.document])
                shown.advance()
    return [
        tuple(
            filter(
                None,
                [
                    writer.of_model(suspicion),
                    writer.of_rarity(suspicion),
                    word,
                    *writer.of_neighbours(suspicion, texts),
                    writer.of_companions(suspicion),
                ],
            )
        )
        for suspicion, word in zip(chosen, words, strict=True)
    ]


def _items(
    chosen: Sequence[Suspicion],
    reasons: Sequence[tuple[str, ...]],
    documents: Mapping[int, Document],
    labels: LabelSpace,
) -> tuple[ReviewItem, ...]:
    """Return a document with all its suggestions where the first of them is; a text comes once."""
    by_document: dict[int, list[Suggestion]] = {}
    owners: dict[str, int] = {}
    for suspicion, why in zip(chosen, reasons, strict=True):
        document = documents[suspicion.document]
        owner = owners.setdefault(document.text, suspicion.document)
        if owner != suspicion.document or not document.text.strip():
            continue
        suggestion = Suggestion(
            labels.ids[suspicion.label],
            labels.names[suspicion.label],
            round(suspicion.score, 6),
            suspicion.kind,
            why,
        )
        by_document.setdefault(suspicion.document, []).append(suggestion)
    return tuple(
        ReviewItem(document.text, document.labels, tuple(suggestions), document.id)
        for document, suggestions in (
            (documents[number], found) for number, found in by_document.items()
        )
    )
