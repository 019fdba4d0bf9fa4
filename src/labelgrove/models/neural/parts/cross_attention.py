"""Words and labels looked at together: LACO's document-label cross attention."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize, pad


class CrossAttention(nn.Module):
    """One vector for a text, of the words that matter to any of its labels (equations 1 and 2).

    M holds the product of every word with every label. A convolution over neighbouring words, of
    the same kernels for all labels, and ReLU tell how much a word matters to a label; the most
    that it matters to any label, through tanh, is its weight.

    Where the paper is silent or its form does not do:

    - products are divided by the root of the vectors' size: undivided, nearly all weights are 0
      or 1 from the first step on;
    - ``average`` divides the weighted sum by the number of words, so that a long text is not
      surer of everything than a short one; without it the sum is as printed;
    - the kernels begin as a mean over their words, give or take, so that none begins dead.

    Parameters
    ----------
    radius
        Words r on each side that a kernel looks at.
    filters
        Number of kernels; the largest of them counts.
    across
        Labels that a kernel looks at, neighbours by number: 1, or 10 as in the authors' code,
        where the order of labels then matters.
    cosine
        Take the cosine in place of the product, as in the authors' code.
    average
        Divide by the number of words.
    """

    def __init__(
        self,
        radius: int = 5,
        filters: int = 4,
        across: int = 1,
        cosine: bool = False,
        average: bool = True,
    ) -> None:
        super().__init__()
        self.cosine, self.average = cosine, average
        size = (2 * radius + 1, across)
        self.kernels = nn.Parameter((0.5 + torch.rand(filters, 1, *size)) / (size[0] * size[1]))
        self.bias = nn.Parameter(torch.zeros(filters))

    def forward(self, words: Tensor, own: Tensor, labels: Tensor, real: Tensor) -> Tensor:
        """Return the vector (b, d) of each text.

        Parameters
        ----------
        words, own
            Vectors of words (b, T, d), and which are the text's own (b, T).
        labels, real
            Vectors of labels (b, C, d), and which count (b, C).
        """
        weights = self.matters(words, own, labels, real).amax(2).tanh()
        found = (weights[:, None] @ words)[:, 0]
        return found / own.sum(1, keepdim=True).clamp(min=1) if self.average else found

    def matters(self, words: Tensor, own: Tensor, labels: Tensor, real: Tensor) -> Tensor:
        """Return how much each word matters to each label, shape (b, T, C), from 0."""
        if self.cosine:
            products = normalize(words, dim=2) @ normalize(labels, dim=2).mT
        else:
            products = words @ labels.mT / words.shape[2] ** 0.5
        both = own[:, :, None] & real[:, None]
        # what is masked is nothing, as what lies beyond the edges
        products = products.masked_fill(~both, 0.0)
        high, wide = self.kernels.shape[2:]
        edges = ((wide - 1) // 2, wide // 2, (high - 1) // 2, high // 2)
        seen = pad(products[:, None], edges)
        found = torch.conv2d(seen, self.kernels, self.bias).relu().amax(1)
        return found.masked_fill(~both, 0.0)
