"""What a training will need, known before it begins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from labelgrove.core.errors import InputError
from labelgrove.models.neural.training.settings import Training

BYTES = 4  # of a number; mixed precision saves little of what is counted here
BASE = 350 << 20  # the interpreter with its libraries
SPARE = 0.95  # share of the free memory that may be used


class Size(NamedTuple):
    """A network in numbers.

    Parameters
    ----------
    weights
        All of them.
    batch
        Numbers that a step keeps for its batch until it has gone back through the network.
    frozen
        Weights that do not learn.
    sparse
        Weights of which a step changes few.
    """

    weights: int
    batch: int
    frozen: int = 0
    sparse: int = 0

    @property
    def gradients(self) -> int:
        """Bytes of the gradients that processes exchange in a step, without sparse ones."""
        return BYTES * (self.weights - self.frozen - self.sparse)


def memory(sizes: Sequence[Size], training: Training, data: int) -> int:
    """Return the bytes that training needs at its peak, on each device.

    Parameters
    ----------
    sizes
        The networks that are trained one after the other and kept.
    training
        Its weight averaging keeps one copy more, its devices share a batch.
    data
        Bytes of the documents.
    """
    # gradients and two moments of Adam; the best weights, and maybe their mean
    copies = 1 + (training.average_from is not None)
    peak = max(
        3 * (each.weights - each.frozen)
        + copies * each.weights
        + 2 * each.batch // training.devices
        for each in sizes
    )
    return BASE + data + BYTES * (sum(each.weights for each in sizes) + peak)


def free(device: torch.device) -> int | None:
    """Return the bytes that can still be used on a device, or None if nobody knows."""
    if device.type == "cuda":
        found, _ = torch.cuda.mem_get_info(device)
        return int(found)
    known = [each for each in (_of_machine(), _of_container()) if each is not None]
    return min(known, default=None)


def check(needed: int, device: torch.device, advice: str) -> None:
    """Refuse a training that memory will not do for, with advice on what to do."""
    there = free(device)
    if there is not None and needed > SPARE * there:
        raise InputError(
            f"training needs about {gigabytes(needed)} of memory, and {gigabytes(there)} are free "
            f"on {device}: {advice}"
        )


def gigabytes(number: int) -> str:
    """Return bytes for a reader.

    Examples
    --------
    >>> gigabytes(1_234_567_890)
    '1.2 GB'
    """
    return f"{number / 1e9:.1f} GB"


def _of_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable")]
    return 1024 * int(found[0]) if found else None


def _of_container() -> int | None:
    """Return what a container's limit leaves."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text(encoding="ascii").strip()
        used = int((folder / "memory.current").read_text(encoding="ascii"))
        facts = (folder / "memory.stat").read_text(encoding="ascii").split()
        cached = int(facts[facts.index("inactive_file") + 1])  # given up where it is needed
    except (OSError, ValueError):
        return None
    return None if limit == "max" else max(int(limit) - used + cached, 0)
