"""The documents of a review file: where each begins is in memory, the texts stay on the disk."""

from __future__ import annotations

import os
from array import array
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import BadRowError, InputError
from labelgrove.core.files import COMPRESSIONS, check_file, lines
from labelgrove.corpus import ReviewItem
from labelgrove.corpus.rows import RowError

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class ReviewIndex:
    """Where the documents of a review file are, and which texts they have.

    Parameters
    ----------
    version
        Names this state of the file; every process that reads the same file gives the same.
    file
        The file, open: it can be read though another has taken its place.
    starts
        Where the line of each document begins, shape (documents,).
    hashes
        Of the texts, sorted, shape (documents,).
    numbers
        The document, counted from 1, that each of these hashes belongs to, shape (documents,).
    repeated
        How many lines were left out, since their text had come before.
    """

    version: str
    file: IO[bytes]
    starts: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    numbers: NDArray[np.int64]
    repeated: int

    def __len__(self) -> int:
        return len(self.starts)

    def find(self, text: str) -> int:
        """Return the number of the document with this text, or 0."""
        wanted = np.uint64(_hash(text))
        place = int(np.searchsorted(self.hashes, wanted))
        found = place < len(self) and self.hashes[place] == wanted
        return int(self.numbers[place]) if found else 0

    def item(self, number: int) -> ReviewItem:
        """Read a document, counted from 1."""
        self.file.seek(int(self.starts[number - 1]))
        try:
            return ReviewItem.from_json(self.file.readline().removeprefix(BOM))
        except RowError as problem:
            raise InputError(
                f"document {number} is not where it was: the review file was changed in its place"
            ) from problem


class ReviewQueue:
    """A review file, which is read again when another takes its place.

    Parameters
    ----------
    path
        JSON lines, as `labelgrove.corpus.write_review` writes them.
    longest
        Characters of a text that the service takes.
    """

    def __init__(self, path: Path, longest: int) -> None:
        self.path = path
        self._longest = longest
        self._index: ReviewIndex | None = None

    def index(self) -> ReviewIndex:
        """Return where the documents are now; a file that was removed is still known."""
        try:
            version = _version(self.path.stat())
        except FileNotFoundError:
            version = ""
        kept = self._index
        if kept is None or version not in ("", kept.version):
            self._index = self._read()
            if kept is not None:
                kept.file.close()
        assert self._index is not None
        return self._index

    def _read(self) -> ReviewIndex:
        if self.path.suffix.lower() in COMPRESSIONS:
            raise InputError(
                f"{self.path} is compressed, and documents are read from the middle of a review "
                "file: decompress it, and give that file"
            )
        check_file(self.path)
        try:
            file = self.path.open("rb")
            try:
                return self._indexed(file)
            except BaseException:
                file.close()
                raise
        except OSError as error:
            raise InputError(f"cannot read {self.path}: {error.strerror or error}") from error

    def _indexed(self, file: IO[bytes]) -> ReviewIndex:
        version, starts, hashes = _version(os.fstat(file.fileno())), array("q"), array("Q")
        start = len(BOM) if file.read(len(BOM)) == BOM else 0
        for number, line in enumerate(lines(self.path), 1):
            if not line.isspace():
                starts.append(start)
                hashes.append(_hash(self._text(line, number)))
            start += len(line)
        if not starts:
            raise InputError(f"{self.path} holds no document to review")
        if _version(self.path.stat()) != version:
            raise InputError(f"{self.path} was changed while it was read: try again")
        _, first = np.unique(np.frombuffer(hashes, np.uint64), return_index=True)
        kept = np.sort(first)
        own = np.frombuffer(hashes, np.uint64)[kept]
        order = np.argsort(own)
        return ReviewIndex(
            version,
            file,
            np.frombuffer(starts, np.int64)[kept],
            own[order],
            order + 1,
            len(starts) - len(kept),
        )

    def _text(self, line: bytes, number: int) -> str:
        """Return the text of a line that can be reviewed here."""
        try:
            text = ReviewItem.from_json(line).text
        except RowError as problem:
            raise BadRowError(str(problem), str(self.path), number) from problem
        if len(text) > self._longest:
            raise BadRowError(
                f"the text has {len(text):,} characters, and feedback is taken on at most "
                f"{self._longest:,}: start the service with a larger --max-length",
                str(self.path),
                number,
            )
        return text


def _version(facts: os.stat_result) -> str:
    return f"{facts.st_dev:x}-{facts.st_ino:x}-{facts.st_size:x}-{facts.st_mtime_ns:x}"


def _hash(text: str) -> int:
    digest = blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")
