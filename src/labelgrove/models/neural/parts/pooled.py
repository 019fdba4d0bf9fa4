"""Networks with one vector for the whole text, and an output layer to all labels."""

from __future__ import annotations

from abc import abstractmethod

from torch import Tensor, nn

from labelgrove.models.neural.parts.embedding import WordEmbedding
from labelgrove.models.neural.parts.encoders import BiLSTM, Convolutions, largest
from labelgrove.models.neural.parts.outputs import Output, Positives


class Reader(nn.Module):
    """Reads a text into one vector.

    Attributes
    ----------
    n_outputs
        Size of the vector.
    """

    n_outputs: int

    @abstractmethod
    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Return vectors (b, n_outputs) of tokens (b, T) with lengths (b,)."""


class WordReader(Reader):
    """Words and an encoder of them.

    Parameters
    ----------
    words
        Vectors of the words.
    encoder
        Gives a vector for the text, or one for each word, of which the largest values count.
    """

    def __init__(self, words: WordEmbedding, encoder: BiLSTM | Convolutions) -> None:
        super().__init__()
        self.words, self.encoder = words, encoder
        self.n_outputs = encoder.n_outputs

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Return vectors (b, n_outputs) of tokens (b, T)."""
        encoded: Tensor = self.encoder(self.words(tokens), lengths)
        return largest(encoded, lengths) if encoded.ndim == 3 else encoded


class PooledNetwork(nn.Module):
    """A reader, a layer between, an output layer.

    Parameters
    ----------
    reader
        Of the text, and of what may stand beside it.
    between
        From its vector to that of the output layer.
    output
        Judges the labels.
    """

    def __init__(self, reader: nn.Module, between: nn.Module, output: Output) -> None:
        super().__init__()
        self.reader, self.between, self.output = reader, between, output
        self.leaves_parts_out = output.leaves_parts_out

    def forward(
        self,
        tokens: Tensor,
        lengths: Tensor,
        *beside: Tensor,
        rows: Tensor | None = None,
        labels: Tensor | None = None,
    ) -> Tensor:
        """Return what the output layer sees (b, d), or, given true labels, the loss.

        Parameters
        ----------
        tokens, lengths
            Shapes (b, T) and (b,).
        *beside
            What else its reader is given.
        rows, labels
            `Positives`, apart: tensors alone pass through all that may be wrapped around here.
        """
        hidden: Tensor = self.between(self.reader(tokens, lengths, *beside))
        if rows is None or labels is None:
            return hidden
        return self.output.loss(hidden, Positives(rows, labels))

    def rank(
        self, tokens: Tensor, lengths: Tensor, k: int, *beside: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the best labels and their probabilities, both (b, k), of tokens (b, T)."""
        return self.output.rank(self(tokens, lengths, *beside), k)


def bottleneck(n_inputs: int, n_outputs: int, activation: nn.Module, dropout: float) -> nn.Module:
    """Return a layer between reader and output, with dropout behind it."""
    return nn.Sequential(nn.Linear(n_inputs, n_outputs), activation, nn.Dropout(dropout))
