"""CSV and TSV files, with a header line or without."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from labelgrove.core.errors import BadRowError
from labelgrove.core.files import LINE, check_file, lines
from labelgrove.core.recoding import UTF8
from labelgrove.core.types import Document
from labelgrove.corpus.base import LayoutError
from labelgrove.corpus.encodings import has_mark
from labelgrove.corpus.layout import (
    FIRST,
    TITLES,
    below_titles,
    best_delimiter,
    check_columns,
    header_row,
    numbered,
)
from labelgrove.corpus.rows import (
    Fields,
    MissingFieldError,
    RowError,
    Separator,
    guess_separator,
    sampled,
    undecodable,
)
from labelgrove.corpus.source_rows import FileLayout, Row, RowReader

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

_BadLine: TypeAlias = tuple[int, RowError]
SEP = re.compile(rb'"?sep=([^\r\n])"?[\r\n]*', re.IGNORECASE)  # Excel's word for the delimiter

# The limit of 131,072 characters is below a long document. Without any limit a quote that is
# never closed would take the rest of the file into memory.
csv.field_size_limit(max(csv.field_size_limit(), LINE))


class _Layout(NamedTuple):
    """What stands between fields, and how many rows stand above the header."""

    delimiter: str
    above: int = 0


class _Beginning(NamedTuple):
    """The first rows as a delimiter divides them, and the first line of each."""

    rows: list[list[str]]
    numbers: list[int]


class TableFile(RowReader):
    r"""Documents of a CSV or TSV file, whose first line names the fields.

    Fields may be quoted and then hold line ends; blank lines are passed over. Labels stand in
    one field. Their separator, if not given, is ``;`` or ``|``, whichever is in the labels of
    more of the first 10,000 rows (``;`` if equally many); where commas are in still more, the
    separator must be given.

    Parameters
    ----------
    path
        The file, also compressed.
    delimiters
        What may stand between fields: the first with which the header has the field of the text;
        where there is no header, the one that divides the first rows most evenly.
    fields
        The names of the fields.
    separator
        What stands between labels; guessed when None.
    quote
        The character around fields that hold special characters; None if there is none, so that
        ``"`` is a character as any other.
    on_bad
        ``"stop"`` or ``"skip"``.
    encoding
        The encoding of the file.
    header
        False where the first line is a document; fields are called by their numbers, from 1.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "docs.csv")
    ...     _ = path.write_text("text,labels\nWind and sun,energy;weather\n")
    ...     list(TableFile(path))
    [Document(text='Wind and sun', labels=('energy', 'weather'), id=None)]
    """

    def __init__(
        self,
        path: Path,
        delimiters: tuple[str, ...] = (",", ";", "\t"),
        fields: Fields | None = None,
        separator: str | None = None,
        quote: str | None = '"',
        on_bad: str = "stop",
        encoding: str = UTF8,
        header: bool = True,
    ) -> None:
        super().__init__(str(path), on_bad)
        check_file(path)
        self._path = path
        self._delimiters = delimiters
        self._fields = fields or Fields()
        self._separator = None if separator is None else Separator(separator)
        self._quote = quote
        self._encoding = encoding
        self._named = header
        self._known: _Layout | None = None

    def look(self) -> None:
        """Find out what stands between fields, and which row has their names."""
        delimiter, above = self._layout()
        if delimiter != self._delimiters[0]:
            name = "tabs" if delimiter == "\t" else repr(delimiter)
            self.notes += (f"its fields are separated by {name}",)
        if above:
            beginning = self._first(delimiter, TITLES)
            self.notes += (below_titles(beginning.numbers[above]),)

    @property
    def separator(self) -> str | None:
        """What stands between labels, given or guessed; None if no row holds several."""
        return self._find_separator(self._layout().delimiter).mark

    def layout(self) -> FileLayout:
        """Return how the file is laid out."""
        delimiter = self._layout().delimiter
        first = next(lines(self._path, encoding=self._encoding), b"")
        return FileLayout(
            "tsv" if self._delimiters == ("\t",) else "csv",
            self._columns(delimiter),
            self._named,
            delimiter,
            self._quote,
            self._encoding,
            has_mark(self._path),
            "\r\n" if first.endswith(b"\r\n") else "\n",
        )

    def _columns(self, delimiter: str) -> tuple[str, ...]:
        bad: list[_BadLine] = []
        reader = self._reader(delimiter, bad)
        if self._named:
            return tuple(self._header(reader, bad, self._layout().above))
        while True:
            try:
                row = next(reader, None)
            except csv.Error:
                continue  # it is told when documents are read
            if row is None or row:
                return tuple(numbered(len(row or [])))

    def _documents(self, whole: bool) -> Iterator[tuple[Document, Row] | BadRowError]:
        del whole  # a line is divided into all its fields anyway
        delimiter = self._layout().delimiter
        separator = self._find_separator(delimiter)
        columns = self._columns(delimiter)
        for number, row in self._records(delimiter, columns):
            if isinstance(row, RowError):
                yield BadRowError(str(row), self.name, number)
                continue
            try:
                named = dict(zip(columns, row, strict=True))
                yield self._fields.document(named, separator), row
            except RowError as problem:
                yield BadRowError(str(problem), self.name, number)

    def _records(
        self, delimiter: str, columns: Sequence[str]
    ) -> Iterator[tuple[int, list[str] | RowError]]:
        """Yield the first line of each row and its fields, or what is wrong with it."""
        bad: list[_BadLine] = []
        reader = self._reader(delimiter, bad)
        if self._named:
            self._header(reader, bad, self._layout().above)
        while True:
            number = reader.line_num + 1
            try:
                row = next(reader)
                if bad:
                    yield bad[0]
                elif row and (row[0].strip() or not _is_blank(row, len(columns))):
                    self._check_width(row, len(columns))
                    yield number, row
            except StopIteration:
                return
            except csv.Error as error:
                yield number, self._broken(error)
            except RowError as problem:
                yield number, problem
            if bad:
                bad.clear()

    def _reader(self, delimiter: str, bad: list[_BadLine]) -> CsvReader:
        if self._quote is None:
            text = self._lines(bad)
            return csv.reader(text, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=True)
        quote = self._quote
        return csv.reader(self._lines(bad), delimiter=delimiter, quotechar=quote, strict=True)

    def _lines(self, bad: list[_BadLine]) -> Iterator[str]:
        """Yield lines as text; those that are not of the encoding are put into ``bad``."""
        for number, line in enumerate(self._raw_lines(), 1):
            try:
                yield line.decode()
            except UnicodeDecodeError as error:
                bad.append((number, RowError(undecodable(line, error.start, self._encoding))))
                yield line.decode("utf-8", "replace")

    def _raw_lines(self) -> Iterator[bytes]:
        """Yield lines, also of a file that has returns for line ends, without Excel's ``sep=``."""
        found = lines(self._path, encoding=self._encoding)
        first = next(found, b"")
        found = chain([first], found)
        if self._has_returns(first):
            found = (line for each in found for line in each.splitlines(keepends=True))
        first = next(found)
        return chain([b"\n" if SEP.fullmatch(first) else first], found)  # it counts as a line

    def _has_returns(self, first: bytes) -> bool:
        """Tell whether a line has the end that only old programs write, outside of quotes."""
        before, mark, behind = first.partition(b"\r")
        quotes = 0 if self._quote is None else before.count(self._quote.encode())
        return bool(mark) and behind not in (b"", b"\n") and quotes % 2 == 0

    def _header(self, reader: CsvReader, bad: list[_BadLine], above: int) -> list[str]:
        try:
            names = next(islice(filter(_is_filled, reader), above, None), [])
        except csv.Error as error:
            raise BadRowError(str(self._broken(error)), self.name, 1) from error
        if bad:
            number, problem = bad[0]
            raise BadRowError(str(problem), self.name, number)
        return [name.strip() for name in names]

    def _layout(self) -> _Layout:
        """Return the layout that fits the header, or raise if a field is missing."""
        if self._known is None:
            self._known = self._looked_at()
        return self._known

    def _looked_at(self) -> _Layout:
        marked = SEP.fullmatch(next(lines(self._path, encoding=self._encoding), b""))
        delimiters = (marked[1].decode("latin-1"),) if marked else self._delimiters
        broken: dict[str, BadRowError] = {}
        for delimiter in delimiters if self._named else ():
            above = header_row(self._fields, self._first(delimiter, TITLES).rows)
            bad: list[_BadLine] = []
            try:
                header = self._header(self._reader(delimiter, bad), bad, above)
            except BadRowError as problem:
                broken[delimiter] = problem
                continue
            if self._fields.names()[0] in header:
                self._check(header, [header])
                return _Layout(delimiter, above)
        tables = {delimiter: self._first(delimiter, FIRST) for delimiter in delimiters}
        best = best_delimiter({delimiter: each.rows for delimiter, each in tables.items()})
        if best in broken:
            raise broken[best]
        rows, numbers = tables[best]
        if rows:  # an empty file has its own message
            above = header_row(self._fields, rows) if self._named else 0
            header = [name.strip() for name in rows[above]]
            columns = header if self._named else numbered(len(header))
            self._check(columns, [header, *rows[above + 1 :]], numbers[above])
        return _Layout(best)

    def _first(self, delimiter: str, most: int) -> _Beginning:
        """Return the first rows that are good."""
        found = _Beginning([], [])
        reader, before = self._reader(delimiter, []), 0
        with suppress(csv.Error):  # a bad row is met when it is read
            for row in reader:
                if _is_filled(row):
                    found.rows.append(row)
                    found.numbers.append(before + 1)
                    if len(found.rows) == most:
                        break
                before = reader.line_num
        return found

    def _check(self, header: list[str], rows: list[list[str]], line: int = 1) -> None:
        try:
            check_columns(self._fields, header, rows, self._named)
        except MissingFieldError as problem:
            raise LayoutError(str(problem), self.name, line) from problem
        except RowError as problem:
            raise BadRowError(str(problem), self.name, line) from problem

    def _find_separator(self, delimiter: str) -> Separator:
        if self._separator is None:
            columns = self._columns(delimiter)
            if self._fields.labels not in columns:
                return Separator(None)
            place = columns.index(self._fields.labels)
            rows = self._records(delimiter, columns)
            try:
                cells = sampled(row[place] for _, row in rows if isinstance(row, list))
                self._separator = guess_separator(cells)
            except RowError as problem:
                raise BadRowError(str(problem), self.name) from problem
        return self._separator

    def _check_width(self, row: list[str], width: int) -> None:
        if len(row) != width:
            known = "the header" if self._named else "the first row"
            raise RowError(
                f"there {'is' if len(row) == 1 else 'are'} {len(row)} "
                f"field{'s' if len(row) != 1 else ''}, but {known} has {width}; "
                "put quotes around fields that hold the delimiter"
            )

    def _broken(self, error: csv.Error) -> RowError:
        way_out = "double the quotes inside a quoted field"
        if self._quote is not None:
            way_out += ", or turn quoting off if quotes are ordinary characters here "
            way_out += "(quote=None, --no-quotes)"
        return RowError(f"cannot be divided into fields ({error}); {way_out}")


def _is_filled(row: list[str]) -> bool:
    return any(map(str.strip, row))


def _is_blank(row: list[str], width: int) -> bool:
    """Tell whether a row is left out: of a single column an empty text is a document."""
    return not _is_filled(row) and (len(row) != width or width > 1)
