"""What every reader promises: text in, a `Reading` out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from labelgrove.core.features import TokenSequences
from labelgrove.core.progress import Progress
from labelgrove.core.types import FitContext, ViewSpec
from labelgrove.models.neural.priors.votes import BatchVotes
from labelgrove.models.neural.training.windows import Windows


class Batch(NamedTuple):
    """Some texts, with all that a network may be told about them.

    Parameters
    ----------
    tokens, lengths
        Token ids, shape (b, T), padded behind, and how many each text has, shape (b,).
    labels
        The candidates of each text, shape (b, C), -1 behind them for none; None for all labels.
    prior
        Log odds that these labels start from, shape (b, C), or (b, L) for all; None for none.
    shares, lessons
        Teacher knowledge: the share of each of U labels in what a text is told, shape (b, U), and
        the words that describe these labels, shape (U, D); None for none.
    votes
        How similar documents shift the log odds of labels; None for not at all.
    """

    tokens: Tensor
    lengths: Tensor
    labels: Tensor | None = None
    prior: Tensor | None = None
    shares: Tensor | None = None
    lessons: Tensor | None = None
    votes: BatchVotes | None = None

    def to(self, device: torch.device) -> Batch:
        """Return the same on a device."""
        votes = None if self.votes is None else self.votes.to(device)
        return self._mapped(lambda each: each.to(device))._replace(votes=votes)

    def repeated(self, n: int) -> Batch:
        """Return its one text n times."""
        own = self._replace(lessons=None)  # lessons are no text's own
        many = own._mapped(lambda each: each.expand(n, *each.shape[1:]))
        votes = None if self.votes is None else self.votes.repeated(n)
        return many._replace(lessons=self.lessons, votes=votes)

    def _mapped(self, change: Callable[[Tensor], Tensor]) -> Batch:
        """Return a batch without votes, of which all else is changed."""
        others = (self.labels, self.prior, self.shares, self.lessons)
        labels, prior, shares, lessons = (None if each is None else change(each) for each in others)
        return Batch(change(self.tokens), change(self.lengths), labels, prior, shares, lessons)


@dataclass(eq=False)
class Reading:
    """What was read of a batch of texts.

    Parameters
    ----------
    vectors
        One for each token, shape (b, T, d).
    mask
        Which of them are no padding, shape (b, T), bool.
    pool
        Makes one vector of each text.
    labels
        Vectors of the candidates, shape (b, C, d), from a reader that reads labels too.
    """

    vectors: Tensor
    mask: Tensor
    pool: Callable[[], Tensor]
    labels: Tensor | None = None

    @cached_property
    def pooled(self) -> Tensor:
        """One vector for each text, shape (b, p); computed when a scorer asks for it."""
        return self.pool()


class Reader(nn.Module, ABC):
    """Reads texts.

    Attributes
    ----------
    n_vector
        Size d of a token's vector.
    n_pooled
        Size p of a text's vector.
    """

    n_vector: int
    n_pooled: int

    def forward(self, batch: Batch) -> Reading:
        """Read texts."""
        return self.read(batch, self.embed(batch))

    @abstractmethod
    def embed(self, batch: Batch) -> Tensor:
        """Return the vectors (b, W, e) that reading begins with."""

    @abstractmethod
    def read(self, batch: Batch, vectors: Tensor) -> Reading:
        """Read texts whose tokens begin with these vectors (b, W, e)."""

    @abstractmethod
    def blank(self, batch: Batch) -> Tensor:
        """Return the vectors of `embed` for texts that say nothing, of the same shape."""

    def own(self, batch: Batch) -> slice:
        """Return where among the W vectors the tokens of the text stand."""
        return slice(0, batch.tokens.shape[1])

    @abstractmethod
    def kept(self, longest: int, judged: int) -> int:
        """Return the numbers that learning keeps for one text, to estimate memory.

        Parameters
        ----------
        longest
            Tokens of the longest text.
        judged
            Labels that are judged for a text, which some readers read as well.
        """


class WrappedReader(Reader):
    """A reader around another one, from which its text comes.

    Parameters
    ----------
    inner
        Reads the text.
    """

    def __init__(self, inner: Reader) -> None:
        super().__init__()
        self.inner = inner
        self.n_vector, self.n_pooled = inner.n_vector, inner.n_pooled

    def embed(self, batch: Batch) -> Tensor:
        """Return the vectors (b, W, e) that reading of the text begins with."""
        return self.inner.embed(batch)

    def blank(self, batch: Batch) -> Tensor:
        """Return the same for texts that say nothing."""
        return self.inner.blank(batch)

    def own(self, batch: Batch) -> slice:
        """Return where the tokens of the text stand."""
        return self.inner.own(batch)


class Input(ABC):
    """Which tokens of a text are read, and the reader that a network begins with.

    Attributes
    ----------
    reads
        The features that it needs: ``"words"`` or ``"subwords"``.
    windows
        How long texts are read in parts; None where they are cut.
    """

    reads: ClassVar[str]
    saves_memory: ClassVar[str] = "lower batch or length"
    windows: Windows | None = None

    @property
    @abstractmethod
    def n_terms(self) -> int:
        """Number of different tokens that readers have vectors for."""

    @abstractmethod
    def view(self) -> ViewSpec:
        """Return the features that it needs."""

    @abstractmethod
    def check_needs(self) -> None:
        """Refuse, before texts are read, files or models that cannot be had."""

    @abstractmethod
    def cut(self, X: TokenSequences) -> TokenSequences:
        """Return texts without what is never read."""

    @abstractmethod
    def readable(self, X: TokenSequences) -> NDArray[np.bool_]:
        """Tell which texts have anything that a network can read, shape (n,)."""

    @abstractmethod
    def look(self, X: TokenSequences, progress: Progress) -> None:
        """Look at the training texts, and say what of them will not be read."""

    @abstractmethod
    def prepare(self, X: TokenSequences, n_labels: int, context: FitContext) -> None:
        """Load or make the weights that readers begin with.

        Parameters
        ----------
        X
            The training texts.
        n_labels
            Number of labels, for what reads labels too.
        context
            Of the whole training.
        """

    @abstractmethod
    def reader(self, n_labels: int) -> Reader:
        """Return a new reader: with the weights of `prepare`, or with any after `set_state`."""

    def release(self) -> None:  # noqa: B027
        """Let go what only new networks need: all are made."""

    @abstractmethod
    def sketch(self, n_terms: int, n_labels: int) -> Reader:
        """Return a reader without weights, on the device ``meta``, to ask for its size."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return what `set_state` needs to build the same reader."""

    @abstractmethod
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` returned."""

    def belongs(self) -> dict[str, Any]:
        """Return what a checkpoint must have in common with this input, beside settings."""
        return {}


def mask_of(lengths: Tensor, width: int) -> Tensor:
    """Return which of ``width`` places hold a token, shape (b, width), bool."""
    return torch.arange(width, device=lengths.device) < lengths[:, None]


def mean_of(vectors: Tensor, mask: Tensor) -> Tensor:
    """Return the mean (b, d) of those vectors (b, T, d) that are no padding."""
    return (vectors * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)
