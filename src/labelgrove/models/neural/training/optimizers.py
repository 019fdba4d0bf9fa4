"""Optimisers, and learning rates that change from step to step."""

from __future__ import annotations

import math
from collections.abc import Mapping

from torch import Tensor, nn
from torch.optim import Adam, AdamW, Optimizer, SparseAdam

from labelgrove.models.neural.training.settings import Training


def new_optimizers(network: nn.Module, settings: Training) -> list[Optimizer]:
    """Return Adam for the network, and its sparse form for what has sparse gradients.

    Parts of the network with a learning rate of their own are groups of their own: ``rates`` of the
    network names the setting that holds it, ``rate_shares`` the weights that have only a share of
    it. Biases and the factors of norms, vectors all of them, have no weight decay, and neither have
    the weights that a module names in ``undecayed``.
    """
    sparse = sparse_weights(network)
    apart = set(map(id, sparse))
    rates: Mapping[str, str] = getattr(network, "rates", {})
    shares: Mapping[str, float] = getattr(network, "rate_shares", {})
    undecayed = {
        id(getattr(module, name))
        for module in network.modules()
        for name in getattr(module, "undecayed", ())
    }
    parts: dict[tuple[str, float, float], list[nn.Parameter]] = {}
    for name, parameter in network.named_parameters():
        if parameter.requires_grad and id(parameter) not in apart:
            own = [rate for part, rate in rates.items() if f"{name}.".startswith(f"{part}.")]
            rate = own[0] if own else "learning_rate"
            decays = parameter.ndim > 1 and id(parameter) not in undecayed
            decay = settings.weight_decay if decays else 0.0
            parts.setdefault((rate, shares.get(name, 1.0), decay), []).append(parameter)
    dense = [
        {"params": each, "rate": rate, "share": share, "weight_decay": decay}
        for (rate, share, decay), each in parts.items()
    ]
    found: list[Optimizer] = []
    if dense:
        kind = AdamW if settings.weight_decay else Adam
        found.append(kind(dense, settings.learning_rate, fused=True))
    if sparse:
        group = {"params": sparse, "rate": "learning_rate", "share": 1.0}
        found.append(SparseAdam([group], settings.learning_rate))
    return found


def sparse_weights(network: nn.Module) -> list[Tensor]:
    """Return the weights with sparse gradients, in the order by which a checkpoint numbers them."""
    return [
        module.weight
        for module in network.modules()
        if isinstance(module, nn.Embedding) and module.sparse and module.weight.requires_grad
    ]


def rate_at(step: int, total: int, settings: Training) -> float:
    """Return the factor on the learning rate at a step, counted from 0.

    Examples
    --------
    >>> [rate_at(step, 10, Training(schedule="linear", warmup=0.2)) for step in (0, 1, 2, 6)]
    [0.5, 1.0, 1.0, 0.5]
    """
    rising = round(settings.warmup * total)
    if step < rising:
        return (step + 1) / rising
    left = (total - step) / max(total - rising, 1)
    if settings.schedule == "linear":
        return left
    if settings.schedule == "cosine":
        return 0.5 * (1 + math.cos(math.pi * (1 - left)))
    return 1.0
