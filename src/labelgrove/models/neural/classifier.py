"""What the neural models share: words in, networks trained by one loop, rankings out."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features, TokenSequences
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking, ndcg
from labelgrove.core.threads import workers
from labelgrove.core.types import Estimate, FitContext, Run, ViewSpec
from labelgrove.models.neural.parts.vectors import word_vectors
from labelgrove.models.neural.training import estimate
from labelgrove.models.neural.training.batches import (
    bucketed,
    by_length,
    first_words,
    knows_words,
    padded,
)
from labelgrove.models.neural.training.checkpoint import check_all
from labelgrove.models.neural.training.loop import (
    RATES,
    Event,
    Objective,
    device_of,
    open_fabric,
    train,
)
from labelgrove.models.neural.training.settings import Training, WordTraining, check_ranges

MOST_VALIDATION = 4000  # documents that an evaluation reads at most, or three tenths of the others
FEW_VALIDATION = 100  # of which all are read
TRIAL = 12  # batches of which a trial tells how long training takes


class NeuralClassifier(Classifier):
    """A classifier whose networks read words in their order.

    Subclasses take settings of their own, and pass the others on to this class, which knows the
    fields of `WordTraining`.

    Attributes
    ----------
    networks_
        The trained networks.
    shares_
        Share of the training documents that have each label, shape (L,): how labels of a text
        without a known word are ranked.
    history_
        An event for each evaluation while they were trained.
    """

    shared: ClassVar[type] = WordTraining
    uses_validation: ClassVar[bool] = True

    length: int
    batch: int
    device: str
    vectors: str
    vector_size: int
    train_vectors: bool
    vector_dropout: float
    networks_: list[nn.Module]
    n_words_: int
    shares_: NDArray[np.float32]
    history_: list[Event]
    _data: dict[str, Any]

    def __init__(self, **training: Any) -> None:
        for each in fields(WordTraining):
            setattr(self, each.name, training.pop(each.name, each.default))
        if training:
            name = next(iter(training))
            raise TypeError(f"{type(self).__name__} has no setting {name!r}")

    def views(self) -> dict[str, ViewSpec]:
        """Return the one view: words, cut after ``length``."""
        return {"text": ViewSpec("words", {"length": self.length})}

    @property
    def training(self) -> Training:
        """The settings of the loop."""
        return Training(**{each.name: getattr(self, each.name) for each in fields(Training)})

    def check_settings(self) -> None:
        """Refuse values of a wrong type or out of range, and a device that is not there."""
        super().check_settings()
        check_ranges(self.get_params(deep=False))
        open_fabric(self.training)

    # --- learning -----------------------------------------------------------------------------

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        words = self._words(X)
        if not Y.nnz:
            raise InputError("none of the documents has a label")
        validation = self._validation(context, words.n_terms, Y)
        if cut := int((words.lengths >= self.length).sum()):
            context.run.progress.say(
                f"{cut:,} documents ({cut / len(words):.1%}) have {self.length:,} words (length) "
                "or more: what follows is not read"
            )
        estimate.check(self._memory(words, Y.shape[1]), device_of(self.device))
        self._data = _about((words, Y), validation)
        if context.run.resume and context.run.folder is not None:
            check_all(context.run.folder, self._belongs())
        with _threads(self.threads), torch.random.fork_rng():
            torch.manual_seed(self.seed)
            self.n_words_, self.n_labels_ = words.n_terms, int(Y.shape[1])
            self.shares_ = np.asarray(Y.mean(axis=0), np.float32)
            self._learn(words, Y, validation, context)

    @abstractmethod
    def _learn(
        self,
        X: TokenSequences,
        Y: csr_array,
        validation: tuple[TokenSequences, csr_array] | None,
        context: FitContext,
    ) -> None:
        """Set ``networks_`` and ``history_``."""

    @abstractmethod
    def _sizes(self, n_words: int, n_labels: int, longest: int) -> list[estimate.Size]:
        """Return the sizes of the networks of one member of the ensemble."""

    def _trial(self) -> Self:
        """Return a model like this one that passes twice over the documents, for `estimate`."""
        return self.fresh().set_params(epochs=2, evaluate_every=2**31, average_from=None)

    def _epochs(self, trial: Self) -> list[int]:
        """Return the epochs that each of the networks of a trial would have here."""
        return [self.training.epochs] * len(trial.networks_)

    @abstractmethod
    def _network(self, number: int) -> nn.Module:
        """Return the network of that number as it is built, for weights to be put into."""

    def _memory(self, X: TokenSequences, n_labels: int) -> int:
        """Return the bytes that training needs at its peak."""
        longest = int(X.lengths.max(initial=1))
        sizes = self._sizes(X.n_terms, n_labels, longest)
        return estimate.memory(sizes, self.training, X.tokens.nbytes)

    def estimate(self, X: Features, Y: csr_array, context: FitContext) -> Estimate:
        """Tell what `fit` would take: its memory is computed, its time measured on some batches."""
        words, device = self._words(X), device_of(self.device)
        needed = self._memory(words, Y.shape[1])
        estimate.check(needed, device)
        few = generator(self.seed, "trial").permutation(len(words))[: TRIAL * self.batch]
        quiet = replace(context, run=Run(), validation=None)
        trial = self._trial().fit(words[few], Y[few], context=quiet)
        ends = [event["seconds"] for event in trial.history_]
        # the first pass also finds memory and builds kernels
        passes = [second - first for first, second in zip(ends[::2], ends[1::2], strict=True)]
        seconds = sum(each * n for each, n in zip(passes, self._epochs(trial), strict=True))
        if context.validation is not None:
            seconds *= 1.1
        return Estimate(seconds * len(words) / len(few), needed, estimate.free(device))

    def _vectors(self, X: TokenSequences, context: FitContext) -> Tensor:
        """Return the vectors that words begin with."""
        return torch.from_numpy(
            word_vectors(self.vectors, self.vector_size, X, context, self.seed, self.threads)
        )

    def _belongs(self) -> dict[str, Any]:
        """Return what a checkpoint must have in common with this training."""
        same = ("threads", "device", "devices", "checkpoint_minutes", *RATES)  # whatever these are
        settings = {k: v for k, v in self.get_params(deep=False).items() if k not in same}
        return {"model": self.name, **settings, **self._data}

    def _begin(self, step: str) -> None:
        """Let a network have random weights of its own, whatever was trained before it or not."""
        torch.manual_seed(int(generator(self.seed, "weights", step).integers(2**63)))

    def _validation(
        self, context: FitContext, n_words: int, train: csr_array
    ) -> tuple[TokenSequences, csr_array] | None:
        """Return held-out documents that have a label, some of them if they are many."""
        if context.validation is None:
            context.run.progress.say("nothing is held out: training is not stopped early")
            return None
        X, Y = context.validation
        labelled = np.flatnonzero(np.diff(Y[:, : train.shape[1]].tocsr().indptr))
        if not len(labelled):
            context.run.progress.say(
                "no held-out document has a known label: training is not stopped early"
            )
            return None
        random = generator(self.seed, "validation")
        most = min(MOST_VALIDATION, max(3 * train.shape[0] // 10, FEW_VALIDATION))
        chosen = np.sort(random.permutation(labelled)[:most])
        return self._words(X, n_words)[chosen], Y[chosen]

    def _words(self, X: Features, known: int | None = None) -> TokenSequences:
        """Return the words that are read, of ``known`` ones if those are settled."""
        if not isinstance(X, TokenSequences):
            raise InputError(
                f"{self.name} reads words in their order: use the features 'words', not "
                f"{type(X).__name__}"
            )
        if known is not None and X.n_terms != known:
            raise InputError(
                f"X has {X.n_terms:,} words, but {self.name} learned with {known:,}: use the "
                "featurizer it was trained with"
            )
        return first_words(X, self.length)

    # --- ranking ------------------------------------------------------------------------------

    def _rank(self, X: Features, k: int) -> Ranking:
        words = self._words(X, self.n_words_)
        device = device_of(self.device)
        for network in self.networks_:
            network.to(device).eval()
        labels = np.full((len(words), k), -1, np.int32)
        scores = np.zeros((len(words), k), np.float32)
        with _threads(self.threads), torch.inference_mode():
            for rows in by_length(words.lengths, self.batch):
                tokens, lengths = padded(words, rows)
                ranking = self._rank_batch(tokens.to(device), lengths.to(device), k).pad(k)
                labels[rows], scores[rows] = ranking.labels, ranking.scores
        # a network has nothing to say of words it does not know
        unread = ~knows_words(words)
        if unread.any():
            best = np.argsort(-self.shares_, kind="stable")[:k].astype(np.int32)
            labels[unread], scores[unread] = best, self.shares_[best]
        return Ranking(labels, scores)

    @abstractmethod
    def _rank_batch(self, tokens: Tensor, lengths: Tensor, k: int) -> Ranking:
        """Rank some texts, tokens (b, T)."""

    # --- saving -------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the networks' weights as arrays beside the other state."""
        state = super().state()
        for number, network in enumerate(state.pop("networks_", [])):
            for name, value in network.state_dict().items():
                state[f"network{number}.{name}"] = value.detach().cpu().numpy()
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` returned."""
        weights = {name: value for name, value in state.items() if name.startswith("network")}
        super().set_state({name: value for name, value in state.items() if name not in weights})
        self.networks_ = []
        while any(name.startswith(f"network{len(self.networks_)}.") for name in weights):
            prefix = f"network{len(self.networks_)}."
            network = self._network(len(self.networks_))
            network.load_state_dict(
                {
                    name.removeprefix(prefix): torch.from_numpy(np.array(value))
                    for name, value in weights.items()
                    if name.startswith(prefix)
                }
            )
            self.networks_.append(network)


class AllLabels(Objective):
    """Every label of every document is judged, by mean binary cross entropy (equation 6).

    Parameters
    ----------
    X, Y
        Words and labels to learn from.
    validation
        The same, held out.
    training
        For the size of batches and the seed of their order.
    """

    def __init__(
        self,
        X: TokenSequences,
        Y: csr_array,
        validation: tuple[TokenSequences, csr_array] | None,
        training: Training,
    ) -> None:
        self._X, self._Y, self._validation, self._training = X, Y, validation, training

    @property
    def n_validation(self) -> int:
        """Number of documents behind `score`."""
        return 0 if self._validation is None else len(self._validation[0])

    def batches(self, epoch: int) -> list[NDArray[np.int64]]:
        """Return batches of documents of like length."""
        random = generator(self._training.seed, "batches", epoch)
        return bucketed(self._X.lengths, self._training.batch, random)

    def loss(self, network: nn.Module, rows: NDArray[np.int64]) -> Tensor:
        """Return the mean over documents and labels."""
        tokens, lengths = padded(self._X, rows)
        device = next(network.parameters()).device
        logits = network(tokens.to(device), lengths.to(device))
        truth = torch.from_numpy(self._Y[rows].toarray()).to(device)
        return binary_cross_entropy_with_logits(logits, truth)

    def score(self, network: nn.Module) -> float | None:
        """Return the mean nDCG@5 of held-out documents."""
        if self._validation is None:
            return None
        X, Y = self._validation
        device = next(network.parameters()).device
        total = 0.0
        for rows in by_length(X.lengths, self._training.batch):
            tokens, lengths = padded(X, rows)
            logits = network(tokens.to(device), lengths.to(device))
            total += float(judged(top(logits.sigmoid(), 5), Y[rows]).sum())
        return total / len(X)


def top(probabilities: Tensor, k: int) -> Ranking:
    """Rank the labels of a batch by their probabilities (b, L)."""
    best, labels = probabilities.float().topk(min(k, probabilities.shape[1]), dim=1)
    chosen = labels.masked_fill(best <= 0, -1)
    return Ranking(chosen.cpu().numpy().astype(np.int32), best.cpu().numpy())


def judged(ranking: Ranking, Y: csr_array) -> NDArray[np.float64]:
    """Return the nDCG@5 of each text, shape (n,); NaN where the network gave no numbers."""
    found = np.where(np.isnan(ranking.scores).any(axis=1), np.nan, ndcg(ranking, Y, 5))
    return found.astype(np.float64)


def fit_network(
    network: nn.Module,
    objective: Objective,
    model: NeuralClassifier,
    context: FitContext,
    step: str = "network",
    training: Training | None = None,
) -> list[Event]:
    """Train one network of a model in a run folder of its own."""
    run = context.run
    if run.folder is not None:
        run = replace(run, folder=run.folder / step)
    belongs = model._belongs()
    return train(network, objective, training or model.training, run, belongs, f"training {step}")


def _about(
    train: tuple[TokenSequences, csr_array], validation: tuple[TokenSequences, csr_array] | None
) -> dict[str, Any]:
    """Return what tells these data from others."""
    digest, (X, Y) = hashlib.blake2b(digest_size=16), train
    for words, labels in filter(None, (train, validation)):
        for array in (words.tokens, words.offsets, labels.indptr, labels.indices):
            digest.update(np.ascontiguousarray(array).data)
    sizes = {"documents": Y.shape[0], "labels": Y.shape[1], "words": X.n_terms}
    return {**sizes, "checksum of the data": digest.hexdigest()}


@contextmanager
def _threads(threads: int | None) -> Iterator[None]:
    """Let torch use so many threads for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(workers(threads))
    try:
        yield
    finally:
        torch.set_num_threads(before)
