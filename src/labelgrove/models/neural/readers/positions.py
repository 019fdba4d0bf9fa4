"""Vectors that tell attention where in a sequence a word stands."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn

PositionKind = Literal["none", "sinusoidal", "learned"]
SCALE = 0.1  # of sinusoidal positions at first: word vectors must not drown in them
SPREAD = 0.02  # standard deviation of learned positions at first


class Positions(nn.Module):
    """Adds to the vector of each word a vector that stands for its place.

    Parameters
    ----------
    kind
        ``"sinusoidal"``: sines and cosines of falling frequency, times a learned weight;
        ``"learned"``: one learned vector for each place.
    size
        Of the vectors, d.
    most
        Places of the longest sequence.
    """

    table: Tensor

    def __init__(self, kind: Literal["sinusoidal", "learned"], size: int, most: int) -> None:
        super().__init__()
        self.weight: nn.Parameter | None = None
        if kind == "learned":
            self.table = nn.Parameter(SPREAD * torch.randn(most, size))
        else:
            self.register_buffer("table", sinusoids(most, size), persistent=False)
            self.weight = nn.Parameter(torch.tensor(SCALE))

    def forward(self, x: Tensor) -> Tensor:
        """Return vectors (b, T, d) with their places added."""
        places = self.table[: x.shape[1]]
        return x + (places if self.weight is None else self.weight * places)


def sinusoids(most: int, size: int) -> Tensor:
    """Return the positions of Vaswani et al. 2017, section 3.5, shape (most, size).

    Examples
    --------
    >>> sinusoids(2, 4).round(decimals=2)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8400, 0.5400, 0.0100, 1.0000]])
    """
    even = torch.arange(0, size, 2)
    angles = torch.arange(most)[:, None] * torch.exp(-math.log(10_000.0) * even / size)
    return torch.stack([angles.sin(), angles.cos()], 2).flatten(1)[:, :size]
