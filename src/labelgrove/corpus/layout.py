"""How a table is laid out: what stands between its fields, and whether it has a header."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from labelgrove.corpus.rows import MARKS, Fields, RowError

FIRST = 100  # rows that are looked at
TITLES = 10  # rows among which the names of the columns are looked for
LONG = 60  # characters of a field that is no name of a column
PROSE = 15  # characters of a short text, of three words or more
Row = Sequence[str]


def numbered(width: int) -> list[str]:
    """Return what the columns of a table without a header are called: 1, 2, 3."""
    return [str(number) for number in range(1, width + 1)]


def read_columns(names: str) -> str | list[str]:
    """Return the column that a text names, or the list of several with commas between them.

    A name in double quotes may hold commas.

    Examples
    --------
    >>> read_columns("title"), read_columns("title, abstract"), read_columns('"Text, long"')
    ('title', ['title', 'abstract'], 'Text, long')
    """
    found = next(csv.reader([names], skipinitialspace=True), [])
    found = [name.strip() for name in found]
    return found if len(found) > 1 else (found or [names])[0]


def write_columns(columns: str | Sequence[str]) -> str:
    """Return columns as `read_columns` takes them.

    Examples
    --------
    >>> write_columns(["title", "abstract"]), write_columns("Text, long")
    ('title,abstract', '"Text, long"')
    """
    written = io.StringIO()
    names = [columns] if isinstance(columns, str) else columns
    csv.writer(written, lineterminator="").writerow(names)
    return written.getvalue()


def best_delimiter(tables: Mapping[str, Sequence[Row]]) -> str:
    """Return the delimiter that divides the first rows most evenly.

    Parameters
    ----------
    tables
        The first rows as each delimiter divides them; of those that fit alike the first is taken.

    Examples
    --------
    >>> with_semicolons = [["Wind, sun", "a"], ["Rain", "b"]]
    >>> best_delimiter({",": [["Wind", " sun;a"], ["Rain;b"]], ";": with_semicolons})
    ';'
    """
    return max(tables, key=lambda each: _evenness(tables[each]))


def _evenness(rows: Sequence[Row]) -> float:
    """Return the share of rows with the usual number of fields, if that is two or more.

    A blank behind a delimiter is as in a sentence, and counts half against it.
    """
    if not rows:
        return 0.0
    width, count = Counter(len(row) for row in rows).most_common(1)[0]
    if width < 2:
        return 0.0
    in_sentences = sum(any(cell.startswith(" ") for cell in row[1:]) for row in rows)
    return (count - in_sentences / 2) / len(rows)


class Columns(NamedTuple):
    """Where the text and the labels are likely to be; counted from 0, None if that is open."""

    text: int
    labels: int | None


def likely_columns(rows: Sequence[Row]) -> Columns | None:
    """Return the column of the longest fields, and of the others the one that has labels.

    Examples
    --------
    >>> likely_columns([["1", "Wind power grows", "energy"], ["2", "The sun shines", "energy"]])
    Columns(text=1, labels=2)
    """
    width = min(map(len, rows), default=0)
    if not width:
        return None
    columns = [[row[number] for row in rows] for number in range(width)]
    text = max(range(width), key=lambda number: sum(map(len, columns[number])))
    others = [number for number in range(width) if number != text]
    several = [number for number in others if any(m in c for c in columns[number] for m in MARKS)]
    again = [number for number in others if len(set(columns[number])) < len(rows)]
    for found in (others, several, again):
        if len(found) == 1:
            return Columns(text, found[0])
    return Columns(text, None)


def looks_like_data(rows: Sequence[Row]) -> bool:
    """Tell whether the first row is a document instead of the names of the columns.

    Examples
    --------
    >>> looks_like_data([["Wind power grows fast", "energy"], ["Rain", "weather"]])
    True
    >>> looks_like_data([["title", "subjects"], ["Wind power grows fast", "energy"]])
    False
    """
    if not rows:
        return False
    first, others = rows[0], rows[1:]
    if any(len(cell) > LONG or _is_number(cell) for cell in first):
        return True
    if any(mark in cell for cell in first for mark in MARKS[:2]):
        return True
    if any(len(cell) >= PROSE and len(cell.split()) >= 3 for cell in first):
        return True
    columns = likely_columns(others)
    if columns is None or columns.labels is None or len(first) <= columns.labels:
        return False
    return any(row[columns.labels] == first[columns.labels] != "" for row in others)


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def header_row(fields: Fields, rows: Sequence[Row]) -> int:
    """Return which row has the names of the columns, counted from 0.

    A report may have its title and a date above them, in fewer cells than there are columns. Where
    no row has the names that are wanted, the one that looks most like names is returned.

    Examples
    --------
    >>> header_row(Fields(), [["Our report", ""], ["text", "labels"], ["Wind", "energy"]])
    1
    >>> header_row(Fields(), [["title", "subjects"], ["text", "labels"]])
    0
    """
    widths = [sum(map(bool, map(str.strip, row))) for row in rows[:TITLES]]
    for number, row in enumerate(rows[:TITLES]):
        fewer = all(width < widths[number] for width in widths[:number])
        if fewer and fields.missing([name.strip() for name in row]) is None:
            return number
    return widths.index(max(widths)) if widths and widths[0] == 1 else 0


def below_titles(row: int) -> str:
    """Return the note for a table whose columns are named in a later row than the first."""
    return f"its columns are named in row {row}; what stands above is left out"


def check_columns(fields: Fields, header: Sequence[str], rows: Sequence[Row], named: bool) -> None:
    """Raise a `RowError` if a column is missing, with the options that would read the table.

    Parameters
    ----------
    fields
        What is wanted.
    header
        The names of the columns, or their numbers.
    rows
        The first rows, the header among them.
    named
        Whether the first row has the names.
    """
    try:
        fields.check(header)
    except RowError as problem:
        if any(name in header for name in fields.names()):
            raise
        if not named:
            raise type(problem)(
                f"the columns of a table without a header are numbered: {_options(fields, rows)}"
            ) from problem
        if not looks_like_data(rows):
            raise
        raise type(problem)(
            f"{problem}. The first row looks like a document, not like names of columns: if it is "
            f"one, read the file with --no-header {_options(fields, rows)}"
        ) from problem


def _options(fields: Fields, rows: Sequence[Row]) -> str:
    """Return options that would read a table without a header, or an example of them."""
    found = likely_columns(rows)
    if found is None or (found.labels is None and fields.labelled):
        return "and the numbers of its columns, such as --text-field 1 --labels-field 2"
    labels = f" --labels-field {(found.labels or 0) + 1}" if fields.labelled else ""
    return f"--text-field {found.text + 1}{labels}"
