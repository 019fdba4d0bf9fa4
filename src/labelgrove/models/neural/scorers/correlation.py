"""Blocks behind the log odds of all labels, which learn how labels go together (CorNet)."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import elu

from labelgrove.models.neural.readers.base import Reading
from labelgrove.models.neural.scorers.base import Scorer


class CorrelationBlock(nn.Module):
    """Adds to log odds of labels what the probabilities of all labels say (equation 4 of CorNet).

    Parameters
    ----------
    n_labels
        Number of labels.
    size
        Of the layer between labels and labels (R).
    """

    def __init__(self, n_labels: int, size: int) -> None:
        super().__init__()
        self.inward, self.outward = nn.Linear(n_labels, size), nn.Linear(size, n_labels)
        nn.init.xavier_uniform_(self.inward.weight)
        nn.init.xavier_uniform_(self.outward.weight)

    def forward(self, logits: Tensor) -> Tensor:
        """Return log odds (b, L) of log odds (b, L)."""
        added: Tensor = self.outward(elu(self.inward(logits.sigmoid())))
        return logits + added


class CorrelatedScorer(Scorer):
    """Any scorer of all labels, and blocks behind it.

    Parameters
    ----------
    inner
        Judges all labels, with the mean binary cross entropy as loss.
    n_blocks, size
        Number of blocks, and as of `CorrelationBlock`.
    """

    def __init__(self, inner: Scorer, n_blocks: int, size: int) -> None:
        super().__init__()
        self.inner, self.n_labels, self.size = inner, inner.n_labels, size
        self.leaves_parts_out = inner.leaves_parts_out  # type: ignore[misc]
        self.blocks = nn.ModuleList(CorrelationBlock(self.n_labels, size) for _ in range(n_blocks))

    def logits(self, reading: Reading, labels: Tensor | None, prior: Tensor | None) -> Tensor:
        """Return the log odds of all labels (b, L); there are no candidates."""
        assert labels is None
        logits = self.inner.logits(reading, None, prior).float()
        for block in self.blocks:
            logits = block(logits)
        return logits

    def log_odds(self, reading: Reading, label: int, prior: Tensor | None) -> Tensor:
        """Return the log odds of one label, shape (b,)."""
        return self.logits(reading, None, prior)[:, label]

    def attention(self, reading: Reading, labels: Tensor) -> Tensor | None:
        """Return what the inner scorer tells."""
        return self.inner.attention(reading, labels)

    def kept(self, longest: int, judged: int | None) -> int:
        """Return the numbers that learning keeps for one text."""
        of_block = 3 * self.n_labels + 2 * self.size
        return self.inner.kept(longest, judged) + len(self.blocks) * of_block
