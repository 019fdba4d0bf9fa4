"""What reads the vectors of words: a recurrent layer, convolutions, or nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from labelgrove.models.neural.readers.base import mask_of, mean_of


class WordNetwork(nn.Module, ABC):
    """Reads vectors of words.

    Attributes
    ----------
    n_vector
        Size of the vector that each word gets.
    n_pooled
        Size of the vector of the whole text.
    per_word
        Numbers that learning keeps for a word.
    """

    n_vector: int
    n_pooled: int
    per_word: int

    @abstractmethod
    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Return vectors (b, T, n_vector) of words (b, T, n_inputs)."""

    @abstractmethod
    def pool(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """Return one vector (b, n_pooled) for each text from what `forward` returned."""


class PlainWords(WordNetwork):
    """Leaves the vectors of words as they are; a text is their mean.

    Parameters
    ----------
    n_inputs
        Size of a word's vector.
    """

    def __init__(self, n_inputs: int) -> None:
        super().__init__()
        self.n_vector = self.n_pooled = n_inputs
        self.per_word = 0

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Return the same vectors (b, T, n_inputs)."""
        return x

    def pool(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """Return the mean (b, n_inputs)."""
        return mean_of(vectors, mask_of(lengths, vectors.shape[1]))


class BiLSTM(WordNetwork):
    """A long short-term memory in both directions (equations 2 and 3 of AttentionXML).

    Each direction is a recurrent layer of its own over a sequence padded behind; for the backward
    one the words of each text are turned around, so that padding never comes before a word, and a
    text's vectors do not depend on the texts it is padded with.

    Parameters
    ----------
    n_inputs
        Size of a word's vector.
    n_units
        Units per direction.
    dropout
        Share of the output that is set to zero in training.
    """

    def __init__(self, n_inputs: int, n_units: int, dropout: float = 0.5) -> None:
        super().__init__()
        n_units = int(n_units)  # torch refuses numpy's
        self.onward = nn.LSTM(n_inputs, n_units, batch_first=True)
        self.back = nn.LSTM(n_inputs, n_units, batch_first=True)
        # memory state and cell that each direction begins with, learned
        self.initial = nn.Parameter(torch.zeros(2, 2, n_units))
        self.dropout = nn.Dropout(dropout)
        self.n_vector = self.n_pooled = 2 * n_units
        self.per_word = 24 * n_units  # gates and states of both directions, their sum in four steps

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Return vectors (b, T, 2 n_units) of words (b, T, n_inputs); behind a text they are 0."""
        turned = turn(x, lengths)
        with torch.autocast("cpu", enabled=False):  # many CPUs have no recurrent layer of bfloat16
            onward, _ = self.onward(x, self._initial(0, x.shape[0]))
            back, _ = self.back(turned, self._initial(1, x.shape[0]))
        both = torch.cat([onward, turn(back, lengths)], dim=2)
        masked = both * mask_of(lengths, x.shape[1])[:, :, None]
        dropped: Tensor = self.dropout(masked)
        return dropped

    def pool(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """Return the largest values (b, 2 n_units)."""
        return largest(vectors, lengths)

    def _initial(self, direction: int, n: int) -> tuple[Tensor, Tensor]:
        state, cell = self.initial[direction]
        return state.expand(1, n, -1).contiguous(), cell.expand(1, n, -1).contiguous()


def turn(x: Tensor, lengths: Tensor) -> Tensor:
    """Return sequences (b, T, d) with the first ``lengths`` vectors of each in reverse order."""
    places = torch.arange(x.shape[1], device=x.device).expand(x.shape[0], -1)
    last = lengths[:, None] - 1
    order = torch.where(places <= last, last - places, places)
    return x.gather(1, order[:, :, None].expand_as(x))


class Convolutions(WordNetwork):
    """Filters over runs of words, and the largest value of each in every part of the text.

    Liu, Chang, Wu and Yang, "Deep learning for extreme multi-label text classification", SIGIR
    2017: dynamic max pooling keeps one value per filter and part instead of one per text.

    Parameters
    ----------
    n_inputs
        Size of a word's vector.
    widths
        Words that a filter spans.
    n_filters
        Filters of each width.
    n_parts
        Parts of equal length that a text is divided into.
    """

    def __init__(
        self,
        n_inputs: int,
        widths: Sequence[int] = (2, 4, 8),
        n_filters: int = 128,
        n_parts: int = 8,
    ) -> None:
        super().__init__()
        self.filters = nn.ModuleList(
            nn.Conv1d(n_inputs, n_filters, width, padding=width // 2) for width in widths
        )
        self.n_parts = n_parts
        self.n_vector = len(widths) * n_filters
        self.n_pooled = self.n_vector * n_parts
        self.per_word = 4 * self.n_vector

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Return vectors (b, T, n_vector) of words (b, T, n_inputs)."""
        inputs = (x * mask_of(lengths, x.shape[1])[:, :, None]).transpose(1, 2)
        found = torch.cat([each(inputs)[:, :, : x.shape[1]] for each in self.filters], dim=1)
        return torch.relu(found).transpose(1, 2)

    def pool(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """Return the largest values in the parts of texts (b, n_pooled)."""
        return largest_in_parts(vectors, lengths, self.n_parts).flatten(1)


def largest_in_parts(x: Tensor, lengths: Tensor, n_parts: int) -> Tensor:
    """Return the largest values (b, n_parts, d) in the parts of texts (b, T, d), none below 0.

    Word t of n is in part t * n_parts // n; a part of a short text may be empty, which gives 0.
    """
    places = torch.arange(x.shape[1], device=x.device).expand(x.shape[0], -1)
    part = (places * n_parts // lengths[:, None]).clamp(max=n_parts - 1)
    x = x * mask_of(lengths, x.shape[1])[:, :, None]
    largest = x.new_zeros(x.shape[0], n_parts, x.shape[2])
    return largest.scatter_reduce(1, part[:, :, None].expand_as(x), x, "amax")


def largest(x: Tensor, lengths: Tensor) -> Tensor:
    """Return the largest value of each number over the words of texts (b, T, d), shape (b, d)."""
    hidden = ~mask_of(lengths, x.shape[1])[:, :, None]
    return x.masked_fill(hidden, -torch.inf).amax(dim=1)
