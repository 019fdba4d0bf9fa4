"""Votes of similar documents as log odds to start from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor


class BatchVotes(NamedTuple):
    """How the neighbours of some texts shift the log odds of labels.

    Parameters
    ----------
    labels
        The labels that have votes, ascending, and L behind them for none, shape (b, V).
    gains
        How much more than a label without votes these are shifted, shape (b, V); 0 for none.
    unvoted
        The shift of each label without votes, shape (L,).

    Examples
    --------
    >>> own = torch.tensor([[1, 3]]), torch.tensor([[5.0, 0.0]])
    >>> votes = BatchVotes(*own, unvoted=torch.tensor([-2.0, -1.0, -2.0]))
    >>> votes.of_all().tolist()
    [[-2.0, 4.0, -2.0]]
    >>> votes.of(torch.tensor([[1, 2, -1]])).tolist()
    [[4.0, -2.0, 0.0]]
    """

    labels: Tensor
    gains: Tensor
    unvoted: Tensor

    def to(self, device: torch.device) -> BatchVotes:
        """Return the same on a device."""
        return BatchVotes(*(each.to(device) for each in self))

    def repeated(self, n: int) -> BatchVotes:
        """Return the votes of one text n times."""
        return BatchVotes(self.labels.expand(n, -1), self.gains.expand(n, -1), self.unvoted)

    def of_all(self) -> Tensor:
        """Return the shifts of all labels, shape (b, L)."""
        n_labels = len(self.unvoted)
        gains = self.gains.new_zeros(len(self.labels), n_labels + 1)
        return self.unvoted + gains.scatter(1, self.labels, self.gains)[:, :n_labels]

    def of(self, labels: Tensor) -> Tensor:
        """Return the shifts of candidates (b, C); 0 where there is none, below 0."""
        asked = labels.clamp(min=0).contiguous()
        places = torch.searchsorted(self.labels.contiguous(), asked)
        places = places.clamp(max=self.labels.shape[1] - 1)
        voted = self.labels.gather(1, places) == asked
        shifts = self.unvoted[asked] + self.gains.gather(1, places) * voted
        return shifts.masked_fill(labels < 0, 0.0)


@dataclass(frozen=True, eq=False)
class VotePrior:
    """How the neighbours of texts shift the log odds of labels, from those of their frequency.

    A label with frequency p that a share v of n neighbours has is as probable as
    (n v + p) / (n + 1): its frequency counts as one more neighbour.

    Parameters
    ----------
    votes
        Share of the neighbours that have each label, shape (texts, L or more).
    shares
        Share of the documents that have each label, between 0 and 1, shape (L,).
    neighbours
        Number of neighbours n.

    Examples
    --------
    >>> prior = VotePrior(csr_array([[0.5, 0.0]]), np.array([0.1, 0.1]), neighbours=9)
    >>> prior.of(np.array([0])).of_all().numpy().round(2)
    array([[ 2.04, -2.4 ]], dtype=float32)
    """

    votes: csr_array
    shares: NDArray[np.floating]
    neighbours: int

    def of(self, rows: NDArray[np.int64]) -> BatchVotes:
        """Return the shifts of some texts."""
        some, n_labels = self.votes[rows], len(self.shares)
        known = some.indices < n_labels
        texts = np.repeat(np.arange(len(rows)), np.diff(some.indptr))[known]
        columns = some.indices[known].astype(np.int64)
        order = np.lexsort((columns, texts))
        texts, columns, votes = texts[order], columns[order], some.data[known][order]
        sizes = np.bincount(texts, minlength=len(rows))
        places = np.arange(len(texts)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        width = max(int(sizes.max(initial=0)), 1)
        labels = np.full((len(rows), width), n_labels, np.int64)
        gains = np.zeros((len(rows), width), np.float32)
        labels[texts, places] = columns
        shifts = self._shifts(votes, self.shares[columns])
        gains[texts, places] = shifts - self._unvoted[columns]
        found = (labels, gains, self._unvoted.astype(np.float32))
        return BatchVotes(*map(torch.from_numpy, found))

    @cached_property
    def _unvoted(self) -> NDArray[np.float64]:
        """The shifts of labels without votes, shape (L,), which all batches share."""
        return self._shifts(np.zeros(len(self.shares)), self.shares)

    def _shifts(
        self, votes: NDArray[np.floating], shares: NDArray[np.floating]
    ) -> NDArray[np.float64]:
        """Return how much votes shift labels of these shares of the documents, shape (m,)."""
        n = self.neighbours
        chances = (n * votes.astype(np.float64) + shares) / (n + 1)
        return _log_odds(chances) - _log_odds(shares.astype(np.float64))


def _log_odds(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.log(chances) - np.log1p(-chances)
    return found
