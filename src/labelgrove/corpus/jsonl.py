"""JSON lines: one object a line, ``{"text": "...", "labels": ["..."], "id": "..."}``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from labelgrove.core.errors import BadRowError
from labelgrove.core.files import check_file, lines
from labelgrove.core.recoding import UTF8
from labelgrove.core.types import Document
from labelgrove.corpus.base import LayoutError
from labelgrove.corpus.encodings import has_mark
from labelgrove.corpus.rows import (
    Fields,
    MissingFieldError,
    RowError,
    Separator,
    decoded,
    shown,
)
from labelgrove.corpus.source_rows import FileLayout, Row, RowReader

FIRST = 100  # rows of which one must have the fields
LONG_NUMBER = "a number has thousands of digits and must be a string"


class JsonLines(RowReader):
    """Documents of a JSON lines file; blank lines are passed over.

    The form in which the extreme classification repository gives its texts (``uid``, ``title``,
    ``content``, ``target_ind``) is known by its first line, unless fields are named.

    Parameters
    ----------
    path
        The file, also compressed.
    fields
        The names of the fields.
    separator
        What stands between labels in a string; None if labels must be lists.
    on_bad
        ``"stop"`` or ``"skip"``.
    encoding
        The encoding of the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "docs.jsonl")
    ...     _ = path.write_text('{"text": "Wind", "labels": ["energy"]}')
    ...     list(JsonLines(path))
    [Document(text='Wind', labels=('energy',), id=None)]
    """

    def __init__(
        self,
        path: Path,
        fields: Fields | None = None,
        separator: str | None = None,
        on_bad: str = "stop",
        encoding: str = UTF8,
    ) -> None:
        super().__init__(str(path), on_bad)
        check_file(path)
        self._path = path
        self._fields = fields or Fields()
        self._separator = None if separator is None else Separator(separator)
        self._encoding = encoding

    def look(self) -> None:
        """Raise a `LayoutError` if none of the first rows has the fields that are wanted."""
        first: LayoutError | None = None
        rows = enumerate(lines(self._path, encoding=self._encoding), 1)
        for number, line in islice(rows, FIRST):
            if line.isspace():
                continue
            try:
                row = parsed(line, self._encoding)
                _adapted(self._fields, row).check(row)
            except MissingFieldError as problem:
                first = first or LayoutError(str(problem), self.name, number)
            except RowError:
                return  # a bad row, which reading counts or raises
            else:
                return
        if first is not None:
            raise first

    def layout(self) -> FileLayout:
        """Return how the file is laid out."""
        return FileLayout("jsonl", encoding=self._encoding, mark=has_mark(self._path))

    def _documents(self, whole: bool) -> Iterator[tuple[Document, Row] | BadRowError]:
        del whole  # a line is parsed as a whole anyway
        fields: Fields | None = None
        for number, line in enumerate(lines(self._path, encoding=self._encoding), 1):
            if line.isspace():
                continue
            try:
                row = parsed(line, self._encoding)
                if fields is None:
                    fields = _adapted(self._fields, row)
                yield fields.document(row, self._separator), row
            except RowError as problem:
                yield BadRowError(str(problem), self.name, number)


def parsed(line: bytes, encoding: str | None = None) -> dict[str, Any]:
    """Return the object of a line, or raise a `RowError`.

    Parameters
    ----------
    line
        A line in UTF-8.
    encoding
        What it was before; None where the file must be UTF-8.
    """
    text = decoded(line, encoding)
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        if text.strip() == "[":
            raise RowError(
                "the file is one JSON array; write one object a line, as jq -c '.[]' does"
            ) from error
        if not isinstance(error, json.JSONDecodeError):
            wrong = "it nests too deep" if isinstance(error, RecursionError) else LONG_NUMBER
            raise RowError(f"not JSON that can be read, {wrong}: {shown(text.strip())}") from error
        raise RowError(f"not JSON ({error}): {shown(text.strip())}") from error
    if not isinstance(row, dict):
        raise RowError(
            'each line must be an object such as {"text": "...", "labels": ["..."]}, '
            f"got {shown(row)}"
        )
    return row


def _adapted(fields: Fields, row: Mapping[str, Any]) -> Fields:
    """Return the fields of the extreme classification repository if the first row has them."""
    plain = Fields(labelled=fields.labelled, merges=fields.merges)
    if fields != plain or "text" in row or not {"title", "target_ind"} <= row.keys():
        return fields
    text = ("title", "content") if "content" in row else "title"
    return replace(fields, text=text, labels="target_ind", id="uid" if "uid" in row else None)
