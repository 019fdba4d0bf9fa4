"""A chain of yes and no: each label depends on the one before it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reading
from labelgrove.models.neural.readers.word_networks import BiLSTM
from labelgrove.models.neural.scorers.base import Positives, Scorer, dense


class Chain(nn.Module):
    """A linear-chain conditional random field with two states a place: no and yes.

    Lafferty, McCallum and Pereira, "Conditional random fields", ICML 2001. Places that do not
    count are stepped over: the chain goes on as if they were not there.

    Attributes
    ----------
    start
        Of the first state, shape (2,).
    steps
        From a state to the next, shape (2, 2).
    """

    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.zeros(2))
        self.steps = nn.Parameter(torch.zeros(2, 2))

    def loss(self, scores: Tensor, true: Tensor, real: Tensor) -> Tensor:
        """Return the sum over texts of the negative log-likelihood, shape ().

        Parameters
        ----------
        scores
            Of both states at each place, shape (b, C, 2).
        true
            Which places are yes, shape (b, C), bool.
        real
            Which count, shape (b, C), bool.
        """
        total = self._forwards(scores, real)[-1].logsumexp(1)
        # a text without any place that counts has no path
        return ((total - self._of_path(scores, true, real)) * real.any(1)).sum()

    def log_odds(self, scores: Tensor, real: Tensor) -> Tensor:
        """Return the log odds of yes at each place, whatever the others are, shape (b, C)."""
        forwards, backwards = self._forwards(scores, real), self._backwards(scores, real)
        both = torch.stack(forwards, 1) + torch.stack(backwards, 1)
        return both[:, :, 1] - both[:, :, 0]

    def _forwards(self, scores: Tensor, real: Tensor) -> list[Tensor]:
        """Return log sums over all beginnings that end in each state, (b, 2) for each place."""
        found: list[Tensor] = []
        begun = torch.zeros_like(real[:, 0])
        last = self.start.expand(len(scores), 2)
        for place in range(scores.shape[1]):
            stepped = (last[:, :, None] + self.steps).logsumexp(1)
            here = torch.where(begun[:, None], stepped, last) + scores[:, place]
            last = torch.where(real[:, place, None], here, last)
            begun = begun | real[:, place]
            found.append(last)
        return found

    def _backwards(self, scores: Tensor, real: Tensor) -> list[Tensor]:
        """Return log sums over all ends that go on from each state, (b, 2) for each place."""
        found: list[Tensor] = []
        last = torch.zeros_like(scores[:, 0])
        for place in reversed(range(scores.shape[1])):
            found.append(last)
            before = (self.steps + (scores[:, place] + last)[:, None]).logsumexp(2)
            last = torch.where(real[:, place, None], before, last)
        return found[::-1]

    def _of_path(self, scores: Tensor, true: Tensor, real: Tensor) -> Tensor:
        """Return the scores of the true states, shape (b,)."""
        states = true.long()
        own = scores.gather(2, states[:, :, None])[:, :, 0]
        total = (own * real).sum(1)
        begun = torch.zeros_like(real[:, 0])
        last = states[:, 0]
        for place in range(scores.shape[1]):
            counts, state = real[:, place], states[:, place]
            step = torch.where(begun, self.steps[last, state], self.start[state])
            total = total + step * counts
            last = torch.where(counts, state, last)
            begun = begun | counts
        return total


class CrfScorer(Scorer):
    """A BiLSTM over the vectors of labels, and a chain of yes and no.

    It needs a reader that reads labels with the text. Labels stand in the order of their
    frequency, the most frequent first. A label's probability is its marginal.

    Parameters
    ----------
    start
        The labels, and how they begin.
    n_inputs
        Size of a label's vector.
    units
        Of the LSTM in each direction.
    dropout
        In front of the LSTM and behind it.
    """

    leaves_parts_out: ClassVar[bool] = True
    order: Tensor

    def __init__(self, start: LabelStart, n_inputs: int, units: int, dropout: float) -> None:
        super().__init__()
        self.n_labels = len(start.counts)
        # the place of each label in the sequence
        order = np.argsort(np.argsort(-start.counts, kind="stable"))
        self.register_buffer("order", torch.from_numpy(order))
        self.dropout = nn.Dropout(dropout)
        self.lstm = BiLSTM(n_inputs, units, dropout)
        self.states = nn.Linear(2 * units, 2)
        self.chain = Chain()
        if start.begins == "none":
            return
        # yes is as probable at first as a label is frequent, or as the first stage says
        mean = float(start.counts.mean()) / max(start.n_documents, 1)
        with torch.no_grad():
            if start.begins == "zero":
                nn.init.zeros_(self.states.weight)
                nn.init.zeros_(self.states.bias)
            else:
                self.states.bias.copy_(torch.tensor([1 - mean, mean]).clamp(min=1e-6).log())

    def logits(self, reading: Reading, labels: Tensor | None, prior: Tensor | None) -> Tensor:
        """Return the log odds of the labels' marginals, shape (b, C)."""
        labels = self._given(reading, labels)
        order = self._ordered(labels)
        real = (labels >= 0).gather(1, order)
        found = self.chain.log_odds(self._scores(reading, prior, order, real), real)
        return torch.empty_like(found).scatter(1, order, found)

    def loss(
        self,
        reading: Reading,
        labels: Tensor | None,
        prior: Tensor | None,
        truth: Positives | Tensor,
    ) -> Tensor:
        """Return the negative log-likelihood, divided by the number of labels, shape ()."""
        labels = self._given(reading, labels)
        true = dense(truth, torch.empty(labels.shape, device=labels.device)) > 0
        order = self._ordered(labels)
        real = (labels >= 0).gather(1, order)
        scores = self._scores(reading, prior, order, real)
        return self.chain.loss(scores, true.gather(1, order), real) / real.sum().clamp(min=1)

    def _given(self, reading: Reading, labels: Tensor | None) -> Tensor:
        if labels is not None:
            return labels
        return torch.arange(self.n_labels, device=self.order.device).expand(len(reading.mask), -1)

    def _ordered(self, labels: Tensor) -> Tensor:
        """Return the places of labels (b, C) in the order of the sequence, none last."""
        order = self.order[labels.clamp(min=0)].masked_fill(labels < 0, len(self.order))
        return order.argsort(1)

    def _scores(
        self, reading: Reading, prior: Tensor | None, order: Tensor, real: Tensor
    ) -> Tensor:
        """Return the scores of both states in the order of the sequence, shape (b, C, 2)."""
        assert reading.labels is not None
        places = order[:, :, None].expand(-1, -1, reading.labels.shape[2])
        read = self.lstm(self.dropout(reading.labels.gather(1, places)).float(), real.sum(1))
        scores: Tensor = self.states(read).float()
        if prior is not None:
            told = prior.gather(1, order)
            scores = scores + torch.stack([torch.zeros_like(told), told], 2)
        return scores

    def log_odds(self, reading: Reading, label: int, prior: Tensor | None) -> Tensor:
        """Return the log odds of one label, shape (b,)."""
        return self.logits(reading, None, prior)[:, label]

    def kept(self, longest: int, judged: int | None) -> int:
        """Return the numbers that learning keeps for one text."""
        few = self.n_labels if judged is None else judged
        return few * (self.lstm.onward.input_size + self.lstm.per_word)
