"""Texts in batches, and work on batches in threads, in order and with bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError
from labelgrove.core.features import TokenSequences
from labelgrove.core.threads import workers
from labelgrove.text.analysis import check_text

BATCH_CHARACTERS = 1 << 19

In = TypeVar("In")
Out = TypeVar("Out")


class RowBlock(NamedTuple):
    """Some consecutive rows.

    Parameters
    ----------
    columns, values
        Row i is ``indptr[i]:indptr[i + 1]``; shapes (nnz,), int32 and float32.
    indptr
        Shape (n + 1,), int64.
    """

    columns: NDArray[np.int32]
    values: NDArray[np.float32]
    indptr: NDArray[np.int64]


def batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Cut a stream of texts into lists of about half a million characters."""
    if isinstance(texts, str | bytes):
        raise InputError("texts must be a list or stream of strings, got one string: wrap it in []")
    stream = iter(texts)
    batch: list[str] = []
    characters = seen = 0
    while some := list(islice(stream, 32)):  # one by one would take as long as counting words
        if set(map(type, some)) != {str}:
            for number, text in enumerate(some, start=seen + 1):
                check_text(text, f"text {number}")
        seen += len(some)
        batch += some
        characters += sum(map(len, some))
        if characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def in_order(
    work: Callable[[In], Out], items: Iterable[In], threads: int | None = None
) -> Iterator[Out]:
    """Yield ``work(item)`` of each item, in order; a few items are worked on at a time.

    Parameters
    ----------
    work
        Called in threads; gains where it leaves the GIL.
    items
        Read only as fast as they are worked off.
    threads
        None for all cores.
    """
    threads = workers(threads)
    stream = iter(items)
    first = list(islice(stream, 2))
    if threads == 1 or len(first) < 2:  # no threads to start for a single text
        yield from map(work, chain(first, stream))
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Out]] = deque()
        try:
            for item in chain(first, stream):
                waiting.append(pool.submit(work, item))
                if len(waiting) > threads + 2:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def stack(parts: list[RowBlock], width: int, tidy: bool = True) -> csr_array:
    """Join parts to one csr array (n, width); ``parts`` is emptied on the way.

    Parameters
    ----------
    parts
        Consecutive rows; each part is let go once it is copied.
    width
        Number of columns.
    tidy
        Columns are sorted and distinct in each row; otherwise they are brought into order here,
        and values of the same column are added up.
    """
    nnz = sum(len(part.values) for part in parts)
    index: Any = np.int32 if nnz <= np.iinfo(np.int32).max else np.int64
    if len(parts) == 1:
        columns, values, ends = parts.pop()
        indptr = ends.astype(index)
    else:
        columns, values = np.empty(nnz, index), np.empty(nnz, np.float32)
        indptr = np.zeros(1 + sum(len(part.indptr) - 1 for part in parts), index)
        at = row = 0
        parts.reverse()
        while parts:
            part = parts.pop()
            end, row_end = at + len(part.values), row + len(part.indptr) - 1
            columns[at:end] = part.columns
            values[at:end] = part.values
            indptr[row + 1 : row_end + 1] = part.indptr[1:] + at
            at, row = end, row_end
    array = csr_array((values, columns, indptr), shape=(len(indptr) - 1, width), copy=False)
    if tidy:
        array.has_canonical_format = True  # nobody needs to look again
    else:
        array.sum_duplicates()
    return array


def join_sequences(
    parts: list[tuple[NDArray[np.int32], NDArray[np.int64]]], n_terms: int
) -> TokenSequences:
    """Join the sequences of consecutive batches.

    Parameters
    ----------
    parts
        Ids of each batch, shape (m,), and offsets into them, shape (n + 1,).
    n_terms
        Number of ids that can occur.
    """
    lengths = [np.diff(offsets) for _, offsets in parts]
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([np.empty(0, int), *lengths]))])
    tokens = np.concatenate([np.empty(0, np.int32), *(ids for ids, _ in parts)])
    return TokenSequences(tokens, offsets, n_terms)


def join_rows(parts: list[NDArray[np.float32]], width: int) -> NDArray[np.float32]:
    """Join dense rows to one array (n, width); ``parts`` is emptied on the way.

    Parameters
    ----------
    parts
        Consecutive rows; each part is let go once it is copied.
    width
        Number of columns.
    """
    if len(parts) == 1:
        return parts.pop()
    rows = np.empty((sum(map(len, parts)), width), np.float32)
    at = 0
    parts.reverse()
    while parts:
        part = parts.pop()
        rows[at : at + len(part)] = part
        at += len(part)
    return rows
