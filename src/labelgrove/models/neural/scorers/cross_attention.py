"""Words and labels looked at together: LACO's document-label cross attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, normalize, pad

from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reading
from labelgrove.models.neural.scorers.base import Positives, Scorer, dense
from labelgrove.models.neural.scorers.cooccurrence import CooccurrenceTask


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


class CrossAttentionScorer(Scorer):
    """A vector of the text by cross attention, a linear layer to labels, and tasks beside it.

    It needs a reader that gives vectors of labels.

    Parameters
    ----------
    start
        The labels, and how they begin.
    n_inputs
        Size of a token's vector.
    cross
        Makes the vector of the text; None takes that of the reader.
    dropout
        In front of the labels.
    tasks
        Tasks beside the labels, each with its weight in the loss.
    label_term
        Add a linear function of a label's own vector to its log odds, which speaks also for labels
        that were seldom seen. It starts at 0.
    """

    leaves_parts_out: ClassVar[bool] = True  # such as labels that nobody looks at

    def __init__(
        self,
        start: LabelStart,
        n_inputs: int,
        cross: CrossAttention | None,
        dropout: float,
        tasks: Sequence[tuple[CooccurrenceTask, float]] = (),
        label_term: bool = False,
    ) -> None:
        super().__init__()
        self.n_labels = len(start.counts)
        self.cross, self.dropout = cross, nn.Dropout(dropout)
        self.output = nn.Linear(n_inputs, self.n_labels)
        self.own = nn.Linear(n_inputs, 1, bias=False) if label_term else None
        if self.own is not None:
            nn.init.zeros_(self.own.weight)
        if start.begins == "frequency":
            with torch.no_grad():
                self.output.bias.copy_(start.log_odds())
        if start.begins == "zero":
            nn.init.zeros_(self.output.weight)  # the first stage's opinion is a good beginning
            nn.init.zeros_(self.output.bias)
        self.tasks = nn.ModuleList(task for task, _ in tasks)
        self.weights = [weight for _, weight in tasks]

    def logits(self, reading: Reading, labels: Tensor | None, prior: Tensor | None) -> Tensor:
        """Return the log odds of labels, shape (b, C) (equation 3)."""
        assert reading.labels is not None
        text = reading.pooled if self.cross is None else self._crossed(reading, labels)
        text = self.dropout(text)
        if labels is None:
            logits: Tensor = self.output(text)
        else:
            chosen = labels.clamp(min=0)
            logits = torch.einsum("bcd,bd->bc", self.output.weight[chosen], text)
            logits = logits + self.output.bias[chosen]
        if self.own is not None:
            logits = logits + self.own(reading.labels)[:, :, 0]
        return logits if prior is None else logits + prior

    def _crossed(self, reading: Reading, labels: Tensor | None) -> Tensor:
        assert self.cross is not None
        assert reading.labels is not None
        real = real_labels(reading, labels)
        vector: Tensor = self.cross(reading.vectors, reading.mask, reading.labels, real)
        return vector

    def loss(
        self,
        reading: Reading,
        labels: Tensor | None,
        prior: Tensor | None,
        truth: Positives | Tensor,
    ) -> Tensor:
        """Return equation 7, divided by the number of labels, shape ()."""
        real = real_labels(reading, labels)
        logits = self.logits(reading, labels, prior)
        true = dense(truth, logits) > 0
        judged = logits[real].float()
        total = binary_cross_entropy_with_logits(judged, true[real].float(), reduction="sum")
        odds = self._without_text(labels, prior)
        for task, weight in zip(self.tasks, self.weights, strict=True):
            assert isinstance(task, CooccurrenceTask)
            assert reading.labels is not None
            total = total + weight * task.loss(reading.labels, true, real, odds)
        return total / max(len(judged), 1)

    def _without_text(self, labels: Tensor | None, prior: Tensor | None) -> Tensor:
        """Return the log odds of labels before a text is read, without a gradient.

        Shape (1, L) for all labels, (b, C) for candidates. Tasks start from them.
        """
        bias = self.output.bias.detach()
        odds = bias[None] if labels is None else bias[labels.clamp(min=0)]
        return odds if prior is None else odds + prior.detach()

    def log_odds(self, reading: Reading, label: int, prior: Tensor | None) -> Tensor:
        """Return the log odds of one label, shape (b,)."""
        return self.logits(reading, None, prior)[:, label]

    def attention(self, reading: Reading, labels: Tensor) -> Tensor | None:
        """Return how much each word matters to each candidate, shape (b, C, T)."""
        if self.cross is None:
            return None
        assert reading.labels is not None
        return self.cross.matters(reading.vectors, reading.mask, reading.labels, labels >= 0).mT

    def kept(self, longest: int, judged: int | None) -> int:
        """Return the numbers that learning keeps for one text."""
        few = self.n_labels if judged is None else judged
        filters = 1 if self.cross is None else len(self.cross.bias)
        # products of words and labels, and their convolutions
        return few * (3 * filters * longest + self.output.in_features)


def real_labels(reading: Reading, labels: Tensor | None) -> Tensor:
    """Return which places hold a label, shape (b, C), bool."""
    assert reading.labels is not None
    if labels is not None:
        return labels >= 0
    return torch.ones(reading.labels.shape[:2], dtype=torch.bool, device=reading.labels.device)
