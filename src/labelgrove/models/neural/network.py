"""A network: a reader, a scorer behind it, and what it may know beforehand."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from labelgrove.models.neural.readers.base import Batch, Reader
from labelgrove.models.neural.scorers.base import Positives, Scorer


class Chosen(NamedTuple):
    """Candidates of a batch.

    Parameters
    ----------
    labels
        Shape (b, C), -1 for none.
    true
        Which of them the texts have, shape (b, C), bool.
    """

    labels: Tensor
    true: Tensor


class Network(nn.Module):
    """Reads texts and judges labels.

    Parameters
    ----------
    reader
        Turns texts into vectors.
    scorer
        Turns vectors into log odds of labels.
    weighs_prior
        Add the prior of a batch to these log odds, times a weight that is learned and begins at 1.
    weighs_votes
        Add the shifts by votes of similar documents, times a learned weight. It begins at 1, or,
        beside a prior, at 0, so that the network begins as good as that.
    generator
        Judges clusters from which a training step chooses its candidates.

    Attributes
    ----------
    rates
        The names of settings that hold the learning rate of parts, by the beginning of the names
        of their weights. All others learn with ``learning_rate``.
    rate_shares
        Factors on the learning rate of single weights, by name.
    """

    def __init__(
        self,
        reader: Reader,
        scorer: Scorer,
        *,
        weighs_prior: bool = False,
        weighs_votes: bool = False,
        generator: Scorer | None = None,
    ) -> None:
        super().__init__()
        self.reader, self.scorer, self.generator = reader, scorer, generator
        self.prior_weight = nn.Parameter(torch.ones(())) if weighs_prior else None
        first = torch.tensor(0.0 if weighs_prior else 1.0)
        self.votes_weight = nn.Parameter(first) if weighs_votes else None
        self.leaves_parts_out = scorer.leaves_parts_out
        self.rates: dict[str, str] = {}
        self.rate_shares: dict[str, float] = {}

    def forward(
        self,
        batch: Batch,
        truth: Positives | Tensor,
        choose: Callable[[Tensor], Chosen] | None = None,
    ) -> Tensor:
        """Return the loss of a batch, shape ().

        Parameters
        ----------
        batch
            Texts, with candidates or for all labels.
        truth
            Which of the batch's labels are true; where the generator chooses them, which clusters
            are, shape (b, K).
        choose
            Chooses candidates by the generator's log odds (b, K).
        """
        reading = self.reader(batch)
        if choose is None:
            return self.scorer.loss(reading, batch.labels, self.prior(batch), truth)
        assert self.generator is not None
        assert isinstance(truth, Tensor)
        clusters = self.generator.logits(reading, None, None).float()
        chosen = choose(clusters)
        loss = self.scorer.loss(reading, chosen.labels, None, chosen.true)
        return loss + binary_cross_entropy_with_logits(clusters, truth)

    def prior(self, batch: Batch) -> Tensor | None:
        """Return what is added to the log odds of a batch's labels, (b, C) or (b, L)."""
        parts = []
        if self.prior_weight is not None and batch.prior is not None:
            parts.append(self.prior_weight * batch.prior)
        if (voted := self.voted(batch)) is not None:
            parts.append(voted)
        return sum(parts[1:], parts[0]) if parts else None

    def voted(self, batch: Batch) -> Tensor | None:
        """Return what votes add to the log odds of a batch's labels, (b, C) or (b, L)."""
        if self.votes_weight is None or batch.votes is None:
            return None
        votes = batch.votes
        shifts = votes.of_all() if batch.labels is None else votes.of(batch.labels)
        return self.votes_weight * shifts

    def logits(self, batch: Batch) -> Tensor:
        """Return the log odds of a batch's candidates (b, C), or of all labels (b, L)."""
        return self.scorer.logits(self.reader(batch), batch.labels, self.prior(batch))

    def rank(self, batch: Batch, k: int) -> tuple[Tensor, Tensor]:
        """Return the best of all labels and their probabilities, both (b, k)."""
        return self.scorer.rank(self.reader(batch), k, self.prior(batch))

    def scorers(self) -> list[Scorer]:
        """Return what judges each level of a tree that it knows, from the first down."""
        return [self.scorer] if self.generator is None else [self.generator, self.scorer]

    def begin_as(self, other: Network) -> None:
        """Take over all weights but those that belong to single labels or clusters."""
        self.reader.load_state_dict(other.reader.state_dict())
        self.scorer.begin_as(other.scorer)
