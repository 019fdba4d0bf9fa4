"""`NeuralClassifier`: fits, ranks, explains and saves networks made of parts.

A paper's model is a subclass that puts these parts together: `_word_network` reads word vectors,
`_reader` may read more than the text, `_scorer` judges labels, `_candidates` says which. Everything
else is here, from top to bottom: settings, learning, ranking, explaining, saving.
"""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features, TokenSequences, Views
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking
from labelgrove.core.threads import workers
from labelgrove.core.types import Estimate, Explanation, FitContext, NetworkFile, Run, ViewSpec
from labelgrove.models.dense import PREFIX
from labelgrove.models.neural.candidates.all import AllLabels
from labelgrove.models.neural.candidates.base import Blueprint, Candidates, Step, TrainingData
from labelgrove.models.neural.candidates.first_stage import FirstStageLabels
from labelgrove.models.neural.candidates.tree import TREE
from labelgrove.models.neural.explaining import explain_label, outweighs_prior
from labelgrove.models.neural.learning import LabelObjective, Measure, held_out_rows
from labelgrove.models.neural.network import Network
from labelgrove.models.neural.plateau import plateau_note
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers import huggingface
from labelgrove.models.neural.readers.base import Input, Reader
from labelgrove.models.neural.readers.static import StaticInput
from labelgrove.models.neural.readers.transformer import TransformerInput, TransformerReader
from labelgrove.models.neural.readers.word_networks import PlainWords, WordNetwork
from labelgrove.models.neural.readers.words import WordInput
from labelgrove.models.neural.saved_weights import with_saved_weights
from labelgrove.models.neural.scorers.base import Scorer
from labelgrove.models.neural.scorers.correlation import CorrelatedScorer
from labelgrove.models.neural.scorers.generator import Generator
from labelgrove.models.neural.settings import NO_FIRST, NeuralSettings
from labelgrove.models.neural.texts import Texts
from labelgrove.models.neural.training import estimate
from labelgrove.models.neural.training.batches import MOST, batch_for
from labelgrove.models.neural.training.checkpoint import check_all
from labelgrove.models.neural.training.devices import device_of
from labelgrove.models.neural.training.loop import RATES, Event
from labelgrove.models.neural.training.optimizers import sparse_weights
from labelgrove.models.neural.training.processes import FEWEST, train
from labelgrove.models.neural.training.settings import Training
from labelgrove.models.neural.training.threads import limited_threads
from labelgrove.models.neural.training.windows import Windows
from labelgrove.text import PAD

FIRST = "first"  # folder of the first stage
TRIAL = 12  # batches of which a trial tells how long training takes


class NeuralClassifier(NeuralSettings, Classifier):
    """A classifier whose networks read tokens in their order: words, or parts of words.

    Attributes
    ----------
    measure
        By which the best weights are chosen on held-out documents.
    networks_
        The trained networks.
    input_
        Which tokens they read.
    candidates_
        Which labels they judge.
    n_terms_
        Number of different tokens.
    shares_
        Share of the training documents that have each label, shape (L,): how labels of a text
        without a known token are ranked.
    history_
        An event for each evaluation while they were trained.
    """

    # settings of the models that have them
    ensemble: int = 1
    level_epochs: int | None = None
    level_average_from: int | None = None

    uses_validation: ClassVar[bool] = True
    measure: ClassVar[Measure] = "nDCG@5"

    networks_: list[Network]
    input_: Input
    candidates_: Candidates
    n_terms_: int
    shares_: NDArray[np.float32]
    history_: list[Event]

    # --- what a paper's model puts together -----------------------------------------------------

    def _word_network(self, n_inputs: int) -> WordNetwork:
        """Return what reads vectors of words of a given size, or static ones."""
        return PlainWords(n_inputs)

    def _reader(self, reader: Reader, start: LabelStart) -> Reader:
        """Return the reader of a network, around the one that ``encoder`` stands for."""
        return reader

    @abstractmethod
    def _scorer(self, reader: Reader, start: LabelStart) -> Scorer:
        """Return what judges labels behind a reader."""

    def _generator(self, reader: Reader, start: LabelStart) -> Scorer:
        """Return what judges the clusters from which a training step chooses its candidates."""
        return Generator(reader.n_vector, len(start.counts))

    def _candidates(self, n_labels: int) -> Candidates:
        """Return which of so many labels are judged where there is no first stage: here all."""
        return AllLabels(self.at_once)

    @property
    def _may_grow_trees(self) -> bool:
        """Whether `_candidates` are reached down a label tree if there are labels enough."""
        return False

    def _prepare(
        self, data: TrainingData, context: FitContext
    ) -> tuple[TrainingData, dict[str, Any]]:
        """Make what networks learn from beside the texts.

        Returns
        -------
        data, belongs
            What they learn from, and what a checkpoint must have in common with it.
        """
        return data, {}

    def _texts(self, X: Features, tokens: TokenSequences) -> Texts:
        """Return texts that are to be ranked or explained."""
        return Texts(tokens, self.input_.windows)

    # --- settings -------------------------------------------------------------------------------

    def check_needs(self) -> None:
        """Refuse vectors, an encoder or a first stage that cannot be had."""
        super().check_needs()
        self._input().check_needs()
        if not self.may_have_first:
            return
        try:
            self.new_first().model.check_needs()
        except InputError as error:
            raise InputError(
                f"the first stage, {self._first_name} with its default settings, cannot be had "
                f"({error}): choose another, such as 'bonsai'"
            ) from error

    def views(self) -> dict[str, ViewSpec]:
        """Return what networks read, what the first stage reads, and what label trees grow from.

        The last only before the model is fitted: trees are grown once.
        """
        views = {"text": self._input().view()}
        fitted = getattr(self, "candidates_", None)
        if isinstance(fitted, FirstStageLabels):
            views |= fitted.first.specs()
        elif fitted is None:
            if self.may_have_first:
                specs = self.new_first().specs().items()
                perhaps = not self._needs_first
                views |= {k: replace(spec, learning_only=perhaps) for k, spec in specs}
            if self._may_grow_trees and not self.asks_for_first:
                views[TREE] = ViewSpec("tf-idf", learning_only=True, ranks=False)
        return views

    def _input(self) -> Input:
        """Return which tokens are read, and by what."""
        if self.form == "words":
            return WordInput(
                self._word_network, self.length, self.train_vectors, self.vector_dropout,
                self.vectors, self.vector_size, self.seed, self.threads,
            )  # fmt: skip
        if self.form == "static":
            return StaticInput(
                self._word_network, self.length, self.train_vectors, self.vector_dropout,
                self.encoder.removeprefix(PREFIX),
            )  # fmt: skip
        return TransformerInput(
            self.encoder, self.pooling, self.length, self.windows,
            self.checkpointing, self.frozen, self.lora, self.layer_decay,
        )  # fmt: skip

    def _new_candidates(self, n_labels: int, two_stages: bool) -> Candidates:
        found = self._candidates(n_labels) if not two_stages else FirstStageLabels(
            self.new_first(), self._n_shortlisted, self.folds, self.at_once, self.ensemble,
            self.seed,
        )  # fmt: skip
        if self.cornet and (not isinstance(found, AllLabels) or found.drawn is not None):
            raise self._no_cornet(f"{n_labels:,} labels are reached by candidates")
        found.use(self.at_once, self.threads)
        return found

    @property
    def _saves_memory(self) -> str:
        """What a user can do whose machine has too little memory."""
        blocks = (
            ", or lower cornet_size, or do without these blocks (cornet=0)" if self.cornet else ""
        )
        return self.input_.saves_memory + blocks

    def _no_cornet(self, why: str) -> InputError:
        return InputError(
            f"cornet={self.cornet} needs the log odds of all labels from {self.name}, and {why}: "
            "set cornet=0, or choose settings or a model that judges all labels, such as xml-cnn"
        )

    def _correlated(self, scorer: Scorer) -> Scorer:
        """Return a scorer with CorNet's blocks behind it, if there are any."""
        if not self.cornet:
            return scorer
        if scorer.clusters:
            raise self._no_cornet("its labels stand in clusters")
        if not scorer.has_plain_loss:
            raise self._no_cornet("it has a loss of its own")
        return CorrelatedScorer(scorer, self.cornet, self.cornet_size)

    @property
    def at_once(self) -> int:
        """Texts that are ranked at once."""
        return self.batch or MOST

    def _batch_for(self, n_documents: int) -> int:
        """Return how many of so many documents learn together."""
        return self.batch or batch_for(n_documents)

    def for_parts(self, X: Features, Y: csr_array) -> Self:
        """Return an unfitted copy that has a first stage if these documents ask for one."""
        return self._in_stages(self._has_first(X, np.bincount(Y.indices, minlength=Y.shape[1])))

    def _in_stages(self, two_stages: bool) -> Self:
        return self.fresh().set_params(first=self._first_name if two_stages else NO_FIRST)

    def _has_first(self, X: Features, counts: NDArray[np.int64]) -> bool:
        """Tell whether there is a first stage; some models do without if X has nothing for it."""
        wanted = self.uses_first(counts, X.shape[0])
        return wanted and (self._needs_first or isinstance(X, Views))

    # --- learning -------------------------------------------------------------------------------

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        self.input_ = self._input()
        tokens = self._tokens(X)
        if not Y.nnz:
            raise InputError("none of the documents has a label")
        data = TrainingData(X, Texts(tokens), Y, self._held_out(context, Y, tokens.n_terms))
        self.input_.look(tokens, context.run.progress)
        two_stages = self._has_first(X, data.counts)
        needed = self._memory(tokens, data.counts, two_stages)
        estimate.check(needed, device_of(self.device), self._saves_memory)
        belongs = self._belongs(data)
        if context.run.resume and context.run.folder is not None:
            check_all(context.run.folder, belongs)
        n_labels = int(Y.shape[1])
        self.n_terms_, self.n_labels_ = tokens.n_terms, n_labels
        self.shares_ = np.asarray(Y.mean(axis=0), np.float32)
        self.input_.prepare(tokens, n_labels, context)
        data, more = self._prepare(self._in_windows(data), context)
        if two_stages and not self.asks_for_first:
            context.run.progress.say(self._why_first(data.counts, len(tokens)))
        self.candidates_ = self._new_candidates(n_labels, two_stages)
        belongs |= more | self.candidates_.prepare(data, context)
        with limited_threads(self.threads), torch.random.fork_rng():
            self._learn(data, belongs, context)
        self.input_.release()

    def _learn(self, data: TrainingData, belongs: dict[str, Any], context: FitContext) -> None:
        """Train the networks, one after the other."""
        self.networks_, self.history_ = [], []
        for step in self.candidates_.steps(self.networks_, data, context):
            if step.above is None:  # those of another member are not asked any more
                for finished in self.networks_:
                    finished.cpu()
            self._seed_weights(step.title)
            network = self._network(step.blueprint)
            if step.above is not None:
                network.begin_as(step.above)
            if network.scorer.clusters:
                told = ", ".join(map(str, network.scorer.clusters))
                context.run.progress.say(f"labels in each cluster: {told}")
            training = self._training_of(below=step.above is not None)
            training.set_params(seed=self.seed + step.member)
            objective = self._objective(step, data, training)
            folder = context.run.folder and context.run.folder / step.title
            run = replace(context.run, folder=folder)
            title = f"training {step.title}"
            history = train(network, objective, training, run, belongs, title)
            alone = not isinstance(self.candidates_, FirstStageLabels)
            note = plateau_note(self.measure, history, objective.frequency, self, alone)
            if note is not None:
                run.progress.say(note)
            self.history_ += history
            self.networks_.append(network.eval())
        for network in self.networks_:
            _merged(network).cpu()

    def _training_of(self, below: bool) -> Training:
        """Return how a network is trained, which may differ below another one."""
        own = {"epochs": self.level_epochs, "average_from": self.level_average_from}
        given = {name: value for name, value in own.items() if below and value is not None}
        return self.training.set_params(**given)

    def _seed_weights(self, title: str) -> None:
        """Let a network have random weights of its own, whatever was trained before it or not."""
        torch.manual_seed(int(generator(self.seed, "weights", title).integers(2**63)))

    def _network(
        self,
        blueprint: Blueprint,
        reader: Reader | None = None,
        clusters: tuple[int, ...] | None = None,
    ) -> Network:
        """Put a network together.

        Parameters
        ----------
        blueprint
            What it judges.
        reader
            What ``encoder`` stands for; None for a new one.
        clusters
            Of a network whose saved weights are put into this one.
        """
        counts = blueprint.counts
        reader = reader or self.input_.reader(len(counts))
        two_stages = blueprint.begins == "zero"
        begins = "zero" if two_stages else self._begins
        start = LabelStart(counts, blueprint.n_documents, begins, blueprint.sparse, clusters)
        reader = self._reader(reader, start)
        scorer, made = self._correlated(self._scorer(reader, start)), None
        if blueprint.clusters is not None:
            above = LabelStart(blueprint.clusters, blueprint.n_documents, self._begins)
            made = self._generator(reader, above)
        network = Network(
            reader,
            scorer,
            weighs_prior=two_stages,
            weighs_votes=self._has_votes(len(counts)),
            generator=made,
        )
        return self._with_rates(network)

    @property
    def _begins(self) -> Literal["frequency", "none"]:
        """How labels begin without a first stage."""
        return self.prior

    def _has_votes(self, n_labels: int) -> bool:
        """Tell whether votes of similar documents shift the log odds of so many labels."""
        return False

    def _with_rates(self, network: Network) -> Network:
        """Give a pretrained transformer, and what is next to it, their own learning rates."""
        for name, part in network.named_modules():
            if isinstance(part, TransformerReader):
                shares = huggingface.layer_shares(part.encoder, self.layer_decay)
                network.rate_shares = {f"{name}.encoder.{k}": share for k, share in shares.items()}
                network.rates = {
                    f"{name}.encoder": "encoder_rate",
                    "reader.labels": "hidden_rate",
                    "scorer.hidden": "hidden_rate",
                }
        return network

    def _objective(self, step: Step, data: TrainingData, training: Training) -> LabelObjective:
        held = None
        if data.held is not None and step.held is not None:
            held = (data.held[1], step.held)
        return LabelObjective(
            data.texts, step.Y, step.sampler, step.clusters, held, step.rank, self.measure,
            training, scores_start=step.blueprint.begins == "zero",
        )  # fmt: skip

    def _tokens(self, X: Features, known: int | None = None) -> TokenSequences:
        """Return the tokens that are read, of ``known`` ones if those are settled."""
        text = X["text"] if isinstance(X, Views) and "text" in X else X
        if not isinstance(text, TokenSequences):
            reads = self.input_.reads
            raise InputError(
                f"{self.name} reads {reads} in their order: use the features {reads!r}, not "
                f"{type(text).__name__}"
            )
        if known is not None and text.n_terms != known:
            raise InputError(
                f"X has {text.n_terms:,} {self.input_.reads}, but {self.name} learned with "
                f"{known:,}: use the featurizer it was trained with"
            )
        return self.input_.cut(text)

    def _in_windows(self, data: TrainingData) -> TrainingData:
        """Return texts as they are read, once it is known how."""
        windows, held = self.input_.windows, data.held
        if held is not None:
            held = (held[0], replace(held[1], windows=windows), held[2])
        return data._replace(texts=replace(data.texts, windows=windows), held=held)

    def _held_out(
        self, context: FitContext, train: csr_array, n_terms: int
    ) -> tuple[Features, Texts, csr_array] | None:
        """Return those held-out documents that are read in training, if there are any."""
        rows = held_out_rows(context, train, self.seed)
        if rows is None or context.validation is None:
            return None
        X, Y = context.validation
        return X[rows], Texts(self._tokens(X, n_terms)[rows]), Y[rows]

    def _belongs(self, data: TrainingData) -> dict[str, Any]:
        """Return what a checkpoint must have in common with this training."""
        same = ("threads", "device", "devices", "checkpoint_minutes", *RATES)  # whatever these are
        settings = {k: v for k, v in self.get_params(deep=False).items() if k not in same}
        return {"model": self.name, **settings, **self.input_.belongs(), **data.identity()}

    # --- what it takes --------------------------------------------------------------------------

    def _memory(self, X: TokenSequences, counts: NDArray[np.int64], two_stages: bool) -> int:
        """Return the bytes that training needs at its peak, with so many documents a label."""
        sizes = self._sizes(X, counts, two_stages)
        return estimate.memory(sizes, self.training, X.tokens.nbytes)

    def _sizes(
        self, X: TokenSequences, counts: NDArray[np.int64], two_stages: bool
    ) -> list[estimate.Size]:
        """Return the size of each network, with so many documents a label."""
        candidates = self._new_candidates(len(counts), two_stages)
        longest = min(int(X.lengths.max(initial=1)), self.length)
        return [
            self._size(each, X.n_terms, longest) for each in candidates.expected(counts, len(X))
        ]

    def _size(self, blueprint: Blueprint, n_terms: int, longest: int) -> estimate.Size:
        """Return the size of a network, of which a sketch without numbers is made."""
        reader = self._input().sketch(n_terms, len(blueprint.counts))
        with torch.device("meta"):
            network = self._network(blueprint, reader)
        weights = [(each.numel(), each.requires_grad) for each in network.parameters()]
        judged = blueprint.judged if blueprint.judged is not None else len(blueprint.counts)
        kept = network.reader.kept(longest, judged)
        kept += network.scorer.kept(longest, blueprint.judged)
        if network.generator is not None:
            kept += network.generator.kept(longest, None)
        frozen = sum(n for n, learns in weights if not learns)
        kept *= self._batch_for(blueprint.n_documents)
        sparse = sum(each.numel() for each in sparse_weights(network))
        return estimate.Size(sum(n for n, _ in weights), kept, frozen, sparse)

    def estimate(self, X: Features, Y: csr_array, context: FitContext) -> Estimate:
        """Tell what `fit` would take: its memory is computed, its time measured on some batches."""
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        trial = self._trial(self._has_first(X, counts))
        trial.input_ = self._input()
        tokens, device = trial._tokens(X), device_of(self.device)
        batch = self._batch_for(len(tokens))
        trial.set_params(batch=batch)
        sizes = self._sizes(tokens, counts, self._has_first(X, counts))
        needed = estimate.memory(sizes, self.training, tokens.tokens.nbytes)
        estimate.check(needed, device, trial._saves_memory)
        few = generator(self.seed, "trial").permutation(len(tokens))[: TRIAL * batch]
        quiet = replace(context, run=Run(), validation=None, documents=None)
        began = time.perf_counter()
        trial.fit(X[few], Y[few], context=quiet)
        spent = time.perf_counter() - began
        ends = [event["seconds"] for event in trial.history_]
        # the first pass also finds memory and builds kernels
        passes = [second - first for first, second in zip(ends[::2], ends[1::2], strict=True)]
        below = trial.candidates_.below_others(len(passes))
        epochs = [self._training_of(each).epochs for each in below]
        seconds = sum(each * n for each, n in zip(passes, epochs, strict=True))
        more, divisible = len(tokens) / len(few), 0.0
        if device.type == "cpu":  # the only one that is like those of a cluster
            divisible = seconds * more * workers(self.threads)
        if context.validation is not None:
            seconds *= 1.1
        if isinstance(trial.candidates_, FirstStageLabels):
            seconds += spent - sum(ends[1::2])
        steps = sum(epochs) * math.ceil(len(tokens) / batch)
        return Estimate(
            seconds * more,
            needed,
            estimate.free(device),
            divisible,
            processes=max(batch // FEWEST, 1),
            exchanged=steps * max(each.gradients for each in sizes),
        )

    def _trial(self, two_stages: bool) -> Self:
        """Return a model like this one that passes twice over the documents, for `estimate`."""
        trial = self._in_stages(two_stages)
        trial.set_params(epochs=2, evaluate_every=2**31, average_from=None)
        own = {"level_epochs", "level_average_from"} & {*self.setting_names()}
        return trial.set_params(**dict.fromkeys(own))

    # --- learning from held-out documents too ---------------------------------------------------

    @property
    def refits(self) -> bool:
        """Whether there is a first stage, which needs no held-out documents."""
        return isinstance(self.candidates_, FirstStageLabels)

    def refit(self, X: Features, Y: csr_array, *, context: FitContext | None = None) -> Self:
        """Return this model with a first stage that learns from these documents."""
        self.check_fitted()
        model = copy(self)
        if isinstance(self.candidates_, FirstStageLabels):
            model.candidates_ = self.candidates_.refitted(X, Y, context or FitContext())
        return model

    # --- ranking --------------------------------------------------------------------------------

    def _rank(self, X: Features, k: int) -> Ranking:
        tokens = self._tokens(X, self.n_terms_)
        with self._ready():
            texts = self._texts(X, tokens)
            ranking = self.candidates_.rank(self.networks_, X, texts, k).pad(k)
        return self._with_unread(ranking, X, tokens, k)

    @contextmanager
    def _ready(self) -> Iterator[torch.device]:
        """Let the networks be where they should be, to be asked and not to learn."""
        device = device_of(self.device)
        self.candidates_.use(self.at_once, self.threads)
        for network in self.networks_:
            network.to(device).eval()
        with limited_threads(self.threads), torch.inference_mode():
            yield device

    def _with_unread(
        self, ranking: Ranking, X: Features, tokens: TokenSequences, k: int
    ) -> Ranking:
        """Rank texts that no network can read by the first stage, or by frequency."""
        unread = ~self.input_.readable(tokens)
        if not unread.any():
            return ranking
        other = self.candidates_.rank_unread(X[unread], k)
        if other is None:
            best = np.argsort(-self.shares_, kind="stable")[:k].astype(np.int32)
            ranking.labels[unread], ranking.scores[unread] = best, self.shares_[best]
        else:
            ranking.labels[unread], ranking.scores[unread] = other.labels, other.scores
        return ranking

    # --- explaining -----------------------------------------------------------------------------

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return how much each token spoke for a label.

        That is how much the label attended to it, or, where the scorer does not attend, what it
        added to the label's log odds. Behind a first stage that part explains a label which had
        more to say about it; a label that is not among the candidates is the first stage's.
        """
        tokens = self._tokens(X, self.n_terms_)[i : i + 1]
        asked = self.candidates_.shortlist(X, i)
        readable = bool(self.input_.readable(tokens)[0])
        text = self._texts(X[i : i + 1], tokens)
        if asked is not None and not (
            readable and label in asked[0] and self._outweighs_first(text, label, asked)
        ):
            told = self.candidates_.explain(X, i, label)
            assert told is not None
            return told
        if not readable:
            return Explanation(np.empty(0, np.int64), np.empty(0, np.float32))
        start, weights = self._told(text, label, asked)
        return Explanation(np.arange(start, start + len(weights)), weights)

    def _outweighs_first(
        self, text: Texts, label: int, asked: tuple[NDArray[np.int64], NDArray[np.float32]]
    ) -> bool:
        """Tell whether the networks had more to say about a label than the first stage."""
        with self._ready() as device:
            networks = self.candidates_.judging(self.networks_)
            return outweighs_prior(networks, text, label, asked, device)

    def _told(
        self,
        text: Texts,
        label: int,
        asked: tuple[NDArray[np.int64], NDArray[np.float32]] | None = None,
    ) -> tuple[int, NDArray[np.float32]]:
        """Return where reading of one text began, and what each token spoke for a label."""
        device = device_of(self.device)
        networks = [
            network.to(device).eval().requires_grad_(requires_grad=False)
            for network in self.candidates_.judging(self.networks_)
        ]
        with limited_threads(self.threads):
            return explain_label(networks, text, label, asked, device)

    # --- exporting ------------------------------------------------------------------------------

    def why_no_onnx(self) -> str:
        """Return why its networks alone do not rank; empty if they do."""
        return self.candidates_.why_no_onnx

    def _write_onnx(
        self, file: Path, x: NDArray[np.float64], y: NDArray[np.float64]
    ) -> NetworkFile:
        from labelgrove.models.neural import onnx_file

        words = self.input_.reads == "words"
        module = onnx_file.LabelProbabilities(
            [network.cpu() for network in self.networks_], self.shares_, words, x, y
        )
        with limited_threads(self.threads):
            onnx_file.write_file(module, file)
        windows = self.input_.windows or Windows(self.length)
        return NetworkFile(
            windows.size, windows.most, PAD,
            onnx_file.OPSET, onnx_file.INPUTS, onnx_file.OUTPUTS,
        )  # fmt: skip

    # --- saving ---------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the networks' weights as arrays beside the other state."""
        state = super().state()
        if "networks_" not in state:
            return state
        networks, reads = state.pop("networks_"), state.pop("input_")
        candidates = state.pop("candidates_")
        state["built"] = {
            "input": reads.state(),
            "two_stages": isinstance(candidates, FirstStageLabels),
            "n_labels": candidates.blueprints()[-1].counts.shape[0],
            "clusters": [list(network.scorer.clusters) for network in networks],
        }
        state |= {f"candidates.{name}": value for name, value in candidates.state().items()}
        for number, network in enumerate(networks):
            for name, value in network.state_dict().items():
                state[f"network{number}.{name}"] = value.detach().cpu().numpy()
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` returned."""
        built = state["built"]  # a KeyError tells of another version
        n_labels = checks.whole("n_labels", built["n_labels"], least=1, most=2**31 - 1)
        weights = {name: value for name, value in state.items() if name.startswith("network")}
        kept = _below("candidates.", state)
        apart = {"built", *weights, *(f"candidates.{name}" for name in kept)}
        super().set_state({name: value for name, value in state.items() if name not in apart})
        self.input_ = self._input()
        self.input_.set_state(built["input"])
        self.candidates_ = self._new_candidates(n_labels, bool(built["two_stages"]))
        self.candidates_.set_state(kept, n_labels)
        # networks are built one by one, so their number must be that of the weights
        checks.whole("ensemble", self.ensemble, least=1, most=len(built["clusters"]))
        self.networks_ = []
        for number, blueprint in enumerate(self.candidates_.blueprints()):
            clusters = tuple(built["clusters"][number])
            own = _below(f"network{number}.", weights)
            build = partial(self._network, blueprint, clusters=clusters)
            self.networks_.append(with_saved_weights(build, own, self.name))

    def check_state(self) -> None:
        """Refuse networks of other words or labels."""
        super().check_state()
        if not self.networks_:
            raise ValueError("there are no networks")
        if self.candidates_.blueprints()[-1].counts.shape[0] > self.n_labels_:
            raise ValueError(f"the networks judge more than {self.n_labels_:,} labels")
        if checks.whole("n_terms_", self.n_terms_) != self.input_.n_terms:
            raise ValueError(f"n_terms_ is {self.n_terms_:,} instead of {self.input_.n_terms:,}")
        checks.array("shares_", self.shares_, np.float32, (self.n_labels_,))

    def write(self, folder: Path) -> None:
        """Write the first stage into a folder of its own."""
        super().write(folder)
        if isinstance(self.candidates_, FirstStageLabels):
            self.candidates_.write(folder / FIRST)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `write` wrote."""
        model = super().read(folder)
        if isinstance(model.candidates_, FirstStageLabels):
            model.candidates_.read(folder / FIRST)
        return model


def _merged(network: Network) -> Network:
    """Add low-rank updates of transformers to the weights they belong to."""
    for part in network.modules():
        if isinstance(part, TransformerReader) and part.low_rank:
            huggingface.merged(part.encoder)
            part.low_rank = False
    return network


def _below(prefix: str, state: Mapping[str, Any]) -> dict[str, Any]:
    return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
