"""Votes of similar documents as log odds to start from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor


@dataclass(frozen=True, eq=False)
class VotePrior:
    """How the neighbours of texts shift the log odds of labels, from those of their frequency.

    A label with frequency p that a share v of n neighbours has is as probable as
    (n v + p) / (n + 1): its frequency counts as one more neighbour.

    Parameters
    ----------
    votes
        Share of the neighbours that have each label, shape (texts, L).
    shares
        Share of the documents that have each label, between 0 and 1, shape (L,).
    neighbours
        Number of neighbours n.

    Examples
    --------
    >>> prior = VotePrior(csr_array([[0.5, 0.0]]), np.array([0.1, 0.1]), neighbours=9)
    >>> prior.of(np.array([0])).numpy().round(2)
    array([[ 2.04, -2.4 ]], dtype=float32)
    """

    votes: csr_array
    shares: NDArray[np.floating]
    neighbours: int

    def of(self, rows: NDArray[np.int64]) -> Tensor:
        """Return the shifts of some texts, shape (b, L)."""
        n = self.neighbours
        votes = torch.from_numpy(self.votes[rows].toarray())[:, : len(self.shares)].float()
        shares = torch.from_numpy(self.shares).float()
        return ((n * votes + shares) / (n + 1)).logit() - shares.logit()
