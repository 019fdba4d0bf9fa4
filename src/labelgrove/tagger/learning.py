"""How a tagger learns: read once, featurize, hold some out, fit, calibrate, fit on everything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.errors import EmptyCorpusError, InputError
from labelgrove.core.estimator import Classifier, Featurizer
from labelgrove.core.features import Features, TokenSequences, View
from labelgrove.core.progress import Progress
from labelgrove.core.random import generator
from labelgrove.core.ranking import RANKING_DEPTH, Ranking
from labelgrove.core.types import Estimate, FitContext, Run, ViewSpec
from labelgrove.core.wording import several
from labelgrove.corpus import Corpus
from labelgrove.corpus.corrected import WITH_FEEDBACK
from labelgrove.labels import LabelMatcher, Vocabulary
from labelgrove.tagger import batches
from labelgrove.tagger.calibrating import calibrated_on
from labelgrove.tagger.feature_cache import FeatureCache
from labelgrove.tagger.reading import TextsAndNames, TrainingTexts, ValidationTexts
from labelgrove.tagger.state import FittedState, join_views
from labelgrove.text import FEATURIZERS
from labelgrove.text.copies import distinct_hashes

FEWEST = 5  # held-out documents that mean something
Data = tuple[Features, csr_array]
Chosen = str | Featurizer | Mapping[str, Any]  # a name, a part, or settings


@dataclass(frozen=True)
class TrainingTask:
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
    hash_fractions
        A number in [0, 1) for each text of ``train``, by a hash of the text, shape (n,): a part
        chosen by it keeps copies of a text together. Empty unless asked for.
    """

    learned: FittedState
    train: Data
    held: Data | None
    whole: Data | None
    context: FitContext
    documents: Sequence[str] | None = None
    held_documents: Sequence[str] | None = None
    hash_fractions: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def learn(self) -> FittedState:
        """Fit the model, and calibrate on what is held out."""
        model, context = self.learned.model, self.context
        fitted = _fit(self.learned, self.train, self.held, context)
        if self.whole is not None and fitted.model.refits:
            # what was calibrated is a trial; the model that is kept learns from everything
            n = self.whole[1].shape[0]
            early = f"parts without early stopping learn from all {n:,} documents"
            whole = f"learning from all {n:,} documents"
            context.run.progress.say(early if model.uses_validation else whole)
            everything = replace(_step(context, "final"), documents=self.documents)
            final = fitted.model.refit(*self.whole, context=everything)
            fitted = replace(fitted, model=final)
        stops_early = model.uses_validation  # so it has not learned from what was held out
        if self.whole is not None and self.held is not None and model.remembers and stops_early:
            # only now: a model that knew them would find each of them when it is calibrated
            context.run.progress.say("remembering the held-out documents too")
            known = replace(context, documents=self.held_documents)
            fitted = replace(fitted, model=fitted.model.remember(*self.held, context=known))
        return fitted.with_what_is_read()

    def estimate(self) -> Estimate:
        """Tell what `learn` would take."""
        self.context.run.progress.say("learning from a part, to tell how long the whole takes")
        context, model = replace(self.context, validation=self.held), self.learned.model
        told = model.estimate(*self.train, context)
        if self.whole is None or model.uses_validation or not model.refits:
            return told
        # it is fitted twice: to be calibrated, and then on everything
        twice = 1 + self.whole[1].shape[0] / self.train[1].shape[0]
        return told._replace(seconds=told.seconds * twice, divisible=told.divisible * twice)


def prepare(
    corpus: Corpus,
    model: Classifier,
    featurizers: Mapping[str, Featurizer],
    *,
    vocabulary: Vocabulary | None,
    validation: Corpus | float,
    seed: int,
    run: Run,
    hashed: bool = False,
) -> TrainingTask:
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
    hashed
        Compute hash fractions even if nothing is held out by them.
    """
    share = 0.0 if isinstance(validation, Corpus) else validation
    remembers = model.remembers
    hashed = hashed or share > 0
    may_be_empty = model.ranks_by_name and bool(vocabulary)
    match = LabelMatcher.of_vocabulary(vocabulary)
    reader = TrainingTexts(
        corpus,
        seed,
        run.progress,
        hashed=hashed,
        beginnings=remembers,
        match=match,
        may_be_empty=may_be_empty,
    )
    named = [view for view, spec in model.views().items() if spec.reads_names]
    if may_be_empty and _is_empty(corpus):
        featurizers = {
            view: part
            for view, part in featurizers.items()
            if view in named or not part.needs_texts
        }
        named = [*featurizers]  # names are all that can tell whether vectors know the language
    cache = FeatureCache(featurizers, run)
    views = cache.fit_transform(reader, dict.fromkeys(named, TextsAndNames(reader, vocabulary)))
    space, Y = reader.labels.finish(vocabulary)
    if note := match.note():
        run.progress.say(note)
    X = join_views(views | {view: _head(views[view], Y.shape[0]) for view in named})
    if model.ranks_by_name:
        space = space.with_concepts_as_labels()
    if space.n_labels == 0:
        raise InputError(f"{corpus.name}: none of the {Y.shape[0]:,} documents has a label")
    run.progress.say(
        f"{several(Y.shape[0], 'document')}, {several(space.n_labels, 'label')}, model {model.name}"
    )
    if bare := int((np.diff(Y.indptr) == 0).sum()):
        run.progress.say(
            f"{several(bare, 'document has', 'documents have')} no label: learned as without labels"
        )
    if reader.empty:
        run.progress.say(
            f"{several(reader.empty, 'document has', 'documents have')} no text: "
            "only labels are counted"
        )
    if Y.shape[1] < space.n_labels:
        run.progress.say(f"{space.n_labels - Y.shape[1]:,} of the labels have no document yet")
        Y.resize(Y.shape[0], space.n_labels)
    hashes = distinct_hashes(reader.text_hashes)
    learned = FittedState(
        space,
        featurizers,
        model,
        reading=corpus.reading,
        source=_source(corpus),
        text_hashes=hashes,
        columns=corpus.columns,
    )
    fractions = np.array(reader.hash_fractions)
    texts_begin = reader.beginnings if remembers else None
    context = FitContext(labels=space, featurizers=featurizers, documents=texts_begin, run=run)
    if isinstance(validation, Corpus):
        held, hashes_of_held = _read(validation, learned, cache, run.progress)
        learned = learned.with_texts(hashes_of_held)
        return TrainingTask(learned, (X, Y), held, None, context, hash_fractions=fractions)
    if not share:
        return TrainingTask(learned, (X, Y), None, None, context, hash_fractions=fractions)
    mask = fractions < share
    if mask.sum() < FEWEST or mask.all():
        run.progress.say(
            f"{_held_out(int(mask.sum()), len(mask), share)}: probabilities are not calibrated, "
            "the threshold is 0.5"
        )
        return TrainingTask(learned, (X, Y), None, None, context, hash_fractions=fractions)
    held, others = (X[mask], Y[mask]), None
    if texts_begin is not None:
        context = replace(context, documents=[*compress(texts_begin, ~mask)])
        others = [*compress(texts_begin, mask)]
    train = (X[~mask], Y[~mask])
    return TrainingTask(
        learned, train, held, (X, Y), context, texts_begin, others, fractions[~mask]
    )


def _source(corpus: Corpus) -> str:
    """Return the name of the file of a corpus, without folders, or nothing."""
    path = Path(corpus.name.removesuffix(WITH_FEEDBACK))
    return path.name if path.exists() else ""


def _is_empty(corpus: Corpus) -> bool:
    try:
        return next(iter(corpus), None) is None
    except EmptyCorpusError:
        return True


def new_featurizers(
    views: Mapping[str, ViewSpec],
    given: Chosen | Mapping[str, Chosen] | None,
    corpus: Corpus,
    threads: int | None,
) -> dict[str, Featurizer]:
    """Return an unfitted featurizer for each view, ``given`` ones before the model's own."""
    if isinstance(given, str | Featurizer):
        own = [view for view, spec in views.items() if not spec.learning_only]
        if len(own) > 1:
            raise InputError(
                f"this model reads the text in several ways ({', '.join(own)}); "
                "give features as a mapping from view to featurizer"
            )
        given = dict.fromkeys(own, given)
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


def _held_out(held: int, n: int, share: float) -> str:
    """Return why documents cannot be held out."""
    if not n:
        return "there are no documents to hold out"
    if held < FEWEST:
        return (
            f"holding out {share:g} of {n:,} documents by their texts gives {held} of them, and "
            f"{FEWEST} are needed"
        )
    return f"holding out {share:g} of {n:,} documents by their texts leaves none to learn from"


def _fit(learned: FittedState, train: Data, held: Data | None, context: FitContext) -> FittedState:
    """Fit the model; with held-out data calibrate it and tune its thresholds."""
    held = _not_too_many(held, learned.model, context.run.progress)
    model = learned.model.fit(*train, context=_step(context, "model", held))
    if held is None:
        return learned
    ranking = _ranked(model, held[0], context.run.progress)
    if held[1].nnz and not ranking.top(5).hits(held[1]).any():
        context.run.progress.say(
            "no held-out document has one of its labels among the first five: the model has "
            "learned nothing yet; more documents help, or more epochs where a model has them"
        )
    return calibrated_on(learned, ranking, held[1])


def _not_too_many(held: Data | None, model: Classifier, progress: Progress) -> Data | None:
    """Return as many of the held-out documents as a model may rank; none for fewer than FEWEST."""
    most = model.most_held_out
    if held is None or most is None or held[1].shape[0] <= most:
        return held
    n = held[1].shape[0]
    if most < FEWEST:
        progress.say(f"{model.name} may rank {most:,} held-out documents: nothing is calibrated")
        return None
    progress.say(f"{most:,} of the {n:,} held-out documents are ranked")
    rows = np.sort(generator(model.seed, "held-out documents").permutation(n)[:most])
    return held[0][rows], held[1][rows]


def _ranked(model: Classifier, X: Features, progress: Progress) -> Ranking:
    """Rank held-out documents, shown batch by batch."""
    rankings = []
    with progress.task("calibrating on held-out documents", X.shape[0]) as shown:
        for rows in batches.of_rows(X.shape[0]):
            rankings.append(model.rank(X[rows], RANKING_DEPTH))
            shown.advance(rows.stop - rows.start)
    for note in model.take_notes():
        progress.note(note)
    return Ranking.concatenate(rankings)


def _step(context: FitContext, name: str, validation: Data | None = None) -> FitContext:
    """Return the context for one of several fits, each with a run folder of its own."""
    folder = context.run.folder and context.run.folder / name
    return replace(context, run=replace(context.run, folder=folder), validation=validation)


def _read(
    corpus: Corpus, learned: FittedState, cache: FeatureCache, progress: Progress
) -> tuple[Data, Iterable[int]]:
    """Return features and labels of a corpus, whose unseen labels stay out, and text hashes."""
    match = LabelMatcher.of_space(learned.labels)
    reader = ValidationTexts(corpus, match, progress)
    X = join_views(cache.transform(reader)) if cache else learned.features(reader)
    if not reader.truth:
        raise InputError(f"{corpus.name} holds no documents to validate on")
    Y = learned.labels.encode(reader.truth, unseen="append")
    if not Y[:, : learned.labels.n_labels].nnz:
        raise InputError(f"{corpus.name}: no document has a label of the training data to judge by")
    return (X, Y), reader.text_hashes


def _head(X: View, n: int) -> View:
    """Return the first n rows; of token sequences without copying them."""
    if isinstance(X, TokenSequences):
        return TokenSequences(X.tokens[: X.offsets[n]], X.offsets[: n + 1], X.n_terms)
    return X[:n]
