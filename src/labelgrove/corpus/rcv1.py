"""Reuters Corpus Volume 1 as RCV1-v2, with the split of Lewis, Yang, Rose and Li (LYRL2004).

"RCV1: A new benchmark collection for text categorization research", JMLR 5, 2004. Its online
appendices (http://www.jmlr.org/papers/volume5/lewis04a/lyrl2004_rcv1v2_README.htm) hold topics and
tokens; the texts are given out by NIST (https://trec.nist.gov/data/reuters/reuters.html).
"""

from __future__ import annotations

import os
import re
import zlib
from array import array
from collections.abc import Callable, Iterator
from functools import partial
from io import FileIO
from pathlib import Path, PurePosixPath
from typing import IO
from xml.parsers import expat
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import BadRowError, InputError
from labelgrove.core.files import COMPRESSIONS, LINE, lines, suffix
from labelgrove.core.types import Document
from labelgrove.corpus.base import CorpusReader
from labelgrove.corpus.rows import DIGITS, RowError, clean_text, decoded, shown, whole_number

PARTS = {"train": range(2286, 26151), "test": range(26151, 810597)}
QRELS = "rcv1-v2.topics.qrels"
_LAST = PARTS["test"].stop - 1
_START = re.compile(r"\.I[ \t]+(\d+)\s*", re.ASCII)
_ITEM = re.compile(r"(\d{1,20})newsML\.xml", re.ASCII | re.IGNORECASE)
_DAMAGED = (BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)

Wanted = Callable[[int], bool]
"""Tells whether a document is to be read, by its number; raises a `RowError` if it was before."""
Found = tuple[int, str] | BadRowError
"""The number of a document and its text, or what is wrong with it."""


class Rcv1(CorpusReader):
    r"""The training or the test documents of RCV1-v2, with their topics.

    A folder holds the topics, ``rcv1-v2.topics.qrels``, and the documents in one of two forms:

    - NIST's news items, ``2286newsML.xml`` and so on, in folders of any depth or in the ``.zip``
      files of the days. A text is headline and paragraphs, a line each. Files are read in the
      order of their folders and numbers.
    - The token files of LYRL2004, ``lyrl2004_tokens_train.dat`` and
      ``lyrl2004_tokens_test_pt0.dat`` to ``pt3``: stems in another order than in the text, which
      is no matter to a linear model. They are read where there are no news items. One of them
      may also be named itself, with the topics beside it.

    Documents 2286 to 26150 are for training, 26151 to 810596 for testing. What has no line in the
    topics is no part of RCV1-v2 and is left out, which `left_out` counts; without labels it is
    read too. A folder that lacks documents of the topics is an error at its end.

    Parameters
    ----------
    path
        The folder, or a token file.
    part
        ``"train"`` or ``"test"``.
    labelled
        False if topics need not be there, and are not read.
    on_bad
        ``"stop"`` or ``"skip"``.

    Attributes
    ----------
    left_out
        Documents of the part without a topic, in the last full reading.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "lyrl2004_tokens_train.dat")
    ...     _ = path.write_text(".I 2286\n.W\nrecov excit\nbring mexic\n\n")
    ...     _ = Path(folder, "rcv1-v2.topics.qrels").write_text("E11 2286 1\nECAT 2286 1\n")
    ...     list(Rcv1(Path(folder), "train"))
    [Document(text='recov excit bring mexic', labels=('E11', 'ECAT'), id='2286')]
    """

    left_out: int = 0

    def __init__(self, path: Path, part: str, labelled: bool = True, on_bad: str = "stop") -> None:
        super().__init__(str(path), on_bad)
        if not path.exists():
            raise InputError(f"there is no file or folder {path}")
        self._path, self._part = path, part
        self._qrels = _find_qrels(path if path.is_dir() else path.parent) if labelled else None
        self._topics: _Topics | None = None

    def _rows(self) -> Iterator[Document | BadRowError]:
        if self._topics is None and self._qrels is not None:
            self._topics = _Topics(self._qrels)
        topics, ids = self._topics, PARTS[self._part]
        seen = bytearray(_LAST + 1)
        left_out, bad, empty = 0, 0, True

        def wanted(number: int) -> bool:
            nonlocal left_out
            if number not in ids:
                return False
            if seen[number]:
                raise RowError(
                    f"document {number} is there twice; remove one, such as the .zip files of "
                    "unpacked folders"
                )
            seen[number] = 1
            outside = topics is not None and not topics.has(number)
            left_out += outside
            return not outside

        for item in self._documents(wanted):
            empty = False
            if isinstance(item, BadRowError):
                bad += 1
                yield item
            else:
                number, text = item
                yield Document(text, topics.of(number) if topics else (), str(number))
        if empty:
            raise InputError(
                f"{self.name} holds no document of RCV1-v2 for {self._part}ing: none of the "
                f"numbers {ids.start} to {ids.stop - 1}" + (" has a topic" if topics else "")
            )
        if topics and self._path.is_dir():
            self._check_all(topics, np.frombuffer(seen, np.uint8), bad)
        self.left_out = left_out

    def _documents(self, wanted: Wanted) -> Iterator[Found]:
        if self._path.is_file():
            yield from _tokens(self._path, wanted)
            return
        nothing = True
        for item in _news_items(self._path, wanted):
            nothing = False
            if item is not None:
                yield item
        if nothing:
            for path in self._token_files():
                yield from _tokens(path, wanted)

    def _token_files(self) -> list[Path]:
        files = sorted(self._path.glob(f"lyrl2004_tokens_{self._part}*.dat*"))
        files = [path for path in files if suffix(path) == ".dat"]
        if not files:
            name = "train.dat" if self._part == "train" else "test_pt0.dat to pt3.dat"
            raise InputError(
                f"{self._path} holds neither news items (such as 2286newsML.xml, or .zip files of "
                f"them) nor lyrl2004_tokens_{name}; name the folder they are in"
            )
        return files

    def _check_all(self, topics: _Topics, seen: NDArray[np.uint8], bad: int) -> None:
        ids = PARTS[self._part]
        due = np.diff(topics.indptr)[ids.start : ids.stop] > 0
        missing = np.flatnonzero(due & (seen[ids.start : ids.stop] == 0))
        if len(missing) > bad:  # a bad row may not tell whose it is
            raise InputError(
                f"{self.name} is not complete: of the {due.sum():,} documents for "
                f"{self._part}ing that {QRELS} names, {len(missing):,} are not there, the first "
                f"is {ids.start + missing[0]}"
            )


# --- topics ---------------------------------------------------------------------------------------


def _find_qrels(folder: Path) -> Path:
    for ending in ("", *COMPRESSIONS):
        path = folder / f"{QRELS}{ending}"
        if path.is_file():
            return path
    raise InputError(
        f"there are no topics in {folder}: put {QRELS} there, also as .gz, from the appendices of "
        "LYRL2004 (a08-topic-qrels)"
    )


def _is_number(field: bytes) -> bool:
    return field.isdigit() and len(field) <= DIGITS


class _Topics:
    """The topics of all documents, 2.6 million lines ``E11 2286 1``, in less than 10 MB."""

    def __init__(self, path: Path) -> None:
        names: dict[bytes, int] = {}
        documents, topics = array("i"), array("H")
        for place, line in enumerate(lines(path), 1):
            fields = line.split()
            if not fields:
                continue
            if len(fields) != 3 or not _is_number(fields[1]) or fields[2] != b"1":
                raise BadRowError(
                    "a line must be a topic, the number of a document and 1, such as "
                    f"'E11 2286 1', got {shown(line.decode('utf-8', 'replace').strip())}",
                    str(path),
                    place,
                )
            number = int(fields[1])
            if number > _LAST:
                problem = f"document {number} is not one of RCV1, whose last is {_LAST}"
                raise BadRowError(problem, str(path), place)
            documents.append(number)
            topics.append(names.setdefault(fields[0], len(names)))
        self.names = [name.decode("utf-8", "replace") for name in names]
        of = np.asarray(documents)
        self.indptr = np.zeros(_LAST + 2, np.int32)
        np.cumsum(np.bincount(of, minlength=_LAST + 1), out=self.indptr[1:])
        self.topics = np.asarray(topics)[np.argsort(of, kind="stable")]

    def has(self, number: int) -> bool:
        return bool(self.indptr[number] < self.indptr[number + 1])

    def of(self, number: int) -> tuple[str, ...]:
        topics = self.topics[self.indptr[number] : self.indptr[number + 1]].tolist()
        return tuple(dict.fromkeys(self.names[topic] for topic in topics))


# --- token files ----------------------------------------------------------------------------------


def _tokens(path: Path, wanted: Wanted) -> Iterator[Found]:
    """Yield documents of the form ``.I 2286``, ``.W``, lines of tokens, a blank line."""
    for place, head, body in _entries(path):
        try:
            start = _START.fullmatch(decoded(head))
            if not start:
                got = shown(head.decode("utf-8", "replace").strip())
                raise RowError(f"a document must begin with a line such as '.I 2286', got {got}")
            if wanted(number := whole_number(start[1])):
                yield number, _words(body)
        except RowError as problem:
            yield BadRowError(str(problem), str(path), place)


def _entries(path: Path) -> Iterator[tuple[int, bytes, list[bytes]]]:
    """Yield the place of each document, its first line, and the others that are not blank."""
    place, head, body = 0, b"", list[bytes]()
    for number, line in enumerate(lines(path), 1):
        if line.startswith(b".I") or (not head and not line.isspace()):
            if head:
                yield place, head, body
            place, head, body = number, line, []
        elif not line.isspace():
            body.append(line)
    if head:
        yield place, head, body


def _words(body: list[bytes]) -> str:
    if not body or body[0].strip() != b".W":
        raise RowError("the line after .I must be .W")
    return clean_text(" ".join(decoded(line).strip() for line in body[1:]))


# --- news items -----------------------------------------------------------------------------------


def _news_items(folder: Path, wanted: Wanted) -> Iterator[Found | None]:
    """Yield the items of a folder and all below it; None for one that is not wanted."""
    for here, folders, files in os.walk(folder, onerror=_unreadable):
        folders.sort()
        for number, name in _numbered(files):
            path = Path(here, name)
            yield _item(number, wanted, partial(FileIO, path), str(path))
        for name in sorted(files):
            if name.lower().endswith(".zip"):
                yield from _zipped(Path(here, name), wanted)


def _zipped(path: Path, wanted: Wanted) -> Iterator[Found | None]:
    try:
        archive = ZipFile(path)
    except _DAMAGED as error:  # thousands of documents: not one row to skip
        raise InputError(f"cannot read {path}: {error}; copy it again") from error
    with archive:
        for number, name in _numbered(archive.namelist()):
            yield _item(number, wanted, partial(archive.open, name), f"{path}/{name}")


def _numbered(names: list[str]) -> list[tuple[int, str]]:
    """Return the news items among files, by their numbers."""
    matches = ((_ITEM.fullmatch(PurePosixPath(name).name), name) for name in names)
    return sorted((int(item[1]), name) for item, name in matches if item)


def _item(number: int, wanted: Wanted, opened: Callable[[], IO[bytes]], name: str) -> Found | None:
    try:
        return (number, _text(_read(opened), number)) if wanted(number) else None
    except expat.ExpatError as error:
        problem = f"the XML cannot be read: {expat.ErrorString(error.code)}"
        return BadRowError(problem, name, error.lineno)
    except (RowError, LookupError, ValueError) as error:  # the latter two: an unknown encoding
        return BadRowError(str(error), name)
    except _DAMAGED as error:
        return BadRowError(f"the file cannot be read: {error}", name)


def _read(opened: Callable[[], IO[bytes]]) -> bytes:
    with opened() as file:
        content = file.read(LINE + 1)
    if len(content) > LINE:
        raise RowError(f"the news item has more than {LINE:,} bytes, which none of RCV1 has")
    return content


def _text(content: bytes, number: int) -> str:
    """Return headline and paragraphs of a news item, a line each."""
    within: list[str] = []
    pieces: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if not within and name != "newsitem":
            raise RowError(f"the XML is not a <newsitem>, but a <{name}>")
        if not within and attributes.get("itemid", str(number)) != str(number):
            raise RowError(f"the file is named {number}, but its itemid is {attributes['itemid']}")
        within.append(name)
        pieces.append("\n" if name in ("headline", "p") else "")

    def end(name: str) -> None:
        within.pop()
        pieces.append("\n" if name in ("headline", "p") else "")

    def characters(text: str) -> None:
        if "headline" in within or "text" in within:
            pieces.append(text.replace("\n", " "))

    def entity(name: str, *_: object) -> None:
        raise RowError(f"the XML declares the entity {shown(name)}, which no news item does")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.EntityDeclHandler = characters, entity
    parser.Parse(content, True)
    paragraphs = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return clean_text("\n".join(filter(None, paragraphs)))


def _unreadable(error: OSError) -> None:
    raise InputError(f"cannot read {error.filename}: {error.strerror or error}") from error
