"""Models with a pretrained transformer and one vector for the whole text."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from labelgrove.core.features import Features, TokenSequences
from labelgrove.core.progress import Progress
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Explanation
from labelgrove.models.neural.explaining import path_gradients
from labelgrove.models.neural.objectives import PooledLabels, ranked
from labelgrove.models.neural.parts.cluster_sizes import weights_of
from labelgrove.models.neural.parts.label_clusters import new_output
from labelgrove.models.neural.parts.pooled import PooledNetwork, bottleneck
from labelgrove.models.neural.parts.pretrained import PretrainedReader, embedded
from labelgrove.models.neural.pretrained import PretrainedClassifier
from labelgrove.models.neural.training.estimate import Size
from labelgrove.models.neural.training.loop import Objective
from labelgrove.text.pretrained import Specials


class PooledPretrained(PretrainedClassifier):
    """A transformer's vector of the text, a layer behind it, and an output layer.

    Attributes
    ----------
    clusters_
        Labels in each cluster of the output layer; none if it is linear.
    """

    hidden: int
    dropout: float
    decay: float = 2.0
    gate_loss: bool = True
    bias: bool = True
    clusters_: list[int]

    @abstractmethod
    def _clusters(self, counts: NDArray[np.int64], n_inputs: int, n_documents: int) -> list[int]:
        """Return the labels in each cluster of the output layer; none if it is linear."""

    # --- learning -----------------------------------------------------------------------------

    def _objective(
        self, X: TokenSequences, Y: csr_array, validation: tuple[TokenSequences, csr_array] | None
    ) -> Objective:
        windows = self._windows(Specials.from_json(self.specials_))
        return PooledLabels(X, Y, validation, self.training, windows)

    def _settle(
        self, counts: NDArray[np.int64], n_documents: int, width: int, progress: Progress
    ) -> None:
        self.clusters_ = self._clusters(counts, self.hidden or width, n_documents)
        if self.clusters_:
            progress.say(f"labels in each cluster: {', '.join(map(str, self.clusters_))}")

    def _built(self, encoder: nn.Module, counts: NDArray[np.int64]) -> PooledNetwork:
        specials = Specials.from_json(self.specials_)
        reader = PretrainedReader(encoder, specials, self.pooling_)
        size = self.hidden or reader.n_outputs
        between: nn.Module = nn.Dropout(self.dropout)
        if self.hidden:
            between = bottleneck(reader.n_outputs, size, nn.Tanh(), self.dropout)
        clusters = (self.clusters_, self.decay, self.gate_loss, self.bias)
        output = new_output(size, counts, *clusters, n_documents=self._n_documents)
        return PooledNetwork(reader, between, output)

    # --- what it takes ------------------------------------------------------------------------

    def _sizes(self, X: TokenSequences, counts: NDArray[np.int64]) -> list[Size]:
        width = self._width
        hidden = self.hidden or width
        clusters = self._clusters(counts, hidden, len(X))
        added = width * self.hidden + weights_of(hidden, len(counts), clusters, self.decay)
        size = self._size(X, added)
        return [size._replace(batch=size.batch + 3 * self.batch * len(counts))]

    # --- ranking ------------------------------------------------------------------------------

    def _rank_tokens(self, X: TokenSequences, k: int) -> Ranking:
        windows = self._windows(Specials.from_json(self.specials_))
        return ranked(self._trained, X, k, self.batch, windows)

    @property
    def _trained(self) -> PooledNetwork:
        network = self.networks_[0]
        assert isinstance(network, PooledNetwork)
        return network

    def explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return how much each subword adds to the label's log odds; see `path_gradients`.

        Of a text in several windows that in which the label is likeliest is explained.
        """
        tokens, network = self._asked(X, i, label), self._trained
        reader = network.reader
        assert isinstance(reader, PretrainedReader)
        return self._best_window(
            tokens, lambda ids, lengths: _of_window(network, reader, ids, lengths, label)
        )


def _of_window(
    network: PooledNetwork, reader: PretrainedReader, tokens: Tensor, lengths: Tensor, label: int
) -> tuple[Tensor, float]:
    """Return what each of the tokens (1, T) adds to a label's log odds (T,), and these odds."""
    ids, types = reader.framed(tokens, lengths)
    first, n = len(reader.specials.before), int(lengths[0])
    own = slice(first, first + n)
    blank = ids.clone()
    blank[:, own] = reader.specials.pad

    def log_odds(vectors: Tensor) -> Tensor:
        given = {"inputs_embeds": vectors}
        n = len(vectors)
        read = reader.read(given, types.expand(n, -1), lengths.expand(n))
        chance = network.output.log_probability(network.between(read), label)
        return chance - torch.log1p(-chance.exp().clamp(max=1 - 1e-6))

    begin, end = (embedded(reader.encoder, each).detach() for each in (blank, ids))
    weights, odds = path_gradients(begin, end, log_odds)
    return weights[own], odds
