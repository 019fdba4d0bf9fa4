"""Learns to complete what the network itself wrote of a text's labels, in any order."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import Dropout, Linear
from torch.nn.functional import binary_cross_entropy_with_logits

from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reading
from labelgrove.models.neural.scorers.base import Positives, dense
from labelgrove.models.neural.scorers.label_sequence import SequenceScorer
from labelgrove.models.neural.scorers.label_writer import LabelWriter


class CompletionScorer(SequenceScorer):
    """Optimal completion distillation, with binary relevance as a second task.

    A sequence is drawn from the network's own probabilities. At each of its steps the best that
    could come next is any true label that is not written yet, or the end where none is missing;
    the network learns to find these equally probable, and nothing else.

    Parameters
    ----------
    writer, start, beams, most, as_sets
        As of `SequenceScorer`.
    n_pooled
        Size of the reader's vector of a text, from which the second task starts; 0 for no task.
    relevance
        Its weight.
    dropout
        In front of its layer.
    """

    def __init__(
        self,
        writer: LabelWriter,
        start: LabelStart,
        beams: int,
        most: int,
        as_sets: bool,
        n_pooled: int,
        relevance: float,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(writer, start, beams, most, as_sets, masked=True)
        self.relevance, self.dropout = relevance, Dropout(dropout)
        self.each = Linear(n_pooled, self.n_labels) if n_pooled else None
        if self.each is not None and start.begins == "frequency":
            with torch.no_grad():
                self.each.bias.copy_(start.log_odds())

    def loss(
        self,
        reading: Reading,
        labels: Tensor | None,
        prior: Tensor | None,
        truth: Positives | Tensor,
    ) -> Tensor:
        """Return the divergence from the best completions, a mean over steps, and the task's.

        The second is the sum of binary cross entropies over labels, a mean over texts; shape ().
        """
        wanted = dense(truth, torch.zeros(len(reading.mask), self.n_labels,
                                          device=reading.mask.device))  # fmt: skip
        drawn = self.writer.write(reading, self.most, drawn=True)
        loss = self._divergence(reading, drawn, wanted > 0)
        if self.each is None:
            return loss
        alone = self.each(self.dropout(reading.pooled)).float()
        task = binary_cross_entropy_with_logits(alone, wanted, reduction="sum") / len(wanted)
        return loss + self.relevance * task

    def _divergence(self, reading: Reading, drawn: Tensor, wanted: Tensor) -> Tensor:
        """Return the mean over steps of KL(best || network) along drawn sequences, shape ()."""
        log_chances = self.writer.along(reading, drawn, masked=True)
        best = completions(wanted, self.writer.taken_before(drawn))
        shares = best / best.sum(2, keepdim=True)
        crossed = -(shares * log_chances.masked_fill(~best, 0)).sum(2)
        entropy = best.sum(2).log()
        return (crossed - entropy)[self.writer.until_end(drawn)].mean()


def completions(wanted: Tensor, taken: Tensor) -> Tensor:
    """Return what may best come next, labels or the end, shape (b, S, L + 1), bool.

    Parameters
    ----------
    wanted
        The true labels, shape (b, L), bool.
    taken
        What is written before each step, shape (b, S, L + 1), bool.

    Examples
    --------
    >>> wanted, taken = torch.tensor([[True, False]]), torch.zeros(1, 2, 3, dtype=torch.bool)
    >>> taken[0, 1, 0] = True  # at the second step label 0 is written
    >>> completions(wanted, taken).int().tolist()
    [[[1, 0, 0], [0, 0, 1]]]
    """
    missing = wanted[:, None] & ~taken[:, :, :-1]
    return torch.cat([missing, ~missing.any(2, keepdim=True)], 2)
