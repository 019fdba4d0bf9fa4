"""What differs between operating systems: locks, renames, flushes, and how processes are started.

`HERE` is the system that this process runs on. Everything else in labelgrove asks it, and works in
the same way on all of them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Protocol

LOOK = 0.02  # seconds between two looks whether a lock is free, or a file can be replaced
PATIENCE = 5.0  # seconds in which a program that has a file open, such as a scanner, closes it
LOCKED_BYTE = 2**31 - 2  # behind the end of files that are locked: nobody reads or writes it
TRY_LOCK = 2  # LK_NBLCK of the module msvcrt


class OperatingSystem(Protocol):
    """An operating system.

    Attributes
    ----------
    has_modes
        Whether files have modes that say who may read them.
    opens_folders
        Whether a folder can be opened, locked and flushed as a file can.
    shares_sockets
        Whether several processes can accept connections on one socket, and be sent SIGHUP.
    """

    has_modes: bool
    opens_folders: bool
    shares_sockets: bool

    def lock(self, file: int, *, shared: bool = False, wait: bool = False) -> bool:
        """Lock an open file until it is closed; False means that another process holds it.

        Parameters
        ----------
        file
            Its descriptor.
        shared
            Others may hold a shared lock too, where the system has such locks.
        wait
            Wait until nobody else holds it.
        """
        ...

    def replace(self, source: Path, target: Path) -> None:
        """Rename a file or folder; a file in its place is replaced, as is an empty folder."""
        ...

    def flush(self, path: Path) -> None:
        """Wait until a file is on the disk, or the names in a folder where the system can do so."""
        ...

    def remove_open(self, file: IO[bytes], path: Path) -> None:
        """Remove a file that is open in this process; nothing is done with it afterwards."""
        ...

    def apart(self) -> dict[str, Any]:
        """Return the arguments of Popen that keep Ctrl-C from a process."""
        ...

    def kill(self, process: subprocess.Popen[Any]) -> None:
        """End a process that was started ``apart``, where possible with all that it started."""
        ...


class PosixSystem:
    """Linux and macOS."""

    has_modes = opens_folders = shares_sockets = True

    def lock(self, file: int, *, shared: bool = False, wait: bool = False) -> bool:
        """Lock an open file or folder until it is closed."""
        import fcntl

        how = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB)
        try:
            fcntl.flock(file, how)
        except BlockingIOError:
            return False
        return True

    def replace(self, source: Path, target: Path) -> None:
        """Rename a file or folder in one step."""
        source.replace(target)

    def flush(self, path: Path) -> None:
        """Wait until a file, or the names in a folder, are on the disk."""
        _flush(path, os.O_RDONLY)

    def remove_open(self, file: IO[bytes], path: Path) -> None:
        """Remove a file; it stays locked until it is closed."""
        path.unlink()

    def apart(self) -> dict[str, Any]:
        """Return what makes a process the leader of a session, and so of a group."""
        return {"start_new_session": True}

    def kill(self, process: subprocess.Popen[Any]) -> None:
        """End a process and all that it started."""
        with suppress(ProcessLookupError, PermissionError):  # there is none any more
            os.killpg(process.pid, signal.SIGKILL)


class WindowsSystem:
    """Windows, where open files cannot be removed and folders cannot be opened.

    Parameters
    ----------
    locking
        ``msvcrt.locking``: locks bytes of a file for one handle, or raises an OSError.
    """

    has_modes = opens_folders = shares_sockets = False

    def __init__(self, locking: Callable[[int, int, int], None]) -> None:
        self._locking = locking

    def lock(self, file: int, *, shared: bool = False, wait: bool = False) -> bool:
        """Lock a byte that no file has, since a locked one cannot be read by others."""
        while not self._locked(file):
            if not wait:
                return False
            time.sleep(LOOK)
        return True

    def replace(self, source: Path, target: Path) -> None:
        """Rename a file or folder as soon as no other program has either open."""
        if source.is_dir() and target.is_dir():
            target.rmdir()  # an error if it is not empty
        ends = time.monotonic() + PATIENCE
        while True:
            try:
                source.replace(target)
            except PermissionError:
                if time.monotonic() >= ends:
                    raise
                time.sleep(LOOK)
            else:
                return

    def flush(self, path: Path) -> None:
        """Wait until a file is on the disk; only who may write to it can wait for that."""
        if not path.is_dir():
            _flush(path, os.O_RDWR)

    def remove_open(self, file: IO[bytes], path: Path) -> None:
        """Empty a file, so that nobody takes its content twice, close it and remove it."""
        file.truncate(0)
        file.close()
        path.unlink()

    def apart(self) -> dict[str, Any]:
        """Return what gives a process a group of its own."""
        return {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0x200)}

    def kill(self, process: subprocess.Popen[Any]) -> None:
        """End a process; what it started ends when its pipes are closed."""
        process.kill()

    def _locked(self, file: int) -> bool:
        place = os.lseek(file, 0, os.SEEK_CUR)
        try:
            os.lseek(file, LOCKED_BYTE, os.SEEK_SET)
            self._locking(file, TRY_LOCK, 1)
        except (PermissionError, BlockingIOError):
            return False
        finally:
            os.lseek(file, place, os.SEEK_SET)
        return True


def _flush(path: Path, how: int) -> None:
    handle = os.open(path, how)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


HERE: OperatingSystem
if sys.platform == "win32":
    import msvcrt

    HERE = WindowsSystem(msvcrt.locking)
else:
    HERE = PosixSystem()
