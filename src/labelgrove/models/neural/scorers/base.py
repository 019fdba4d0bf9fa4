"""What every scorer promises: a `Reading` in, log odds of labels out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from labelgrove.models.neural.readers.base import Reading


class Positives(NamedTuple):
    """The true labels of a batch, each pair once; both int64 of shape (n,).

    Parameters
    ----------
    rows
        Whose they are, texts of the batch from 0.
    labels
        What they are.
    """

    rows: Tensor
    labels: Tensor


class Scorer(nn.Module, ABC):
    """Judges labels.

    Attributes
    ----------
    n_labels
        Number of labels.
    clusters
        Labels in each of its clusters, which saved weights must find again; none if it has none.
    leaves_parts_out
        Whether a step may give some of its weights no gradient, which several processes must know.
    """

    n_labels: int
    clusters: tuple[int, ...] = ()
    leaves_parts_out: ClassVar[bool] = False

    @property
    def has_plain_loss(self) -> bool:
        """Whether its loss is the mean binary cross entropy of its log odds and nothing else.

        Then blocks may stand between these and the loss.
        """
        return type(self).loss is Scorer.loss

    @abstractmethod
    def logits(self, reading: Reading, labels: Tensor | None, prior: Tensor | None) -> Tensor:
        """Return the log odds of labels.

        Parameters
        ----------
        reading
            Of b texts.
        labels
            Candidates, shape (b, C), anything below 0 for none; None for all labels.
        prior
            Log odds to add, shape (b, C), or (b, L) for all; None for none.

        Returns
        -------
        logits
            Shape (b, C) or (b, L).
        """

    def loss(
        self,
        reading: Reading,
        labels: Tensor | None,
        prior: Tensor | None,
        truth: Positives | Tensor,
    ) -> Tensor:
        """Return the mean binary cross entropy over texts and judged labels, shape ().

        Parameters
        ----------
        reading, labels, prior
            As of `logits`.
        truth
            Which of the candidates are true, shape (b, C), bool; or, of all labels, the true ones.
        """
        logits = self.logits(reading, labels, prior).float()
        if labels is None:
            return binary_cross_entropy_with_logits(logits, dense(truth, logits))
        assert isinstance(truth, Tensor)
        real = labels >= 0
        if not real.any():  # a first stage may name nothing
            return 0.0 * logits.sum()
        return binary_cross_entropy_with_logits(logits[real], truth[real].to(logits.dtype))

    def rank(self, reading: Reading, k: int, prior: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the best of all labels and their probabilities, best first, both (b, k)."""
        chances = self.logits(reading, None, prior).float().sigmoid()
        best, labels = chances.topk(min(k, chances.shape[1]), dim=1)
        return labels, best

    def log_odds(self, reading: Reading, label: int, prior: Tensor | None) -> Tensor:
        """Return the log odds of one label, shape (b,), with a gradient; for explanations."""
        asked = torch.full((len(reading.mask), 1), label, device=reading.mask.device)
        own = None if prior is None else prior[:, label : label + 1]
        return self.logits(reading, asked, own)[:, 0]

    def attention(self, reading: Reading, labels: Tensor) -> Tensor | None:
        """Return how much each candidate looked at each token, shape (b, C, T).

        None for a scorer that does not tell; gradients then explain it.
        """
        return None

    def begin_as(self, other: Scorer) -> None:
        """Take over the weights of another that do not belong to single labels, if it has any."""

    @abstractmethod
    def kept(self, longest: int, judged: int | None) -> int:
        """Return the numbers that learning keeps for one text, to estimate memory.

        Parameters
        ----------
        longest
            Tokens of the longest text.
        judged
            Labels that are judged for a text; None for all.
        """


def dense(truth: Positives | Tensor, like: Tensor) -> Tensor:
    """Return which labels are true as 0 and 1, of the shape and type of ``like``."""
    if isinstance(truth, Tensor):
        return truth.to(like.dtype)
    found = torch.zeros_like(like)
    found[truth.rows, truth.labels] = 1.0
    return found
