"""Parquet files, read some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labelgrove.core.errors import BadRowError, InputError
from labelgrove.core.files import LINE, check_file
from labelgrove.core.types import Document
from labelgrove.corpus.base import LayoutError
from labelgrove.corpus.parquet_batches import batches, row_bytes
from labelgrove.corpus.rows import (
    Fields,
    MissingFieldError,
    RowError,
    Separator,
    guess_separator,
    sampled,
)
from labelgrove.corpus.source_rows import FileLayout, Row, RowReader


class Parquet(RowReader):
    """Documents of a Parquet file; labels are a column of lists, or of separated strings.

    Parameters
    ----------
    path
        The file.
    fields
        The names of the columns.
    separator
        What stands between labels in strings; guessed as in a CSV file when None.
    on_bad
        ``"stop"`` or ``"skip"``.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow, pyarrow.parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "docs.parquet")
    ...     table = pyarrow.table({"text": ["Wind"], "labels": [["energy"]]})
    ...     pyarrow.parquet.write_table(table, path)
    ...     list(Parquet(path))
    [Document(text='Wind', labels=('energy',), id=None)]
    """

    def __init__(
        self,
        path: Path,
        fields: Fields | None = None,
        separator: str | None = None,
        on_bad: str = "stop",
    ) -> None:
        super().__init__(str(path), on_bad)
        check_file(path)
        self._path = path
        self._fields = fields or Fields()
        self._separator = None if separator is None else Separator(separator)

    def look(self) -> None:
        """Raise a `LayoutError` if a column is missing."""
        next(self._records(), None)

    def layout(self) -> FileLayout:
        """Return how the file is laid out."""
        from pyarrow import parquet

        self.look()
        if not self._path.stat().st_size:
            return FileLayout("parquet", ())
        schema = parquet.read_schema(self._path)
        return FileLayout("parquet", tuple(schema.names), schema=schema)

    def _documents(self, whole: bool) -> Iterator[tuple[Document, Row] | BadRowError]:
        separator = self._find_separator()
        columns = list(self.layout().columns or ()) if whole else None
        for number, row in enumerate(self._records(columns), 1):
            try:
                if isinstance(row, RowError):
                    raise row
                yield self._fields.document(row, separator), row
            except RowError as problem:
                yield BadRowError(str(problem), f"{self.name}, row {number}")

    def _records(self, columns: list[str] | None = None) -> Iterator[dict[str, Any] | RowError]:
        import pyarrow
        from pyarrow import parquet

        if not self._path.stat().st_size:
            return
        try:
            with parquet.ParquetFile(self._path) as file:
                present = file.schema_arrow.names
                self._check(present)
            used = [name for name in columns or self._fields.names() if name in present]
            for batch in batches(self._path, used):
                yield from _listed(batch)
        except (pyarrow.ArrowException, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(
                f"cannot read {self._path} as Parquet ({reason}): it is damaged or of another kind"
            ) from error

    def _check(self, present: list[str]) -> None:
        try:
            self._fields.check(present)
        except MissingFieldError as problem:
            raise LayoutError(str(problem), self.name) from problem
        except RowError as problem:
            raise BadRowError(str(problem), self.name) from problem

    def _find_separator(self) -> Separator:
        if self._separator is None:
            labels = self._fields.labels
            rows = (row for row in self._records([labels]) if isinstance(row, dict))
            try:
                self._separator = guess_separator(sampled(row.get(labels) for row in rows))
            except RowError as problem:
                raise BadRowError(str(problem), self.name) from problem
        return self._separator


def _listed(batch: Any) -> Iterator[dict[str, Any] | RowError]:
    """Yield the rows of a batch, all together or, if they are long, one by one."""
    sizes = {name: row_bytes(batch.column(i)) for i, name in enumerate(batch.schema.names)}
    if sum(int(each.sum()) for each in sizes.values()) <= LINE:
        try:
            yield from batch.to_pylist()
            return
        except UnicodeDecodeError:
            pass  # some row is bad: find out which, one at a time
    for i in range(batch.num_rows):
        long = next((name for name, each in sizes.items() if each[i] > LINE), None)
        yield _row(batch, i) if long is None else _too_long(long)


def _too_long(column: str) -> RowError:
    return RowError(
        f"the column {column!r} has more than {LINE:,} bytes in this row; cut the text, or the "
        "list of labels"
    )


def _row(batch: Any, i: int) -> dict[str, Any] | RowError:
    try:
        row: dict[str, Any] = batch.slice(i, 1).to_pylist()[0]
    except UnicodeDecodeError:
        return RowError("the row is not UTF-8; convert it to UTF-8")
    return row
