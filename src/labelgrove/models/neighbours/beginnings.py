"""How documents begin: many texts in two arrays, decoded when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray


class Beginnings(Sequence[str]):
    """Texts that stay on disk where their arrays are memory-mapped.

    Parameters
    ----------
    letters
        UTF-8, one text behind the other, uint8.
    ends
        Where each ends, shape (n,), int64.

    Examples
    --------
    >>> texts = Beginnings.of(["Bears", "", "Über Bären"])
    >>> texts[2], len(texts)
    ('Über Bären', 3)
    >>> list(texts.joined(Beginnings.of(["Bees"])))
    ['Bears', '', 'Über Bären', 'Bees']
    """

    def __init__(self, letters: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
        self.letters, self.ends = letters, ends

    @classmethod
    def of(cls, texts: Iterable[str]) -> Beginnings:
        """Pack texts, unless they are packed already."""
        if isinstance(texts, Beginnings):
            return texts
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
        return cls(np.frombuffer(b"".join(encoded), np.uint8), ends)

    @classmethod
    def empty(cls, n: int) -> Beginnings:
        """Return n empty texts."""
        return cls(np.empty(0, np.uint8), np.zeros(n, np.int64))

    def joined(self, others: Beginnings) -> Beginnings:
        """Return these and others behind them."""
        ends = np.concatenate([self.ends, others.ends + len(self.letters)])
        return Beginnings(np.concatenate([self.letters, others.letters]), ends)

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: int | slice) -> str | list[str]:
        if isinstance(i, slice):
            return [self[number] for number in range(len(self))[i]]
        number = range(len(self))[i]
        start = int(self.ends[number - 1]) if number else 0
        return (
            self.letters[start : int(self.ends[number])].tobytes().decode("utf-8", "surrogatepass")
        )
