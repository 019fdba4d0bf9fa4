"""Texts that are the same but for case and white space: a hash that they share."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

BLANK = 0  # of texts without a character: no two of them are copies


def text_hash(text: str) -> int:
    r"""Return 64 bits that stand for a text; case and white space do not count.

    Examples
    --------
    >>> text_hash("Solar  panels\n") == text_hash("solar panels")
    True
    >>> text_hash(" ")
    0
    """
    words = " ".join(normalize("NFC", text.casefold()).split())
    if not words:
        return BLANK
    digest = blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


def distinct_hashes(hashes: Iterable[int]) -> NDArray[np.uint64]:
    """Return the hashes of texts, sorted, each once and without that of blank texts."""
    found: NDArray[np.uint64] = np.unique(np.fromiter(hashes, np.uint64))
    return np.asarray(found[found != BLANK])


def are_among(hashes: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Tell which of n hashes are among the sorted ``known`` ones, shape (n,)."""
    if not len(known):
        return np.zeros(len(hashes), np.bool_)
    places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    return np.asarray(known[places] == hashes)
