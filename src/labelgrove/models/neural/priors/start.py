"""What labels start from: their frequency, the log odds of a first stage, or nothing."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class LabelStart(NamedTuple):
    """The labels, or nodes of a label tree, that a scorer will judge, and how it begins.

    Parameters
    ----------
    counts
        Training documents of each, shape (L,); zeros where weights are put into the scorer next.
    n_documents
        Number of training documents.
    begins
        ``"frequency"``: each label is as probable at first as it is frequent; ``"zero"``: all log
        odds are 0, since a first stage's odds are added to them; ``"none"``: at random.
    sparse
        Whether a training step touches only a few of very many labels.
    clusters
        Labels in each cluster of a scorer whose saved weights are put into this one; None where
        the scorer decides.
    """

    counts: NDArray[np.int64]
    n_documents: int
    begins: Literal["frequency", "zero", "none"] = "none"
    sparse: bool = False
    clusters: tuple[int, ...] | None = None

    def log_odds(self) -> Tensor:
        """Return the log odds of each label's share of the documents, shape (L,)."""
        return shares_of(torch.from_numpy(self.counts), self.n_documents).logit()


def shares_of(counts: Tensor, n: Tensor | int) -> Tensor:
    """Return shares of n documents that are neither 0 nor 1, of the shape of counts."""
    return (counts + 0.5) / (n + 1)
