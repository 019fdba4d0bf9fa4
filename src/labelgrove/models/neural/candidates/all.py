"""All labels are judged: always, or, while learning, only some drawn at random."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from labelgrove.core.features import Features
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import FitContext
from labelgrove.models.neural.candidates.base import Blueprint, Candidates, Step, TrainingData
from labelgrove.models.neural.candidates.samplers import Everything, Uniform
from labelgrove.models.neural.network import Network
from labelgrove.models.neural.readers.base import Batch
from labelgrove.models.neural.texts import Texts, as_ranking, device_of_network, rank_in_batches


@dataclass
class AllLabels(Candidates):
    """Every label of every text is judged.

    Parameters
    ----------
    batch
        Texts that are ranked at once.
    ensemble
        Networks whose probabilities are averaged.
    drawn
        Labels that a training step judges for a text: its own, and others at random. None for
        all.
    why
        Why all labels are judged, if a user should be told.
    """

    batch: int
    ensemble: int = 1
    drawn: int | None = None
    why: str = ""
    n_labels: int = 0

    def expected(self, counts: NDArray[np.int64], n_documents: int) -> list[Blueprint]:
        """Return the same for each network."""
        judged = None if self.drawn is None else min(self.drawn, len(counts))
        sparse = self.drawn is not None
        return [Blueprint(counts, n_documents, sparse, judged=judged)] * self.ensemble

    def steps(
        self, networks: Sequence[Network], data: TrainingData, context: FitContext
    ) -> Iterator[Step]:
        """Return one step a member of the ensemble."""
        if self.why:
            context.run.progress.say(self.why)
        self.n_labels = int(data.Y.shape[1])
        sampler = Everything() if self.drawn is None else Uniform(data.Y, self.drawn)
        for number, blueprint in enumerate(self.expected(data.counts, len(data.texts))):
            yield Step(
                f"network {number + 1}",
                blueprint,
                data.Y,
                data.held and data.held[2],
                partial(rank_one, batch=self.batch),
                sampler,
                member=number,
            )

    def rank(self, networks: Sequence[Network], X: Features, texts: Texts, k: int) -> Ranking:
        """Rank texts; several networks by the mean of their probabilities."""
        return rank_all(networks, texts, min(k, self.n_labels), self.batch)

    def blueprints(self) -> list[Blueprint]:
        """Return what trained networks judge."""
        return self.expected(np.zeros(self.n_labels, np.int64), 0)

    def set_state(self, state: Mapping[str, Any], n_labels: int) -> None:
        """Take over how many labels there are."""
        self.n_labels = n_labels


def rank_one(network: Network, texts: Texts, k: int, batch: int) -> Ranking:
    """Rank all labels of texts by one network, ``batch`` texts at once."""
    return rank_all([network], texts, k, batch)


def rank_all(networks: Sequence[Network], texts: Texts, k: int, size: int) -> Ranking:
    """Rank all labels of texts, ``size`` texts at once."""

    def rank(batch: Batch, rows: NDArray[np.int64]) -> Ranking:
        if len(networks) == 1:
            return as_ranking(*networks[0].rank(batch, k))
        chances = torch.stack([each.logits(batch).float().sigmoid() for each in networks]).mean(0)
        best, labels = chances.topk(min(k, chances.shape[1]), dim=1)
        return as_ranking(labels, best)

    return rank_in_batches(texts, k, size, device_of_network(networks[0]), rank)
