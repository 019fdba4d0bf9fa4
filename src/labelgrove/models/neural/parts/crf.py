"""A chain of yes and no: each label depends on the one before it."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Chain(nn.Module):
    """A linear-chain conditional random field with two states a place: no and yes.

    Lafferty, McCallum and Pereira, "Conditional random fields", ICML 2001. Places that do not
    count are stepped over: the chain goes on as if they were not there.

    Attributes
    ----------
    start
        Of the first state, shape (2,).
    steps
        From a state to the next, shape (2, 2).
    """

    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.zeros(2))
        self.steps = nn.Parameter(torch.zeros(2, 2))

    def loss(self, scores: Tensor, true: Tensor, real: Tensor) -> Tensor:
        """Return the sum over texts of the negative log-likelihood, shape ().

        Parameters
        ----------
        scores
            Of both states at each place, shape (b, C, 2).
        true
            Which places are yes, shape (b, C), bool.
        real
            Which count, shape (b, C), bool.
        """
        total = self._forwards(scores, real)[-1].logsumexp(1)
        # a text without any place that counts has no path
        return ((total - self._of_path(scores, true, real)) * real.any(1)).sum()

    def log_odds(self, scores: Tensor, real: Tensor) -> Tensor:
        """Return the log odds of yes at each place, whatever the others are, shape (b, C)."""
        forwards, backwards = self._forwards(scores, real), self._backwards(scores, real)
        both = torch.stack(forwards, 1) + torch.stack(backwards, 1)
        return both[:, :, 1] - both[:, :, 0]

    def _forwards(self, scores: Tensor, real: Tensor) -> list[Tensor]:
        """Return log sums over all beginnings that end in each state, (b, 2) for each place."""
        found: list[Tensor] = []
        begun = torch.zeros_like(real[:, 0])
        last = self.start.expand(len(scores), 2)
        for place in range(scores.shape[1]):
            stepped = (last[:, :, None] + self.steps).logsumexp(1)
            here = torch.where(begun[:, None], stepped, last) + scores[:, place]
            last = torch.where(real[:, place, None], here, last)
            begun = begun | real[:, place]
            found.append(last)
        return found

    def _backwards(self, scores: Tensor, real: Tensor) -> list[Tensor]:
        """Return log sums over all ends that go on from each state, (b, 2) for each place."""
        found: list[Tensor] = []
        last = torch.zeros_like(scores[:, 0])
        for place in reversed(range(scores.shape[1])):
            found.append(last)
            before = (self.steps + (scores[:, place] + last)[:, None]).logsumexp(2)
            last = torch.where(real[:, place, None], before, last)
        return found[::-1]

    def _of_path(self, scores: Tensor, true: Tensor, real: Tensor) -> Tensor:
        """Return the scores of the true states, shape (b,)."""
        states = true.long()
        own = scores.gather(2, states[:, :, None])[:, :, 0]
        total = (own * real).sum(1)
        begun = torch.zeros_like(real[:, 0])
        last = states[:, 0]
        for place in range(scores.shape[1]):
            counts, state = real[:, place], states[:, place]
            step = torch.where(begun, self.steps[last, state], self.start[state])
            total = total + step * counts
            last = torch.where(counts, state, last)
            begun = begun | counts
        return total
