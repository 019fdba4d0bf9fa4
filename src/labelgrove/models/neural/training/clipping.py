"""Gradients that are not longer than they should be."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import torch
from torch import Tensor, nn

RECENT = 5


class Clipping:
    """Shortens gradients that are longer than a fixed bound, or than recent ones by far.

    Parameters
    ----------
    longest
        Bound on the norm of all gradients together; None for none.
    times_recent
        Bound as a multiple of the longest of the last five norms; None for none. It begins when
        five are known.

    Attributes
    ----------
    recent
        The last norms, each counted as 1 at most, and as twice the longest before it: one long
        gradient must not let all others through.
    """

    def __init__(self, longest: float | None, times_recent: float | None) -> None:
        self.longest = longest
        self.times_recent = times_recent
        self.recent: deque[float] = deque(maxlen=RECENT)

    def bound(self) -> float:
        """Return the longest norm allowed now."""
        bounds = [float("inf") if self.longest is None else self.longest]
        if self.times_recent is not None and len(self.recent) == RECENT:
            bounds.append(self.times_recent * max(self.recent))
        return min(bounds)

    def __call__(self, parameters: Iterable[nn.Parameter]) -> float:
        """Shorten the gradients in place; return their norm before."""
        parts = [_values(parameter) for parameter in parameters if parameter.grad is not None]
        if not parts:
            return 0.0
        norm = float(torch.linalg.vector_norm(torch.stack([p.norm() for p in parts])))
        bound = self.bound()
        if norm > bound:
            for part in parts:
                part.mul_(bound / norm)
        self.recent.append(min(norm, self._longest_remembered()))
        return norm

    def _longest_remembered(self) -> float:
        """Return what a norm counts as at most in later bounds, as in AttentionXML's code."""
        return min(1.0, 2.0 * max(self.recent)) if len(self.recent) == RECENT else 1.0


def _values(parameter: nn.Parameter) -> Tensor:
    """Return the numbers of a gradient; of a sparse one those of the rows that have any."""
    gradient = parameter.grad
    assert gradient is not None
    if not gradient.is_sparse:
        return gradient
    parameter.grad = gradient.coalesce()  # a word that occurs twice has one gradient
    return parameter.grad._values()
