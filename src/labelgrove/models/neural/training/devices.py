"""Which device a network runs on, and in which precision."""

from __future__ import annotations

import logging
import os
from functools import lru_cache
from typing import Any, Literal

import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins.environments.torchelastic import TorchElasticEnvironment
from lightning_fabric.strategies.ddp import DDPStrategy

from labelgrove.core.errors import InputError
from labelgrove.models.neural.training.settings import Training

logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # else it tells of each precision
PRECISIONS: dict[str, Literal["32-true", "bf16-mixed"]] = {"32": "32-true", "bf16": "bf16-mixed"}
DEVICES = ("auto", "cpu", "cuda", "mps")


def open_fabric(settings: Training, leaves_parts_out: bool = False) -> Fabric:
    """Return the device and precision that the settings ask for.

    Parameters
    ----------
    settings
        With device, devices and precision.
    leaves_parts_out
        Whether a step may give some weights no gradient, which several processes must know.
    """
    kind, colon, number = settings.device.partition(":")
    if kind not in DEVICES:
        raise InputError(
            f"device must be one of {', '.join(DEVICES)}, or one of several such as cuda:1, got "
            f"{settings.device!r}"
        )
    strategy: str | DDPStrategy = "auto"
    if settings.devices > 1:
        strategy = DDPStrategy(start_method="spawn", find_unused_parameters=leaves_parts_out)
    try:
        devices: Any = [int(number)] if colon else settings.devices
        return Fabric(
            accelerator=kind,
            devices=devices,
            strategy=strategy,
            precision=PRECISIONS[settings.precision],
        )
    except Exception as error:
        mps = ", mps" if torch.backends.mps.is_available() else ""
        raise InputError(
            f"the device {settings.device!r} (devices={settings.devices}) cannot be used here: "
            f"there are cpu{mps} and {torch.cuda.device_count()} of cuda; device='auto' takes what "
            "there is"
        ) from error


class _Joined(TorchElasticEnvironment):
    """Processes that were started elsewhere, with the environment that torchrun gives."""

    def validate_settings(self, num_devices: int, num_nodes: int) -> None:
        """Accept machines with different numbers of processes."""


def join_fabric(settings: Training, leaves_parts_out: bool = False) -> Fabric:
    """Return device and precision in a process that is in a process group already.

    Parameters
    ----------
    settings
        With device, ``"cpu"`` or ``"cuda"``, and precision.
    leaves_parts_out
        Whether a step may give some weights no gradient.
    """
    # Gradients are exchanged in groups of weights, which torch divides in another way after the
    # first step unless it looks for unused weights. With three processes or more that changes the
    # order of sums, and with it the first step after a death.
    fixed_groups = leaves_parts_out or int(os.environ["WORLD_SIZE"]) > 2
    strategy = DDPStrategy(cluster_environment=_Joined(), find_unused_parameters=fixed_groups)
    fabric = Fabric(
        accelerator=settings.device,
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        num_nodes=1,  # that of the process group counts
        strategy=strategy,
        precision=PRECISIONS[settings.precision],
    )
    fabric.launch()
    return fabric


@lru_cache(maxsize=8)
def device_of(name: str) -> torch.device:
    """Return the device that a setting means here; what was trained on a GPU runs without one."""
    try:
        device: torch.device = open_fabric(Training(device=name)).device
    except InputError:
        device = open_fabric(Training(device="auto")).device
    return device
