"""Words as vectors."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from labelgrove.text import PAD


class WordEmbedding(nn.Module):
    """The vector of each word, with dropout.

    Parameters
    ----------
    vectors
        Shape (n_words, d); a copy is made.
    trained
        Learn the vectors too. Their gradients are sparse: a step touches only the words of its
        batch.
    dropout
        Share of the numbers that are set to zero in training.
    """

    def __init__(self, vectors: Tensor, trained: bool = True, dropout: float = 0.2) -> None:
        super().__init__()
        n_words, size = vectors.shape
        self.lookup = nn.Embedding(n_words, size, PAD, sparse=trained, _weight=vectors.clone())
        self.lookup.weight.requires_grad_(trained)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return vectors (b, T, d) of tokens (b, T)."""
        found: Tensor = self.dropout(self.lookup(tokens))
        return found


def mask_of(lengths: Tensor, width: int) -> Tensor:
    """Return which of ``width`` places hold a word, shape (b, width), bool."""
    return torch.arange(width, device=lengths.device) < lengths[:, None]
