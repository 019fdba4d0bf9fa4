"""Rows written as Parquet, a group of them at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labelgrove.core.errors import InputError
from labelgrove.corpus.row_writers import LABELS, RowWriter
from labelgrove.corpus.source_rows import FileLayout, Row, as_text, values_of

GROUP = 8_192  # rows of a row group at most
LETTERS = 1 << 25  # characters of a row group; texts may be long


class ParquetRows(RowWriter):
    """Writes rows as Parquet.

    Parameters
    ----------
    path
        The file.
    layout
        Its schema.
    added
        Columns behind it, with what they hold.
    """

    def __init__(self, path: Path, layout: FileLayout, added: Mapping[str, str]) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        tag = pa.struct([("label", pa.string()), ("name", pa.string()), ("score", pa.float64())])
        known = {LABELS: pa.list_(tag)}
        more = [pa.field(name, known.get(kind, pa.string())) for name, kind in added.items()]
        self._schema = pa.schema([*layout.schema, *more], metadata=layout.schema.metadata)
        self._own = list(layout.schema.names)
        self._as_text = [pa.types.is_string(field.type) for field in layout.schema]
        self._file = parquet.ParquetWriter(path, self._schema)
        self._rows: list[list[Any]] = []
        self._letters = 0

    def write(self, row: Row, added: Sequence[Any] = ()) -> None:
        """Write a row as it was read, with the values of the added columns behind it."""
        own = [
            as_text(value) if text and value is not None else value
            for value, text in zip(values_of(row, self._own), self._as_text, strict=True)
        ]
        self._rows.append([*own, *added])
        self._letters += sum(len(value) for value in own if isinstance(value, str))
        if len(self._rows) == GROUP or self._letters > LETTERS:
            self._flush()

    def close(self) -> None:
        """Write what is left."""
        self._flush()
        self._file.close()

    def _flush(self) -> None:
        import pyarrow as pa

        if not self._rows:
            return
        columns = zip(*self._rows, strict=True)
        try:
            arrays = [
                pa.array(values, field.type)
                for values, field in zip(columns, self._schema, strict=True)
            ]
        except (pa.ArrowException, UnicodeError) as error:
            raise InputError(
                f"cannot write these rows as Parquet ({error}); write .jsonl"
            ) from error
        self._file.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows, self._letters = [], 0
