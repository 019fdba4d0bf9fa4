"""Rows written as a file of documents: in the layout of the file they come from, or in another."""

from __future__ import annotations

import csv
import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from labelgrove.core.compressed import opened_to_write
from labelgrove.core.errors import InputError
from labelgrove.core.files import COMPRESSIONS, suffix
from labelgrove.core.printable import printable_json
from labelgrove.corpus.formats import OTHER_SHEETS, SUFFIXES
from labelgrove.corpus.source_rows import FileLayout, Row, as_text, named_values, values_of

KINDS = {
    **{".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv"},
    **{".xlsx": "xlsx", ".parquet": "parquet", ".pq": "parquet"},
}
OTHER_FILES = (".zip", ".html", ".xml", ".doc", ".docx", ".pdf")
TABLES = ("csv", "tsv")
NESTED = ("jsonl", "parquet")  # forms in which a value may be a list; columns have names
PACKED = ("xlsx", "parquet")  # forms that are compressed themselves
MARK = "\ufeff"
LABELS = "labels"  # what an added column holds: lists of labels with id, name and score
TEXT = "text"  # texts


class RowWriter(ABC):
    """Writes rows, one after the other."""

    @abstractmethod
    def write(self, row: Row, added: Sequence[Any] = ()) -> None:
        """Write a row as it was read, with the values of the added columns behind it."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left."""


def is_row_file(name: str) -> bool:
    """Tell whether a name is that of a file of rows rather than of a folder.

    Examples
    --------
    >>> is_row_file("tagged.csv.gz"), is_row_file("tagged")
    (True, False)
    """
    return suffix(Path(name)) in KINDS


def check_no_file(name: str) -> None:
    """Raise for the name of a folder that ends as the files of a form do that is not written.

    Examples
    --------
    >>> check_no_file("tagged"), check_no_file("batch.2026")
    (None, None)
    """
    path = Path(name)
    end = suffix(path) or path.suffix.lower()
    if end in (*SUFFIXES, *OTHER_SHEETS, *COMPRESSIONS, *OTHER_FILES) and end not in KINDS:
        raise InputError(
            f"{name}: {end} cannot be written; give a name that ends in .csv, .tsv, .xlsx, "
            ".parquet or .jsonl (text also with .gz, .xz, .zst behind it), or a folder"
        )


def written_layout(source: FileLayout, name: str) -> FileLayout:
    """Return the layout of a file of this name: that of the source, unless the suffix differs.

    A table that was none before has commas and UTF-8, with a byte order mark if it comes from a
    workbook: Excel takes it for another encoding without one.
    """
    path = Path(name)
    kind = KINDS[suffix(path)]
    if kind in PACKED and path.suffix.lower() in COMPRESSIONS:
        raise InputError(
            f"{name} would be packed twice: leave out {path.suffix}, {suffix(path)} is "
            "compressed already"
        )
    if kind == source.kind:
        return source
    columns = source.columns
    if kind in NESTED and columns is not None:
        columns = _with_names(columns)
    layout = FileLayout(kind, columns, source.header, sheet=source.sheet)
    if kind in TABLES:
        layout = replace(layout, delimiter="\t" if kind == "tsv" else ",")
        layout = replace(layout, line_end="\r\n" if source.kind == "xlsx" else source.line_end)
        layout = replace(layout, mark=source.kind == "xlsx")
    if kind in TABLES and source.kind in TABLES:
        layout = replace(layout, encoding=source.encoding, mark=source.mark)
    return layout


def _with_names(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns, each once; those without a name get one."""
    names: dict[str, None] = {}
    for number, column in enumerate(columns, 1):
        names[free_name(column or f"column {number}", names)] = None
    return tuple(names)


def free_name(name: str, taken: Collection[str]) -> str:
    """Return a name that no column has, with a number behind it if need be.

    Examples
    --------
    >>> free_name("title", ["id", "title"])
    'title_2'
    """
    numbered = (name if number == 1 else f"{name}_{number}" for number in range(1, len(taken) + 2))
    return next(each for each in numbered if each not in taken)


@contextmanager
def row_writer(
    path: Path, layout: FileLayout, added: Mapping[str, str] | None = None, *, compression: str = ""
) -> Iterator[RowWriter]:
    """Give a writer to a new file, which is whole once the block has ended without an error.

    Parameters
    ----------
    path
        The file.
    layout
        How it is laid out: of `written_layout`, completed by
        `labelgrove.corpus.row_survey.surveyed`.
    added
        The columns that come behind those of the rows, each with what it holds: `TEXT` or, in a
        form that is `NESTED`, `LABELS`.
    compression
        ``".gz"``, ``".xz"`` or ``".zst"`` for a text file that is compressed.
    """
    more = added or {}
    if layout.kind in PACKED:
        made = _packed_writer(path, layout, more)
        yield made
        made.close()
        return
    with opened_to_write(path, compression, layout.encoding) as file:
        if layout.mark:
            file.write(MARK)
        made = (_LineWriter if layout.kind == "jsonl" else _TableWriter)(file, layout, list(more))
        yield made
        made.close()


def _packed_writer(path: Path, layout: FileLayout, added: Mapping[str, str]) -> RowWriter:
    if layout.kind == "xlsx":
        from labelgrove.corpus.excel_writer import SheetWriter

        return SheetWriter(path, layout, list(added))
    from labelgrove.corpus.parquet_writer import ParquetRows

    return ParquetRows(path, layout, added)


class _TextWriter(RowWriter):
    """Writes to a text file, which is closed by whoever opened it."""

    def __init__(self, file: TextIO, layout: FileLayout, added: Sequence[str]) -> None:
        self._file, self._layout, self._added = file, layout, added

    def close(self) -> None:
        self._file.flush()


class _LineWriter(_TextWriter):
    """An object of JSON for each row."""

    def write(self, row: Row, added: Sequence[Any] = ()) -> None:
        values = dict(named_values(row, self._layout.columns))
        if taken := values.keys() & self._added:
            raise InputError(f"a row has a field {min(taken)!r} already: rename it")
        values |= zip(self._added, added, strict=True)
        text = json.dumps(values, ensure_ascii=False, default=as_text)
        self._file.write(printable_json(text) + "\n")


class _TableWriter(_TextWriter):
    """A line of a CSV or TSV for each row, with the columns' names before them."""

    def __init__(self, file: TextIO, layout: FileLayout, added: Sequence[str]) -> None:
        super().__init__(file, layout, added)
        columns = list(layout.columns or ())
        self._columns = columns
        self._plain, self._all_quoted = (self._writer(each) for each in (False, True))
        if layout.header:
            self._write_line([*columns, *added])

    def _writer(self, all_quoted: bool) -> Any:
        layout = self._layout
        common: dict[str, Any] = {
            "delimiter": layout.delimiter,
            "lineterminator": layout.line_end,
            "quotechar": layout.quote,
        }
        if layout.quote is None:
            return csv.writer(self._file, quoting=csv.QUOTE_NONE, **common)
        return csv.writer(
            self._file, quoting=csv.QUOTE_ALL if all_quoted else csv.QUOTE_MINIMAL, **common
        )

    def write(self, row: Row, added: Sequence[Any] = ()) -> None:
        own = [as_text(value) for value in values_of(row, self._columns)]
        self._write_line([*own, *added])

    def _write_line(self, cells: list[str]) -> None:
        if self._layout.quote is None:  # what was read so holds none of these
            cells = [self._without_breaks(cell) for cell in cells]
        # csv gives no quotes to half a line end where line ends are "\n"
        quoted = self._layout.line_end == "\n" and any("\r" in cell for cell in cells)
        try:
            (self._all_quoted if quoted else self._plain).writerow(cells)
        except UnicodeEncodeError as error:
            letter, encoding = error.object[error.start], self._layout.encoding
            raise InputError(
                f"{encoding} cannot hold the character {letter!r}: write .jsonl instead"
            ) from error

    def _without_breaks(self, cell: str) -> str:
        for mark in (self._layout.delimiter, "\r", "\n"):
            cell = cell.replace(mark, " ")
        return cell
