"""Many strings in two arrays: saved and memory-mapped without a Python object for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from labelgrove.core import checks

BLOCK = 1 << 22  # bytes that are decoded at once to see whether they are UTF-8


class PackedStrings(Sequence[str]):
    """Strings that are decoded only when they are asked for.

    Lone surrogates, which files may bring, are kept.

    Parameters
    ----------
    utf8
        All strings in UTF-8, one after the other, uint8.
    ends
        Where each ends, shape (n,), int64.

    Examples
    --------
    >>> texts = PackedStrings.of(["Bears", "", "Über Bären"])
    >>> texts[2], len(texts)
    ('Über Bären', 3)
    >>> texts.joined(PackedStrings.of(["Bees"])).decode()
    ['Bears', '', 'Über Bären', 'Bees']
    """

    def __init__(self, utf8: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
        self.utf8, self.ends = utf8, ends

    @classmethod
    def of(cls, strings: Iterable[str]) -> PackedStrings:
        """Pack strings, unless they are packed already."""
        if isinstance(strings, PackedStrings):
            return strings
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
        ends = np.cumsum([len(string) for string in encoded], dtype=np.int64)
        return cls(np.frombuffer(b"".join(encoded), np.uint8), ends)

    @classmethod
    def checked(cls, name: str, utf8: Any, ends: Any) -> PackedStrings:
        """Return strings whose arrays come from a file, if they fit each other."""
        checks.array(f"{name}.bytes", utf8, np.uint8, (None,))
        checks.array(f"{name}.ends", ends, np.int64, (None,))
        last = int(ends[-1]) if len(ends) else 0
        if last != len(utf8) or (len(ends) and ends[0] < 0) or checks.falls(ends):
            raise ValueError(f"{name}.ends must rise to {len(utf8):,}, and does not")
        _check_utf8(name, utf8, ends)
        return cls(utf8, ends)

    @classmethod
    def empty(cls, n: int) -> PackedStrings:
        """Return n empty strings."""
        return cls(np.empty(0, np.uint8), np.zeros(n, np.int64))

    def joined(self, others: PackedStrings) -> PackedStrings:
        """Return these strings and others after them."""
        ends = np.concatenate([self.ends, others.ends + len(self.utf8)])
        return PackedStrings(np.concatenate([self.utf8, others.utf8]), ends)

    def decode(self, numbers: Iterable[int] | None = None) -> list[str]:
        """Return all strings as a list, or those with these numbers."""
        if numbers is not None:
            return [self[number] for number in numbers]
        data, ends = self.utf8.tobytes(), self.ends.tolist()
        return [
            data[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise([0, *ends])
        ]

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
        return self.utf8[start : int(self.ends[number])].tobytes().decode("utf-8", "surrogatepass")


def _check_utf8(name: str, utf8: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
    """Refuse bytes (m,) that are not UTF-8, and ends (n,) within a character."""
    first = 0
    while first < len(utf8):
        block = utf8[first : first + BLOCK].tobytes()
        size = len(block)
        if first + size < len(utf8):  # a cut within a character goes before it
            size = max((i for i in range(size - 4, size) if not _inside(block[i])), default=size)
        try:
            block[:size].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{name}.bytes are not UTF-8 at byte {first + error.start:,}"
            ) from None
        first += size
    starts = ends[ends < len(utf8)]
    if _inside(utf8[starts]).any():
        raise ValueError(f"{name}.ends cut a character")


def _inside(byte: Any) -> Any:
    """Tell whether a byte, or each of several, continues a character."""
    return (byte & 0xC0) == 0x80
