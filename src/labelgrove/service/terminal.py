"""SIGHUP has two meanings: load anew, or the terminal was closed. Whether there is one tells."""

from __future__ import annotations

import os


class Terminal:
    """The terminal from which a process was started, if there was one."""

    def __init__(self) -> None:
        self._was = _is_there()

    def is_gone(self) -> bool:
        """Tell whether there was one and it was closed."""
        return self._was and not _is_there()


def _is_there() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
