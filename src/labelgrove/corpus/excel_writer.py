"""Rows written as a sheet of an Excel workbook, one at a time."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from labelgrove.core.errors import InputError
from labelgrove.core.extras import need
from labelgrove.corpus.excel import FAILED, ROWS
from labelgrove.corpus.row_survey import WAY_OUT, check_cell
from labelgrove.corpus.row_writers import RowWriter
from labelgrove.corpus.source_rows import FileLayout, Row, as_text, values_of

DIGITS = 10**15  # whole numbers from here on lose digits in Excel
FIRST_YEAR = 1900  # Excel knows no earlier dates
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # XML has none of these


class SheetWriter(RowWriter):
    """Writes rows as a sheet; texts are never taken for formulas.

    Parameters
    ----------
    path
        The file.
    layout
        Its columns, and the name of the sheet.
    added
        Columns behind those.
    """

    def __init__(self, path: Path, layout: FileLayout, added: Sequence[str]) -> None:
        openpyxl = need("openpyxl", "excel", "writing .xlsx files")
        from openpyxl.cell import WriteOnlyCell

        self._path = path
        self._columns = list(layout.columns or ())
        self._book = openpyxl.Workbook(write_only=True)
        self._sheet = self._book.create_sheet(layout.sheet)
        self._new_cell = WriteOnlyCell
        self._count = 0
        if layout.header:
            self._sheet.freeze_panes = "A2"
            self._append([*self._columns, *added])

    def write(self, row: Row, added: Sequence[Any] = ()) -> None:
        """Write a row as it was read, with the values of the added columns behind it."""
        for value in added:
            check_cell(value, "the labels", f"row {self._count + 1:,} of the output")
        self._append([*values_of(row, self._columns), *added])

    def close(self) -> None:
        """Write what is left."""
        self._book.save(self._path)

    def _append(self, values: Sequence[Any]) -> None:
        if self._count == ROWS:
            raise InputError(f"more than {ROWS:,} rows do not fit into a sheet of Excel; {WAY_OUT}")
        self._sheet.append([self._cell(value) for value in values])
        self._count += 1

    def _cell(self, value: Any) -> Any:
        value = _storable(value)
        if isinstance(value, str) and (value.startswith("=") or value in FAILED):
            cell = self._new_cell(self._sheet, value)
            cell.data_type = "s"  # a text, which Excel does not calculate
            return cell
        return value


def _storable(value: Any) -> Any:
    r"""Return what a cell can hold: a number, a date, or a text.

    Examples
    --------
    >>> [_storable(value) for value in (7, 10**16, float("inf"), ["a"], "bell \x07")]
    [7, '10000000000000000', 'inf', '["a"]', 'bell _x0007_']
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < DIGITS else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        zone = getattr(value, "tzinfo", None)
        early = getattr(value, "year", FIRST_YEAR) < FIRST_YEAR
        if zone is not None or early:
            return as_text(value)
        # read from a cell that shows no time, which has one all the same
        if isinstance(value, datetime.datetime) and value.time() == datetime.time():
            return value.date()
        return value
    text = as_text(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    # as Excel writes them itself
    return CONTROLS.sub(lambda match: f"_x{ord(match[0]):04X}_", text)
