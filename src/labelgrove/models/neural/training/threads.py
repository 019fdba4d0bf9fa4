"""How many threads torch uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from labelgrove.core.threads import workers


@contextmanager
def limited_threads(threads: int | None) -> Iterator[None]:
    """Let torch use so many threads for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(workers(threads))
    try:
        yield
    finally:
        torch.set_num_threads(before)
