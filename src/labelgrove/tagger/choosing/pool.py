"""A bounded random part of a pool of documents, without those that are known already."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.progress import Progress
from labelgrove.core.random import text_fraction
from labelgrove.core.types import Document
from labelgrove.corpus import Corpus
from labelgrove.text.copies import BLANK, text_hash

CHARACTERS = 2**28  # of all texts of a sample; where they are very long, there are fewer


@dataclass(frozen=True)
class PoolSample:
    """Documents drawn from a pool, and what was counted meanwhile.

    Parameters
    ----------
    documents
        In a random order; of texts that differ in case and white space only there is one. Each
        has an id, the number of its row if no other.
    read
        Documents of the pool.
    known
        Those that were left out, since they are known.
    empty
        Those that were left out, since they have no text.
    """

    documents: tuple[Document, ...]
    read: int
    known: int
    empty: int


def draw_sample(
    pool: Corpus, size: int, *, known: NDArray[np.uint64], seed: int, progress: Progress
) -> PoolSample:
    """Read a pool once and keep a random part of it.

    Documents are ordered by a hash of their text and of the seed, and the first ones are kept.
    So the order of the pool does not matter, and more documents change little.

    Parameters
    ----------
    pool
        The documents; their labels, if they have any, are not looked at.
    size
        How many are kept at most.
    known
        Hashes of texts that are left out, sorted, shape (texts,).
    seed
        Another seed gives another part.
    progress
        Where it is shown.
    """
    kept: list[tuple[float, str, Document]] = []  # a heap: the last in the order comes first
    numbers: set[float] = set()
    characters = read = left_out = empty = 0
    for document in progress.track(pool, "reading the pool"):
        read += 1
        own = text_hash(document.text)
        if own == BLANK:
            empty += 1
            continue
        place = int(np.searchsorted(known, np.uint64(own)))
        if place < len(known) and int(known[place]) == own:
            left_out += 1
            continue
        number = text_fraction(str(own), seed)
        if number in numbers or (len(kept) >= size and number > -kept[0][0]):
            continue
        named = document if document.id else document._replace(id=str(pool.position or read))
        heapq.heappush(kept, (-number, named.id or "", named))
        numbers.add(number)
        characters += len(document.text)
        while len(kept) > size or (characters > CHARACTERS and len(kept) > 1):
            gone, _, other = heapq.heappop(kept)
            numbers.discard(-gone)
            characters -= len(other.text)
    return PoolSample(
        tuple(document for _, _, document in sorted(kept, reverse=True)), read, left_out, empty
    )
