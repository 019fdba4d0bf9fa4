"""Two attentions of each label, one of its own and one by its name, fused (LSAN)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reading
from labelgrove.models.neural.scorers.base import Scorer
from labelgrove.models.neural.scorers.label_attention import Attention, LabelAttention
from labelgrove.models.neural.scorers.outputs import LinearOutput


class LabelSpecificAttention(Attention):
    """Equations 2 to 7 of LSAN, as one attention.

    A label reads the words twice and takes alpha of the first reading and 1 - alpha of the second.
    Both are sums of words, so their mixture is again one: it is enough to mix the shares, and no
    vector of a label in a text has to be kept.

    Parameters
    ----------
    n_labels
        Number of labels.
    n_inputs
        Size of a word's vector.
    size
        Of the layer in front of a label's own attention (d_a).
    name_size
        Of the vectors of labels by which the second attention looks.
    averages
        Let the shares of the second attention sum to 1; without it they are plain products, as
        printed, and grow with the length of the text.
    sparse
        Steps touch only the candidates: for very many labels.
    """

    per_word = 8

    def __init__(
        self,
        n_labels: int,
        n_inputs: int,
        size: int,
        name_size: int,
        averages: bool = True,
        sparse: bool = False,
    ) -> None:
        super().__init__()
        self.averages = averages
        self.hidden = nn.Linear(n_inputs, size, bias=False)
        self.own = LabelAttention(n_labels, size, sparse)
        self.to_names = nn.Linear(n_inputs, name_size, bias=False)
        self.named = LabelAttention(n_labels, name_size, sparse)
        self.weigh_own, self.weigh_named = nn.Linear(n_inputs, 1), nn.Linear(n_inputs, 1)

    def shares(self, words: Tensor, mask: Tensor, candidates: Tensor | None = None) -> Tensor:
        """Return the mixed shares (b, L or C, T)."""
        own = self.own.shares(torch.tanh(self.hidden(words)), mask, candidates)
        named = self._by_name(words, mask, candidates)
        alpha = torch.sigmoid(_weighed(own, words, self.weigh_own))
        beta = torch.sigmoid(_weighed(named, words, self.weigh_named))
        alpha = alpha / (alpha + beta)
        return alpha * own + (1 - alpha) * named

    def _by_name(self, words: Tensor, mask: Tensor, candidates: Tensor | None) -> Tensor:
        seen = self.to_names(words)
        if self.averages:
            return self.named.shares(seen, mask, candidates)
        return self.named.products(seen, candidates).masked_fill(~mask[:, None, :], 0.0)


def _weighed(shares: Tensor, words: Tensor, weigh: nn.Linear) -> Tensor:
    """Return the weight (b, C, 1) of readings that are these shares (b, C, T) of the words."""
    return shares @ (words @ weigh.weight[0])[:, :, None] + weigh.bias


class AveragedAttentionScorer(Scorer):
    """The mean of what all labels read, and a linear layer to all labels.

    A label's score comes from what all have read, so that its own attention does not explain it.

    Parameters
    ----------
    start
        The labels, and how they begin.
    n_inputs
        Size of a word's vector.
    attends
        How much each label attends to each word; the mean of candidates is theirs alone.
    """

    def __init__(self, start: LabelStart, n_inputs: int, attends: Attention) -> None:
        super().__init__()
        self.n_labels, self.attends = len(start.counts), attends
        self.output = LinearOutput(n_inputs, start)

    def text(self, reading: Reading, labels: Tensor | None) -> Tensor:
        """Return the vector (b, d) of each text."""
        if labels is None:
            shares = self.attends.shares(reading.vectors, reading.mask).mean(1)
        else:
            real = (labels >= 0)[:, :, None]
            each = self.attends.shares(reading.vectors, reading.mask, labels.clamp(min=0))
            shares = (each * real).sum(1) / real.sum(1).clamp(min=1)
        return (shares[:, None] @ reading.vectors)[:, 0]

    def logits(self, reading: Reading, labels: Tensor | None, prior: Tensor | None) -> Tensor:
        """Return the log odds of candidates (b, C), or of all labels (b, L)."""
        logits = self.output.logits(self.text(reading, labels), labels)
        return logits if prior is None else logits + prior

    def log_odds(self, reading: Reading, label: int, prior: Tensor | None) -> Tensor:
        """Return the log odds of one label, shape (b,)."""
        return self.logits(reading, None, prior)[:, label]

    def kept(self, longest: int, judged: int | None) -> int:
        """Return the numbers that learning keeps for one text."""
        few = self.n_labels if judged is None else judged
        size = 0 if judged is None else 2 * self.output.linear.in_features
        return few * (self.attends.per_word * longest + size + 3)
