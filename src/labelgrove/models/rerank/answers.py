"""Answers of a language model, kept on disk, so that nothing is asked (and paid for) twice.

One file of SQLite, which several processes may read and write at once. It holds a hash of each
question, never the question; the answer is the names of the labels that were chosen.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from labelgrove.text.encoded_texts import user_folder

FILE = "answers.sqlite"
ASKED = 500  # keys of one question; SQLite takes 999 at least
WAIT = 30.0  # seconds for another process that writes
T = TypeVar("T")


class Answers:
    """Finds answers by the hash of a question, and keeps new ones.

    Each is on the disk once `keep` returns. Nothing here fails a tagging: a damaged file is put
    aside, and where nothing can be written, nothing is kept.

    Parameters
    ----------
    folder
        Where the file is.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     kept, key = Answers(Path(folder)), question_key("http://localhost/v1", {"model": "m"})
    ...     kept.keep(key, "yes")
    ...     kept.find([key]) == {key: "yes"}
    True
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    @classmethod
    def of(cls, folder: str) -> Answers | None:
        """Return those of a folder, by default the user's own; None if that is switched off."""
        place = Path(folder).expanduser() if folder else user_folder()
        return None if place is None else cls(place)

    def find(self, keys: Iterable[bytes]) -> dict[bytes, str]:
        """Return the answers that are known."""
        wanted = list(keys)

        def ask(connection: sqlite3.Connection) -> dict[bytes, str]:
            found: dict[bytes, Any] = {}
            for first in range(0, len(wanted), ASKED):
                some = wanted[first : first + ASKED]
                marks = ",".join("?" * len(some))
                asked = f"SELECT key, answer FROM answers WHERE key IN ({marks})"
                found.update(connection.execute(asked, some))
            return {k: text for k, text in found.items() if isinstance(text, str)}

        return (self._do(ask) if self.path.is_file() else None) or {}

    def keep(self, key: bytes, answer: str) -> None:
        """Add an answer."""

        def add(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, answer))

        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if not self.path.exists():  # what was chosen for a text is nobody else's business
                os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
        self._do(add)

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Call ``work`` with the open file; what it writes is there at its end, or nothing is."""
        try:
            with closing(sqlite3.connect(self.path, timeout=WAIT)) as connection, connection:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, answer TEXT)"
                )
                return work(connection)
        except sqlite3.OperationalError:  # locked for long, read-only, full: go without
            return None
        except sqlite3.DatabaseError:  # damaged
            with suppress(OSError):
                self.path.rename(self.path.with_suffix(".damaged"))
            return None


def question_key(url: str, body: dict[str, Any]) -> bytes:
    """Return 32 bytes that stand for a question to a server."""
    told = json.dumps([url, body], sort_keys=True)
    return blake2b(told.encode(), digest_size=32).digest()
