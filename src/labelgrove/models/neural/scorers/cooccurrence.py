"""LACO's two tasks beside the labels themselves: which labels occur together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits


class Pairs(NamedTuple):
    """At most one pair of labels for each text.

    Parameters
    ----------
    rows
        Texts that have a pair, shape (m,).
    one, two
        The places of its two labels, shape (m,).
    together
        Whether the text has both, shape (m,), bool.
    """

    rows: Tensor
    one: Tensor
    two: Tensor
    together: Tensor


def draw_pairs(true: Tensor, real: Tensor, ratio: float) -> Pairs:
    """Draw a label that each text has, and another that it has or has not.

    A text with one label has no pair of its own labels, one with all labels no other: it gets what
    there is. A text without labels has no pair.

    Parameters
    ----------
    true
        Labels of the texts, shape (b, C), bool.
    real
        Which places hold a label, shape (b, C), bool.
    ratio
        Pairs of the text's own labels for each other pair (gamma).
    """
    both, none = true & real, ~true & real
    n = both.sum(1)
    first = _drawn(both)
    rest = both.scatter(1, first[:, None], False)
    chance = torch.rand(len(true), device=true.device) < ratio / (1 + ratio)
    wish = torch.where(none.any(1), chance, True)
    together = wish & (n > 1)
    second = _drawn(torch.where(together[:, None], rest, none))
    rows = torch.nonzero((n > 0) & (together | none.any(1)))[:, 0]
    return Pairs(rows, first[rows], second[rows], together[rows])


def draw_given(true: Tensor, real: Tensor, n: int) -> Tensor:
    """Draw labels that each text has, n or as many as it has, shape (b, C), bool."""
    both = true & real
    keys = torch.rand(both.shape, device=both.device).masked_fill(~both, -1.0)
    best = keys.topk(min(n, keys.shape[1]), 1).indices
    chosen = torch.zeros_like(both).scatter(1, best, True)
    return chosen & both


def _drawn(among: Tensor) -> Tensor:
    """Return a random place of those that are true in each row, shape (b,); any if none is."""
    keys = torch.rand(among.shape, device=among.device)
    return keys.masked_fill(~among, -1.0).argmax(1)


class CooccurrenceTask(nn.Module, ABC):
    """A task about labels that occur together, learned beside the labels themselves."""

    @abstractmethod
    def loss(self, labels: Tensor, true: Tensor, real: Tensor) -> Tensor:
        """Return the sum over texts, shape ().

        Parameters
        ----------
        labels
            Vectors, shape (b, C, d).
        true, real
            What each text has, and what counts at all, shape (b, C), bool.
        """


class PairTask(CooccurrenceTask):
    """Tells of two labels whether a text has both (PLCP, equation 5).

    Parameters
    ----------
    size
        Of a label's vector.
    ratio
        Pairs that a text has for each that it has not (gamma).
    """

    def __init__(self, size: int, ratio: float = 0.5) -> None:
        super().__init__()
        self.ratio = ratio
        self.judge = nn.Linear(2 * size, 1)

    def loss(self, labels: Tensor, true: Tensor, real: Tensor) -> Tensor:
        """Return the sum over texts of the loss of a pair of each, shape ().

        Parameters
        ----------
        labels
            Vectors, shape (b, C, d).
        true, real
            What each text has, and what counts at all, shape (b, C), bool.
        """
        rows, one, two, together = draw_pairs(true, real, self.ratio)
        both = torch.cat([labels[rows, one], labels[rows, two]], 1)
        return _entropy(self.judge(both)[:, 0], together)


class GivenTask(CooccurrenceTask):
    """Given some labels of a text, tells of all others whether it has them (CLCP, equation 6).

    Parameters
    ----------
    size
        Of a label's vector.
    n_given
        Labels that are given (s); fewer where a text has fewer.
    """

    def __init__(self, size: int, n_given: int = 1) -> None:
        super().__init__()
        self.n_given = n_given
        self.given = nn.Linear(size, 1, bias=False)
        self.other = nn.Linear(size, 1)

    def loss(self, labels: Tensor, true: Tensor, real: Tensor) -> Tensor:
        """Return the sum over texts that have a label, and the labels not given, shape ().

        Parameters are those of `PairTask.loss`.
        """
        given = draw_given(true, real, self.n_given)
        n = given.sum(1, keepdim=True)
        mean = (labels * given[:, :, None]).sum(1) / n.clamp(min=1)
        # one linear layer over both vectors side by side, without laying them side by side
        logits = self.other(labels)[:, :, 0] + self.given(mean)
        asked = real & ~given & (n > 0)
        return _entropy(logits[asked], true[asked])


def _entropy(logits: Tensor, true: Tensor) -> Tensor:
    return binary_cross_entropy_with_logits(logits.float(), true.float(), reduction="sum")
