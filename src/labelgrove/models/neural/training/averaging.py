"""Stochastic weight averaging (Izmailov et al. 2018)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Averaged:
    """The running mean of a network's weights.

    Parameters
    ----------
    network
        Whose trainable weights are averaged.

    Attributes
    ----------
    count
        Weights averaged so far.
    mean
        Their mean, by parameter name; empty at first.
    """

    def __init__(self, network: nn.Module) -> None:
        self._network = network
        self.count = 0
        self.mean: dict[str, Tensor] = {}

    def add(self) -> None:
        """Take the weights as they are now into the mean."""
        self.count += 1
        for name, parameter in self._trained():
            value = parameter.detach()
            if name in self.mean:
                self.mean[name] += (value - self.mean[name]) / self.count
            else:
                self.mean[name] = value.clone()

    @contextmanager
    def swapped_in(self) -> Iterator[None]:
        """Let the network have the mean as its weights, and its own again afterwards."""
        if not self.count:
            yield
            return
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for name, parameter in self._trained():
            own = parameter.detach().clone()
            parameter.copy_(self.mean[name])
            self.mean[name] = own

    def _trained(self) -> Iterator[tuple[str, nn.Parameter]]:
        return ((n, p) for n, p in self._network.named_parameters() if p.requires_grad)
