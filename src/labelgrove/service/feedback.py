"""Feedback on the disk: lines of JSON, appended and flushed before anyone is told so."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from labelgrove.core.durability import flush
from labelgrove.core.errors import InputError, StorageError
from labelgrove.core.manifest import saved_folder_around

try:
    import fcntl
except ImportError:  # on Windows, where there is one worker
    fcntl = None  # type: ignore[assignment]

TAIL = 1 << 16  # bytes that are read at once in search of the last line's beginning


class FeedbackFile:
    """A file of JSON lines that several processes append to.

    Each writes whole lines while it holds the file, so that no two lines mix. What a process
    left half written when it was killed was never acknowledged and is cut off by the next one.

    Parameters
    ----------
    path
        The file; it is made with the first line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: tuple[int, int] | None = None  # device and inode whose name the disk has

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
                with self.path.open("r+b"):
                    return
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
        try:
            with _held(self.path) as file:
                end = _whole(file)
                try:
                    _write(file, lines.encode("utf-8"))
                    os.fsync(file.fileno())
                except BaseException:
                    with suppress(OSError):
                        file.truncate(end)  # not half of it
                    raise
                facts = os.fstat(file.fileno())
                if self._known != (facts.st_dev, facts.st_ino):  # made, or moved here, since then
                    flush(self.path.parent)
                    self._known = (facts.st_dev, facts.st_ino)
        except OSError as error:
            why = "no space is left" if error.errno == errno.ENOSPC else error.strerror
            raise StorageError(f"feedback could not be written: {why}") from error
        return [True] * len(records)


@contextmanager
def _held(path: Path) -> Iterator[IO[bytes]]:
    """Open a file while no other process writes to it."""
    while True:
        with path.open("ab+", buffering=0) as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            if not _is_at(file, path):
                continue  # while we waited, an editor put another file in its place
            yield file
            return


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
