"""What is learned from texts that are read with teacher knowledge, and how labels are ranked."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from labelgrove.core.features import TokenSequences
from labelgrove.core.ranking import Ranking
from labelgrove.models.neural.objectives import PooledLabels, as_ranking, judged
from labelgrove.models.neural.parts.pooled import PooledNetwork
from labelgrove.models.neural.training.batches import by_length, padded
from labelgrove.models.neural.training.settings import Training


class Lessons:
    """Teacher knowledge of many texts.

    Parameters
    ----------
    shares
        Of labels and their parents in the knowledge of each text, shape (n, N).
    words
        Words that describe them, shape (N, D).
    """

    def __init__(self, shares: csr_array, words: NDArray[np.int32]) -> None:
        self.shares, self.words = shares, words

    def of(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Return shares (b, U) for some texts of the U labels that any of them is told, (U, D)."""
        some = self.shares[rows]
        told, places = np.unique(some.indices, return_inverse=True)
        found = csr_array((some.data, places, some.indptr), shape=(len(rows), len(told)))
        words = self.words[told].astype(np.int64)
        return torch.from_numpy(found.toarray()), torch.from_numpy(words)


class TaughtLabels(PooledLabels):
    """The loss of the output layer over texts that are read with teacher knowledge.

    Parameters
    ----------
    X, Y, validation, training
        As of `PooledLabels`.
    lessons, held
        Of the texts, and of those held out.
    """

    def __init__(
        self,
        X: TokenSequences,
        Y: csr_array,
        validation: tuple[TokenSequences, csr_array] | None,
        training: Training,
        lessons: Lessons,
        held: Lessons | None,
    ) -> None:
        super().__init__(X, Y, validation, training)
        self._lessons, self._held = lessons, held

    def _beside(self, rows: NDArray[np.int64]) -> tuple[Tensor, ...]:
        return self._lessons.of(rows)

    def score(self, network: nn.Module) -> float | None:
        """Return the mean nDCG@5 of held-out documents."""
        if self._validation is None or self._held is None:
            return None
        assert isinstance(network, PooledNetwork)
        X, Y = self._validation
        return float(judged(ranked(network, X, self._held, 5, self._training.batch), Y).mean())


def ranked(
    network: PooledNetwork, X: TokenSequences, lessons: Lessons, k: int, batch: int
) -> Ranking:
    """Rank texts with their teacher knowledge batch by batch, those of like length together."""
    ranking = Ranking.empty(len(X), k)
    device = next(network.parameters()).device
    for rows in by_length(X.lengths, batch):
        tokens, lengths, *beside = (
            each.to(device) for each in (*padded(X, rows), *lessons.of(rows))
        )
        found = as_ranking(*network.rank(tokens, lengths, k, *beside)).pad(k)
        ranking.labels[rows], ranking.scores[rows] = found.labels, found.scores
    return ranking
