"""The decorator of kernels: numba compiles them, or a small job reads them as plain Python.

numba takes a third of a second to load, much of what a command takes that tags one text. So such a
command calls `interpret` before it imports kernels: they are then the Python functions that they
are written as, with the same results but for the last digit. Everywhere else numba compiles them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from labelgrove.core import one_command
from labelgrove.core.compiling import listen

_interpreting = False


def interpret() -> None:
    """Have kernels that are imported from now on read as plain Python, where this is one command.

    Without effect where numba is there already.
    """
    global _interpreting
    if one_command.has_begun() and "numba" not in sys.modules:
        import numpy as np

        np.seterr(over="ignore")  # hashes multiply beyond 64 bits, as they do in compiled kernels
        _interpreting = True


def interpreting() -> bool:
    """Tell whether kernels are read as plain Python."""
    return _interpreting


def njit(**options: Any) -> Callable[[Any], Any]:
    """Return numba's decorator with these options, or one that changes nothing."""
    if _interpreting:
        return lambda function: function
    from numba import njit as compiled

    listen()
    return compiled(**options)  # type: ignore[no-any-return]
