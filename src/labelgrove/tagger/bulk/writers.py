"""Tagged documents as JSON lines, CSV or Parquet."""

from __future__ import annotations

import csv
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from labelgrove.core.errors import UnknownNameError
from labelgrove.core.printable import printable_json
from labelgrove.core.types import Tag

COLUMNS = ("id", "label", "name", "score")
DIGITS = 6  # of a score
GROUP = 8192  # documents of a row group


class TagWriter(ABC):
    """Writes documents with their tags, one after the other."""

    @abstractmethod
    def write(self, id: str | None, tags: Sequence[Tag]) -> None:  # noqa: A002
        """Write a document."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left."""


def as_line(id: str | None, tags: Sequence[Tag]) -> str:  # noqa: A002
    r"""Return a document as a line of JSON.

    Examples
    --------
    >>> as_line("7", [Tag("sky", "Sky", 0.25)])
    '{"id": "7", "labels": [{"label": "sky", "name": "Sky", "score": 0.25}]}\n'
    """
    line = {"id": id, "labels": [tag_values(tag) for tag in tags]}
    return printable_json(json.dumps(line, ensure_ascii=False)) + "\n"


def tag_values(tag: Tag) -> dict[str, Any]:
    """Return a label as JSON and Parquet have it."""
    return {"label": tag.label, "name": tag.name, "score": round(tag.score, DIGITS)}


class JsonLinesWriter(TagWriter):
    """A line for each document, as ``labelgrove tag`` prints it."""

    def __init__(self, path: Path) -> None:
        self._file = _opened(path)

    def write(self, id: str | None, tags: Sequence[Tag]) -> None:  # noqa: A002
        """Write a document."""
        self._file.write(as_line(id, tags))

    def close(self) -> None:
        """Write what is left."""
        self._file.close()


class CsvWriter(TagWriter):
    """A row for each label of a document; one with an empty label for a document without any."""

    def __init__(self, path: Path) -> None:
        self._file = _opened(path)
        self._rows = csv.writer(self._file, lineterminator="\n")
        self._rows.writerow(COLUMNS)

    def write(self, id: str | None, tags: Sequence[Tag]) -> None:  # noqa: A002
        """Write a document."""
        rows = ([id, *tag_values(tag).values()] for tag in tags)
        self._rows.writerows(rows if tags else [[id, "", "", ""]])

    def close(self) -> None:
        """Write what is left."""
        self._file.close()


class ParquetWriter(TagWriter):
    """A row for each document: its id, and a list of labels with label, name and score."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        tag = pa.struct([("label", pa.string()), ("name", pa.string()), ("score", pa.float64())])
        self._schema = pa.schema([("id", pa.string()), ("labels", pa.list_(tag))])
        self._file = parquet.ParquetWriter(path, self._schema)
        self._rows: list[dict[str, Any]] = []

    def write(self, id: str | None, tags: Sequence[Tag]) -> None:  # noqa: A002
        """Write a document."""
        self._rows.append({"id": id, "labels": [tag_values(tag) for tag in tags]})
        if len(self._rows) == GROUP:  # not by time, so that equal tags are equal files
            self._flush()

    def close(self) -> None:
        """Write what is left."""
        if self._rows:
            self._flush()
        self._file.close()

    def _flush(self) -> None:
        import pyarrow as pa

        self._file.write_table(pa.Table.from_pylist(self._rows, self._schema))
        self._rows = []


WRITERS: dict[str, type[JsonLinesWriter | CsvWriter | ParquetWriter]] = {
    "jsonl": JsonLinesWriter,
    "csv": CsvWriter,
    "parquet": ParquetWriter,
}


def check_form(form: str) -> None:
    """Raise an error for a form that there is no writer for."""
    if form not in WRITERS:
        raise UnknownNameError("form of the output", form, WRITERS)


@contextmanager
def writer(path: Path, form: str) -> Iterator[TagWriter]:
    """Give a writer to a new file, which is closed at the end."""
    made = WRITERS[form](path)
    try:
        yield made
    except BaseException:
        with suppress(Exception):  # the first error says it
            made.close()
        raise
    made.close()


def _opened(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", newline="")
