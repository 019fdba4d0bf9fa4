"""Vectors of texts that an encoder has read before, kept on disk for all trainings of a user.

A file of SQLite for each model: several processes may read and write at once. Texts themselves
are not kept, only a hash of each.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

VARIABLE = "LABELGROVE_CACHE"  # the folder, or "off"
LIMIT = 2 * 10**9  # bytes of all files together; the longest unused go first
OVERHEAD = 60  # bytes of a row beside its vector
SUM = 4  # bytes of the checksum of key and vector, behind it
ASKED = 500  # keys of one question; SQLite takes 999 at least
WAIT = 30.0  # seconds for another process that writes


class EncodedTexts:
    """Finds the vectors of texts by a hash, and keeps new ones.

    Nothing here ever fails a training: a file that is damaged is replaced, and where nothing can
    be written, nothing is kept.

    Parameters
    ----------
    folder
        Where the files are, one for each model.
    model
        What stands for the model and all that its vectors depend on; the file's name.
    size
        Numbers of a vector.
    limit
        Bytes that all files may take together.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     kept = EncodedTexts(Path(folder), "some-model", size=2)
    ...     kept.keep([text_key("sun")], np.array([[1.0, 0.5]], np.float32))
    ...     found = kept.find([text_key("moon"), text_key("sun")])
    >>> {key == text_key("sun"): vector.tolist() for key, vector in found.items()}
    {True: [1.0, 0.5]}
    """

    def __init__(self, folder: Path, model: str, size: int, limit: int = LIMIT) -> None:
        self._path, self._size, self._limit = folder / f"{model}.sqlite", size, limit

    @classmethod
    def of_user(cls, model: str, size: int) -> EncodedTexts | None:
        """Return those in the user's own folder, or None if they are switched off."""
        folder = user_folder()
        return None if folder is None else cls(folder / "encoded", model, size)

    def find(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Return the vectors that are known, shape (size,) each, by the keys of `text_key`."""
        found: dict[bytes, NDArray[np.float32]] = {}

        def ask(connection: sqlite3.Connection) -> None:
            for first in range(0, len(keys), ASKED):
                some = keys[first : first + ASKED]
                marks = ",".join("?" * len(some))
                asked = f"SELECT key, vector FROM vectors WHERE key IN ({marks})"
                for key, data in connection.execute(asked, some):
                    if (vector := self._unpacked(key, data)) is not None:
                        found[key] = vector

        if self._path.is_file():
            self._do(ask)
            with suppress(OSError):
                os.utime(self._path)  # used now
        return found

    def keep(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Add the vectors (n, size) of some texts; the oldest go where there is no room."""
        packed = map(bytes, np.ascontiguousarray(vectors, "<f4"))
        rows = [(key, data + _checksum(key, data)) for key, data in zip(keys, packed, strict=True)]
        most = self._limit // (self._size * 4 + OVERHEAD)

        def add(connection: sqlite3.Connection) -> None:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
            connection.execute(
                "DELETE FROM vectors WHERE rowid <= (SELECT max(rowid) FROM vectors) - ?", [most]
            )

        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
        self._do(add)
        self._make_room()

    def _unpacked(self, key: Any, data: Any) -> NDArray[np.float32] | None:
        """Return a vector, or None if it is damaged."""
        if not isinstance(key, bytes) or not isinstance(data, bytes):
            return None
        vector, checksum = data[:-SUM], data[-SUM:]
        if len(vector) != 4 * self._size or _checksum(key, vector) != checksum:
            return None
        return np.frombuffer(vector, "<f4").astype(np.float32, copy=False)

    def _do(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Call ``work`` with the open file; what it writes is there at its end, or nothing is."""
        try:
            with closing(sqlite3.connect(self._path, timeout=WAIT)) as connection, connection:
                connection.execute("PRAGMA synchronous = OFF")  # what a power cut damages is lost
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS vectors (key BLOB UNIQUE, vector BLOB)"
                )
                work(connection)
        except sqlite3.OperationalError:  # locked for long, read-only, full: go without
            return
        except sqlite3.DatabaseError:  # damaged
            with suppress(OSError):
                self._path.unlink()

    def _make_room(self) -> None:
        """Remove files of other models until all together keep to the limit."""
        with suppress(OSError):
            files = {path: path.stat() for path in self._path.parent.glob("*.sqlite")}
            total = sum(facts.st_size for facts in files.values())
            for path in sorted(files, key=lambda each: files[each].st_mtime):
                if total <= self._limit:
                    break
                if path != self._path:
                    path.unlink()
                    total -= files[path].st_size


def user_folder() -> Path | None:
    """Return the folder for what is kept between trainings, or None if that is switched off.

    ``LABELGROVE_CACHE`` names it, or is "off"; otherwise it is ``labelgrove`` in
    ``XDG_CACHE_HOME``, or in ``~/.cache``.
    """
    named = os.environ.get(VARIABLE, "").strip()
    if named.casefold() == "off":
        return None
    if named:
        return Path(named).expanduser()
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "labelgrove"
    except RuntimeError:  # a user without a home
        return None


def text_key(text: str) -> bytes:
    """Return 16 bytes that stand for a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _checksum(key: bytes, data: bytes) -> bytes:
    return zlib.crc32(key + data).to_bytes(SUM, "little")
