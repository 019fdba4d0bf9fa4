"""Locks on folders themselves: the system lets go of them when a process ends, however it ends.

A lock is held on the open folder, not by a file in it, so that it stays with the folder when that
is renamed. Windows has no such locks, nor have some network drives.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labelgrove.core import system

STEP = 0.02  # seconds between two attempts


@contextmanager
def open_folder(folder: Path) -> Iterator[int | None]:
    """Open a folder and give its file descriptor, or None on systems that cannot open folders."""
    if not system.HERE.opens_folders:
        yield None
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield handle
    finally:
        os.close(handle)


def lock(handle: int | None, *, shared: bool = False, patience: float = 0) -> bool | None:
    """Lock an open folder until it is closed, and return whether it is locked now.

    False means that another process holds it, None that folders cannot be locked here.

    Parameters
    ----------
    handle
        What `open_folder` gave.
    shared
        Others may hold a shared lock too.
    patience
        Seconds to wait for others that hold it.
    """
    if handle is None:
        return None
    ends = time.monotonic() + patience
    while True:
        try:
            if system.HERE.lock(handle, shared=shared):
                return True
        except OSError:  # a drive without locks
            return None
        if time.monotonic() >= ends:
            return False
        time.sleep(STEP)


def is_at(handle: int | None, path: Path) -> bool:
    """Tell whether an open folder still has this path."""
    try:
        return handle is not None and os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False
