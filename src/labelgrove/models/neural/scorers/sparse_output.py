"""A linear output of which a training step touches only the labels that it judges."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, logsigmoid

from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.scorers.base import Positives
from labelgrove.models.neural.scorers.outputs import Best, Output, plain_loss, precise, show


class SparseOutput(Output):
    """A vector and a bias for each label, with gradients for the candidates of a step alone.

    The time of a step then depends on how many labels it judges and not on how many there are.

    Parameters
    ----------
    n_inputs
        Size d of a text's vector.
    start
        The labels, and how they begin.

    Examples
    --------
    >>> import numpy as np
    >>> output = SparseOutput(2, LabelStart(np.zeros(3, int), 0))
    >>> _ = torch.nn.init.eye_(output.vectors.weight)
    >>> output.logits(torch.tensor([[-1.0, 2.0]]), torch.tensor([[1, 0]])).tolist()
    [[2.0, -1.0]]
    """

    def __init__(self, n_inputs: int, start: LabelStart) -> None:
        super().__init__(len(start.counts))
        self.vectors = nn.Embedding(self.n_labels, n_inputs, sparse=True)
        self.biases = nn.Embedding(self.n_labels, 1, sparse=True)
        nn.init.zeros_(self.biases.weight)
        if start.begins == "zero":
            nn.init.zeros_(self.vectors.weight)
        else:
            nn.init.xavier_uniform_(self.vectors.weight)
        if start.begins == "frequency":
            with torch.no_grad():
                self.biases.weight.copy_(start.log_odds()[:, None])

    def loss(self, hidden: Tensor, truth: Positives, prior: Tensor | None = None) -> Tensor:
        """Return the mean over texts (b, d) and all labels, shape ()."""
        logits = self.logits(hidden, None)
        if prior is not None:
            logits = logits + prior
        return plain_loss(logits, *truth) / logits.numel()

    def logits(self, hidden: Tensor, labels: Tensor | None) -> Tensor:
        """Return the log odds of labels (b, C) of texts (b, d), or of all (b, L)."""
        if labels is None:
            return precise(linear(hidden, self.vectors.weight, self.biases.weight[:, 0]))
        chosen = labels.clamp(min=0)
        found = (self.vectors(chosen) @ hidden[:, :, None])[:, :, 0]
        return precise(found + self.biases(chosen)[:, :, 0])

    def log_probability(self, hidden: Tensor, label: int) -> Tensor:
        """Return the logarithm of one label's probability for texts (b, d), shape (b,)."""
        asked = torch.full((len(hidden), 1), label, device=hidden.device)
        return logsigmoid(self.logits(hidden, asked))[:, 0]

    def _search(self, hidden: Tensor, best: Best, prior: Tensor | None) -> None:
        show(best, hidden, self.vectors.weight, bias=self.biases.weight[:, 0], prior=prior)
