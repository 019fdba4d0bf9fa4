"""Terms and their numbers: one that grows while texts are read, and one that is looked up.

A term is known by 64 bits of its string; among ten million terms the chance that any two share
them is about three in a million. The strings are kept beside, packed as UTF-8.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from labelgrove.core import checks
from labelgrove.core.settings import Rule
from labelgrove.core.strings import PackedStrings
from labelgrove.text.analysis import Ints, Tokens

Array = TypeVar("Array", bound=NDArray[Any])


class GrowingVocabulary:
    """Numbers terms by first appearance and counts them.

    Attributes
    ----------
    n_documents
        Texts seen.
    size
        Distinct terms seen.
    """

    def __init__(self) -> None:
        self.n_documents = 0
        self.size = 0
        self._keys = np.empty(1 << 12, np.uint64)
        self._documents = np.empty(1 << 12, np.int64)
        self._totals = np.empty(1 << 12, np.int64)
        self._slots = empty_slots(1 << 12)
        self._texts: list[NDArray[np.uint8]] = []
        self._lengths: list[NDArray[np.int64]] = []

    @property
    def documents(self) -> NDArray[np.int64]:
        """Number of texts that hold each term, shape (size,)."""
        return self._documents[: self.size]

    @property
    def totals(self) -> NDArray[np.int64]:
        """Number of times each term occurs, shape (size,)."""
        return self._totals[: self.size]

    def add(self, batch: CountedBatch) -> NDArray[np.int32]:
        """Take in a batch and return the vocabulary's numbers of its terms, shape (m,)."""
        from labelgrove.text import kernels

        old, room = self.size, self.size + len(batch.hashes)
        self._keys = with_room(self._keys, old, room)
        self._documents = with_room(self._documents, old, room)
        self._totals = with_room(self._totals, old, room)
        if 2 * room > len(self._slots):
            self._slots = empty_slots(2 * room)
            kernels.add_slots(self._slots, self._keys, 0, old)
        ids: NDArray[np.int32]
        ids, self.size = kernels.merge(
            batch.hashes,
            batch.documents,
            batch.totals,
            self._slots,
            self._keys,
            self._documents,
            self._totals,
            old,
        )
        new = ids >= old
        text, ends = kernels.write_terms(
            batch.tokens.codes,
            batch.tokens.begins,
            batch.tokens.stops,
            batch.tokens.kinds,
            batch.firsts[new],
            batch.lasts[new],
        )
        self._texts.append(text)
        self._lengths.append(np.diff(ends, prepend=0))
        self.n_documents += len(batch.rows.indptr) - 1
        return ids

    def strings(self, ids: Ints) -> PackedStrings:
        """Return the strings of some terms, in that order."""
        from labelgrove.text import kernels

        text = np.concatenate([np.empty(0, np.uint8), *self._texts])
        ends = np.cumsum(np.concatenate([np.empty(0, np.int64), *self._lengths]))
        self._texts, self._lengths = [text], [np.diff(ends, prepend=0)]
        return PackedStrings(*kernels.gather_strings(text, ends, ids))

    def keys(self, ids: Ints) -> NDArray[np.uint64]:
        """Return the hashes of some terms, in that order; shape (len(ids),)."""
        return self._keys[: self.size][ids]


class TermCounts(NamedTuple):
    """How often each of a batch's terms occurs in each of its n texts.

    Parameters
    ----------
    columns, counts
        Row d is ``indptr[d]:indptr[d + 1]``, terms in order of appearance; shapes (nnz,), int32.
        Where places count, ``counts`` is how much each term counts, float32.
    indptr
        Shape (n + 1,), int64.
    """

    columns: NDArray[np.int32]
    counts: NDArray[np.int32] | NDArray[np.float32]
    indptr: NDArray[np.int64]

    def compact(self) -> TermCounts:
        """Return a copy that does not hold the memory of the larger arrays it was made in."""
        return TermCounts(self.columns.copy(), self.counts.copy(), self.indptr)


class CountedBatch(NamedTuple):
    """The terms of a batch of texts, counted.

    Parameters
    ----------
    tokens
        What the terms are made of.
    hashes
        Of the m distinct terms, shape (m,), uint64.
    firsts, lasts
        A first and last token of each distinct term, shapes (m,).
    rows
        Counts per text.
    documents, totals
        Texts that hold each distinct term and its occurrences, shapes (m,).
    """

    tokens: Tokens
    hashes: NDArray[np.uint64]
    firsts: Ints
    lasts: Ints
    rows: TermCounts
    documents: NDArray[np.int64]
    totals: NDArray[np.int64]


class Emphasis(NamedTuple):
    """How much a term counts by where it stands in a text.

    Parameters
    ----------
    first_line
        How often a term counts each time it begins in the first line.
    fade_after
        What is divided by 1 + ln(1 + place / fade_after) for a term that first comes at a place,
        counted in words from 0; 0 for nothing.
    sublinear
        Take 1 + ln(count) instead of the count.
    """

    first_line: int = 1
    fade_after: float = 0.0
    sublinear: bool = True

    def __bool__(self) -> bool:
        return self.first_line != 1 or self.fade_after > 0


def count_terms(
    tokens: Tokens, low: int, high: int, emphasis: Emphasis | None = None
) -> CountedBatch:
    """Count the n-grams, from low to high tokens, of a batch of texts.

    Words are joined with their neighbours in the same text. In a run of characters of a script
    without spaces, sizes go up to 2 at least; a run and a word beside it are not joined. With
    emphasis the rows hold how much each term counts instead of how often it is there.
    """
    from labelgrove.text import kernels

    if not emphasis:
        found = kernels.count_terms(*tokens[3:], low, high)
        hashes, firsts, lasts, columns, counts, indptr, documents, totals = found
        rows = TermCounts(columns, counts, indptr)
        return CountedBatch(tokens, hashes, firsts, lasts, rows, documents, totals)
    keys, firsts, lasts, offsets = kernels.ngrams(*tokens[3:], low, high)
    ids, places = kernels.intern(keys)
    n = len(places)
    columns, counts, indptr, documents, totals = kernels.count_rows(ids, offsets, n)
    weights = kernels.weights_by_place(
        *(ids, offsets, firsts, tokens.kinds, tokens.offsets, columns, counts, indptr, n),
        *(emphasis.first_line, emphasis.fade_after, emphasis.sublinear),
    )
    rows = TermCounts(columns, weights, indptr)
    return CountedBatch(
        tokens, keys[places], firsts[places], lasts[places], rows, documents, totals
    )


def count_tokens(tokens: Tokens) -> tuple[CountedBatch, NDArray[np.int32]]:
    """Count the tokens of a batch, and return the batch's own number of each, shape (m,)."""
    from labelgrove.text import kernels

    ids, places = kernels.intern(tokens.hashes)
    *rows, documents, totals = kernels.count_rows(ids, tokens.offsets, len(places))
    hashes = tokens.hashes[places]
    return CountedBatch(tokens, hashes, places, places, TermCounts(*rows), documents, totals), ids


def empty_slots(n: int) -> NDArray[np.int32]:
    """Return an empty hash table for n / 2 terms or more: a power of two of -1."""
    return np.full(1 << max(int(n) - 1, 1).bit_length(), -1, np.int32)


def slots_for(keys: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return the hash table that finds ``keys``, at most half full."""
    from labelgrove.text import kernels

    slots = empty_slots(2 * len(keys))
    kernels.add_slots(slots, keys, 0, len(keys))
    return slots


def check_terms(keys: Any, slots: Any, term_text: Any, term_ends: Any) -> int:
    """Refuse a saved table of terms that does not hold together; return the number of terms."""
    n = len(checks.array("keys_", keys, np.uint64, (None,)))
    checks.array("slots_", slots, np.int32, (None,))
    checks.below("slots_", slots, n, least=-1)
    # looking for a term ends at an empty slot, and goes round by a mask
    if len(slots) <= n or len(slots) & (len(slots) - 1) or slots.min() >= 0:
        raise ValueError(f"slots_ is no hash table of {n:,} terms")
    if len(PackedStrings.checked("terms", term_text, term_ends)) != n:
        raise ValueError(f"term_ends_ has {len(term_ends):,} terms instead of {n:,}")
    return n


def with_room(array: Array, used: int, needed: int) -> Array:
    """Return ``array``, or a larger copy of its first ``used`` items."""
    if needed <= len(array):
        return array
    larger = np.empty(max(needed, 2 * len(array)), array.dtype)
    larger[:used] = array[:used]
    return larger  # type: ignore[return-value]


def read_only(array: Array) -> Array:
    """Return a plain read-only view: kernels are compiled once for fitted and for loaded."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view  # type: ignore[return-value]


def as_documents(value: float, n: int) -> float:
    """Return the number of texts that a count or a share of n texts means."""
    return float(value) * n if isinstance(value, float | np.floating) else int(value)


def _is_count_or_share(value: Any) -> bool:
    if isinstance(value, float | np.floating):
        return bool(0.0 <= value <= 1.0)
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and bool(value >= 0)


COUNT_OR_SHARE = Rule(
    _is_count_or_share, "a whole number of texts or a share of them from 0.0 to 1.0"
)
