"""Every label has its own attention to the text (equations 4 and 5 of AttentionXML)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reading
from labelgrove.models.neural.scorers.base import Scorer

BLOCK = 1 << 25  # numbers kept at once where all labels are judged, other than to learn


class Attention(nn.Module, ABC):
    """Tells how much each label attends to each word.

    Attributes
    ----------
    averages
        Whether the shares of a label sum to 1.
    per_word
        Numbers that learning keeps for a label and a word.
    """

    averages: bool = True
    per_word: int = 3

    @abstractmethod
    def shares(self, words: Tensor, mask: Tensor, candidates: Tensor | None = None) -> Tensor:
        """Return how much each label, or each candidate, attends to each word of each text.

        Parameters
        ----------
        words
            Shape (b, T, size).
        mask
            Which of them are no padding, shape (b, T), bool.
        candidates
            Labels of each text, shape (b, C), or the same of all texts, shape (C,); None for all.

        Returns
        -------
        shares
            Shape (b, L or C, T).
        """


class LabelAttention(Attention):
    """Each label attends to the words it cares about.

    Parameters
    ----------
    n_labels
        Number of labels.
    size
        Size of a word's vector.
    sparse
        Steps touch only the candidates: for very many labels.
    """

    def __init__(self, n_labels: int, size: int, sparse: bool = False) -> None:
        super().__init__()
        self.labels = nn.Embedding(n_labels, size, sparse=sparse)
        nn.init.xavier_uniform_(self.labels.weight)

    def shares(self, words: Tensor, mask: Tensor, candidates: Tensor | None = None) -> Tensor:
        """Return shares (b, L or C, T); those of a label sum to 1."""
        scores = self.products(words, candidates)
        return scores.masked_fill(~mask[:, None, :], -torch.inf).softmax(dim=2)

    def products(self, words: Tensor, candidates: Tensor | None = None) -> Tensor:
        """Return the product of each label, or candidate, with each word, (b, L or C, T)."""
        if candidates is None or candidates.ndim == 1:
            labels = self.labels.weight if candidates is None else self.labels(candidates)
            return torch.einsum("btd,ld->blt", words, labels)
        found: Tensor = self.labels(candidates) @ words.transpose(1, 2)
        return found


class SharedLayers(nn.Module):
    """Fully connected layers that all labels share, down to one number each.

    Parameters
    ----------
    n_inputs
        Size of a label's vector.
    sizes
        Sizes of the layers between.
    """

    def __init__(self, n_inputs: int, sizes: Sequence[int]) -> None:
        super().__init__()
        self.n_inputs, self.size = n_inputs, sizes[0]
        wide = [n_inputs, *sizes]
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(wide, sizes, strict=False))
        self.output = nn.Linear(wide[-1], 1)
        for layer in [*self.hidden, self.output]:
            nn.init.xavier_uniform_(layer.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (b, C) of label vectors (b, C, n_inputs)."""
        return self._above_first(self.hidden[0](x))

    def of_words(self, words: Tensor, shares: Tensor) -> Tensor:
        """Return logits (b, C) of labels that attend to words.

        The first layer is linear, so it may read the words before labels mix them: T products with
        its matrix instead of C, and the same numbers.

        Parameters
        ----------
        words
            Shape (b, T, n_inputs).
        shares
            How much each label attends to each word, shape (b, C, T); they sum to 1.
        """
        if torch.compiler.is_compiling() or self.reads_words_first(*shares.shape[:0:-1]):
            return self._above_first(shares @ self.hidden[0](words))
        logits: Tensor = self(shares @ words)
        return logits

    def reads_words_first(self, n_words: int, n_labels: int) -> bool:
        """Tell whether the first layer has less to do if it reads words, not labels' vectors."""
        n_inputs, size = self.n_inputs, self.size
        return n_words * size * (n_inputs + n_labels) <= n_labels * n_inputs * (n_words + size)

    def _above_first(self, x: Tensor) -> Tensor:
        """Return logits (b, C) of what the first layer made of label vectors, (b, C, size)."""
        x = torch.relu(x)
        for layer in list(self.hidden)[1:]:
            x = torch.relu(layer(x))
        logits: Tensor = self.output(x).squeeze(-1)
        return logits


class LabelAttentionScorer(Scorer):
    """Attention and shared layers: equations 4 and 5 of AttentionXML.

    Parameters
    ----------
    start
        The labels, or nodes of a tree's level; ``sparse`` for candidates among very many.
    n_inputs
        Size of a token's vector.
    layers
        Sizes of the fully connected layers.
    attends
        Another attention than AttentionXML's.
    """

    def __init__(
        self,
        start: LabelStart,
        n_inputs: int,
        layers: Sequence[int],
        attends: Attention | None = None,
    ) -> None:
        super().__init__()
        self.n_labels = len(start.counts)
        self.attends = attends or LabelAttention(self.n_labels, n_inputs, start.sparse)
        self.layers = SharedLayers(n_inputs, layers)
        self._per_label = n_inputs + sum(layers)
        self.bias = None
        if start.begins == "frequency":
            self.bias = nn.Embedding(self.n_labels, 1, sparse=start.sparse)
            with torch.no_grad():
                self.bias.weight.copy_(start.log_odds()[:, None])
                nn.init.zeros_(self.layers.output.bias)
        elif start.begins == "zero":
            nn.init.zeros_(self.layers.output.weight)
            nn.init.zeros_(self.layers.output.bias)

    def logits(self, reading: Reading, labels: Tensor | None, prior: Tensor | None) -> Tensor:
        """Return the log odds of candidates (b, C), or of all labels (b, L).

        All labels are judged some at a time, but for learning, which needs all steps at once.
        """
        asked = None if labels is None else labels.clamp(min=0)
        if asked is not None or self.training or torch.compiler.is_compiling():
            logits = self._judge(reading, asked)
        else:
            texts, longest, _ = reading.vectors.shape
            size = max(BLOCK // (texts * (longest + self._per_label)), 1)
            every = torch.arange(self.n_labels, device=reading.vectors.device)
            logits = torch.cat([self._judge(reading, part) for part in torch.split(every, size)], 1)
        return logits if prior is None else logits + prior

    def _judge(self, reading: Reading, labels: Tensor | None) -> Tensor:
        shares = self.attends.shares(reading.vectors, reading.mask, labels)
        if self.attends.averages:
            logits = self.layers.of_words(reading.vectors, shares)
        else:
            logits = self.layers(shares @ reading.vectors)
        if self.bias is None:
            return logits
        own = self.bias.weight if labels is None else self.bias(labels)
        return logits + own.squeeze(-1)

    def attention(self, reading: Reading, labels: Tensor) -> Tensor:
        """Return how much each candidate (b, C) attends to each token, shape (b, C, T)."""
        return self.attends.shares(reading.vectors, reading.mask, labels.clamp(min=0))

    def begin_as(self, other: Scorer) -> None:
        """Take over the layers that all labels share."""
        if isinstance(other, LabelAttentionScorer):
            self.layers.load_state_dict(other.layers.state_dict())

    def kept(self, longest: int, judged: int | None) -> int:
        """Return the numbers that learning keeps for one text."""
        size, layers = self.layers.n_inputs, self._per_label - self.layers.n_inputs
        n_labels = self.n_labels if judged is None else judged
        # a label: its attention, and what layers make of its reading
        label, words = self.attends.per_word * longest + 2 * layers, longest * self.layers.size
        if not (self.attends.averages and self.layers.reads_words_first(longest, n_labels)):
            label, words = label + size, 0
        return words + n_labels * (label if judged is None else label + size)
