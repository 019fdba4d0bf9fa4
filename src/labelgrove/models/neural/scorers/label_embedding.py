"""Words and labels in one space: words that are like any label make the vector of a text (LEAM)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reading
from labelgrove.models.neural.scorers.base import Positives, Scorer
from labelgrove.models.neural.scorers.outputs import LinearOutput
from labelgrove.models.neural.scorers.pooled import bottleneck


class Compatibility(nn.Module):
    """How much runs of words are like labels (equations 2 and 3 of LEAM).

    Parameters
    ----------
    n_labels
        Number of labels.
    radius
        Words r on each side that the kernel looks at. It is the same for all labels, and begins as
        a mean over its words.
    """

    def __init__(self, n_labels: int, radius: int) -> None:
        super().__init__()
        width = 2 * radius + 1
        self.kernel = nn.Parameter(torch.full((width,), 1 / width))
        self.bias = nn.Embedding(n_labels, 1)
        nn.init.zeros_(self.bias.weight)

    def forward(self, words: Tensor, own: Tensor, labels: Tensor, chosen: Tensor | None) -> Tensor:
        """Return how much each word and its neighbours are like labels, from 0, (b, L or C, T).

        Parameters
        ----------
        words, own
            Vectors of words (b, T, d), and which are no padding (b, T).
        labels, chosen
            Vectors of all labels (L, d) and None; or those of candidates (b, C, d) and which these
            are (b, C), -1 for none, which are like nothing.
        """
        # a kernel over cosines is one over words of length 1, which costs the same for any labels
        runs = self._over(words.shape[1]) @ (normalize(words, dim=2) * own[:, :, None])
        found = normalize(labels, dim=-1) @ runs.mT
        bias = self.bias.weight if chosen is None else self.bias(chosen.clamp(min=0))
        found = torch.relu(found + bias)
        if chosen is None:
            return found
        return found.masked_fill(chosen[:, :, None] < 0, 0.0)

    def _over(self, n_words: int) -> Tensor:
        """Return the kernel as a matrix (T, T): how much word j counts at the place of word i."""
        places = torch.arange(n_words, device=self.kernel.device)
        step = places - places[:, None] + len(self.kernel) // 2
        near = (step >= 0) & (step < len(self.kernel))
        return self.kernel[step.clamp(0, len(self.kernel) - 1)] * near


class LabelEmbeddingScorer(Scorer):
    """A mean of the words that are most like any label, a hidden layer, all labels.

    Parameters
    ----------
    start
        The labels, and how they begin.
    n_inputs
        Size d of the vectors of words and labels.
    compatibility
        How much words are like labels.
    hidden
        Size of the layer between; 0 for none.
    dropout
        In front of the labels.
    label_weight
        Weight of the label term: from its own vector in the place of a text's, each label must be
        told from all others.
    """

    leaves_parts_out: ClassVar[bool] = True  # such as labels that nobody looks at

    def __init__(
        self,
        start: LabelStart,
        n_inputs: int,
        compatibility: Compatibility,
        hidden: int,
        dropout: float,
        label_weight: float,
    ) -> None:
        super().__init__()
        self.n_labels, self.label_weight = len(start.counts), label_weight
        self.labels = nn.Embedding(self.n_labels, n_inputs)
        self.compatibility = compatibility
        self.hidden: nn.Module = nn.Dropout(dropout)
        if hidden:
            self.hidden = bottleneck(n_inputs, hidden, nn.ReLU(), dropout)
        self.output = LinearOutput(hidden or n_inputs, start)

    def text(self, reading: Reading, labels: Tensor | None) -> Tensor:
        """Return the vector (b, d) of each text (equations 4 to 6)."""
        like = self._like(reading, labels).amax(1)
        shares = like.masked_fill(~reading.mask, -torch.inf).softmax(1)
        return (shares[:, None] @ reading.vectors)[:, 0]

    def _like(self, reading: Reading, labels: Tensor | None) -> Tensor:
        vectors = self.labels.weight if labels is None else self.labels(labels.clamp(min=0))
        found: Tensor = self.compatibility(reading.vectors, reading.mask, vectors, labels)
        return found

    def logits(self, reading: Reading, labels: Tensor | None, prior: Tensor | None) -> Tensor:
        """Return the log odds of candidates (b, C), or of all labels (b, L)."""
        logits = self.output.logits(self.hidden(self.text(reading, labels)), labels)
        return logits if prior is None else logits + prior

    def loss(
        self,
        reading: Reading,
        labels: Tensor | None,
        prior: Tensor | None,
        truth: Positives | Tensor,
    ) -> Tensor:
        """Return the mean binary cross entropy of labels, and the label term."""
        loss = super().loss(reading, labels, prior, truth)
        if not self.label_weight:
            return loss
        return loss + self.label_weight * self.label_term(len(reading.mask), labels)

    def label_term(self, n: int, labels: Tensor | None) -> Tensor:
        """Return how far labels are from giving themselves, by n labels at random, shape ().

        It is a cross entropy over all labels, divided by their number as the loss of a text is. It
        says which label a vector belongs to, not how probable labels are, so that it does not pull
        at their frequency or at the log odds of a first stage.
        """
        among = torch.arange(self.n_labels, device=self.labels.weight.device)
        if labels is not None:
            among = torch.unique(labels[labels >= 0])
        some = among[torch.randperm(len(among), device=among.device)[:n]]
        if not len(some):
            return self.labels.weight.sum() * 0.0
        logits = self.output.logits(self.hidden(self.labels(some)), None)
        return cross_entropy(logits, some) / self.n_labels

    def log_odds(self, reading: Reading, label: int, prior: Tensor | None) -> Tensor:
        """Return the log odds of one label, shape (b,)."""
        return self.logits(reading, None, prior)[:, label]

    def attention(self, reading: Reading, labels: Tensor) -> Tensor:
        """Return how much each word is like each candidate, shape (b, C, T)."""
        return self._like(reading, labels)

    def kept(self, longest: int, judged: int | None) -> int:
        """Return the numbers that learning keeps for one text."""
        few = self.n_labels if judged is None else judged
        size = 0 if judged is None else self.labels.embedding_dim
        return few * (3 * longest + size + 3) + 3 * self.n_labels
