"""Networks with one vector for the whole text, and a linear layer to all labels."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from labelgrove.models.neural.parts.embedding import WordEmbedding
from labelgrove.models.neural.parts.encoders import BiLSTM, Convolutions, largest


class PooledNetwork(nn.Module):
    """Words, an encoder, a bottleneck, a number for every label.

    Parameters
    ----------
    words
        Vectors of the words.
    encoder
        Gives a vector for the text, or one for each word, of which the largest values count.
    bottleneck
        Size of the layer between.
    n_labels
        Number of labels.
    dropout
        In front of the last layer.
    """

    def __init__(
        self,
        words: WordEmbedding,
        encoder: BiLSTM | Convolutions,
        bottleneck: int,
        n_labels: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.words, self.encoder = words, encoder
        self.bottleneck = nn.Linear(encoder.n_outputs, bottleneck)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(bottleneck, n_labels)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Return logits (b, L) of tokens (b, T)."""
        encoded = self.encoder(self.words(tokens), lengths)
        if encoded.ndim == 3:
            encoded = largest(encoded, lengths)
        logits: Tensor = self.output(self.dropout(torch.relu(self.bottleneck(encoded))))
        return logits
