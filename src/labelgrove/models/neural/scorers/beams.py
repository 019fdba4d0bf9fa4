"""Beam search over sequences of labels, and what the beams say of each label."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from labelgrove.models.neural.readers.base import Reading
from labelgrove.models.neural.scorers.label_writer import LabelWriter, Written

GIVEN_UP = 7.0  # log odds against the best sequence at which one does not go on: 1 in 1,000


class Beams(NamedTuple):
    """The most probable sequences of b texts, n of each.

    Parameters
    ----------
    weights
        Their shares of the probability that they have together, shape (b, n).
    sets
        Which labels stand in each, shape (b, n, L), bool.
    reached
        How probable it was that a label is written at one of a sequence's steps, as if steps drew
        without knowing of each other, shape (b, n, L).
    """

    weights: Tensor
    sets: Tensor
    reached: Tensor

    def decided(self) -> Tensor:
        """Return the labels of the set that has the largest weight, shape (b, L), bool.

        Sequences of the same labels in another order are the same set.
        """
        sets = self.sets.float()
        common, sizes = sets @ sets.transpose(1, 2), sets.sum(2)
        same = (common == sizes[:, None]) & (common == sizes[:, :, None])
        best = (same.float() @ self.weights[:, :, None])[:, :, 0].argmax(1)
        return self.sets[torch.arange(len(best), device=best.device), best]

    def chances(self) -> Tensor:
        """Return how probable it was that each label is written, by the weights, shape (b, L)."""
        return torch.einsum("bn,bnl->bl", self.weights, self.reached).clamp(0, 1)

    def scores_of_sets(self) -> Tensor:
        """Return numbers from one half for labels of the decided set, below for others, (b, L).

        Within both the weight of the sequences that hold a label counts, and as much how probable
        it was at their steps, which also tells labels that stand in none.
        """
        held = (self.sets + self.reached) / 2
        share = torch.einsum("bn,bnl->bl", self.weights, held).clamp(0, 1)
        return torch.where(self.decided(), 0.5 + share / 2, share.clamp(max=1 - 1e-6) / 2)


def search(writer: LabelWriter, reading: Reading, n: int, most: int) -> Beams:
    """Find probable sequences.

    Parameters
    ----------
    writer
        Knows how probable each next label is.
    reading
        Of b texts.
    n
        Sequences that go on at a time.
    most
        Labels of a sequence at most.
    """
    texts, n_labels, device = len(reading.mask), writer.n_labels, reading.mask.device
    rows = torch.arange(texts, device=device)
    written = writer.begin(reading).of(rows.repeat_interleave(n))
    total = torch.full((texts, n), -torch.inf, device=device)
    total[:, 0] = 0  # all begin alike
    ended = total < 0
    missed = torch.zeros(texts, n, n_labels, device=device)  # log probability of not being written
    only_end = torch.full((n_labels + 1,), -torch.inf, device=device)
    only_end[n_labels] = 0
    for step in range(most + 1):
        log_chances, state = writer.step(reading, written)
        chances = log_chances.exp().view(texts, n, -1)
        missing = torch.log1p(-chances[:, :, :n_labels].clamp(max=1 - 1e-7))
        missed = torch.where(ended[:, :, None], missed, missed + missing)
        shut = ended[:, :, None] if step < most else torch.ones_like(ended)[:, :, None]
        here = torch.where(shut, only_end, log_chances.view(texts, n, -1))
        total, places = (total[:, :, None] + here).flatten(1).topk(n, dim=1)
        far = total < total[:, :1] - GIVEN_UP
        total = total.masked_fill(far, -torch.inf)
        came, new = places // (n_labels + 1), places % (n_labels + 1)
        chosen = (rows[:, None] * n + came).flatten()
        before = Written((), written.last, written.taken).of(chosen)
        states = tuple(each[chosen] for each in state)
        flat = chances.flatten(0, 1)[chosen]
        written = writer.following(before, flat, states, new.flatten())
        missed = missed[rows[:, None], came]
        # what no sequence leads to, or hardly any does, has no probability and may rest
        ended = (new == n_labels) | ended[rows[:, None], came] | (total == -torch.inf)
        if ended.all():
            break
    sets = written.taken[:, :n_labels].view(texts, n, -1)
    return Beams(total.softmax(1), sets, -torch.expm1(missed))
