"""Feedback on the disk: lines of JSON, appended and flushed before anyone is told so."""

from __future__ import annotations

import errno
import glob
import json
import logging
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from labelgrove.core import system
from labelgrove.core.durability import flush
from labelgrove.core.errors import FullDiskError, InputError, StorageError
from labelgrove.core.manifest import saved_folder_around
from labelgrove.corpus.corrected import ASIDE

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
PATIENCE = 2.0  # seconds to wait for the file while another process holds it
LOOK = 0.002  # seconds between two looks whether it is free
AGAIN = 0.2  # seconds between two attempts to move what was written aside
log = logging.getLogger("labelgrove.service")
TAIL = 65_536  # bytes that are read at once in search of the last line's beginning


class _BusyError(Exception):
    """Another process holds the file."""


class FeedbackFile:
    """A file of JSON lines that several processes append to.

    Each writes whole lines while it holds the file, so that no two lines mix. What a process
    left half written when it was killed was never acknowledged and is cut off by the next one.
    If another process holds the file for long, as one that is frozen may, lines go to a file
    aside, ``NAME.aside-PROCESS``, and from there to the file as soon as it is free. What a killed
    process left aside is moved by the next service.

    Parameters
    ----------
    path
        The file; it is made with the first line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: tuple[int, int] | None = None  # device and inode whose name the disk has
        self._aside: IO[bytes] | None = None  # held as long as this process lives
        self._turn = threading.Lock()  # of who writes, and who moves what was written aside

    def check(self) -> None:
        """Refuse a file that cannot be written, or would not be safe, before anyone wants to."""
        if around := saved_folder_around(self.path):
            raise InputError(
                f"feedback in {self.path} would lie in the saved tagger {around}, which can "
                "neither be loaded nor replaced with it: move it if it is there already, and "
                "name another folder by --feedback"
            )
        try:
            if self.path.exists():
                if self.path.is_fifo() or self.path.is_socket():
                    raise InputError(
                        f"{self.path} is a pipe or a socket, which keeps no feedback; name another "
                        "folder by --feedback, or --no-feedback"
                    )
                with self.path.open("r+b"):
                    return
            if not self.path.parent.exists():
                raise InputError(
                    f"the folder {self.path.parent} does not exist: make it, or name another by "
                    "--feedback, or --no-feedback"
                )
            if not self.path.parent.is_dir() or not os.access(self.path.parent, os.W_OK):
                raise InputError(
                    f"{self.path.parent} is no folder that can be written to; name another by "
                    "--feedback, or --no-feedback"
                )
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be written ({error.strerror}); name another folder by "
                "--feedback, or --no-feedback"
            ) from error

    def append(self, records: Sequence[dict[str, Any]]) -> list[bool | Exception]:
        """Append records and return when the disk has them: all of them, or none."""
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        data = lines.encode("utf-8")
        try:
            with self._turn:
                try:
                    with _held(self.path, PATIENCE) as file:
                        self._move_aside_lines(file)
                        self._append(file, data)
                except _BusyError:
                    self._append(self._open_aside(), data)
        except OSError as error:
            full = error.errno in FULL
            why = "no space is left on the disk" if full else error.strerror
            kind = FullDiskError if full else StorageError
            raise kind(f"feedback could not be written: {why}") from error
        return [True] * len(records)

    def collect(self) -> None:
        """Move lines that were written aside into the file, also those of ended processes."""
        with self._turn, suppress(OSError, _BusyError):
            left = list(self.path.parent.glob(f"{glob.escape(self.path.name)}{ASIDE}*"))
            if not left:
                return
            with _held(self.path, PATIENCE) as file:
                self._move_aside_lines(file)
                for path in left:
                    with suppress(OSError), path.open("rb+") as aside:
                        if system.HERE.lock(aside.fileno()):  # its process has ended
                            self._move(aside, path, file)

    def _append(self, file: IO[bytes], data: bytes) -> None:
        end = _whole(file)
        try:
            _write(file, data)
            os.fsync(file.fileno())
        except BaseException:
            with suppress(OSError):
                file.truncate(end)  # not half of it
            raise
        facts = os.fstat(file.fileno())
        if self._known != (facts.st_dev, facts.st_ino):  # made, or moved here, since then
            flush(self.path.parent)
            self._known = (facts.st_dev, facts.st_ino)

    def _aside_path(self) -> Path:
        return self.path.with_name(f"{self.path.name}{ASIDE}{os.getpid()}")

    def _open_aside(self) -> IO[bytes]:
        if self._aside is None:
            aside = self._aside_path().open("ab+", buffering=0)
            system.HERE.lock(aside.fileno(), wait=True)
            self._aside = aside
            flush(self.path.parent)
            log.warning("another process holds %s: feedback is written aside", self.path)
            threading.Thread(target=self._move_when_free, daemon=True).start()
        return self._aside

    def _move_when_free(self) -> None:
        """Move what was written aside into the file as soon as nobody holds it."""
        while self._aside is not None:
            time.sleep(AGAIN)
            with self._turn, suppress(OSError, _BusyError), _held(self.path, 0) as file:
                self._move_aside_lines(file)

    def _move_aside_lines(self, file: IO[bytes]) -> None:
        if self._aside is not None:
            with self._aside as aside:
                self._move(aside, self._aside_path(), file)
            self._aside = None

    def _move(self, aside: IO[bytes], path: Path, file: IO[bytes]) -> None:
        """Append the lines of a file aside, then remove it: a crash repeats lines, at worst."""
        _whole(aside)
        aside.seek(0)
        self._append(file, aside.read())
        system.HERE.remove_open(aside, path)


@contextmanager
def _held(path: Path, patience: float) -> Iterator[IO[bytes]]:
    """Open a file while no other process writes to it; wait so many seconds for that."""
    ends = time.monotonic() + patience
    while True:
        with path.open("ab+", buffering=0) as file:
            if not _is_locked(file, ends):
                raise _BusyError
            if not _is_at(file, path):
                continue  # while we waited, an editor put another file in its place
            yield file
            return


def _is_locked(file: IO[bytes], ends: float) -> bool:
    """Lock a file, and tell whether that was possible in time."""
    while not system.HERE.lock(file.fileno()):
        if time.monotonic() >= ends:
            return False
        time.sleep(LOOK)
    return True


def _is_at(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _whole(file: IO[bytes]) -> int:
    """Let the file end with a whole line, and return where that is."""
    end = file.seek(0, os.SEEK_END)
    start, tail = end, b""
    while start and b"\n" not in tail:
        step = min(TAIL, start)
        start -= step
        file.seek(start)
        tail = file.read(step) + tail
    last = tail[tail.rfind(b"\n") + 1 :]
    if not last:
        return end
    try:
        json.loads(last)
    except ValueError:
        end -= len(last)
        file.truncate(end)
    else:  # whole but for its end: someone edited the file
        _write(file, b"\n")
        end += 1
    return end


def _write(file: IO[bytes], data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]
