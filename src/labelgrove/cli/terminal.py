"""Lines of text on the terminal; control characters in them are shown, not sent."""

from __future__ import annotations

import sys

from labelgrove.core.printable import printable


def show(text: str = "") -> None:
    """Print a text to standard output."""
    print(printable(text))


def warn(text: str) -> None:
    """Print a text to standard error, where there is one."""
    if sys.stderr is not None:
        print(printable(text), file=sys.stderr)
