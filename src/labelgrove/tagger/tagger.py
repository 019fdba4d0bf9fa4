"""`Tagger`: texts in, label names out. It composes the parts; nobody subclasses it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from labelgrove.core import checks
from labelgrove.core.cards import read_card
from labelgrove.core.configured import Configured
from labelgrove.core.errors import InputError, NotFittedError
from labelgrove.core.estimator import Classifier
from labelgrove.core.manifest import CARD
from labelgrove.core.progress import ProgressLike, as_progress
from labelgrove.core.ranking import RANKING_DEPTH, Ranking, ndcg
from labelgrove.core.threads import workers
from labelgrove.core.types import Document, Estimate, Run, Tag
from labelgrove.corpus import Corpus
from labelgrove.evaluation import Decision
from labelgrove.labels import LabelSpace, vocabulary_of
from labelgrove.labels.vocabulary import with_names
from labelgrove.models import MODELS
from labelgrove.tagger import batches, saving
from labelgrove.tagger.calibrating import calibrate
from labelgrove.tagger.combining import beside, combine
from labelgrove.tagger.explaining import LabelWords, Reasons, explain, explain_label
from labelgrove.tagger.exporting import ExportCheck
from labelgrove.tagger.incremental import check_kind, check_retrains, remember
from labelgrove.tagger.inputs import (
    Texts,
    VocabularyLike,
    as_corpus,
    as_more,
    as_texts,
    as_vocabulary,
)
from labelgrove.tagger.learning import Chosen, TrainingTask, new_featurizers, prepare
from labelgrove.tagger.migrating import migrate, read_map
from labelgrove.tagger.migration import Migration
from labelgrove.tagger.outside import told_outside
from labelgrove.tagger.predicting import column_names, predicted, probabilities
from labelgrove.tagger.promises import Workload, is_promise
from labelgrove.tagger.scoring import (
    RankBatches,
    Scores,
    about_held_out,
    held_out_scores,
    rank_corpus,
    score_corpus,
)
from labelgrove.tagger.similar import similar_documents, with_neighbours
from labelgrove.tagger.state import FittedState
from labelgrove.tagger.tags import name_tags, needed_depth
from labelgrove.tagger.text_trials import choose_text_settings, settings_left_open
from labelgrove.tagger.thresholds import PER_LABEL, decide

Threshold: TypeAlias = float | str | None


class Tagger(Configured):
    """Learns from texts with labels, then tags new texts.

    Parameters
    ----------
    model
        A model's name (see ``labelgrove models``) or a `Classifier`.
    features
        What replaces the views of the text that the model asks for: a featurizer or its name; or
        a mapping from a view to one of these or to settings, such as ``{"text": {"min_df": 2}}``.
    validation
        Share of the training documents held out, by a hash of the text, to calibrate
        probabilities and tune thresholds; 0 for none.
    seed, threads
        For a model or featurizer given by name; an object brings its own.

    Attributes
    ----------
    learned_
        Label space, featurizers, model, calibration and thresholds.
    scores_
        Metrics on held-out documents; empty without them. The threshold was tuned on the same
        documents, so precision, recall and F1 are slightly optimistic.

    Examples
    --------
    >>> texts = ["red apples and green apples", "a red car", "green cars drive"] * 4
    >>> labels = [["fruit", "colour"], ["colour", "vehicle"], ["colour", "vehicle"]] * 4
    >>> tagger = Tagger("one-vs-rest", validation=0).fit(texts, labels)
    >>> [tag.label for tag in tagger.tag("blue apples", k=2)]
    ['colour', 'fruit']
    >>> tagger.explain("blue apples", "fruit")[0].text
    'apples'
    """

    learned_: FittedState
    scores_: dict[str, float]
    _about_scores: dict[str, Any]

    def __init__(
        self,
        model: str | Classifier = "bonsai",
        *,
        features: Chosen | Mapping[str, Chosen] | None = None,
        validation: float = 0.1,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.model = model
        self.features = features
        self.validation = validation
        self.seed = seed
        self.threads = threads

    def fit(
        self,
        texts: Any,
        labels: Any = None,
        *,
        label_names: Iterable[Any] | None = None,
        vocabulary: VocabularyLike | None = None,
        validation: Any = None,
        run: Run | None = None,
        progress: ProgressLike = None,
    ) -> Self:
        """Learn from texts with labels.

        Parameters
        ----------
        texts
            A `Corpus`, anything `read_corpus` takes, or a sequence of texts.
        labels
            Where ``texts`` is a sequence of n texts: a list of labels for each, or a matrix of
            zeros and ones, shape (n, L), sparse, an array or a data frame. `predict` answers in
            the same form.
        label_names
            The label of each column of a matrix, such as ``MultiLabelBinarizer.classes_``; by
            default the columns of a data frame, else 0, 1, 2, ...
        vocabulary
            Names, descriptions and hierarchy of the labels, or a file of them.
        validation
            A corpus to calibrate on and tune thresholds with, instead of a share of ``texts``.
        run
            Folder for checkpoints, resume and progress.
        progress
            True shows how it goes; or where that is shown.
        """
        if progress is not None:
            run = replace(run or Run(), progress=as_progress(progress))
        corpus = as_corpus(texts, labels, label_names)
        learned = self._prepare(corpus, vocabulary, validation, run).learn()
        return self._take(learned)  # only now: a failed fit leaves the old state

    def estimate(
        self,
        texts: Any,
        labels: Any = None,
        *,
        label_names: Iterable[Any] | None = None,
        vocabulary: VocabularyLike | None = None,
        validation: Any = None,
        run: Run | None = None,
        progress: ProgressLike = None,
    ) -> Estimate:
        """Tell how long `fit` with the same arguments will take, and how much memory.

        The texts are read and a part of them is learned from for that; nothing is kept. Neural
        models can tell, and linear ones without chains.
        """
        model = self._new_model()
        model.check_estimates()
        shown = run.progress if run and progress is None else as_progress(progress)
        run = Run(progress=shown)  # without a folder no features are kept
        corpus = as_corpus(texts, labels, label_names)
        return self._prepare(corpus, vocabulary, validation, run).estimate()

    def _prepare(
        self,
        corpus: Corpus,
        vocabulary: VocabularyLike | None,
        validation: Any,
        run: Run | None,
    ) -> TrainingTask:
        """Read and featurize all that `fit` learns from."""
        self.check_settings()
        if not 0 <= self.validation < 1:
            raise InputError(f"validation must be at least 0 and below 1, got {self.validation}")
        model = self._new_model()
        model.check_settings()  # before a corpus is read
        model.check_needs()
        held: Corpus | float = self.validation
        if validation is not None:
            held = as_corpus(validation, columns=corpus.columns)
        run = run or Run()
        featurizers = new_featurizers(model.views(), self.features, corpus, self.threads)
        choose_text_settings(
            featurizers,
            settings_left_open(model.views(), self.features, corpus),
            corpus,
            held_out=self.validation,
            seed=self.seed,
            threads=self.threads,
            progress=run.progress,
        )
        return prepare(
            corpus,
            model,
            featurizers,
            vocabulary=as_vocabulary(vocabulary),
            validation=held,
            seed=self.seed,
            run=run,
        )

    def learn(
        self,
        texts: Any,
        labels: Any = None,
        *,
        vocabulary: VocabularyLike | None = None,
        progress: ProgressLike = None,
    ) -> Self:
        """Return a tagger that also remembers these documents; this one stays as it is.

        Nothing is trained: features, probabilities and thresholds are those of this tagger. It
        needs a model that remembers documents, such as knn. Labels may be new; documents without
        labels are left out.

        Parameters
        ----------
        texts, labels
            As for `fit`.
        vocabulary
            Names and hierarchy of labels that are not known yet; what is known stays.
        progress
            True shows how it goes; or where that is shown.

        Examples
        --------
        >>> tagger = Tagger("knn", validation=0).fit(["a red car", "apple pie"], [["car"], ["pie"]])
        >>> wiser = tagger.learn(["a red apple"], [["fruit"]])
        >>> [tag.label for tag in wiser.tag("a red apple", k=1)], len(tagger.labels_)
        (['fruit'], 2)
        """
        learned = self._learned()
        learned.model.check_remembers()
        corpus = as_more(learned, texts, labels)
        more = remember(learned, corpus, as_vocabulary(vocabulary), as_progress(progress))
        return copy(self)._take(more)  # no scores: those on held-out documents were of another

    def retrain(
        self,
        texts: Any,
        labels: Any = None,
        *,
        names: Mapping[str, str] | None = None,
        seed: int | None = None,
        run: Run | None = None,
    ) -> Self:
        """Return a tagger of the same settings that learns from these documents alone.

        It knows of labels what this one knows: names, hierarchy, and concepts without documents.
        This one stays as it is.

        Parameters
        ----------
        texts, labels
            As for `fit`: all that it is to know, such as `labelgrove.corpus.Corrected`.
        names
            Names of labels that this one does not know, by id; by default they are called by it.
        seed
            Another seed, also for what is held out: it tells how much of a score is luck of the
            training. By default the seed stays.
        run
            Folder for checkpoints, resume and progress.

        Examples
        --------
        >>> tagger = Tagger("knn", validation=0).fit(["a red car", "apple pie"], [["car"], ["pie"]])
        >>> better = tagger.retrain(["a red car", "apple pie"], [["vehicle"], ["pie"]])
        >>> [tag.label for tag in better.tag("a red car", k=1)]
        ['vehicle']
        """
        learned = self._learned()
        check_retrains(learned)
        corpus = as_more(learned, texts, labels)
        check_kind(learned, corpus)
        vocabulary = with_names(vocabulary_of(self.labels_, "the tagger"), names or {})
        again = copy(self) if seed is None else self.with_seed(seed)
        return again.fit(corpus, vocabulary=vocabulary, run=run)

    def migrate(
        self,
        vocabulary: VocabularyLike,
        mapping: str | os.PathLike[str] | Mapping[str, Sequence[str]] | None = None,
    ) -> tuple[Self, Migration]:
        """Return a tagger under a new version of its vocabulary, and what became of its labels.

        Nothing is trained, and this tagger stays as it is. Labels are matched by id. A label that
        several old ones became has the largest of their scores; the labels that an old one was
        split into all have its score; one that is gone is never given any more.

        Parameters
        ----------
        vocabulary
            The new version, or a file of it. SKOS files tell by ``owl:deprecated``,
            ``dct:isReplacedBy``, ``dct:replaces`` and ``skos:exactMatch`` what became of ids.
        mapping
            The new ids of old ones, or a table of them, which win over the vocabulary.

        Examples
        --------
        >>> from labelgrove.labels import Concept, Vocabulary
        >>> tagger = Tagger("knn", validation=0).fit(["a red car", "a tin"], [["car"], ["tin"]])
        >>> newer = Vocabulary({"v1": Concept("Vehicles"), "tin": Concept("Cans")})
        >>> migrated, changes = tagger.migrate(newer, {"car": ["v1"]})
        >>> [tag.name for tag in migrated.tag("a red car", k=1)], changes.renumbered
        (['Vehicles'], (('car', 'v1'),))
        """
        newer = as_vocabulary(vocabulary)
        assert newer is not None
        pairs = read_map(mapping) if isinstance(mapping, str | os.PathLike) else mapping
        learned, migration = migrate(self._learned(), newer, pairs)
        return copy(self)._take(learned), migration

    def with_seed(self, seed: int) -> Self:
        """Return an unfitted tagger that differs from this one by its seed, and the model's."""
        again = self.fresh()
        again.model = self._new_model()
        names = [name for name in again.get_params() if name.split("__")[-1] == "seed"]
        return again.set_params(**dict.fromkeys(names, seed))

    def _new_model(self) -> Classifier:
        if isinstance(self.model, str):
            return MODELS.create(self.model, seed=self.seed, threads=self.threads)
        return self.model.fresh()

    @property
    def labels_(self) -> LabelSpace:
        """The labels the tagger knows."""
        return self._learned().labels

    @property
    def model_(self) -> Classifier:
        """The fitted classifier."""
        return self._learned().model

    @property
    def thresholds_(self) -> Mapping[str, float]:
        """The thresholds with the best micro- and macro-F1 on held-out documents."""
        return self._learned().thresholds

    @property
    def label_thresholds_(self) -> NDArray[np.floating]:
        """A threshold for each label, shape (L,), as ``threshold="per-label"`` uses them."""
        return np.asarray(self.decision(PER_LABEL).threshold)

    def _learned(self) -> FittedState:
        if not hasattr(self, "learned_"):
            raise NotFittedError("this tagger has not learned yet: call fit, or Tagger.load")
        return self.learned_

    def _take(self, learned: FittedState) -> Self:
        """Replace what was learned before."""
        self.learned_, self.scores_ = learned, held_out_scores(learned)
        self._about_scores = about_held_out(learned, self.scores_)
        return self

    # --- tagging ------------------------------------------------------------------------------

    def rank(self, texts: Texts, k: int = 5) -> Ranking:
        """Return the best k labels of each text as numbers of ``labels_``, with probabilities."""
        return self._learned().rank(as_texts(texts), k)

    @overload  # a text is an iterable of texts too
    def tag(  # type: ignore[overload-overlap]
        self, texts: str, k: int = 5, *, threshold: Threshold = None, hierarchy: str | None = None
    ) -> list[Tag]: ...

    @overload
    def tag(
        self, texts: Texts, k: int = 5, *, threshold: Threshold = None, hierarchy: str | None = None
    ) -> list[list[Tag]]: ...

    def tag(
        self,
        texts: str | Texts,
        k: int = 5,
        *,
        threshold: Threshold = None,
        hierarchy: str | None = None,
    ) -> list[Tag] | list[list[Tag]]:
        """Return the best labels of a text, or of each of several.

        Parameters
        ----------
        texts
            One text, an iterable of texts, a corpus or a table.
        k
            At most so many labels.
        threshold
            Only labels at least so probable: a number, ``"auto"`` (best micro-F1 on held-out
            documents), ``"macro"``, ``"per-label"``, a threshold for each label, or ``"own"``,
            what the model itself decides (its score before calibration is one half);
            ``"precision=0.9"``: only labels so sure that 90% of them are right, and
            ``"recall=0.9"``: enough labels to find 90% of the true ones, both on new documents
            and with 90% confidence (other shares work alike). None for no limit.
        hierarchy
            What becomes of broader labels once threshold and ``k`` have chosen, where the labels
            have parents. ``"closed"``: all labels above a chosen one are given too, which may make
            more than ``k``; such a label has its own score or that of the best one below it,
            whichever is larger. ``"leaf"``: a label is not given where one below it is, so that
            only the most specific ones stay. None changes nothing.

        Returns
        -------
        list of Tag
            Best first; a list of such lists for an iterable of texts.
        """
        many = [texts] if isinstance(texts, str) else texts
        tagged = self._tags(many, k, threshold, hierarchy)
        return next(tagged) if isinstance(texts, str) else list(tagged)

    def stream(
        self,
        documents: Iterable[Document],
        k: int = 5,
        *,
        threshold: Threshold = None,
        hierarchy: str | None = None,
        progress: ProgressLike = None,
    ) -> Iterator[tuple[Document, list[Tag]]]:
        """Tag any number of documents in batches, in constant memory.

        A document without text gets no labels; at the end it is said how many there are.
        ``k``, ``threshold`` and ``hierarchy`` are those of `tag`; ``progress=True`` counts what is
        tagged, and tells at the end what a promise such as ``"precision=0.9"`` left to people.
        """
        total = len(documents) if isinstance(documents, Sized) else None
        said = as_progress(progress)
        workload = Workload(self._learned(), threshold, k) if is_promise(threshold) else None
        empty = 0
        with told_outside(self._learned().model, said), said.task("tagging", total) as shown:
            for batch in batches.of_documents(documents):
                texts = [document.text for document in batch]
                tagged = [*self._tags(texts, k, threshold, hierarchy)]
                for i, text in enumerate(texts):
                    if not text.strip():
                        tagged[i], empty = [], empty + 1
                if workload is not None:
                    workload.add(tagged)
                yield from zip(batch, tagged, strict=True)
                shown.advance(len(batch))
        if empty:
            said.say(
                f"{empty:,} document{' has' if empty == 1 else 's have'} no text, so no labels"
            )
        if workload is not None:
            said.say(workload.summary())

    def _tags(
        self, texts: Texts, k: int, threshold: Threshold, hierarchy: str | None
    ) -> Iterator[list[Tag]]:
        learned = self._learned()
        depth = needed_depth(learned, k, threshold, hierarchy)
        return name_tags(learned, learned.rank(as_texts(texts), depth), k, threshold, hierarchy)

    def decision(self, threshold: float | str) -> Decision:
        """Return which labels are given with a threshold: a number or a name, as for `tag`."""
        return decide(self._learned(), threshold)

    def explain(
        self, text: str, label: str, *, neighbours: Any = None, progress: ProgressLike = None
    ) -> Reasons:
        """Return the words of a text that spoke for a label or against it, heaviest first.

        Those of a model that remembers documents have ``neighbours``: what it knows that is most
        like the text, and whether that has the label. A tagger keeps no texts, so for other models
        give the documents to look in.

        Parameters
        ----------
        text
            The text.
        label
            A label's id or name.
        neighbours
            Documents with labels, such as those of the training, among which those most like the
            text are looked for: a corpus, or anything `read_corpus` takes.
        progress
            True shows how it goes; or where that is shown.
        """
        learned = self._learned()
        reasons = explain(learned, text, label)
        if neighbours is None:
            return reasons
        corpus = as_more(learned, neighbours)
        near = similar_documents(learned, text, corpus, as_progress(progress))
        number = learned.labels.find(label)
        return with_neighbours(learned, reasons, near, learned.labels.ids[number])

    def explain_label(self, label: str, k: int = 20) -> LabelWords:
        """Return the k words with the greatest weights for a label, whatever the text.

        Linear models have such weights, and so have models with one inside: a grove, a consensus,
        xr-transformer. A weight is that of the word in the label's classifiers, the mean of all
        trees; positive speaks for the label.

        Parameters
        ----------
        label
            A label's id or name.
        k
            How many words.

        Examples
        --------
        >>> texts, labels = ["red apples", "a red car", "green cars"], [["fruit"], ["car"], ["car"]]
        >>> tagger = Tagger("one-vs-rest", validation=0).fit(texts * 4, labels * 4)
        >>> tagger.explain_label("fruit", k=1).words[0].text
        'apples'
        """
        return explain_label(self._learned(), label, k)

    def set_threads(self, threads: int | None) -> None:
        """Let model and featurizers use so many threads from now on; None for all cores."""
        workers(threads)
        learned = self._learned()
        given = self.features.values() if isinstance(self.features, Mapping) else [self.features]
        for part in (learned.model, *learned.featurizers.values(), self.model, *given):
            if isinstance(part, Configured) and "threads" in part.get_params(deep=False):
                part.set_params(threads=threads)
        self.threads = threads  # of what it learns anew

    # --- predicting ---------------------------------------------------------------------------

    def predict(
        self, texts: Texts, *, threshold: float | str = "auto", hierarchy: str | None = None
    ) -> Any:
        """Return the labels of each of n texts, in the form that those of the training had.

        Parameters
        ----------
        texts
            An iterable of texts, a corpus or a table.
        threshold
            As for `tag`. A text is given at most its best 100 labels.
        hierarchy
            As for `tag`.

        Returns
        -------
        A list of label ids for each text, best first. After a training with a matrix, zeros and
        ones, shape (n, L), with the columns `classes_`: a csr array after a sparse matrix, a numpy
        array after a dense one.
        """
        learned = self._learned()
        needed_depth(learned, 1, threshold, hierarchy)  # an invalid one raises an error first
        return predicted(learned, self.rank(texts, RANKING_DEPTH), threshold, hierarchy)

    def predict_proba(self, texts: Texts, k: int = RANKING_DEPTH) -> Any:
        """Return the probabilities of the best k labels of each of n texts, shape (n, L).

        The columns are `classes_`. Labels that are not among the best k have no entry, or 0: it is
        a csr array, or a numpy array where the training had a dense matrix.
        """
        return probabilities(self._learned(), self.rank(texts, k))

    @property
    def classes_(self) -> NDArray[np.object_]:
        """The label of each column of `predict` and `predict_proba`, shape (L,)."""
        return np.array(column_names(self._learned()), object)

    # --- combining ----------------------------------------------------------------------------

    @classmethod
    def combine(cls, taggers: Sequence[Tagger]) -> Self:
        """Return the consensus of fitted taggers, of whatever kind; labels are matched by id."""
        learned = combine([tagger._learned() for tagger in taggers])
        return cls(learned.model.fresh(), features=dict(learned.featurizers))._take(learned)

    def calibrate(self, texts: Any, labels: Any = None, *, progress: ProgressLike = None) -> Self:
        """Fit probabilities and thresholds anew to documents that training has not seen.

        Parameters
        ----------
        texts, labels
            As for `fit`.
        progress
            True shows how it goes; or where that is shown.
        """
        learned = self._learned()
        corpus = as_more(learned, texts, labels)
        return self._take(calibrate(learned, corpus, as_progress(progress)))

    # --- scoring ------------------------------------------------------------------------------

    def evaluate(
        self,
        texts: Any,
        labels: Any = None,
        *,
        label_names: Iterable[Any] | None = None,
        ks: tuple[int, ...] = (1, 3, 5),
        threshold: float | str = "auto",
        hierarchy: str | None = None,
        labels_of: Tagger | None = None,
        intervals: bool = False,
        rank_batches: RankBatches | None = None,
        progress: ProgressLike = None,
    ) -> Scores:
        """Score the tagger on texts with known labels.

        Labels that training did not know count as misses. If some of the texts are among those
        that it learned from, ``notes`` says so, and ``without_learned_texts`` has the scores on
        the others.

        Parameters
        ----------
        texts, labels, label_names
            As for `fit`; a matrix without names has the columns of the training's.
        ks
            The depths at which rankings are cut.
        threshold
            From which probability on a label counts as given, for precision, recall and F1; as for
            `tag`.
        hierarchy
            As for `tag`: the sets of labels that precision, recall and F1 score. Metrics at k score
            the ranking, which stays as it is.
        labels_of
            Another tagger, whose labels count too: both are scored over the labels of both, and
            PSP goes by the larger count of a label, so that the scores of both can be compared.
        intervals
            Find 95 % intervals over documents too; ``Scores.intervals`` has them.
        rank_batches
            What ranks texts in place of this tagger, with the same result, such as a cluster.
        progress
            True shows how it goes; or where that is shown.
        """
        learned, progress = self._learned(), as_progress(progress)
        needed_depth(learned, 1, threshold, hierarchy)  # an invalid one raises an error first
        corpus = as_more(learned, texts, labels, label_names)
        counted = None if labels_of is None else beside(self.labels_, labels_of.labels_)
        _, _, scores = score_corpus(
            learned,
            corpus,
            ks=ks,
            threshold=threshold,
            hierarchy=hierarchy,
            counted=counted,
            with_intervals=intervals,
            rank_batches=rank_batches,
            progress=progress,
        )
        return scores

    def score(self, texts: Any, labels: Any = None) -> float:
        """Return the mean nDCG@5, which scikit-learn's searches maximise."""
        learned = self._learned()
        ranking, Y = rank_corpus(learned, as_more(learned, texts, labels), 5)
        return float(ndcg(ranking, Y, 5).mean())

    # --- scikit-learn -------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "learned_")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings; those of the model, ``model__...``, also when it is a name."""
        params = super().get_params(deep)
        if deep and isinstance(self.model, str):
            nested = self._new_model().get_params()
            params.update({f"model__{name}": value for name, value in nested.items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set settings, also those of the model as ``model__...``."""
        if any(name.startswith("model__") for name in params) and isinstance(self.model, str):
            self.model = self._new_model()
        return super().set_params(**params)

    # --- saving -------------------------------------------------------------------------------

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        progress: ProgressLike = None,
    ) -> None:
        """Write the tagger to a folder; a crash leaves the old folder or none.

        Its model card, ``README.md``, is written too, unless a person has edited the one there.
        """
        shown, learned = as_progress(progress), self._learned()
        shown.say(f"saving to {folder}")
        settings = {"validation": self.validation, "seed": self.seed, "threads": self.threads}
        card = read_card(Path(folder))
        saving.save(
            folder, learned, settings, self.scores_, self._about_scores, overwrite=overwrite
        )
        if card is not None and card.edited:
            shown.say(
                f"{CARD} was edited by hand, so it stays as it is and may tell of the older "
                "tagger; remove it to have it written anew"
            )

    def export_onnx(
        self,
        folder: str | os.PathLike[str],
        *,
        texts: Texts | None = None,
        check: int = 32,
        overwrite: bool = False,
        progress: ProgressLike = None,
    ) -> ExportCheck:
        """Write the network to a folder as ONNX, for programs that have no labelgrove.

        Networks that judge all labels in one pass can be exported. The folder also has the
        tokenizer, the labels, the thresholds and a program that tags with them. It is written
        only if onnxruntime ranks some texts with it as this tagger does.

        Parameters
        ----------
        folder
            The folder to write.
        texts
            Texts to check with: an iterable of texts, a corpus or a table; by default texts are
            made of random tokens.
        check
            How many texts to check with.
        overwrite
            Replace what was exported there before.
        progress
            True shows how it goes; or where that is shown.
        """
        from labelgrove.tagger.exporting.export import export_onnx

        learned = self._learned()
        some = None if texts is None else as_texts(texts)
        return export_onnx(
            learned,
            folder,
            texts=some,
            check=check,
            overwrite=overwrite,
            progress=as_progress(progress),
        )

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        *,
        verify: bool = True,
        progress: ProgressLike = None,
        require_signature: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Read a tagger that `save` wrote; its arrays stay on the disk until they are used.

        Parameters
        ----------
        folder
            The folder.
        verify
            Compare checksums, which reads every file once; sizes are always compared.
        progress
            True shows that a large tagger is read; or where that is shown.
        require_signature
            The file of a public key that must have signed the tagger (`labelgrove sign`); None
            loads it from anyone.
        """
        learned, settings, scores, about_scores = saving.load(
            folder, verify=verify, progress=as_progress(progress), signed_by=require_signature
        )
        features = {view: part.fresh() for view, part in learned.featurizers.items()}
        with checks.reading(Path(folder)):
            tagger = cls(learned.model.fresh(), features=features, **settings)
            tagger.check_values()
        tagger.learned_, tagger.scores_ = learned, scores
        tagger._about_scores = about_scores
        return tagger

    # --- the Hugging Face hub -----------------------------------------------------------------

    @classmethod
    def from_pretrained(
        cls,
        name: str | os.PathLike[str],
        *,
        revision: str | None = None,
        progress: ProgressLike = None,
        require_signature: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Read a tagger of the Hugging Face hub, downloaded if need be, or one in a folder.

        It needs the extra ``hub``. The token, the address of the hub and its cache are those of
        ``huggingface_hub``; with ``HF_HUB_OFFLINE=1`` only the cache is looked at.

        Parameters
        ----------
        name
            ``"owner/name"`` on the hub, or a folder, which comes first.
        revision
            A branch, a tag or a commit of the hub; the newest of the main branch by default.
        progress
            True shows what is downloaded; or where that is shown.
        require_signature
            As of `load`.
        """
        if Path(name).is_dir():
            if revision is not None:
                raise InputError(f"{name} is a folder, which has no revision {revision!r}")
            return cls.load(name, progress=progress, require_signature=require_signature)
        from labelgrove.tagger.hub import fetch
        from labelgrove.tagger.hub.pulling import naming

        repository = os.fspath(name)
        folder = fetch(repository, revision=revision, progress=as_progress(progress))
        with naming(repository, folder):
            return cls.load(folder, progress=progress, require_signature=require_signature)

    def push_to_hub(
        self,
        repository: str,
        *,
        private: bool = False,
        revision: str | None = None,
        message: str | None = None,
        license: str | None = None,  # noqa: A002
        languages: Sequence[str] = (),
        progress: ProgressLike = True,
    ) -> str:
        """Upload the tagger to the Hugging Face hub; return the address of the commit.

        It needs the extra ``hub``, and a token: of ``hf auth login``, or in ``HF_TOKEN``. The
        tagger is not signed: to push a signed one, save it, sign it, and use ``labelgrove push``.

        Parameters
        ----------
        repository
            ``"owner/name"``; it is made if need be.
        private
            Make it private; it is public otherwise.
        revision
            The branch, made if need be; the main one by default.
        message
            The message of the commit.
        license
            The licence of the tagger, for its card, such as ``"cc-by-4.0"``.
        languages
            ISO codes of the languages of its texts, for its card.
        progress
            Where it is said what will be uploaded and who can see it, before it is; False says
            nothing.
        """
        from tempfile import TemporaryDirectory

        from labelgrove.tagger.hub import PushOptions, push

        options = PushOptions(repository, private, revision, message, license, languages)
        options.check()
        shown = as_progress(progress)
        with TemporaryDirectory() as place:
            folder = Path(place, repository.partition("/")[2])
            self.save(folder)
            return push(folder, options, shown)
