"""What a network learns: the labels of texts, all of them or candidates."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking, ndcg
from labelgrove.core.types import FitContext
from labelgrove.evaluation import tune_threshold
from labelgrove.models.neural.candidates.nodes import Truth
from labelgrove.models.neural.candidates.samplers import Sampled, Sampler
from labelgrove.models.neural.network import Chosen, Network
from labelgrove.models.neural.plateau import plateau_above
from labelgrove.models.neural.readers.base import Batch
from labelgrove.models.neural.scorers.base import Positives
from labelgrove.models.neural.texts import Texts
from labelgrove.models.neural.training.batches import batch_for, bucketed
from labelgrove.models.neural.training.loop import Objective
from labelgrove.models.neural.training.settings import Training

Measure = Literal["nDCG@5", "micro-F1"]
MOST_VALIDATION = 4000  # documents that an evaluation reads at most, or three tenths of the others
FEW_VALIDATION = 100  # held-out documents that are read however few documents are learned from
DEPTH = {"nDCG@5": 5, "micro-F1": 200}  # labels of a held-out text that are looked at


class LabelObjective(Objective):
    """The loss of a network over labels, and how well it ranks held-out texts.

    Parameters
    ----------
    texts, Y
        What is learned from, n texts and their labels, or nodes of a tree's level, shape (n, L).
    sampler
        Chooses the candidates of a training step.
    clusters
        The clusters that documents have, shape (n, K), for a network whose generator chooses.
    held
        Held-out texts and their labels, if there are any.
    rank
        Ranks texts by the network that learns: takes the network, texts and k.
    measure
        How rankings of held-out texts are scored. ``"micro-F1"`` is that of the best threshold:
        with one half it would stand still while no label is yet as probable.
    training
        For the size of batches and the seed of their order.
    scores_start
        Whether the network begins with the ranking of a first stage, which is then kept unless
        training finds a better one.
    """

    def __init__(
        self,
        texts: Texts,
        Y: csr_array,
        sampler: Sampler,
        clusters: csr_array | None,
        held: tuple[Texts, csr_array] | None,
        rank: Callable[[Network, Texts, int], Ranking],
        measure: Measure,
        training: Training,
        scores_start: bool = False,
    ) -> None:
        self._texts, self._Y, self._truth = texts, Y, Truth(Y)
        self._sampler, self._clusters = sampler, clusters
        self._held, self._rank, self._measure = held, rank, measure
        self._training, self._scores_start = training, scores_start

    @property
    def scores_start(self) -> bool:
        """Whether the network begins with the ranking of a first stage."""
        return self._scores_start

    @cached_property
    def frequency(self) -> float | None:
        """How well the frequency of labels alone ranks held-out documents, as `score`."""
        if self._held is None:
            return None
        counts = np.bincount(self._Y.indices, minlength=self._Y.shape[1])
        best = np.argsort(-counts, kind="stable")[: DEPTH[self._measure]]
        shape = (len(self._held[0]), len(best))
        shares = (counts[best] / self._Y.shape[0]).astype(np.float32)
        return self._measured(
            Ranking(np.broadcast_to(best.astype(np.int32), shape), np.broadcast_to(shares, shape))
        )

    @property
    def plateau(self) -> float | None:
        """The score up to which a network without a first stage learned next to nothing."""
        known = self.frequency
        return None if known is None or self._scores_start else plateau_above(known)

    @property
    def measure(self) -> str:
        """The metric by which weights are chosen on held-out documents."""
        return self._measure

    @property
    def n_validation(self) -> int:
        """Number of documents behind `score`."""
        return 0 if self._held is None else len(self._held[0])

    def batches(self, epoch: int) -> list[NDArray[np.int64]]:
        """Return batches of documents of which a like number of tokens is read."""
        random = generator(self._training.seed, "batches", epoch)
        size = self._training.batch or batch_for(len(self._texts))
        return bucketed(self._texts.lengths, size, random)

    def loss(self, network: nn.Module, rows: NDArray[np.int64]) -> Tensor:
        """Return the mean loss of a batch."""
        device = next(network.parameters()).device
        batch = self._texts.drawn(rows).to(device)
        if self._clusters is not None:
            return self._generated(network, batch, rows, device)
        sampled = self._sampler.choose(rows)
        if sampled is None:
            loss: Tensor = network(batch, self._positives(rows, device))
            return loss
        chosen = self._chosen(sampled, rows, device)
        batch = batch._replace(labels=chosen.labels)
        if sampled.odds is not None:
            batch = batch._replace(prior=torch.from_numpy(sampled.odds).to(device))
        judged: Tensor = network(batch, chosen.true)
        return judged

    def _generated(
        self, network: nn.Module, batch: Batch, rows: NDArray[np.int64], device: torch.device
    ) -> Tensor:
        """Let the network's own clusters choose the labels, within its one pass over the text."""
        assert self._clusters is not None
        truth = torch.from_numpy(self._clusters[rows].toarray()).to(device)

        def choose(clusters: Tensor) -> Chosen:
            sampled = self._sampler.choose(rows, clusters)
            assert sampled is not None
            return self._chosen(sampled, rows, device)

        loss: Tensor = network(batch, truth, choose)
        return loss

    def _positives(self, rows: NDArray[np.int64], device: torch.device) -> Positives:
        truth = self._Y[rows]
        texts = np.repeat(np.arange(len(rows)), np.diff(truth.indptr))
        labels = truth.indices.astype(np.int64)
        return Positives(torch.from_numpy(texts).to(device), torch.from_numpy(labels).to(device))

    def _chosen(self, sampled: Sampled, rows: NDArray[np.int64], device: torch.device) -> Chosen:
        labels = np.where(sampled.real, sampled.labels, -1)
        true = self._truth.holds(rows, labels)
        return Chosen(torch.from_numpy(labels).to(device), torch.from_numpy(true).to(device))

    def score(self, network: nn.Module) -> float | None:
        """Return how well held-out documents are ranked; NaN if the network gave no numbers."""
        if self._held is None:
            return None
        assert isinstance(network, Network)
        ranking = self._rank(network, self._held[0], DEPTH[self._measure])
        return float("nan") if np.isnan(ranking.scores).any() else self._measured(ranking)

    def _measured(self, ranking: Ranking) -> float:
        assert self._held is not None
        if self._measure == "micro-F1":
            return tune_threshold(self._held[1], ranking, goal="micro-F1").score
        return float(ndcg(ranking, self._held[1], 5).mean())


def held_out_rows(context: FitContext, train: csr_array, seed: int) -> NDArray[np.int64] | None:
    """Return which held-out documents are read in training, shape (n,), or say why none is.

    Parameters
    ----------
    context
        With the held-out documents.
    train
        Labels of the training documents, shape (n, L).
    seed
        Of the choice, where there are too many.
    """
    if context.validation is None:
        context.run.progress.say("nothing is held out: training is not stopped early")
        return None
    Y = context.validation[1]
    labelled = np.flatnonzero(np.diff(Y[:, : train.shape[1]].tocsr().indptr))
    if not len(labelled):
        context.run.progress.say(
            "no held-out document has a known label: training is not stopped early"
        )
        return None
    most = min(MOST_VALIDATION, max(3 * train.shape[0] // 10, FEW_VALIDATION))
    return np.sort(generator(seed, "validation").permutation(labelled)[:most])
