"""Sheets of Excel workbooks (.xlsx), read row by row with openpyxl."""

from __future__ import annotations

import string
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from labelgrove.core.errors import BadRowError, InputError
from labelgrove.core.extras import need
from labelgrove.core.files import COMPRESSIONS, check_file
from labelgrove.core.reader_words import for_reader
from labelgrove.core.types import Document
from labelgrove.corpus.base import LayoutError
from labelgrove.corpus.excel_parts import check_parts, merged_cells
from labelgrove.corpus.layout import FIRST, below_titles, check_columns, header_row, numbered
from labelgrove.corpus.rows import (
    SAMPLE,
    Fields,
    MissingFieldError,
    RowError,
    Separator,
    guess_separator,
    sampled,
)
from labelgrove.corpus.source_rows import FileLayout, Row, RowReader, as_text

ROWS = 1_048_576  # of a sheet; Excel has no more
BEGINNING = 1_000  # rows and columns that are looked at for a header
FAILED = ("#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!")
RETURN = "_x000D_"  # how Excel writes one half of a line end


class _Sheet(NamedTuple):
    """What is known of a sheet before its documents are read."""

    name: str
    header: list[str]
    row: int  # of the header; 0 where there is none
    separator: Separator


class ExcelSheet(RowReader):
    """Documents of a sheet, whose first row names the columns; a title may stand above.

    Empty rows are passed over, and so are columns without a name. A number becomes the text that
    Excel shows of it without a format, a date ``2026-11-18``, an empty cell an empty text or no
    label; of a formula the value is read that was saved with it. Labels stand in one column, as
    in `labelgrove.corpus.tables.TableFile`.

    Parameters
    ----------
    path
        The file.
    fields
        The names of the columns.
    separator
        What stands between labels; guessed when None.
    on_bad
        ``"stop"`` or ``"skip"``.
    sheet
        The name of the sheet; the first when None.
    header
        False where the first row is a document; columns are called by their numbers, from 1.
    """

    def __init__(
        self,
        path: Path,
        fields: Fields | None = None,
        separator: str | None = None,
        on_bad: str = "stop",
        sheet: str | None = None,
        header: bool = True,
    ) -> None:
        super().__init__(str(path), on_bad)
        check_file(path)
        if path.suffix.lower() in COMPRESSIONS:
            raise InputError(f"{path} is packed twice: unpack it, .xlsx is compressed already")
        self._path = path
        self._fields = fields or Fields()
        self._separator = None if separator is None else Separator(separator)
        self._wanted = sheet
        self._named = header
        self._known: _Sheet | None = None

    def look(self) -> None:
        """Find out which sheet is read, and raise a `LayoutError` if a column is missing."""
        self._sheet()

    def layout(self) -> FileLayout:
        """Return how the sheet is laid out."""
        if not self._path.stat().st_size:
            return FileLayout("xlsx", ())
        sheet = self._sheet()
        return FileLayout("xlsx", tuple(sheet.header), self._named, sheet=sheet.name)

    def _documents(self, whole: bool) -> Iterator[tuple[Document, Row] | BadRowError]:
        if not self._path.stat().st_size:
            return
        sheet = self._sheet()
        with self._opened() as workbook:
            for number, row in _values(workbook[sheet.name], len(sheet.header)):
                if number <= sheet.row:
                    continue
                try:
                    cells = self._cells(sheet.header, row)
                    document = self._fields.document(cells, sheet.separator)
                    yield document, [_mended(value) for value in row] if whole else ()
                except RowError as problem:
                    yield BadRowError(str(problem), self._place(sheet.name, number))

    def _place(self, sheet: str, row: int) -> str:
        return f"{self.name}, sheet {sheet!r}, row {row}"

    def _cells(self, header: list[str], row: Sequence[Any]) -> dict[str, str]:
        used = self._fields.names()
        return {name: _text(value) for name, value in zip(header, row, strict=True) if name in used}

    def _sheet(self) -> _Sheet:
        """Look at the first rows, once."""
        if self._known is None:
            with self._opened() as workbook:
                self._known = self._looked_at(workbook)
        return self._known

    def _looked_at(self, workbook: Any) -> _Sheet:
        names: list[str] = [sheet.title for sheet in workbook.worksheets]
        name = self._wanted if self._wanted is not None else next(iter(names), "")
        if name not in names:
            near = [each for each in names if name.casefold() in each.casefold()]
            hint = f"did you mean {near[0]!r}? The" if len(near) == 1 and name else "the"
            problem = f"there is no sheet {name!r}; {hint} sheets are {_listed(names)}"
            problem += " (--sheet NAME)"
            raise LayoutError(problem, self.name)
        more = self._wanted is None and len(names) > 1
        if more:
            others = _listed(names[1:])
            note = f"its first sheet {name!r} is read, not {others} (--sheet NAME)"
            self.notes += (for_reader(note),)
        first = list(islice(_values(workbook[name], BEGINNING, BEGINNING), FIRST))
        if not first:
            return _Sheet(name, [], 0, Separator(None))
        shown_rows = [[_text(value, strict=False) for value in row] for _, row in first]
        width = max(map(_width, shown_rows))
        above = header_row(self._fields, shown_rows) if self._named else 0
        number, shown_rows = first[above][0], shown_rows[above:]
        header = [cell.strip() for cell in shown_rows[0][:width]]
        if not self._named:
            header = numbered(width)
        place = self._place(name, number)
        try:
            filled = [row[:width] for row in shown_rows]
            check_columns(self._fields, [each for each in header if each], filled, self._named)
        except MissingFieldError as problem:
            others = f"; other sheets are {_listed(names[1:])} (--sheet NAME)" if more else ""
            raise LayoutError(f"{problem}{others}", place) from problem
        except RowError as problem:
            raise BadRowError(str(problem), place) from problem
        if above:
            self.notes += (below_titles(number),)
        row = number if self._named else 0
        self._note_merged(workbook[name], row)
        return _Sheet(name, header, row, self._find_separator(workbook[name], header, row))

    def _note_merged(self, sheet: Any, header: int) -> None:
        """Say which cells below the header are merged: a file holds a value for the first only."""
        with sheet._get_source() as stream:  # openpyxl reads merged cells only with all others
            ranges = merged_cells(stream)
        below = [each for each in ranges if _last_row(each) > header]
        if below:
            shown = ", ".join(below[:4]) + (", ..." if len(below) > 4 else "")
            self.notes += (
                f"its cells {shown} are merged: only the first of them is read, the others "
                "count as empty; unmerge and fill them if their value is meant for each row",
            )

    def _find_separator(self, sheet: Any, header: list[str], first: int) -> Separator:
        if self._separator is not None or self._fields.labels not in header:
            return self._separator or Separator(None)
        column = header.index(self._fields.labels)
        rows = islice(_values(sheet, len(header)), SAMPLE)
        try:
            cells = (_text(row[column], strict=False) for number, row in rows if number > first)
            return guess_separator(sampled(cells))
        except RowError as problem:
            raise BadRowError(str(problem), self.name) from problem

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """Open the workbook; what openpyxl makes of a damaged one becomes one error."""
        need("defusedxml", "excel", "reading .xlsx files")
        openpyxl = need("openpyxl", "excel", "reading .xlsx files")
        try:
            check_parts(self._path)
            with self._path.open("rb") as file, warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of styles and extensions
                options = {"read_only": True, "data_only": True, "keep_links": False}
                workbook = openpyxl.load_workbook(file, **options)
                with closing(workbook):
                    yield workbook
        except (InputError, GeneratorExit, MemoryError):
            raise
        except Exception as error:  # of zip, XML or openpyxl, which raises what it comes upon
            cause = error.__cause__ or error  # openpyxl puts a text of several lines around it
            reason = str(cause).partition("\n")[0] or type(error).__name__
            raise InputError(
                f"cannot read {self._path} as .xlsx ({reason}): it is damaged or of another kind; "
                "open it in the spreadsheet program and save it again"
            ) from error


def _values(sheet: Any, width: int, most: int = ROWS) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield the numbers and the values of the rows that are not empty."""
    rows = sheet.iter_rows(max_col=max(width, 1), max_row=most, values_only=True)
    blank: Sequence[Any] | None = None
    for number, row in enumerate(rows, 1):
        if row is blank:  # one object stands for all rows that the file leaves out
            continue
        blank = row
        if any(value is not None and value != "" for value in row):
            yield number, row


def _listed(names: Sequence[str]) -> str:
    return (", ".join(map(repr, names[:4])) or "none") + (", ..." if len(names) > 4 else "")


def _last_row(cells: str) -> int:
    """Return the last row of a range such as A2:B5."""
    return int(cells.rpartition(":")[2].lstrip(string.ascii_uppercase))


def _width(row: Sequence[str]) -> int:
    """Return the number of columns up to the last that is not empty."""
    return next((i for i in range(len(row), 0, -1) if row[i - 1].strip()), 0)


def _text(value: Any, strict: bool = True) -> str:
    """Return what a cell holds as text, or raise a `RowError` for a formula that failed."""
    if strict and isinstance(value, str) and value in FAILED:
        raise RowError(f"a cell holds {value}, a formula that failed; correct or empty it")
    return as_text(_mended(value))


def _mended(value: Any) -> Any:
    return value.replace(RETURN, "") if isinstance(value, str) and RETURN in value else value
