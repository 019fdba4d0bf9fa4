"""Writes a set of labels behind a sequence of labels, and learns by how good the set is."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import Linear

from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reading
from labelgrove.models.neural.scorers.base import Positives, dense
from labelgrove.models.neural.scorers.label_sequence import SequenceScorer
from labelgrove.models.neural.scorers.label_writer import LabelWriter


class RewardedScorer(SequenceScorer):
    """Two writers: the second looks at the text and at what the first wrote.

    Both learn from the true sequence, the second also from the F1 of sets that it draws, against
    that of the set which it thinks most probable (self-critical policy gradients: Rennie et al.,
    CVPR 2017).

    Parameters
    ----------
    writer
        The second, whose labels are given.
    first
        The first.
    start, beams, most, as_sets
        As of `SequenceScorer`.
    n_vector
        Size of a token's vector, to which that of a written label is brought.
    reward
        Weight of the reward, from 0 to 1; that of the likelihoods is what is left to 1.
    """

    def __init__(
        self,
        writer: LabelWriter,
        first: LabelWriter,
        start: LabelStart,
        beams: int,
        most: int,
        as_sets: bool,
        n_vector: int,
        reward: float,
    ) -> None:
        super().__init__(writer, start, beams, most, as_sets, masked=True)
        self.first, self.reward = first, reward
        self.shown = Linear(first.decoder.n_outputs, n_vector)

    def looked_at(self, reading: Reading) -> Reading:
        """Return the text with what the first writer thought at each label that it wrote."""
        written = self.first.write(reading, self.most)
        shown = self.shown(self.first.vectors_along(reading, written))
        vectors = torch.cat([reading.vectors, shown.to(reading.vectors.dtype)], 1)
        mask = torch.cat([reading.mask, self.first.until_end(written)], 1)
        return Reading(vectors, mask, lambda: reading.pooled)

    def loss(
        self,
        reading: Reading,
        labels: Tensor | None,
        prior: Tensor | None,
        truth: Positives | Tensor,
    ) -> Tensor:
        """Return both likelihoods' loss and the lost reward, weighted; shape ()."""
        assert isinstance(truth, Positives)
        both = self.looked_at(reading)
        sequences = self.sequences(truth, len(reading.mask))
        real = self.writer.until_end(sequences)
        likelihoods = [
            self.writer.log_chances(both, sequences, masked=True)[real].mean(),
            self.first.log_chances(reading, sequences, masked=True)[real].mean(),
        ]
        loss = -(1 - self.reward) * sum(likelihoods[1:], likelihoods[0])
        if not self.reward:
            return loss
        wanted = torch.zeros(len(reading.mask), self.n_labels, device=real.device)
        return loss + self.reward * self._lost(both, dense(truth, wanted) > 0)

    def _lost(self, both: Reading, wanted: Tensor) -> Tensor:
        """Return a loss whose gradient makes drawn sets more probable as they are better, ().

        Parameters
        ----------
        both
            What the second writer looks at.
        wanted
            The true labels, shape (b, L), bool.
        """
        drawn = self.writer.write(both, self.most, drawn=True)
        usual = self.writer.write(both, self.most)
        gain = self._f1(drawn, wanted) - self._f1(usual, wanted)
        own = self.writer.log_chances(both, drawn, masked=True)
        return -(gain * (own * self.writer.until_end(drawn)).sum(1)).mean()

    def _f1(self, sequences: Tensor, wanted: Tensor) -> Tensor:
        """Return the F1 of the sets of sequences (b, S), shape (b,)."""
        found = torch.zeros(len(wanted), self.n_labels + 1, device=wanted.device)
        found.scatter_(1, sequences, 1)
        return f1_of(found[:, :-1] > 0, wanted)


def f1_of(found: Tensor, wanted: Tensor) -> Tensor:
    """Return the F1 of sets of labels, both (b, L), bool; 1 where both are empty; shape (b,).

    Examples
    --------
    >>> wanted = torch.tensor([[True, True, False], [False, False, False]])
    >>> f1_of(torch.tensor([[True, False, False], [False, False, False]]), wanted).tolist()
    [0.6666666865348816, 1.0]
    """
    hits, sizes = (found & wanted).sum(1), found.sum(1) + wanted.sum(1)
    return torch.where(sizes > 0, 2 * hits / sizes.clamp(min=1), 1.0)
