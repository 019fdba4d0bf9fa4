"""How a tagger learns: read once, featurize, hold some out, fit, calibrate, fit on everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Classifier, Featurizer
from labelgrove.core.features import Features, TokenSequences, Views
from labelgrove.core.progress import Progress
from labelgrove.core.random import text_fraction
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Estimate, FitContext, Run, ViewSpec
from labelgrove.corpus import Corpus
from labelgrove.evaluation import (
    Calibration,
    fit_calibration,
    tune_label_thresholds,
    tune_threshold,
)
from labelgrove.evaluation.threshold import FALLBACK
from labelgrove.labels import LabelCollector, LabelSpace, Vocabulary
from labelgrove.tagger import batches
from labelgrove.tagger.features import Kept
from labelgrove.text import FEATURIZERS

FEWEST = 5  # held-out documents that mean something
BEGINNING = 100  # characters of a text by which a reader knows it again
PLACES = 100  # labels asked for per document where label sets, not only the top, are judged
UNTUNED = {"micro": FALLBACK, "macro": FALLBACK}  # thresholds where nothing is held out
Data = tuple[Features, csr_array]
Chosen = str | Featurizer | Mapping[str, Any]  # a name, a part, or settings


@dataclass(frozen=True)
class Learned:
    """All that a tagger has learned.

    Parameters
    ----------
    labels
        The label space.
    featurizers
        A fitted featurizer for each view.
    model
        The fitted classifier.
    calibration
        The monotone map from the model's scores to probabilities.
    thresholds
        The thresholds with the best micro- and macro-F1 on held-out documents.
    by_label
        A threshold for each label, tuned there too, shape (L,), or fewer: labels that were
        learned later have none. None where nothing was held out.
    held_out
        Calibrated ranking and true labels of the held-out documents; None without them, and
        not saved.
    """

    labels: LabelSpace
    featurizers: Mapping[str, Featurizer]
    model: Classifier
    calibration: Calibration = field(default_factory=Calibration.identity)
    thresholds: Mapping[str, float] = field(default_factory=lambda: dict(UNTUNED))
    by_label: NDArray[np.float32] | None = None
    held_out: tuple[Ranking, csr_array] | None = None

    @property
    def tuned(self) -> bool:
        """Whether the thresholds come from held-out documents (older folders have no others)."""
        return self.by_label is not None or self.thresholds != UNTUNED

    @property
    def n_own_thresholds(self) -> int:
        """Number of labels whose threshold differs from that of macro-F1."""
        macro = np.float32(self.thresholds["macro"])
        return 0 if self.by_label is None else int((self.by_label != macro).sum())

    def told_thresholds(self) -> str:
        """Return in one line which thresholds were found."""
        micro, macro = self.thresholds["micro"], self.thresholds["macro"]
        return (
            f"thresholds: auto {micro:.3g} (best micro-F1), macro {macro:.3g}, per-label for "
            f"{self.n_own_thresholds:,} of {self.labels.n_labels:,} labels"
        )

    def features(self, texts: Iterable[str]) -> Features:
        """Turn texts into what the model reads."""
        if len(self.featurizers) > 1 and not isinstance(texts, list | tuple):
            texts = list(texts)
        return _join({view: part.transform(texts) for view, part in self.featurizers.items()})

    def with_what_is_read(self) -> Learned:
        """Return the same without the views that the fitted model turned out not to need."""
        needed = self.model.views()
        kept = {view: part for view, part in self.featurizers.items() if view in needed}
        return replace(self, featurizers=kept or self.featurizers)

    def calibrated(self, ranking: Ranking) -> Ranking:
        """Return the ranking with probabilities instead of the model's own scores."""
        return ranking.with_scores(self.calibration.apply(ranking.scores))


@dataclass(frozen=True)
class Task:
    """What a model is to learn from, read and featurized.

    Parameters
    ----------
    learned
        With an unfitted model.
    train
        Features and labels to fit on.
    held
        Those that are held out, or None.
    whole
        Both together, if they came out of one corpus.
    context
        Labels, featurizers and run; how the texts of ``train`` begin, for a model that remembers.
    documents, held_documents
        How those of ``whole`` and of ``held`` begin, for such a model.
    places
        A number in [0, 1) for each text of ``train``, by a hash of it, shape (n,): whoever takes a
        part of them by it keeps copies together. Empty where nobody needs it.
    """

    learned: Learned
    train: Data
    held: Data | None
    whole: Data | None
    context: FitContext
    documents: Sequence[str] | None = None
    held_documents: Sequence[str] | None = None
    places: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def learn(self) -> Learned:
        """Fit the model, and calibrate on what is held out."""
        model, context = self.learned.model, self.context
        fitted = _fit(self.learned, self.train, self.held, context)
        if self.whole is not None and not model.uses_validation:
            # what was calibrated is a trial; the model that is kept learns from everything
            context.run.progress.say(f"learning from all {self.whole[1].shape[0]:,} documents")
            everything = replace(_step(context, "final"), documents=self.documents)
            final = model.fresh().fit(*self.whole, context=everything)
            fitted = replace(fitted, model=final)
        elif self.whole is not None and self.held is not None and model.remembers:
            # only now: a model that knew them would find each of them when it is calibrated
            context.run.progress.say("remembering the held-out documents too")
            known = replace(context, documents=self.held_documents)
            fitted = replace(fitted, model=fitted.model.remember(*self.held, context=known))
        return fitted.with_what_is_read()

    def estimate(self) -> Estimate:
        """Tell what `learn` would take."""
        self.context.run.progress.say("learning from a few batches, to tell how long all take")
        context = replace(self.context, validation=self.held)
        return self.learned.model.estimate(*self.train, context)


def prepare(
    corpus: Corpus,
    model: Classifier,
    featurizers: Mapping[str, Featurizer],
    *,
    vocabulary: Vocabulary | None,
    validation: Corpus | float,
    seed: int,
    run: Run,
    places: bool = False,
) -> Task:
    """Read a corpus, fit the featurizers on it, and hold some of it out.

    The featurizers see every text of the corpus, held out or not: they never see a label.

    Parameters
    ----------
    corpus
        Documents with labels.
    model, featurizers
        Unfitted; the featurizers are fitted in place.
    vocabulary
        Names and hierarchy of the labels.
    validation
        Held-out documents, or the share of the corpus to hold out by a hash of the text.
    seed
        Of that hash.
    run
        Folder, resume, progress.
    places
        Hash the texts also where nothing is to be held out by that.
    """
    share = 0.0 if isinstance(validation, Corpus) else validation
    remembers = model.remembers
    hashed = places or share > 0
    reader = _Reader(corpus, seed, run.progress, hashed=hashed, beginnings=remembers)
    texts = _WithNames(reader, vocabulary) if model.ranks_by_name else reader
    kept = Kept(featurizers, run)
    X = _join(kept.fit_transform(texts))
    space, Y = reader.labels.finish(vocabulary)
    if space.n_labels == 0:
        raise InputError(f"{corpus.name}: none of the {Y.shape[0]:,} documents has a label")
    run.progress.say(f"{Y.shape[0]:,} documents, {space.n_labels:,} labels, model {model.name}")
    if bare := int((np.diff(Y.indptr) == 0).sum()):
        run.progress.say(f"{bare:,} documents have no label: they count as having none of them")
    if reader.empty:
        run.progress.say(f"{reader.empty:,} documents have no text: only their labels are counted")
    if model.ranks_by_name:
        X, space = _head(X, Y.shape[0]), space.with_concepts_as_labels()
        Y.resize(Y.shape[0], space.n_labels)
        unused = int((space.counts == 0).sum())
        if unused:
            run.progress.say(f"{unused:,} more labels of the vocabulary, without a document yet")
    learned = Learned(space, featurizers, model)
    found = np.array(reader.places)
    texts_begin = reader.beginnings if remembers else None
    context = FitContext(labels=space, featurizers=featurizers, documents=texts_begin, run=run)
    if isinstance(validation, Corpus):
        held = _read(validation, learned, kept, run.progress)
        return Task(learned, (X, Y), held, None, context, places=found)
    if not share:
        return Task(learned, (X, Y), None, None, context, places=found)
    mask = found < share
    if mask.sum() < FEWEST or mask.all():
        run.progress.say(
            f"{len(mask):,} documents are too few to hold out {share:g} of them: "
            "probabilities are not calibrated, the threshold is 0.5"
        )
        return Task(learned, (X, Y), None, None, context, places=found)
    held, others = (X[mask], Y[mask]), None
    if texts_begin is not None:
        context = replace(context, documents=[*compress(texts_begin, ~mask)])
        others = [*compress(texts_begin, mask)]
    train = (X[~mask], Y[~mask])
    return Task(learned, train, held, (X, Y), context, texts_begin, others, found[~mask])


def new_featurizers(
    views: Mapping[str, ViewSpec],
    given: Chosen | Mapping[str, Chosen] | None,
    corpus: Corpus,
    threads: int | None,
) -> dict[str, Featurizer]:
    """Return an unfitted featurizer for each view, ``given`` ones before the model's own."""
    if isinstance(given, str | Featurizer):
        if len(views) > 1:
            raise InputError(
                f"this model reads the text in several ways ({', '.join(views)}); "
                "give features as a mapping from view to featurizer"
            )
        given = dict.fromkeys(views, given)
    given = given or {}
    if unknown := [view for view in given if view not in views]:
        raise InputError(f"the model has no view {unknown[0]!r}; it has {', '.join(views)}")
    return {
        view: _new_featurizer(given.get(view), spec, corpus, threads)
        for view, spec in views.items()
    }


def _new_featurizer(
    given: Chosen | None, spec: ViewSpec, corpus: Corpus, threads: int | None
) -> Featurizer:
    if isinstance(given, Featurizer):
        given.check_settings()
        return given.fresh()
    if given is None and corpus.featurizer is not None:
        if spec.featurizer != "tf-idf":
            raise InputError(
                f"{corpus.name} holds features instead of texts, and this model needs the words "
                "themselves: train it on raw texts"
            )
        return FEATURIZERS.create(corpus.featurizer)
    wanted: dict[str, Any] = {"featurizer": given} if isinstance(given, str) else dict(given or {})
    name = str(wanted.pop("featurizer", spec.featurizer))
    if name == spec.featurizer:
        wanted = {**spec.settings, **wanted}
    if "threads" in FEATURIZERS.find(name).setting_names():
        wanted.setdefault("threads", threads)
    return FEATURIZERS.create(name, **wanted)


def _fit(learned: Learned, train: Data, held: Data | None, context: FitContext) -> Learned:
    """Fit the model; with held-out data calibrate it and tune its thresholds."""
    model = learned.model.fit(*train, context=_step(context, "model", held))
    if held is None:
        return learned
    ranking = _ranked(model, held[0], context.run.progress)
    if not ranking.top(5).hits(held[1]).any():
        context.run.progress.say(
            "no held-out document has one of its labels among the first five: the model has "
            "learned nothing yet, so train it longer or with more documents"
        )
    return calibrated_on(learned, ranking, held[1])


def _ranked(model: Classifier, X: Features, progress: Progress) -> Ranking:
    """Rank held-out documents, shown batch by batch."""
    found = []
    with progress.task("calibrating on held-out documents", X.shape[0]) as shown:
        for rows in batches.of_rows(X.shape[0]):
            found.append(model.rank(X[rows], PLACES))
            shown.advance(rows.stop - rows.start)
    return Ranking.concatenate(found)


def calibrated_on(learned: Learned, raw: Ranking, Y: csr_array) -> Learned:
    """Return what was learned with probabilities and thresholds fitted to held-out documents.

    Parameters
    ----------
    learned
        Whose calibration and thresholds are replaced.
    raw
        The model's own scores of the documents.
    Y
        Their labels.
    """
    learned = replace(learned, calibration=fit_calibration(Y, raw))
    ranking = learned.calibrated(raw)
    thresholds = {
        goal: tune_threshold(Y, ranking, goal=f"{goal}-F1").value for goal in learned.thresholds
    }
    by_label = tune_label_thresholds(Y, ranking, learned.labels.n_labels, thresholds["macro"])
    return replace(learned, thresholds=thresholds, by_label=by_label, held_out=(ranking, Y))


def _step(context: FitContext, name: str, validation: Data | None = None) -> FitContext:
    """Return the context for one of several fits, each with a run folder of its own."""
    folder = context.run.folder and context.run.folder / name
    return replace(context, run=replace(context.run, folder=folder), validation=validation)


def _read(corpus: Corpus, learned: Learned, kept: Kept, progress: Progress) -> Data:
    """Return features and labels of a corpus, whose unseen labels stay out."""
    reader = _ValidationReader(corpus, progress)
    X = _join(kept.transform(reader)) if kept else learned.features(reader)
    if not reader.truth:
        raise InputError(f"{corpus.name} holds no documents to validate on")
    Y = learned.labels.encode(reader.truth, unseen="append")
    if not Y[:, : learned.labels.n_labels].nnz:
        raise InputError(f"{corpus.name}: no document has a label of the training data to judge by")
    return X, Y


class _ValidationReader:
    """Texts of a corpus; each reading collects the labels."""

    def __init__(self, corpus: Corpus, progress: Progress) -> None:
        self.truth: list[tuple[str, ...]] = []
        self._corpus, self._progress = corpus, progress

    def __iter__(self) -> Iterator[str]:
        self.truth = []
        for document in self._progress.track(self._corpus, "reading validation"):
            self.truth.append(document.labels)
            yield document.text


class _Reader:
    """Texts of a corpus for the featurizers; the first reading also collects the labels.

    Where they are to be ``hashed`` it gives each text a place in [0, 1) by a hash, by which some
    can be held out; it keeps how texts begin where ``beginnings`` are wanted.
    """

    def __init__(
        self, corpus: Corpus, seed: int, progress: Progress, *, hashed: bool, beginnings: bool
    ) -> None:
        self.labels = LabelCollector()
        self.empty = 0
        self.places: list[float] = []
        self.beginnings: list[str] = []
        self._hashed, self._keep = hashed, beginnings
        self._corpus, self._seed, self._progress = corpus, seed, progress
        self._collected = False

    def __iter__(self) -> Iterator[str]:
        documents = self._progress.track(self._corpus, "reading")
        if self._collected:
            yield from (document.text for document in documents)
            return
        for document in documents:
            self.labels.add(document.labels)
            self.empty += not document.text or document.text.isspace()
            if self._hashed:
                self.places.append(text_fraction(document.text, self._seed))
            if self._keep:
                self.beginnings.append(beginning(document.text))
            yield document.text
        self._collected = True
        if not len(self.labels):
            raise InputError(f"{self._corpus.name} holds no documents to learn from")


class _WithNames:
    """The texts of a reader, and behind them the names of all labels.

    A model that ranks labels by their names needs a number for each word of them, also for a
    word that no training text has.
    """

    def __init__(self, reader: _Reader, vocabulary: Vocabulary | None) -> None:
        self._reader, self._vocabulary = reader, vocabulary

    def __iter__(self) -> Iterator[str]:
        yield from self._reader
        space, _ = self._reader.labels.finish(self._vocabulary)
        for name, others in zip(space.names, space.alternatives, strict=True):
            yield name
            yield from others


def beginning(text: str) -> str:
    r"""Return how a text begins: one line, cut at a word.

    Examples
    --------
    >>> beginning("  A title\n\nand a text")
    'A title and a text'
    >>> beginning("a word " * 50)[-20:]
    'word a word a word …'
    """
    words = " ".join(text[: 10 * BEGINNING].split())
    if len(words) <= BEGINNING:
        return words
    head, space, _ = words[: BEGINNING - 1].rpartition(" ")
    return f"{head if space else words[: BEGINNING - 2]} …"


def _head(X: Features, n: int) -> Features:
    """Return the first n rows; of token sequences without copying them."""
    if isinstance(X, Views):
        return Views({view: _head(X[view], n) for view in X})
    if isinstance(X, TokenSequences):
        return TokenSequences(X.tokens[: X.offsets[n]], X.offsets[: n + 1], X.n_terms)
    return X[:n]


def _join(views: dict[str, Any]) -> Features:
    return next(iter(views.values())) if len(views) == 1 else Views(views)
