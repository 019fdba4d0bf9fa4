"""LACO's two tasks beside the labels themselves: which labels occur together."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

TaskHead = Literal["additive", "bilinear"]
RANK = 32  # dimensions in which a bilinear head compares two labels


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


def pair_share(sizes: NDArray[np.integer[Any]], n_labels: int, ratio: float) -> float:
    """Return the expected share of drawn pairs that occur together, above 0 and below 1.

    Parameters
    ----------
    sizes
        Number of labels of each document, shape (n,).
    n_labels
        Number of all labels.
    ratio
        As in `draw_pairs`.

    Examples
    --------
    >>> round(pair_share(np.full(1000, 2), 54, ratio=0.5), 2)
    0.33
    >>> round(pair_share(np.full(1000, 1), 54, ratio=0.5), 4)  # one label has no pair of its own
    0.0005
    """
    several, every = sizes > 1, sizes == n_labels
    together = np.where(several & every, 1.0, several * ratio / (1 + ratio))
    drawn = (sizes > 0) & (several | ~every)
    return float((together[drawn].sum() + 0.5) / (drawn.sum() + 1))


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


class PairHead(nn.Module):
    """Log odds that a label occurs with another one, from the vectors of both.

    - ``"additive"`` is a linear layer over both vectors side by side, as printed. The first label
      then shifts the log odds of all others alike.
    - ``"bilinear"`` adds the product of both in a space of few dimensions, so that one label can
      raise some labels and lower others.

    Parameters
    ----------
    size
        Of a label's vector.
    kind
        How two labels are compared.
    start
        The log odds of every pair at first, or None to start with random weights, as published.
    rank
        Dimensions in which a bilinear head compares labels.
    """

    def __init__(
        self, size: int, kind: TaskHead = "additive", start: float | None = None, rank: int = RANK
    ) -> None:
        super().__init__()
        self.one = nn.Linear(size, 1, bias=False)
        self.other = nn.Linear(size, 1)
        self.left: nn.Linear | None = None
        self.right: nn.Linear | None = None
        if kind == "bilinear":
            self.left = nn.Linear(size, rank, bias=False)
            self.right = nn.Linear(size, rank, bias=False)
        if start is not None:
            nn.init.zeros_(self.one.weight)
            nn.init.zeros_(self.other.weight)
            nn.init.constant_(self.other.bias, start)
            if self.right is not None:  # the other factor stays random, or neither would learn
                nn.init.zeros_(self.right.weight)

    def forward(self, one: Tensor, other: Tensor) -> Tensor:
        """Return log odds, shape (...), of labels with the vectors one and other, (..., d)."""
        odds: Tensor = (self.one(one) + self.other(other))[..., 0]
        if self.left is not None and self.right is not None:
            # a mean, so that a step of learning moves it as far as the additive part
            odds = odds + (self.left(one) * self.right(other)).mean(-1)
        return odds


class CooccurrenceTask(nn.Module, ABC):
    """A task about labels that occur together, learned beside the labels themselves."""

    @abstractmethod
    def loss(
        self, labels: Tensor, true: Tensor, real: Tensor, odds: Tensor | None = None
    ) -> Tensor:
        """Return the sum over texts, shape ().

        Parameters
        ----------
        labels
            Vectors, shape (b, C, d).
        true, real
            What each text has, and what counts at all, shape (b, C), bool.
        odds
            Log odds that labels start from, shape (b, C); None for none.
        """


class PairTask(CooccurrenceTask):
    """Tells of two labels whether a text has both (PLCP, equation 5).

    Parameters
    ----------
    size
        Of a label's vector.
    ratio
        Pairs that a text has for each that it has not (gamma).
    head
        How two labels are compared.
    share
        Share of the drawn pairs that occur together, which all pairs start from; None to start
        with random weights, as published.
    """

    def __init__(
        self,
        size: int,
        ratio: float = 0.5,
        head: TaskHead = "additive",
        share: float | None = None,
    ) -> None:
        super().__init__()
        self.ratio = ratio
        start = None if share is None else math.log(share / (1 - share))
        self.head = PairHead(size, head, start)

    def loss(
        self, labels: Tensor, true: Tensor, real: Tensor, odds: Tensor | None = None
    ) -> Tensor:
        """Return the sum over texts of the loss of a pair of each, shape ().

        Parameters
        ----------
        labels
            Vectors, shape (b, C, d).
        true, real
            What each text has, and what counts at all, shape (b, C), bool.
        odds
            Not used: how often a pair occurs together is up to how pairs are drawn.
        """
        rows, one, two, together = draw_pairs(true, real, self.ratio)
        return _entropy(self.head(labels[rows, one], labels[rows, two]), together)


class GivenTask(CooccurrenceTask):
    """Given some labels of a text, tells of all others whether it has them (CLCP, equation 6).

    Parameters
    ----------
    size
        Of a label's vector.
    n_given
        Labels that are given (s); fewer where a text has fewer.
    head
        How given labels, by the mean of their vectors, are compared with the others.
    starts
        Start from the log odds that `loss` is given; False to start with random weights, as
        published.
    """

    def __init__(
        self, size: int, n_given: int = 1, head: TaskHead = "additive", starts: bool = False
    ) -> None:
        super().__init__()
        self.n_given, self.starts = n_given, starts
        self.head = PairHead(size, head, 0.0 if starts else None)

    def loss(
        self, labels: Tensor, true: Tensor, real: Tensor, odds: Tensor | None = None
    ) -> Tensor:
        """Return the sum over texts that have a label, and the labels not given, shape ().

        Parameters are those of `PairTask.loss`; ``odds`` are added to the log odds of the labels.
        """
        given = draw_given(true, real, self.n_given)
        n = given.sum(1, keepdim=True)
        mean = (labels * given[:, :, None]).sum(1, keepdim=True) / n.clamp(min=1)[:, :, None]
        logits = self.head(mean, labels)
        if self.starts and odds is not None:
            logits = logits + odds
        asked = real & ~given & (n > 0)
        return _entropy(logits[asked], true[asked])


def _entropy(logits: Tensor, true: Tensor) -> Tensor:
    return binary_cross_entropy_with_logits(logits.float(), true.float(), reduction="sum")
