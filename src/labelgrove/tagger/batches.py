"""Batches that grow while they are fast: progress is seen, and costs nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from labelgrove.core.types import Document

FIRST_DOCUMENTS = 512  # of the first batch; the next is twice as large if that was fast
MOST_DOCUMENTS = 4096
MOST_CHARACTERS = 2**24  # a batch is smaller where documents are long
FAST = 1.0  # seconds: nobody misses progress for so long


def of_documents(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Divide a stream of documents into batches."""
    pace = _Pace()
    batch: list[Document] = []
    characters = 0
    for document in documents:
        batch.append(document)
        characters += len(document.text)
        if len(batch) == pace.most or characters >= MOST_CHARACTERS:
            with pace.timed():
                yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def of_rows(n: int) -> Iterator[slice]:
    """Divide n rows into batches.

    Examples
    --------
    >>> [rows.stop - rows.start for rows in of_rows(700)]
    [512, 188]
    """
    pace, start = _Pace(), 0
    while start < n:
        stop = min(start + pace.most, n)
        with pace.timed():
            yield slice(start, stop)
        start = stop


class _Pace:
    """How large the next batch may be."""

    def __init__(self) -> None:
        self.most = FIRST_DOCUMENTS

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Time what is done with a batch; the next may be larger if that was fast."""
        given = time.monotonic()
        yield
        if time.monotonic() - given < FAST:
            self.most = min(2 * self.most, MOST_DOCUMENTS)
