"""What networks learn from texts and all their labels, and how they are scored while they do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from labelgrove.core.features import TokenSequences
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking, ndcg
from labelgrove.models.neural.parts.pooled import PooledNetwork
from labelgrove.models.neural.training.batches import bucketed, by_length, padded
from labelgrove.models.neural.training.loop import Objective
from labelgrove.models.neural.training.settings import Training
from labelgrove.models.neural.training.windows import Windows, best_of


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


class PooledLabels(AllLabels):
    """The loss of a network's own output layer, over texts or windows of them.

    Parameters
    ----------
    X, Y, validation, training
        As of `AllLabels`.
    windows
        How long texts are read: in training a window of each, drawn anew at each step.
    """

    def __init__(
        self,
        X: TokenSequences,
        Y: csr_array,
        validation: tuple[TokenSequences, csr_array] | None,
        training: Training,
        windows: Windows | None = None,
    ) -> None:
        super().__init__(X, Y, validation, training)
        self._windows = windows

    def batches(self, epoch: int) -> list[NDArray[np.int64]]:
        """Return batches of documents of which a like number of tokens is read."""
        random = generator(self._training.seed, "batches", epoch)
        lengths = self._X.lengths
        if self._windows is not None:
            lengths = np.minimum(lengths, self._windows.size)
        return bucketed(lengths, self._training.batch, random)

    def loss(self, network: nn.Module, rows: NDArray[np.int64]) -> Tensor:
        """Return the loss of the output layer."""
        if self._windows is None:
            tokens, lengths = padded(self._X, rows)
        else:
            tokens, lengths = padded(self._windows.drawn(self._X[rows]), np.arange(len(rows)))
        truth = self._Y[rows]
        texts = torch.from_numpy(np.repeat(np.arange(len(rows)), np.diff(truth.indptr)))
        labels = torch.from_numpy(truth.indices.astype(np.int64))
        device = next(network.parameters()).device
        given = (each.to(device) for each in (tokens, lengths, *self._beside(rows)))
        loss: Tensor = network(*given, rows=texts.to(device), labels=labels.to(device))
        return loss

    def _beside(self, rows: NDArray[np.int64]) -> tuple[Tensor, ...]:
        """Return what the network reads beside these texts."""
        return ()

    def score(self, network: nn.Module) -> float | None:
        """Return the mean nDCG@5 of held-out documents."""
        if self._validation is None:
            return None
        assert isinstance(network, PooledNetwork)
        X, Y = self._validation
        ranking = ranked(network, X, 5, self._training.batch, self._windows)
        return float(judged(ranking, Y).mean())


def ranked(
    network: PooledNetwork, X: TokenSequences, k: int, batch: int, windows: Windows | None = None
) -> Ranking:
    """Rank texts batch by batch, those of like length together; a text has its best window's."""
    pieces, owners = (X, np.arange(len(X))) if windows is None else windows.split(X)
    device = next(network.parameters()).device

    def rank(tokens: Tensor, lengths: Tensor, k: int) -> Ranking:
        return as_ranking(*network.rank(tokens, lengths, k))

    return best_of(in_batches(pieces, k, batch, device, rank), owners, len(X))


def in_batches(
    X: TokenSequences,
    k: int,
    batch: int,
    device: torch.device,
    rank: Callable[[Tensor, Tensor, int], Ranking],
) -> Ranking:
    """Rank texts batch by batch, those of like length together.

    Parameters
    ----------
    X
        Tokens of n texts.
    k
        Labels of each.
    batch
        Texts at once.
    device
        Where tokens go.
    rank
        Takes tokens (b, T), lengths (b,) and k.
    """
    labels = np.full((len(X), k), -1, np.int32)
    scores = np.zeros((len(X), k), np.float32)
    for rows in by_length(X.lengths, batch):
        tokens, lengths = (each.to(device) for each in padded(X, rows))
        found = rank(tokens, lengths, k).pad(k)
        labels[rows], scores[rows] = found.labels, found.scores
    return Ranking(labels, scores)


def top(probabilities: Tensor, k: int) -> Ranking:
    """Rank the labels of a batch by their probabilities (b, L)."""
    best, labels = probabilities.float().topk(min(k, probabilities.shape[1]), dim=1)
    return as_ranking(labels, best)


def as_ranking(labels: Tensor, probabilities: Tensor) -> Ranking:
    """Return labels (b, k) and their probabilities, best first, as a ranking."""
    chosen = labels.masked_fill(probabilities <= 0, -1)
    return Ranking(chosen.cpu().numpy().astype(np.int32), probabilities.cpu().numpy())


def judged(ranking: Ranking, Y: csr_array) -> NDArray[np.float64]:
    """Return the nDCG@5 of each text, shape (n,); NaN where the network gave no numbers."""
    found = np.where(np.isnan(ranking.scores).any(axis=1), np.nan, ndcg(ranking, Y, 5))
    return found.astype(np.float64)
