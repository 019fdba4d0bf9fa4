"""Randomness is an argument: one seed, and a stream of its own for every use of it."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np


def generator(seed: int, *purpose: str | int) -> np.random.Generator:
    """Return a random generator that depends on the seed and on what it is for.

    Two purposes never share a stream, so adding a random choice in one place moves none in
    another.

    Examples
    --------
    >>> bool(generator(0, "order").random() == generator(0, "order").random())
    True
    >>> bool(generator(0, "order").random() == generator(0, "split").random())
    False
    """
    digest = blake2b(repr(purpose).encode(), digest_size=8).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "little")])


def text_fraction(text: str, seed: int = 0) -> float:
    """Map a text to a number in [0, 1) that looks random but is always the same.

    Equal texts get equal numbers, so a split by this number keeps copies together.
    """
    data = text.encode("utf-8", "surrogatepass")
    digest = blake2b(data, digest_size=8, key=str(seed).encode()).digest()
    return int.from_bytes(digest, "little") / 2**64
