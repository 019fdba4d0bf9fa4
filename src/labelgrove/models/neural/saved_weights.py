"""Weights of a saved folder, put into a network only if they are those that it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn

from labelgrove.core.errors import DamagedError

M = TypeVar("M", bound=nn.Module)


def with_saved_weights(build: Callable[[], M], weights: Mapping[str, Any], name: str) -> M:
    """Return a network with weights of a folder.

    It is first built without memory, on the device ``meta``: a folder that asks for other sizes
    than its weights have is refused before these sizes cost anything.

    Parameters
    ----------
    build
        Makes the network, with any weights.
    weights
        Arrays by the names that they have in the network.
    name
        What the network is called in messages.
    """
    with torch.device("meta"):
        wanted = {key: tuple(each.shape) for key, each in build().state_dict().items()}
    if wanted != {key: np.shape(each) for key, each in weights.items()}:
        raise _others(name)
    network = build()
    kinds = {key: each.dtype for key, each in network.state_dict().items()}
    tensors = {key: torch.from_numpy(np.array(each)) for key, each in weights.items()}
    if any(tensor.dtype != kinds[key] for key, tensor in tensors.items()):
        raise _others(name)
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        raise _others(name) from error
    return network


def _others(name: str) -> DamagedError:
    return DamagedError(
        f"the weights of this {name} are not those that its settings ask for, as another version "
        "of labelgrove wrote it: train it again"
    )
