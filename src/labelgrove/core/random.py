"""Randomness is an argument: one seed, and a stream of its own for every use of it."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from labelgrove.core.errors import InputError


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
    if seed < 0:
        raise InputError(f"a seed is a whole number from 0, got {seed}")
    words = tuple(word if isinstance(word, str) else int(word) for word in purpose)
    digest = blake2b(repr(words).encode(), digest_size=8).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "little")])


def text_fraction(text: str, seed: int = 0) -> float:
    """Map a text to a number in [0, 1) that looks random but is always the same.

    Equal texts get equal numbers, so a split by this number keeps copies together.
    """
    data = text.encode("utf-8", "surrogatepass")
    digest = blake2b(data, digest_size=8, key=str(seed).encode()[:64]).digest()
    return (int.from_bytes(digest, "little") >> 11) / 2**53  # 53 bits: never rounded up to 1
