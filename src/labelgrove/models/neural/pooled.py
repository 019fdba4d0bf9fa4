"""What XML-CNN and XML-RNN share: they differ by their encoders only."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from labelgrove.core.features import TokenSequences
from labelgrove.core.ranges import Range, Real, Whole
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import FitContext
from labelgrove.models.neural.classifier import fit_network
from labelgrove.models.neural.objectives import PooledLabels, ranked
from labelgrove.models.neural.parts.cluster_sizes import sizes_for, weights_of
from labelgrove.models.neural.parts.embedding import WordEmbedding
from labelgrove.models.neural.parts.encoders import BiLSTM, Convolutions
from labelgrove.models.neural.parts.label_clusters import new_output
from labelgrove.models.neural.parts.pooled import PooledNetwork, WordReader, bottleneck
from labelgrove.models.neural.training.estimate import Size
from labelgrove.models.neural.training.settings import PooledTraining, Training
from labelgrove.models.neural.words import WordClassifier


class PooledClassifier(WordClassifier):
    """One vector for the whole text, and an output layer to all labels.

    Attributes
    ----------
    clusters_
        Labels in each cluster of the output layer; none if it is linear.
    """

    shared: ClassVar[type[Training]] = PooledTraining

    bottleneck: int
    dropout: float
    output: Literal["linear", "clusters"]
    clusters: Literal["auto"] | Sequence[float]
    decay: float
    clusters_: list[int]

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return also those of the layer between text and labels."""
        return {
            **super().ranges(),
            "bottleneck": Whole(128, 1024, log=True),
            "dropout": Real(0.1, 0.7),
        }

    @abstractmethod
    def _encoder(self, n_inputs: int) -> BiLSTM | Convolutions:
        """Return a new encoder of vectors of so many numbers."""

    @property
    @abstractmethod
    def _per_word(self) -> int:
        """Numbers that the encoder keeps for each word while it learns."""

    def _learn(
        self,
        X: TokenSequences,
        Y: csr_array,
        validation: tuple[TokenSequences, csr_array] | None,
        context: FitContext,
    ) -> None:
        vectors = self._vectors(X, context)
        self.vector_size_ = int(vectors.shape[1])
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        self.clusters_ = self._clusters(counts, len(X))
        network = self._built(vectors, counts)
        objective = PooledLabels(X, Y, validation, self.training)
        self.history_ = fit_network(network, objective, self, context)
        self.networks_ = [network.cpu()]

    def _clusters(self, counts: NDArray[np.int64], n_documents: int) -> list[int]:
        if self.output == "linear":
            return []
        return sizes_for(
            self.clusters, counts, self.bottleneck, self.decay, self.batch, n_documents
        )

    def _built(self, vectors: Tensor, counts: NDArray[np.int64]) -> PooledNetwork:
        words = WordEmbedding(vectors, self.train_vectors, self.vector_dropout)
        reader = WordReader(words, self._encoder(self.vector_size_))
        between = bottleneck(reader.n_outputs, self.bottleneck, nn.ReLU(), self.dropout)
        output = new_output(self.bottleneck, counts, self.clusters_, self.decay)
        return PooledNetwork(reader, between, output)

    def _sizes(self, X: TokenSequences, counts: NDArray[np.int64]) -> list[Size]:
        inputs = self.vector_size or 300
        encoder = self._encoder(inputs)
        clusters = self._clusters(counts, len(X))
        layers = self.bottleneck * encoder.n_outputs
        layers += weights_of(self.bottleneck, len(counts), clusters, self.decay)
        weights = X.n_terms * inputs + sum(each.numel() for each in encoder.parameters()) + layers
        longest = int(X.lengths.max(initial=1))
        step = longest * (2 * inputs + self._per_word) + 3 * len(counts)
        return [Size(weights, self.batch * step)]

    def _network(self, number: int) -> nn.Module:
        counts = np.zeros(self.n_labels_, np.int64)
        return self._built(torch.zeros(self.n_terms_, self.vector_size_), counts)

    def _rank_tokens(self, X: TokenSequences, k: int) -> Ranking:
        network = self.networks_[0]
        assert isinstance(network, PooledNetwork)
        return ranked(network, X, k, self.batch)
