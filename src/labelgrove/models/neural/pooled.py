"""What XML-CNN and XML-RNN share: they differ by their encoders only."""

from __future__ import annotations

from abc import abstractmethod

import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from labelgrove.core.features import TokenSequences
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import FitContext
from labelgrove.models.neural.classifier import AllLabels, NeuralClassifier, fit_network, top
from labelgrove.models.neural.parts.embedding import WordEmbedding
from labelgrove.models.neural.parts.encoders import BiLSTM, Convolutions
from labelgrove.models.neural.parts.pooled import PooledNetwork
from labelgrove.models.neural.training.estimate import Size


class PooledClassifier(NeuralClassifier):
    """One vector for the whole text, and a linear layer to all labels."""

    bottleneck: int
    dropout: float
    vector_size_: int

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
        network = self._built(vectors)
        objective = AllLabels(X, Y, validation, self.training)
        self.history_ = fit_network(network, objective, self, context)
        self.networks_ = [network.cpu()]

    def _built(self, vectors: Tensor) -> PooledNetwork:
        words = WordEmbedding(vectors, self.train_vectors, self.vector_dropout)
        return PooledNetwork(
            words, self._encoder(self.vector_size_), self.bottleneck, self.n_labels_, self.dropout
        )

    def _sizes(self, n_words: int, n_labels: int, longest: int) -> list[Size]:
        inputs = self.vector_size or 300
        encoder = self._encoder(inputs)
        layers = self.bottleneck * (encoder.n_outputs + n_labels)
        weights = n_words * inputs + sum(each.numel() for each in encoder.parameters()) + layers
        step = longest * (2 * inputs + self._per_word) + 3 * n_labels
        return [Size(weights, self.batch * step)]

    def _network(self, number: int) -> nn.Module:
        return self._built(torch.zeros(self.n_words_, self.vector_size_))

    def _rank_batch(self, tokens: Tensor, lengths: Tensor, k: int) -> Ranking:
        return top(self.networks_[0](tokens, lengths).sigmoid(), k)
