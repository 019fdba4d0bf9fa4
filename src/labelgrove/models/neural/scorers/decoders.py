"""What carries a text from one written label to the next: a recurrent layer, or self-attention."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial

import torch
from torch import Tensor, nn

from labelgrove.models.neural.readers.base import Reading
from labelgrove.models.neural.readers.positions import Positions

State = tuple[Tensor, ...]  # each with a row for each sequence in front
HEADS = 4  # of a transformer's attention


class Decoder(nn.Module, ABC):
    """Reads what was written of a text's labels, and the text, before each next label.

    A text may have several sequences at once: rows r = b m, those of a text beside each other.

    Attributes
    ----------
    n_outputs
        Size d of its vectors.
    per_step
        Numbers that learning keeps for a label that is written, without those for each token.
    """

    n_outputs: int
    per_step: int

    @abstractmethod
    def begin(self, reading: Reading) -> State:
        """Return the state of one sequence for each text, of which nothing is written."""

    @abstractmethod
    def step(self, reading: Reading, state: State, given: Tensor) -> tuple[Tensor, State]:
        """Return vectors (r, d) before the next label, and the states there.

        Parameters
        ----------
        reading
            Of b texts.
        state
            Of r sequences.
        given
            Vectors of the labels written last, shape (r, e).
        """

    @abstractmethod
    def along(self, reading: Reading, given: Tensor) -> Tensor:
        """Return vectors (b, S, d) along one sequence for each text, given its labels (b, S, e)."""


class LstmDecoder(Decoder):
    """A recurrent layer, and attention to the text by what it holds.

    Attention is Luong, Pham and Manning's ("Effective approaches to attention-based neural machine
    translation", EMNLP 2015), as in the code of SGM's authors.

    Parameters
    ----------
    n_vector, n_pooled
        Sizes of the reader's vectors of a token and of a text; the second begins the state.
    n_label
        Size of a label's vector.
    n_units
        Units of each layer.
    layers
        Number of layers.
    dropout
        Behind attention.
    """

    def __init__(
        self,
        n_vector: int,
        n_pooled: int,
        n_label: int,
        n_units: int,
        layers: int = 1,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        n_units, layers = int(n_units), int(layers)  # torch refuses numpy's
        self.n_outputs, self.layers = n_units, layers
        self.first = nn.Linear(n_pooled, 2 * layers * n_units)
        self.lstm = nn.LSTM(n_label, n_units, layers, batch_first=True)
        self.query = nn.Linear(n_units, n_vector, bias=False)
        self.joined = nn.Linear(n_units + n_vector, n_units)
        self.dropout = nn.Dropout(dropout)
        self.per_step = (8 * layers + 6) * n_units + 2 * n_vector

    def begin(self, reading: Reading) -> State:
        """Return memory state and cell, both (b, layers, n_units)."""
        begun = torch.tanh(self.first(reading.pooled))
        state, cell = begun.view(len(begun), 2, self.layers, -1).unbind(1)
        return state, cell

    def step(self, reading: Reading, state: State, given: Tensor) -> tuple[Tensor, State]:
        """Return vectors (r, d) before the next label, and the states there."""
        held, following = self._held(given[:, None], state)
        texts = len(reading.mask)
        found = self._attended(reading, held.reshape(texts, -1, self.n_outputs))
        return found.flatten(0, 1), following

    def along(self, reading: Reading, given: Tensor) -> Tensor:
        """Return vectors (b, S, d) along one sequence for each text."""
        return self._attended(reading, self._held(given, self.begin(reading))[0])

    def _held(self, given: Tensor, state: State) -> tuple[Tensor, State]:
        first, cell = (each.transpose(0, 1).contiguous().float() for each in state)
        with torch.autocast("cpu", enabled=False):  # many CPUs have no recurrent layer of bfloat16
            held, (last, last_cell) = self.lstm(given.float(), (first, cell))
        return held, (last.transpose(0, 1), last_cell.transpose(0, 1))

    def _attended(self, reading: Reading, held: Tensor) -> Tensor:
        """Return vectors (b, m, d) of what is held (b, m, d) and what of the text it looks at."""
        scores = self.query(held) @ reading.vectors.transpose(1, 2)
        unseen = ~seen(reading.mask)[:, None]
        looked = scores.masked_fill(unseen, -torch.inf).softmax(2) @ reading.vectors
        found: Tensor = self.dropout(torch.tanh(self.joined(torch.cat([held, looked], 2))))
        return found


class TransformerDecoder(Decoder):
    """Layers of attention to what is written and to the text (Vaswani et al. 2017).

    Norms stand in front of each part. What is written is read again for each label: sequences of
    labels are short.

    Parameters
    ----------
    n_vector
        Size of the reader's vector of a token.
    n_units
        Size of a label's vector, and of what layers hand on; a multiple of 4.
    layers
        Number of layers.
    most
        Labels of the longest sequence.
    dropout
        In and behind each layer.
    """

    def __init__(
        self, n_vector: int, n_units: int, layers: int, most: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.n_outputs = n_units
        self.places = Positions("learned", n_units, most + 1)
        self.layers = nn.ModuleList(Layer(n_units, n_vector, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(n_units)
        self.per_step = 24 * layers * n_units

    def begin(self, reading: Reading) -> State:
        """Return no label yet, shape (b, 0, n_units)."""
        texts = len(reading.mask)
        return (torch.zeros(texts, 0, self.n_outputs, device=reading.mask.device),)

    def step(self, reading: Reading, state: State, given: Tensor) -> tuple[Tensor, State]:
        """Return vectors (r, d) before the next label, and what is written there."""
        written = torch.cat([state[0], given[:, None]], 1)
        return self.along(reading, written)[:, -1], (written,)

    def along(self, reading: Reading, given: Tensor) -> Tensor:
        """Return vectors (r, S, d) along sequences, given their labels (r, S, n_units)."""
        steps = given.shape[1]
        later = torch.ones(steps, steps, dtype=torch.bool, device=given.device).triu(1)
        x, unseen = self.places(given), ~seen(reading.mask)
        for layer in self.layers:
            x = layer(x, later, reading.vectors, unseen)
        found: Tensor = self.norm(x)
        return found


class Layer(nn.Module):
    """One layer of a transformer that writes: attention to labels, to the text, and two layers.

    Parameters
    ----------
    size
        Of its vectors.
    n_vector
        Size of a token's vector.
    dropout
        In attention and behind each part.
    """

    def __init__(self, size: int, n_vector: int, dropout: float) -> None:
        super().__init__()
        attention = partial(nn.MultiheadAttention, size, HEADS, dropout, batch_first=True)
        self.own, self.text = attention(), attention(kdim=n_vector, vdim=n_vector)
        self.own_norm, self.text_norm, self.wide_norm = (nn.LayerNorm(size) for _ in range(3))
        self.wide = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, later: Tensor, tokens: Tensor, unseen: Tensor) -> Tensor:
        """Return what the layer makes of sequences (r, S, d).

        Parameters
        ----------
        x
            Vectors of their labels.
        later
            Which places stand behind each, shape (S, S), bool.
        tokens, unseen
            Vectors of b texts (b, T, n_vector), and which are not looked at, (b, T), bool.
        """
        own = self.own_norm(x)
        x = x + self.dropout(self.own(own, own, own, attn_mask=later, need_weights=False)[0])
        # all sequences of a text look at it together
        asks = self.text_norm(x).reshape(len(tokens), -1, x.shape[2])
        looked, _ = self.text(asks, tokens, tokens, key_padding_mask=unseen, need_weights=False)
        x = x + self.dropout(looked).reshape(x.shape)
        added: Tensor = self.dropout(self.wide(self.wide_norm(x)))
        return x + added


def seen(mask: Tensor) -> Tensor:
    """Return which tokens (b, T) are looked at; of a text without any, the first place."""
    none = ~mask.any(1, keepdim=True)
    return mask | (none & (torch.arange(mask.shape[1], device=mask.device) == 0))
