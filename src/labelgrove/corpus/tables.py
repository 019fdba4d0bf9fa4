"""CSV and TSV files with a header line."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from labelgrove.core.errors import BadRowError
from labelgrove.core.files import LINE, check_file, lines
from labelgrove.core.types import Document
from labelgrove.corpus.base import CorpusReader
from labelgrove.corpus.rows import Fields, RowError, Separator, guess_separator, sampled

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

# The limit of 131,072 characters is below a long document. Without any limit a quote that is
# never closed would take the rest of the file into memory.
csv.field_size_limit(max(csv.field_size_limit(), LINE))


class TableFile(CorpusReader):
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
        What may stand between fields: the first with which the header has the field of the text.
    fields
        The names of the fields.
    separator
        What stands between labels; guessed when None.
    quote
        The character around fields that hold special characters; None if there is none, so that
        ``"`` is a character as any other.
    on_bad
        ``"stop"`` or ``"skip"``.

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
    ) -> None:
        super().__init__(str(path), on_bad)
        check_file(path)
        self._path = path
        self._delimiters = delimiters
        self._fields = fields or Fields()
        self._separator = None if separator is None else Separator(separator)
        self._quote = quote

    @property
    def separator(self) -> str | None:
        """What stands between labels, given or guessed; None if no row holds several."""
        return self._find_separator(self._delimiter()).mark

    def _rows(self) -> Iterator[Document | BadRowError]:
        delimiter = self._delimiter()
        separator = self._find_separator(delimiter)
        for number, row in self._records(delimiter):
            if isinstance(row, RowError):
                yield BadRowError(str(row), self.name, number)
                continue
            try:
                yield self._fields.document(row, separator)
            except RowError as problem:
                yield BadRowError(str(problem), self.name, number)

    def _records(self, delimiter: str) -> Iterator[tuple[int, dict[str, str] | RowError]]:
        """Yield the first line of each row and its fields, or what is wrong with it."""
        reader = self._reader(delimiter)
        header = self._header(reader)
        while True:
            number = reader.line_num + 1
            try:
                row = next(reader)
                if row:
                    yield number, _named(header, row)
            except StopIteration:
                return
            except csv.Error as error:
                yield number, self._broken(error)
            except RowError as problem:
                yield number, problem

    def _reader(self, delimiter: str) -> CsvReader:
        # bytes that are not UTF-8 are kept apart, so that only their row is bad
        text = (line.decode("utf-8", "surrogateescape") for line in lines(self._path))
        if self._quote is None:
            return csv.reader(text, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=True)
        return csv.reader(text, delimiter=delimiter, quotechar=self._quote, strict=True)

    def _header(self, reader: CsvReader) -> list[str]:
        try:
            names = next((row for row in reader if row), [])
        except csv.Error as error:
            raise BadRowError(str(self._broken(error)), self.name, 1) from error
        return [name.strip() for name in names]

    def _delimiter(self) -> str:
        """Return the delimiter that fits the header, or raise if a field is missing."""
        text = self._fields.names()[0]
        headers = [self._header(self._reader(delimiter)) for delimiter in self._delimiters]
        fitting = [number for number, header in enumerate(headers) if text in header]
        best = fitting[0] if fitting else max(range(len(headers)), key=lambda i: len(headers[i]))
        header = headers[best]
        if not header:  # an empty file, which has its own message
            return self._delimiters[0]
        try:
            self._fields.check(header)
        except RowError as problem:
            raise BadRowError(str(problem), self.name, 1) from problem
        return self._delimiters[best]

    def _find_separator(self, delimiter: str) -> Separator:
        if self._separator is None:
            rows = (row for _, row in self._records(delimiter) if isinstance(row, dict))
            try:
                cells = sampled(row.get(self._fields.labels) for row in rows)
                self._separator = guess_separator(cells)
            except RowError as problem:
                raise BadRowError(str(problem), self.name) from problem
        return self._separator

    def _broken(self, error: csv.Error) -> RowError:
        way_out = "double the quotes inside a quoted field"
        if self._quote is not None:
            way_out += ", or turn quoting off if quotes are ordinary characters here "
            way_out += "(quote=None, --no-quotes)"
        return RowError(f"cannot be divided into fields ({error}); {way_out}")


def _named(header: list[str], row: list[str]) -> dict[str, str]:
    if len(row) != len(header):
        raise RowError(
            f"there are {len(row)} fields, but the header has {len(header)}; "
            "put quotes around fields that hold the delimiter"
        )
    for name, cell in zip(header, row, strict=True):
        if not cell.isascii() and any("\udc80" <= c <= "\udcff" for c in cell):
            raise RowError(f"field {name!r} is not UTF-8; convert the file to UTF-8")
    return dict(zip(header, row, strict=True))
