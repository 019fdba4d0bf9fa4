"""What is learned where a step judges some labels only, whichever way they are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from labelgrove.core.features import TokenSequences
from labelgrove.core.ranking import Ranking
from labelgrove.models.neural.objectives import AllLabels, judged
from labelgrove.models.neural.parts.attention_network import TextNetwork
from labelgrove.models.neural.parts.candidates import Truth
from labelgrove.models.neural.parts.descent import Descent, Reached, judges_of
from labelgrove.models.neural.parts.samplers import Chosen, Sampler
from labelgrove.models.neural.training.batches import by_length, padded
from labelgrove.models.neural.training.settings import Training


class Way(NamedTuple):
    """How held-out texts come to the nodes that a network judges last.

    Parameters
    ----------
    descent
        Down the tree.
    networks
        Those that are asked before it, from the first down.
    level, above
        Where the texts are before: a level, and for all of them nodes in it, shape (n, p); None
        for the root.
    """

    descent: Descent
    networks: Sequence[TextNetwork] = ()
    level: int = 0
    above: Reached | None = None


class SampledLabels(AllLabels):
    """Mean binary cross entropy over the labels that a sampler chooses.

    A network with a generator learns clusters in the same step: the mean binary cross entropy over
    all of them is added.

    Parameters
    ----------
    X, Y
        Words and labels to learn from.
    validation
        The same, held out.
    training
        For the size of batches and the seed of their order.
    sampler
        Chooses the labels.
    clusters
        The clusters of the documents, shape (n, K), for networks with a generator.
    way
        How held-out texts are ranked; None if all labels are judged for them.
    """

    def __init__(
        self,
        X: TokenSequences,
        Y: csr_array,
        validation: tuple[TokenSequences, csr_array] | None,
        training: Training,
        sampler: Sampler,
        clusters: csr_array | None = None,
        way: Way | None = None,
    ) -> None:
        super().__init__(X, Y, validation, training)
        self._sampler, self._truth = sampler, Truth(Y)
        self._clusters, self._way = clusters, way

    def loss(self, network: nn.Module, rows: NDArray[np.int64]) -> Tensor:
        """Return the mean over the chosen labels, plus that over clusters if these are learned."""
        if self._clusters is not None:
            return self._joint(network, rows, self._clusters)
        chosen = self._sampler.choose(rows)
        if chosen is None:
            return super().loss(network, rows)
        device = next(network.parameters()).device
        tokens, lengths = (each.to(device) for each in padded(self._X, rows))
        logits = network(tokens, lengths, torch.from_numpy(chosen.labels).to(device))
        return self._over(chosen, logits, rows)

    def _joint(self, network: nn.Module, rows: NDArray[np.int64], clusters: csr_array) -> Tensor:
        """Let the network's own clusters choose the labels, within its one pass over the words."""
        device = next(network.parameters()).device
        found: list[Chosen] = []

        def choose(scores: Tensor) -> Tensor:
            chosen = self._sampler.choose(rows, scores)
            assert chosen is not None
            found.append(chosen)
            return torch.from_numpy(chosen.labels).to(device)

        tokens, lengths = (each.to(device) for each in padded(self._X, rows))
        scores, logits = network(tokens, lengths, choose)
        truth = torch.from_numpy(clusters[rows].toarray()).to(device)
        return self._over(found[0], logits, rows) + binary_cross_entropy_with_logits(scores, truth)

    def _over(self, chosen: Chosen, logits: Tensor, rows: NDArray[np.int64]) -> Tensor:
        """Return the mean over the real candidates, logits (b, C)."""
        wanted = self._truth.holds(rows, chosen.labels).astype(np.float32)
        truth, real = (torch.from_numpy(each).to(logits.device) for each in (wanted, chosen.real))
        return binary_cross_entropy_with_logits(logits[real], truth[real])

    def score(self, network: nn.Module) -> float | None:
        """Return the mean nDCG@5 over what the network judges, of held-out documents."""
        if self._validation is None or self._way is None:
            return super().score(network)
        assert isinstance(network, TextNetwork)
        (X, Y), (descent, networks, level, above) = self._validation, self._way
        judges = judges_of([*networks, network])
        device = next(network.parameters()).device
        total = 0.0
        for rows in by_length(X.lengths, self._training.batch):
            tokens, lengths = (each.to(device) for each in padded(X, rows))
            start = above and Reached(above.nodes[rows], above.scores[rows])
            found = descent.go(judges, tokens, lengths, 5, start, level)
            ranking = Ranking(found.nodes.astype(np.int32), found.scores.numpy())
            total += float(judged(ranking, Y[rows]).sum())
        return total / len(X)
