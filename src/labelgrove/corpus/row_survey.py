"""A look at all rows before they are written in another form: columns, types, limits of Excel."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

from labelgrove.core.errors import InputError
from labelgrove.corpus.base import Corpus
from labelgrove.corpus.excel import ROWS
from labelgrove.corpus.row_writers import TABLES
from labelgrove.corpus.source_rows import FileLayout, as_text, layout_of, named_values, rows_of

CELL = 32_767  # characters of a cell of Excel, in UTF-16
COLUMNS = 16_384  # of a sheet of Excel
EXACT = 1 << 53  # whole numbers below it are exact as floating point numbers
WAY_OUT = "write .csv or .parquet instead"


def surveyed(corpus: Corpus, layout: FileLayout) -> FileLayout:
    """Return a layout with what only the rows tell, or raise if they do not fit into its form.

    Rows are looked at only where the form is not that of the corpus's file and needs it.

    Parameters
    ----------
    corpus
        Whose rows are to be written; it is read once.
    layout
        How they will be written.
    """
    source = layout_of(corpus)
    if layout.kind in (source.kind, "jsonl") or (layout.kind in TABLES and layout.columns):
        return layout
    if layout.kind == "parquet" and source.kind in TABLES:
        return replace(layout, schema=_schema({name: {"str"} for name in layout.columns or ()}))
    kinds: dict[str, set[str]] = {name: set() for name in layout.columns or ()}
    to_excel = layout.kind == "xlsx"
    for _, row in rows_of(corpus):
        for name, value in named_values(row, layout.columns).items():
            kinds.setdefault(name, set()).add(_kind(value))
            if to_excel:
                check_cell(value, f"the column {name!r}", f"{corpus.name}, row {corpus.position:,}")
        if to_excel and corpus.position >= ROWS:
            raise InputError(
                f"{corpus.name} has more than the {ROWS - 1:,} documents that fit into a sheet of "
                f"Excel; {WAY_OUT}"
            )
    if to_excel and len(kinds) > COLUMNS - 3:
        raise InputError(f"{len(kinds):,} columns do not fit into a sheet of Excel; {WAY_OUT}")
    layout = replace(layout, columns=tuple(kinds))
    return replace(layout, schema=_schema(kinds)) if layout.kind == "parquet" else layout


def check_cell(value: Any, what: str, place: str) -> None:
    """Raise if a value does not fit into a cell of Excel."""
    if not isinstance(value, str | list | dict) or len(value) * 2 < CELL:
        return
    text = as_text(value)
    length = len(text) + sum(letter > "\uffff" for letter in text)
    if length > CELL:
        raise InputError(
            f"{place}: {what} has {length:,} characters, and a cell of Excel holds {CELL:,}; "
            f"{WAY_OUT}"
        )


def _kind(value: Any) -> str:
    """Return what a value is: the name of a type that all values of a column may share."""
    if isinstance(value, int) and not isinstance(value, bool):
        return "int" if abs(value) < EXACT else "long" if abs(value) < 1 << 63 else "other"
    if isinstance(value, list):
        return "texts" if all(isinstance(each, str) for each in value) else "other"
    if value is None:
        return "none"
    name = type(value).__name__
    plain = (str, bool, float, datetime.datetime, datetime.date)
    return name if isinstance(value, plain) else "other"


def _schema(kinds: dict[str, set[str]]) -> Any:
    """Return an Arrow schema; columns of values of several types hold texts."""
    import pyarrow as pa

    types = {
        "bool": pa.bool_(),
        "int": pa.int64(),
        "long": pa.int64(),
        "float": pa.float64(),
        "date": pa.date32(),
        "datetime": pa.timestamp("us"),
        "texts": pa.list_(pa.string()),
    }
    fields = []
    for name, seen in kinds.items():
        found = seen - {"none"}
        for narrow, wide in (("int", "float"), ("int", "long"), ("date", "datetime")):
            if found == {narrow, wide}:
                found = {wide}
        kind = types.get(min(found)) if len(found) == 1 else None
        fields.append((name, kind or pa.string()))
    return pa.schema(fields)
