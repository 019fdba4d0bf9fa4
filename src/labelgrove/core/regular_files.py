"""Small files that may be anything: a pipe that never ends, a device, gigabytes of nothing."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from labelgrove.core.errors import DamagedError


def read_regular(path: Path, most: int) -> bytes:
    """Return the content of a file; what is no regular file, or too large, is an error.

    Parameters
    ----------
    path
        The file; a link to one is followed.
    most
        Bytes that such a file can have.
    """
    # without O_NONBLOCK a pipe would be waited for
    how = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, how), "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise DamagedError(f"{path} is no regular file; save the model again")
        content = b"" if facts.st_size > most else file.read(most + 1)
        if max(len(content), facts.st_size) > most:
            raise DamagedError(
                f"{path} is damaged: it has {facts.st_size:,} bytes, and such a file has at most "
                f"{most:,}; save the model again"
            )
        return content
