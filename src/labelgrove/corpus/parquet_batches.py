"""Rows of a Parquet file, a few at a time, so that a small file cannot fill the memory.

A Parquet file may write a long value once and refer to it from many rows, so the size of a column
does not tell how long its values are. The values that rows share (their dictionary) are looked at
first: the longest of them says how many rows may be decoded at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import InputError
from labelgrove.core.files import LINE

BATCH = 128  # rows decoded at once; each may be a long text that takes few bytes in the file
DECODED = 1 << 28  # bytes that a column of a batch may have once it is decoded
ITEM = 4  # bytes that an item of a list counts beside its own; empty ones take memory too
GROUP = 1 << 27  # items of the lists in a row group: a row alone may have them all
DELTA = "DELTA_BYTE_ARRAY"  # an encoding by which a value shares the beginning of the one before


class _Leaf(NamedTuple):
    """A column of a row group; ``longest`` bounds the bytes of a value that rows share."""

    path: str
    is_list: bool
    values: int
    longest: int


def batches(path: Path, used: list[str]) -> Iterator[Any]:
    """Yield record batches of the columns ``used``, row group by row group."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as plain:
        _check_sizes(path, plain, used)
        shared = _shared_columns(plain, used)
        with parquet.ParquetFile(path, read_dictionary=shared) as encoded:
            for group in range(plain.metadata.num_row_groups):
                leaves = _leaves(encoded, group, used, shared)
                # lists of many long values stay numbers of values
                wary = any(
                    leaf.is_list and leaf.path in shared and leaf.longest * leaf.values > DECODED
                    for leaf in leaves
                )
                longest = max((leaf.longest for leaf in leaves if not leaf.is_list), default=0)
                rows = max(1, min(BATCH, DECODED // max(longest, 1)))
                source = encoded if wary else plain
                yield from source.iter_batches(rows, row_groups=[group], columns=used)


def row_bytes(array: Any) -> NDArray[np.int64]:
    """Return the bytes of each item of an Arrow array (n,) once it is decoded, shape (n,)."""
    return np.asarray(_counted(array), np.int64)


def _counted(array: Any) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    kind = array.type
    if pa.types.is_dictionary(kind):
        known = np.append(row_bytes(array.dictionary), 0)
        numbers = array.indices.fill_null(len(array.dictionary))
        return known[numbers.to_numpy(zero_copy_only=False)]
    if pa.types.is_fixed_size_list(kind):
        n, width = len(array), kind.list_size
        items = array.values.slice(array.offset * width, n * width)
        return (row_bytes(items) + ITEM).reshape(n, width).sum(axis=1)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        sums = np.concatenate([[0], np.cumsum(row_bytes(array.values) + ITEM)])
        return np.diff(sums[array.offsets.to_numpy()])
    if pa.types.is_struct(kind):
        fields = (row_bytes(field) for field in array.flatten())
        return sum(fields, np.zeros(len(array), np.int64))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        lengths = compute.binary_length(array).fill_null(0)
        return lengths.to_numpy(zero_copy_only=False).astype(np.int64)
    return np.full(len(array), ITEM, np.int64)


def _columns(file: Any, group: int, used: list[str]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name, the schema and the metadata of each column that holds values of ``used``."""
    row_group = file.metadata.row_group(group)
    for i in range(row_group.num_columns):
        column = row_group.column(i)
        for name in used:
            if f"{column.path_in_schema}.".startswith(f"{name}."):
                yield name, file.schema.column(i), column


def _check_sizes(path: Path, file: Any, used: list[str]) -> None:
    """Raise for columns that would fill the memory, by what the file says of them."""
    for group in range(file.metadata.num_row_groups):
        rows = max(file.metadata.row_group(group).num_rows, 1)
        for name, _, column in _columns(file, group, used):
            if max(column.total_uncompressed_size, ITEM * column.num_values) > LINE * rows:
                raise InputError(
                    f"{path} has more than {LINE:,} bytes a row in the column {name!r}; cut the "
                    "texts, or the lists of labels"
                )
            if column.num_values > max(GROUP, rows):
                raise InputError(
                    f"{path} has {column.num_values:,} items in a row group of the column "
                    f"{name!r}; write it with smaller row groups, of {GROUP:,} items at most"
                )


def _shared_columns(file: Any, used: list[str]) -> list[str]:
    """Return the columns of strings that can be read as numbers of the values they share."""
    shared, unable = set(), set()
    for group in range(file.metadata.num_row_groups):
        for _, schema, column in _columns(file, group, used):
            if any(each.endswith("DICTIONARY") for each in column.encodings):
                shared.add(column.path_in_schema)
            strings = column.physical_type == "BYTE_ARRAY"
            if not strings or schema.logical_type.type == "DECIMAL" or DELTA in column.encodings:
                unable.add(column.path_in_schema)
    return sorted(shared - unable)


def _leaves(file: Any, group: int, used: list[str], shared: list[str]) -> list[_Leaf]:
    """Return what is known of the columns of a row group before it is decoded."""
    lengths = _longest_shared(file, group, used) if shared else {}
    leaves = []
    for name, schema, column in _columns(file, group, used):
        path, longest = column.path_in_schema, 0
        if DELTA in column.encodings:
            longest = column.total_uncompressed_size
        elif path in shared:
            longest = lengths.get(name, 0)
        leaves.append(_Leaf(path, schema.max_repetition_level > 0, column.num_values, longest))
    return leaves


def _longest_shared(file: Any, group: int, used: list[str]) -> dict[str, int]:
    """Return the bytes of the longest shared value of each column; one row brings them all."""
    for batch in file.iter_batches(1, row_groups=[group], columns=used):
        return {name: _longest(batch.column(i)) for i, name in enumerate(batch.schema.names)}
    return {}


def _longest(array: Any) -> int:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_dictionary(kind):
        return int(row_bytes(array.dictionary).max(initial=0))
    if pa.types.is_nested(kind):
        inside = array.flatten() if pa.types.is_struct(kind) else [array.values]
        return max((_longest(each) for each in inside), default=0)
    return 0
