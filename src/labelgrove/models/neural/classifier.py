"""What the neural models share: tokens in, networks trained by one loop, rankings out."""

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
from torch import nn

from labelgrove.core.errors import DamagedError, InputError
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features, TokenSequences
from labelgrove.core.progress import Progress
from labelgrove.core.random import generator
from labelgrove.core.ranges import Range
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Estimate, FitContext, Run
from labelgrove.models.neural.training import estimate
from labelgrove.models.neural.training.checkpoint import check_all
from labelgrove.models.neural.training.loop import (
    RATES,
    Event,
    Objective,
    device_of,
    open_fabric,
    train,
)
from labelgrove.models.neural.training.settings import Training, check_allowed
from labelgrove.models.neural.training.threads import limited_threads

MOST_VALIDATION = 4000  # documents that an evaluation reads at most, or three tenths of the others
FEW_VALIDATION = 100  # of which all are read
TRIAL = 12  # batches of which a trial tells how long training takes


class NeuralClassifier(Classifier):
    """A classifier whose networks read tokens in their order: words, or parts of words.

    Subclasses take settings of their own, and pass the others on to this class, which knows the
    fields of ``shared``.

    Attributes
    ----------
    reads
        The features whose tokens it reads.
    saves_memory
        What to do where memory will not do.
    networks_
        The trained networks.
    n_terms_
        Number of different tokens.
    shares_
        Share of the training documents that have each label, shape (L,): how labels of a text
        without a known token are ranked.
    history_
        An event for each evaluation while they were trained.
    """

    shared: ClassVar[type[Training]] = Training
    reads: ClassVar[str] = "words"
    saves_memory: ClassVar[str] = "lower batch or length"
    uses_validation: ClassVar[bool] = True

    batch: int
    device: str
    networks_: list[nn.Module]
    n_terms_: int
    shares_: NDArray[np.float32]
    history_: list[Event]
    _data: dict[str, Any]

    def __init__(self, **training: Any) -> None:
        for each in fields(self.shared):
            setattr(self, each.name, training.pop(each.name, each.default))
        if training:
            name = next(iter(training))
            raise TypeError(f"{type(self).__name__} has no setting {name!r}")

    @property
    def training(self) -> Training:
        """The settings of the loop."""
        return self.shared(**{each.name: getattr(self, each.name) for each in fields(self.shared)})

    def check_settings(self) -> None:
        """Refuse values of a wrong type or out of range, and a device that is not there."""
        super().check_settings()
        check_allowed(self.get_params(deep=False))
        open_fabric(self.training)

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return those of the training; a model adds its own."""
        return cls.shared.ranges()

    # --- learning -----------------------------------------------------------------------------

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        tokens = self._tokens(X)
        if not Y.nnz:
            raise InputError("none of the documents has a label")
        held = self._held_out(context, Y)
        validation = self._validation(context, tokens.n_terms, held)
        self._look(tokens, context.run.progress)
        estimate.check(self._memory(tokens, Y), device_of(self.device), self.saves_memory)
        self._data = _about((tokens, Y), validation)
        if context.run.resume and context.run.folder is not None:
            check_all(context.run.folder, self._belongs())
        self._prepare(X, Y, held, context)
        with limited_threads(self.threads), torch.random.fork_rng():
            torch.manual_seed(self.seed)
            self.n_terms_, self.n_labels_ = tokens.n_terms, int(Y.shape[1])
            self.shares_ = np.asarray(Y.mean(axis=0), np.float32)
            self._learn(tokens, Y, validation, context)

    def _tokens(self, X: Features, known: int | None = None) -> TokenSequences:
        """Return the tokens that are read, of ``known`` ones if those are settled."""
        if not isinstance(X, TokenSequences):
            raise InputError(
                f"{self.name} reads {self.reads} in their order: use the features {self.reads!r}, "
                f"not {type(X).__name__}"
            )
        if known is not None and X.n_terms != known:
            raise InputError(
                f"X has {X.n_terms:,} {self.reads}, but {self.name} learned with {known:,}: use "
                "the featurizer it was trained with"
            )
        return X

    def _prepare(
        self, X: Features, Y: csr_array, held: NDArray[np.int64] | None, context: FitContext
    ) -> None:
        """Make what the network learns from beside the texts; all has been checked by then.

        Parameters
        ----------
        X, Y
            What is learned from.
        held
            Which of the held-out documents are read in training, if any.
        context
            Of the whole training.
        """

    @abstractmethod
    def _readable(self, X: TokenSequences) -> NDArray[np.bool_]:
        """Tell which texts have anything that a network can read, shape (n,)."""

    @abstractmethod
    def _look(self, X: TokenSequences, progress: Progress) -> None:
        """Look at what there is to learn from, and say what of it will not be read."""

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
    def _sizes(self, X: TokenSequences, counts: NDArray[np.int64]) -> list[estimate.Size]:
        """Return the sizes of the networks of one member of the ensemble.

        Parameters
        ----------
        X
            Tokens to learn from.
        counts
            Documents of each label, shape (L,).
        """

    def _trial(self) -> Self:
        """Return a model like this one that passes twice over the documents, for `estimate`."""
        return self.fresh().set_params(epochs=2, evaluate_every=2**31, average_from=None)

    def _epochs(self, trial: Self) -> list[int]:
        """Return the epochs that each of the networks of a trial would have here."""
        return [self.training.epochs] * len(trial.networks_)

    @abstractmethod
    def _network(self, number: int) -> nn.Module:
        """Return the network of that number as it is built, for weights to be put into."""

    def _memory(self, X: TokenSequences, Y: csr_array) -> int:
        """Return the bytes that training needs at its peak."""
        sizes = self._sizes(X, np.bincount(Y.indices, minlength=Y.shape[1]))
        return estimate.memory(sizes, self.training, X.tokens.nbytes)

    def estimate(self, X: Features, Y: csr_array, context: FitContext) -> Estimate:
        """Tell what `fit` would take: its memory is computed, its time measured on some batches."""
        tokens, device = self._tokens(X), device_of(self.device)
        needed = self._memory(tokens, Y)
        estimate.check(needed, device, self.saves_memory)
        few = generator(self.seed, "trial").permutation(len(tokens))[: TRIAL * self.batch]
        quiet = replace(context, run=Run(), validation=None, documents=None)
        trial = self._trial().fit(X[few], Y[few], context=quiet)
        ends = [event["seconds"] for event in trial.history_]
        # the first pass also finds memory and builds kernels
        passes = [second - first for first, second in zip(ends[::2], ends[1::2], strict=True)]
        seconds = sum(each * n for each, n in zip(passes, self._epochs(trial), strict=True))
        if context.validation is not None:
            seconds *= 1.1
        return Estimate(seconds * len(tokens) / len(few), needed, estimate.free(device))

    def _belongs(self) -> dict[str, Any]:
        """Return what a checkpoint must have in common with this training."""
        same = ("threads", "device", "devices", "checkpoint_minutes", *RATES)  # whatever these are
        settings = {k: v for k, v in self.get_params(deep=False).items() if k not in same}
        return {"model": self.name, **settings, **self._data}

    def _begin(self, step: str) -> None:
        """Let a network have random weights of its own, whatever was trained before it or not."""
        torch.manual_seed(int(generator(self.seed, "weights", step).integers(2**63)))

    def _validation(
        self, context: FitContext, n_terms: int, held: NDArray[np.int64] | None
    ) -> tuple[TokenSequences, csr_array] | None:
        """Return those held-out documents that are read in training."""
        if context.validation is None or held is None:
            return None
        X, Y = context.validation
        return self._tokens(X, n_terms)[held], Y[held]

    def _held_out(self, context: FitContext, train: csr_array) -> NDArray[np.int64] | None:
        """Return which of the held-out documents are read in training, or say why none is."""
        if context.validation is None:
            context.run.progress.say("nothing is held out: training is not stopped early")
            return None
        _, Y = context.validation
        labelled = np.flatnonzero(np.diff(Y[:, : train.shape[1]].tocsr().indptr))
        if not len(labelled):
            context.run.progress.say(
                "no held-out document has a known label: training is not stopped early"
            )
            return None
        random = generator(self.seed, "validation")
        most = min(MOST_VALIDATION, max(3 * train.shape[0] // 10, FEW_VALIDATION))
        return np.sort(random.permutation(labelled)[:most])

    # --- ranking ------------------------------------------------------------------------------

    def _rank(self, X: Features, k: int) -> Ranking:
        tokens = self._tokens(X, self.n_terms_)
        with self._ready():
            ranking = self._rank_tokens(tokens, k)
        return self._with_unread(ranking, tokens, k)

    @contextmanager
    def _ready(self) -> Iterator[None]:
        """Let the networks be where they should be, to be asked and not to learn."""
        device = device_of(self.device)
        for network in self.networks_:
            network.to(device).eval()
        with limited_threads(self.threads), torch.inference_mode():
            yield

    def _with_unread(self, ranking: Ranking, X: TokenSequences, k: int) -> Ranking:
        """Give texts of which a network can read nothing the most frequent labels."""
        unread = ~self._readable(X)
        if unread.any():
            best = np.argsort(-self.shares_, kind="stable")[:k].astype(np.int32)
            ranking.labels[unread], ranking.scores[unread] = best, self.shares_[best]
        return ranking

    @abstractmethod
    def _rank_tokens(self, X: TokenSequences, k: int) -> Ranking:
        """Rank texts; the networks are where they should be."""

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
        state["n_terms_"]  # a KeyError tells of another version
        weights = {name: value for name, value in state.items() if name.startswith("network")}
        super().set_state({name: value for name, value in state.items() if name not in weights})
        self.networks_ = []
        while any(name.startswith(f"network{len(self.networks_)}.") for name in weights):
            prefix = f"network{len(self.networks_)}."
            network = self._network(len(self.networks_))
            own = {
                name.removeprefix(prefix): torch.from_numpy(np.array(value))
                for name, value in weights.items()
                if name.startswith(prefix)
            }
            try:
                network.load_state_dict(own)
            except RuntimeError as error:
                raise DamagedError(
                    f"the weights of this {self.name} are not those that its settings ask for, as "
                    "another version of labelgrove wrote it: train it again"
                ) from error
            self.networks_.append(network)


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
    X, Y = train
    arrays = [
        array
        for texts, labels in filter(None, (train, validation))
        for array in (texts.tokens, texts.offsets, labels.indptr, labels.indices)
    ]
    sizes = {"documents": Y.shape[0], "labels": Y.shape[1], "tokens": X.n_terms}
    return {**sizes, "checksum of the data": checksum(*arrays)}


def checksum(*arrays: NDArray[Any]) -> str:
    """Return what tells arrays from others."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
