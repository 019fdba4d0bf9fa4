"""How many threads work at once."""

from __future__ import annotations

import os
from numbers import Integral

from labelgrove.core.errors import InputError


def workers(threads: int | None) -> int:
    """Return a number of threads; None means all cores this process may use.

    Examples
    --------
    >>> workers(3)
    3
    """
    if threads is not None:
        if isinstance(threads, bool) or not isinstance(threads, Integral) or threads < 1:
            raise InputError(f"threads must be a whole number from 1, or None, got {threads!r}")
        return int(threads)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
