"""Texts that are nearly the same, found by sketches of their runs of words.

MinHash with locality-sensitive hashing (Broder: On the resemblance and containment of documents.
SEQUENCES 1997): a sketch of 64 numbers of 16 bits a text, 16 keys of four numbers each. Texts that
share a key are compared, a few of each key, so that the work is bounded whatever texts repeat.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.random import generator
from labelgrove.text.analysis import Tokens, parse
from labelgrove.text.batches import batches

SIZE = 64  # numbers of a sketch; four are a key
WIDTH = 3  # words in a run
ALIKE = 0.75  # least share of runs that two near copies have in common
WINDOW = 4  # texts of a key that a text is compared with


class NearCopies(NamedTuple):
    """What n texts have near copies, in two files that stand one behind the other.

    Parameters
    ----------
    groups
        The first text of the group each belongs to, shape (n,): near copies of near copies are
        in one group.
    best
        The most similar text in the same file and in the other one, -1 for none; shape (n, 2).
    similarity
        Their estimated similarity, 0 to 1, shape (n, 2).
    """

    groups: NDArray[np.int32]
    best: NDArray[np.int32]
    similarity: NDArray[np.float32]


def sketch(tokens: Tokens) -> NDArray[np.uint16]:
    """Return the sketches of a batch of n texts, shape (n, 64)."""
    from labelgrove.checking import kernels

    random = generator(0, "sketch")
    factors = random.integers(0, 2**32, SIZE, np.uint32) | np.uint32(1)
    summands = random.integers(0, 2**32, SIZE, np.uint32)
    return np.asarray(kernels.sketch(tokens.hashes, tokens.offsets, factors, summands, WIDTH))


def sketches_of(texts: Iterable[str]) -> NDArray[np.uint16]:
    """Return the sketches of a stream of n texts, shape (n, 64): 128 bytes each."""
    analyzer = parse("word")
    parts = [sketch(analyzer.tokens(batch)) for batch in batches(texts)]
    return np.concatenate([np.empty((0, SIZE), np.uint16), *parts])


def near_copies(
    sketches: NDArray[np.uint16], n_first: int | None = None, alike: float = ALIKE
) -> NearCopies:
    """Return which texts are nearly the same as others; texts without words are like no other.

    Parameters
    ----------
    sketches
        Of n texts, those of the first file first; shape (n, 64).
    n_first
        Texts in the first file; all by default.
    alike
        Least estimated share of runs of words in common, between 0 and 1.

    Examples
    --------
    >>> text = "a survey of methods that find texts which are nearly the same as others"
    >>> texts = [text, "another text about something else", text + " here"]
    >>> near_copies(sketches_of(texts)).groups.tolist()
    [0, 1, 0]
    """
    from labelgrove.checking import kernels

    n = len(sketches)
    roots = np.arange(n, dtype=np.int32)
    best = np.full((n, 2), -1, np.int32)
    likeness = np.zeros((n, 2), np.int32)
    least = int(np.ceil(alike * SIZE))
    rows = np.flatnonzero((sketches != int(kernels.NOTHING)).any(axis=1))
    for band in range(0, SIZE, 4):
        keys = np.ascontiguousarray(sketches[rows, band : band + 4]).view(np.uint64)[:, 0]
        order = np.argsort(keys, kind="stable")
        kernels.link(
            rows[order], keys[order], sketches, n if n_first is None else n_first, least,
            WINDOW, roots, best, likeness,
        )  # fmt: skip
    kernels.find_roots(roots)
    return NearCopies(roots, best, (likeness / SIZE).astype(np.float32))


def groups_of(texts: Iterable[str]) -> NDArray[np.int32]:
    """Return for each of n texts the first one of its near copies, or itself; shape (n,)."""
    return near_copies(sketches_of(texts)).groups
