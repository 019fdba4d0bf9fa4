"""The rows that documents were read from, and how their file is laid out.

What writes a file of documents again (`labelgrove.corpus.row_writers`) keeps all columns, also
those that are neither text nor labels nor id.
"""

from __future__ import annotations

import datetime
import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from labelgrove.core.errors import BadRowError
from labelgrove.core.recoding import UTF8
from labelgrove.core.types import Document
from labelgrove.corpus.base import Corpus, CorpusReader

Row: TypeAlias = Sequence[Any] | Mapping[str, Any]  # a value for each column, or named values
OWN_COLUMNS = ("id", "text")  # of documents that were not read from rows with columns


@dataclass(frozen=True)
class FileLayout:
    r"""How a file of documents is laid out, so that another one can be written like it.

    Parameters
    ----------
    kind
        ``"jsonl"``, ``"csv"``, ``"tsv"``, ``"xlsx"`` or ``"parquet"``.
    columns
        The names of the columns, in their order; None for JSON lines, where each row has its own.
    header
        False for a table whose first row is a document.
    delimiter, quote
        What stands between the fields of a CSV or TSV, and around them; None for no quotes.
    encoding, mark
        The encoding of a text file, and whether a byte order mark comes first.
    line_end
        ``"\n"`` or ``"\r\n"``.
    sheet
        The name of the sheet of a workbook.
    schema
        The Arrow schema of a Parquet file; None where it is not known yet.
    """

    kind: str
    columns: tuple[str, ...] | None = None
    header: bool = True
    delimiter: str = ","
    quote: str | None = '"'
    encoding: str = UTF8
    mark: bool = False
    line_end: str = "\n"
    sheet: str = "Sheet1"
    schema: Any = None


class RowReader(CorpusReader):
    """A corpus over a file whose rows have columns."""

    @abstractmethod
    def layout(self) -> FileLayout:
        """Return how the file is laid out."""

    @abstractmethod
    def _documents(self, whole: bool) -> Iterator[tuple[Document, Row] | BadRowError]:
        """Yield each document with its row; the row has all columns only if it is ``whole``."""

    def _rows(self) -> Iterator[Document | BadRowError]:
        for each in self._documents(whole=False):
            yield each if isinstance(each, BadRowError) else each[0]

    def with_rows(self) -> Iterator[tuple[Document, Row]]:
        """Yield each document with the row that it was read from; bad rows are as in reading."""
        return self._without_bad(self._documents(whole=True))


def layout_of(corpus: Corpus) -> FileLayout:
    """Return how the file of a corpus is laid out; JSON lines where it has no columns."""
    return corpus.layout() if isinstance(corpus, RowReader) else FileLayout("jsonl", OWN_COLUMNS)


def rows_of(corpus: Corpus) -> Iterator[tuple[Document, Row]]:
    """Yield each document with its row, that is its id and its text where there are no columns.

    Examples
    --------
    >>> list(rows_of(Corpus.from_lists(["Wind"])))
    [(Document(text='Wind', labels=(), id=None), {'id': '1', 'text': 'Wind'})]
    """
    if isinstance(corpus, RowReader):
        yield from corpus.with_rows()
        return
    for document in corpus:
        yield document, {"id": document.id or str(corpus.position), "text": document.text}


def values_of(row: Row, columns: Sequence[str]) -> Sequence[Any]:
    """Return the values of a row in the order of the columns; None for what it has not."""
    return [row.get(name) for name in columns] if isinstance(row, Mapping) else row


def named_values(row: Row, columns: Sequence[str] | None) -> Mapping[str, Any]:
    """Return the values of a row by the names of their columns."""
    return row if isinstance(row, Mapping) else dict(zip(columns or (), row, strict=True))


def as_text(value: Any) -> str:
    """Return a value as a cell of a table shows it.

    Examples
    --------
    >>> [as_text(value) for value in (None, 7.0, 2.5, True, datetime.datetime(2026, 11, 18))]
    ['', '7', '2.5', 'TRUE', '2026-11-18']
    >>> as_text(["energy", "sun"])
    '["energy", "sun"]'
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, list | dict | tuple):
        return json.dumps(value, ensure_ascii=False, default=as_text)
    return str(value)
