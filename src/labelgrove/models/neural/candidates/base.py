"""What every way of choosing candidates promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.features import Features
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Explanation, FitContext
from labelgrove.models.neural.candidates.samplers import Everything, Sampler
from labelgrove.models.neural.network import Network
from labelgrove.models.neural.texts import Texts
from labelgrove.models.neural.training.checkpoint import checksum


class Blueprint(NamedTuple):
    """What one network judges.

    Parameters
    ----------
    counts
        Training documents of each label, or node of a tree's level, shape (L,); zeros where
        weights are put into the network next.
    n_documents
        Number of training documents.
    sparse
        Whether a training step touches only a few of very many labels.
    clusters
        Training documents of each cluster that a generator judges beside the labels, shape (K,);
        None for no generator.
    judged
        Labels that are judged for a text while learning, about; None for all.
    begins
        ``"zero"`` if it begins with log odds of 0, since others are added to its own; None where
        the model's own prior decides.
    """

    counts: NDArray[np.int64]
    n_documents: int = 0
    sparse: bool = False
    clusters: NDArray[np.int64] | None = None
    judged: int | None = None
    begins: Literal["zero"] | None = None


class TrainingData(NamedTuple):
    """Documents to learn from.

    Parameters
    ----------
    X, texts, Y
        All views of n documents, what a network reads of them, and their labels (n, L).
    held
        The same of held-out documents, if there are any.
    """

    X: Features
    texts: Texts
    Y: csr_array
    held: tuple[Features, Texts, csr_array] | None = None

    @property
    def counts(self) -> NDArray[np.int64]:
        """Documents of each label, shape (L,)."""
        return np.bincount(self.Y.indices, minlength=self.Y.shape[1])

    def identity(self) -> dict[str, Any]:
        """Return what tells these documents from others."""
        pairs = [(self.texts.tokens, self.Y)]
        if self.held is not None:
            pairs.append((self.held[1].tokens, self.held[2]))
        arrays = [
            array
            for texts, labels in pairs
            for array in (texts.tokens, texts.offsets, labels.indptr, labels.indices)
        ]
        return {
            "documents": self.Y.shape[0],
            "labels": self.Y.shape[1],
            "tokens": self.texts.tokens.n_terms,
            "checksum of the data": checksum(*arrays),
        }


@dataclass(frozen=True, eq=False)
class Step:
    """One network to train.

    Parameters
    ----------
    title
        Of the network, for progress and the folder of its checkpoints.
    blueprint
        What it judges.
    Y
        What is true of the training documents, shape (n, L).
    held
        What is true of the held-out ones.
    rank
        Ranks texts by the network while it learns: takes the network, texts and k.
    sampler
        Chooses the candidates of a training step.
    clusters
        The clusters that documents have, shape (n, K), where the network's generator chooses.
    member
        Number of the member of an ensemble, which is added to the seed.
    above
        The network whose weights it begins with, if it is not the first of a tree.
    """

    title: str
    blueprint: Blueprint
    Y: csr_array
    held: csr_array | None
    rank: Callable[[Network, Texts, int], Ranking]
    sampler: Sampler = field(default_factory=Everything)
    clusters: csr_array | None = None
    member: int = 0
    above: Network | None = None


class Candidates(ABC):
    """Which labels are judged, when networks learn and when they rank."""

    batch: int  # texts that are ranked at once
    why_no_onnx: ClassVar[str] = ""  # why networks alone cannot rank, where they cannot

    def use(self, batch: int, threads: int | None) -> None:
        """Rank so many texts at once from now on, with so many threads."""
        self.batch = batch

    @abstractmethod
    def expected(self, counts: NDArray[np.int64], n_documents: int) -> list[Blueprint]:
        """Return about what each network will judge, to estimate memory.

        Parameters
        ----------
        counts
            Training documents of each label, shape (L,).
        n_documents
            Number of training documents.
        """

    def prepare(self, data: TrainingData, context: FitContext) -> dict[str, Any]:
        """Make what the steps need; return what a checkpoint must have in common with it."""
        return {}

    @abstractmethod
    def steps(
        self, networks: Sequence[Network], data: TrainingData, context: FitContext
    ) -> Iterator[Step]:
        """Return the networks to train, one after the other.

        Parameters
        ----------
        networks
            Those that are trained already; the caller adds each before it asks for the next.
        data
            What they learn from.
        context
            Of the whole training.
        """

    @abstractmethod
    def rank(self, networks: Sequence[Network], X: Features, texts: Texts, k: int) -> Ranking:
        """Rank texts by trained networks."""

    def rank_unread(self, X: Features, k: int) -> Ranking | None:
        """Rank texts of which networks can read nothing; None where frequencies do."""
        return None

    def judging(self, networks: Sequence[Network]) -> list[Network]:
        """Return those networks that judge labels, one a member of the ensemble."""
        return list(networks)

    def shortlist(
        self, X: Features, i: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]] | None:
        """Return the candidates of row i and their log odds, shapes (C,); None for all labels."""
        return None

    def explain(self, X: Features, i: int, label: int) -> Explanation | None:
        """Explain a label that networks do not judge; None where they judge all."""
        return None

    @abstractmethod
    def blueprints(self) -> list[Blueprint]:
        """Return what trained networks judge, so that saved weights can be put into new ones."""

    def below_others(self, n_networks: int) -> list[bool]:
        """Tell which networks were trained below another one."""
        return [False] * n_networks

    def state(self) -> dict[str, Any]:
        """Return arrays and plain values that `set_state` needs."""
        return {}

    @abstractmethod
    def set_state(self, state: Mapping[str, Any], n_labels: int) -> None:
        """Take over what `state` returned, for so many labels."""
