"""Writes the labels of texts, one after the other, and an end behind them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reading
from labelgrove.models.neural.scorers.decoders import Decoder, State


class Written(NamedTuple):
    """Sequences of labels that may go on.

    Parameters
    ----------
    state
        The decoder's.
    last
        What was written last, shape (r,); the end's number L where nothing is.
    taken
        Which labels stand in a sequence, shape (r, L + 1), bool.
    chances
        The probabilities from which the last label was chosen, shape (r, L + 1); None at first.
    """

    state: State
    last: Tensor
    taken: Tensor
    chances: Tensor | None = None

    def of(self, rows: Tensor) -> Written:
        """Return some of these sequences, shape (rows,)."""
        chances = None if self.chances is None else self.chances[rows]
        state = tuple(each[rows] for each in self.state)
        return Written(state, self.last[rows], self.taken[rows], chances)


class LabelWriter(nn.Module):
    """A vector for each label and for the beginning, a decoder, a softmax over labels and the end.

    Label L, behind all others, is the beginning where it is read and the end where it is written.

    Parameters
    ----------
    decoder
        Reads what was written.
    start
        The labels, and how they begin.
    size
        Of a label's vector.
    dropout
        On the vectors of written labels.
    mixes
        Read, beside the label written last, the mean of all labels' vectors by the probabilities
        from which it was chosen (the global embedding of SGM).
    """

    def __init__(
        self,
        decoder: Decoder,
        start: LabelStart,
        size: int,
        dropout: float = 0.0,
        mixes: bool = False,
    ) -> None:
        super().__init__()
        self.n_labels = len(start.counts)
        self.decoder = decoder
        self.labels = nn.Embedding(self.n_labels + 1, size)
        nn.init.normal_(self.labels.weight, std=size**-0.5)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(decoder.n_outputs, self.n_labels + 1)
        self.gate = nn.Linear(2 * size, size) if mixes else None
        if start.begins == "frequency":
            counts = torch.tensor([*start.counts.tolist(), start.n_documents]) + 0.5
            with torch.no_grad():
                self.output.bias.copy_((counts / counts.sum()).log())

    def begin(self, reading: Reading) -> Written:
        """Return one sequence for each text, of which nothing is written."""
        texts, device = len(reading.mask), reading.mask.device
        last = torch.full((texts,), self.n_labels, device=device)
        taken = torch.zeros(texts, self.n_labels + 1, dtype=torch.bool, device=device)
        return Written(self.decoder.begin(reading), last, taken)

    def step(self, reading: Reading, written: Written) -> tuple[Tensor, State]:
        """Return log probabilities (r, L + 1) of what comes next, and the decoder's states.

        No label comes twice.
        """
        found, state = self.decoder.step(reading, written.state, self._given(written))
        logits = self.output(found).float().masked_fill(written.taken, -torch.inf)
        return logits.log_softmax(1), state

    def _given(self, written: Written) -> Tensor:
        """Return the vectors (r, size) that stand for what was written last."""
        last: Tensor = self.labels(written.last)
        if self.gate is not None and written.chances is not None:
            mean = written.chances @ self.labels.weight
            share = torch.sigmoid(self.gate(torch.cat([last, mean], 1)))
            last = (1 - share) * last + share * mean
        given: Tensor = self.dropout(last)
        return given

    def following(self, written: Written, chances: Tensor, state: State, new: Tensor) -> Written:
        """Return sequences with a label more.

        Parameters
        ----------
        written
            What they were.
        chances, state
            Probabilities (r, L + 1) and states before the new label.
        new
            Which it is, shape (r,).
        """
        taken = written.taken | (one_hot(new, self.n_labels + 1) > 0)
        taken[:, self.n_labels] = False  # the end of a sequence may be written again and again
        return Written(state, new, taken, chances)

    @torch.no_grad()
    def write(self, reading: Reading, most: int, drawn: bool = False) -> Tensor:
        """Return a sequence for each text, shape (b, S), the end at its end and behind it.

        Parameters
        ----------
        reading
            Of b texts.
        most
            Labels of a text at most; a sequence of as many may have no end.
        drawn
            Draw each label by its probability instead of writing the most probable one.
        """
        written, found = self.begin(reading), []
        ended = torch.zeros_like(written.last, dtype=torch.bool)
        for _ in range(most):
            chances, state = self.step(reading, written)
            chances = chances.exp()
            new = chances.multinomial(1)[:, 0] if drawn else chances.argmax(1)
            new = new.masked_fill(ended, self.n_labels)
            found.append(new)
            ended = ended | (new == self.n_labels)
            if ended.all():
                break
            written = self.following(written, chances, state, new)
        return torch.stack(found, 1)

    def along(self, reading: Reading, sequences: Tensor, masked: bool) -> Tensor:
        """Return the log probabilities (b, S, L + 1) of what comes next, all along sequences.

        Parameters
        ----------
        reading
            Of b texts.
        sequences
            What is written, shape (b, S).
        masked
            Let no label come twice.
        """
        if self.gate is not None:
            return self._along_mixed(reading, sequences)
        logits: Tensor = self.output(self.vectors_along(reading, sequences)).float()
        if masked:
            logits = logits.masked_fill(self.taken_before(sequences), -torch.inf)
        return logits.log_softmax(2)

    def log_chances(self, reading: Reading, sequences: Tensor, masked: bool) -> Tensor:
        """Return the log probability of each place of sequences (b, S), shape (b, S)."""
        all_chances = self.along(reading, sequences, masked)
        return all_chances.gather(2, sequences[:, :, None])[:, :, 0]

    def vectors_along(self, reading: Reading, sequences: Tensor) -> Tensor:
        """Return the decoder's vectors before each place of sequences (b, S), (b, S, d)."""
        first = torch.full_like(sequences[:, :1], self.n_labels)
        given = self.dropout(self.labels(torch.cat([first, sequences[:, :-1]], 1)))
        return self.decoder.along(reading, given)

    def _along_mixed(self, reading: Reading, sequences: Tensor) -> Tensor:
        written, found = self.begin(reading), []
        for new in sequences.unbind(1):
            log_chances, state = self.step(reading, written)
            found.append(log_chances)
            written = self.following(written, log_chances.exp(), state, new)
        return torch.stack(found, 1)

    def taken_before(self, sequences: Tensor) -> Tensor:
        """Return which labels stand before each place of sequences (b, S), (b, S, L + 1)."""
        taken = one_hot(sequences, self.n_labels + 1).cumsum(1) > 0
        taken[:, :, self.n_labels] = False
        return torch.cat([torch.zeros_like(taken[:, :1]), taken[:, :-1]], 1)

    def until_end(self, sequences: Tensor) -> Tensor:
        """Return which places of sequences (b, S) come before the end or are it, bool."""
        ends = (sequences == self.n_labels).cumsum(1)
        return torch.cat([torch.zeros_like(ends[:, :1]), ends[:, :-1]], 1) == 0
