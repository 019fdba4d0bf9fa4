"""Whether this process is one command of the command line, which ends when the command is done.

Such a process may leave out of the libraries it loads what nobody will ask for in it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_begun = False


def begin() -> None:
    """Say that this process is one command."""
    global _begun
    _begun = True


def has_begun() -> bool:
    """Tell whether this process is one command."""
    return _begun


@contextmanager
def without(*modules: str) -> Iterator[None]:
    """Import as if these optional modules were not installed, where this is one command."""
    hidden = [name for name in modules if _begun and name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # the import system's own sign
    try:
        yield
    finally:
        for name in hidden:
            sys.modules.pop(name, None)
