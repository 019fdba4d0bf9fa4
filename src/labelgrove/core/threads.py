"""How many threads work at once."""

from __future__ import annotations

import os

from labelgrove.core.errors import InputError


def workers(threads: int | None) -> int:
    """Return a number of threads; None means all cores this process may use.

    Examples
    --------
    >>> workers(3)
    3
    """
    if threads is not None:
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
            raise InputError(f"threads must be 1 or more, or None for all cores, got {threads!r}")
        return threads
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
