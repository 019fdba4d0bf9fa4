"""What people have decided about the documents of a queue: read from the file of feedback."""

from __future__ import annotations

import glob
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.corpus.corrected import ASIDE
from labelgrove.corpus.jsonl import parsed
from labelgrove.corpus.rows import RowError, clean_text
from labelgrove.service.review_queue import ReviewIndex

NONE = -1  # the place of a decision that there is not
MARK = 256  # bytes before the end of what was read, by which the file is known again


class Decisions:
    """Which documents of a queue have feedback, and where its last line on each begins.

    Nothing is remembered elsewhere: each process reads the lines that were appended since it
    looked last, so all of them agree, also after a restart. Lines that a process wrote aside are
    read each time; there are few of them, and seldom.

    Parameters
    ----------
    path
        The file of feedback; it need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._index: ReviewIndex | None = None
        self._begin(0)

    def _begin(self, documents: int) -> None:
        self._places: NDArray[np.int64] = np.full(documents, NONE, np.int64)
        self._aside: dict[int, dict[str, Any]] = {}
        self._read_to = 0
        self._before = b""  # the bytes in front of that

    def follow(self, index: ReviewIndex) -> None:
        """Read what was written since the last time."""
        if index is not self._index:
            self._begin(len(index))
            self._index = index
        aside = self._read_aside(index)  # first: its lines may be moved into the file meanwhile
        try:
            with self._path.open("rb") as file:
                self._read_more(file, index)
        except FileNotFoundError:
            self._begin(len(index))
        self._aside = aside

    @property
    def count(self) -> int:
        """How many documents are decided."""
        kept = int(np.count_nonzero(self._places != NONE))
        return kept + sum(int(self._places[number - 1] == NONE) for number in self._aside)

    def next_open(self, number: int) -> int:
        """Return the first document from this one on that is not decided, or 0."""
        for place in np.flatnonzero(self._places[number - 1 :] == NONE):
            found = number + int(place)
            if found not in self._aside:
                return found
        return 0

    def decision(self, number: int) -> dict[str, Any] | None:
        """Return the line of feedback that decided a document, or None."""
        if number in self._aside:
            return self._aside[number]
        place = int(self._places[number - 1])
        if place == NONE:
            return None
        with suppress(FileNotFoundError), self._path.open("rb") as file:
            file.seek(place)
            return _parsed(file.readline())
        return None

    def _read_more(self, file: IO[bytes], index: ReviewIndex) -> None:
        """Note the lines that were appended; all lines where it is not the file it was."""
        if self._bytes_before(file) != self._before:
            self._begin(len(index))
        file.seek(self._read_to)
        place = self._read_to
        for line in file:
            row = _parsed(line)
            if row is not None and (number := index.find(row["text"])):
                self._places[number - 1] = place
            place += len(line)
            if line.endswith(b"\n"):  # else it may still be written
                self._read_to = place
        self._before = self._bytes_before(file)

    def _bytes_before(self, file: IO[bytes]) -> bytes:
        start = max(0, self._read_to - MARK)
        file.seek(start)
        return file.read(self._read_to - start)

    def _read_aside(self, index: ReviewIndex) -> dict[int, dict[str, Any]]:
        found = {}
        for path in sorted(self._path.parent.glob(f"{glob.escape(self._path.name)}{ASIDE}*")):
            with suppress(FileNotFoundError), path.open("rb") as file:  # moved meanwhile
                for row in map(_parsed, file):
                    if row is not None and (number := index.find(row["text"])):
                        found[number] = row
        return found


def _parsed(line: bytes) -> dict[str, Any] | None:
    """Return a line of feedback; None for one that decides nothing, which `retrain` refuses."""
    try:
        row = parsed(line)
        return {**row, "text": clean_text(row.get("text"))}
    except RowError:
        return None
