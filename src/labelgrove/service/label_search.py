"""Labels by the beginning of a word of their names or ids, in the memory of these themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import numpy as np

from labelgrove.labels import LabelSpace

BREAK = "\n"  # before every name; in names only spaces are left between words
BETWEEN = re.compile(r"[\W_]+")


class LabelSearch:
    """Finds labels of whose name or id a word begins with some letters, frequent labels first.

    All names stand in one string, the most frequent first, so that a search is one pass of
    `str.find` over it, which stops as soon as enough is found.

    Parameters
    ----------
    space
        The labels.

    Examples
    --------
    >>> space = LabelSpace.from_labels([["cat food"], ["dog"], ["food"], ["food"]])
    >>> [space.ids[number] for number in LabelSearch(space).find("FOO", 0, 5)]
    ['food', 'cat food']
    """

    def __init__(self, space: LabelSpace) -> None:
        counts = np.zeros(len(space), np.int64)
        counts[: space.n_labels] = space.counts
        self._order = np.argsort(-counts, kind="stable")
        names = [_plain(_called(space, number)) for number in self._order.tolist()]
        self._text = "".join(f"{BREAK} {name}" for name in names)
        self._ends = np.cumsum([len(name) + 2 for name in names])

    def find(self, beginning: str, offset: int, limit: int) -> list[int]:
        """Return the numbers of at most ``limit`` labels, after leaving out ``offset``."""
        wanted = _plain(beginning)
        numbers = islice(self._matches(f" {wanted}"), offset, offset + limit) if wanted else ()
        return list(numbers)

    def _matches(self, wanted: str) -> Iterator[int]:
        at = self._text.find(wanted)
        while at != -1:
            place = int(np.searchsorted(self._ends, at, side="right"))
            yield int(self._order[place])
            at = self._text.find(wanted, int(self._ends[place]))  # on with the next name


def _called(space: LabelSpace, number: int) -> str:
    """Return a label's name, with its id behind it where that is another word."""
    name, label = space.names[number], space.ids[number]
    return name if name == label else f"{name} {label}"


def _plain(text: str) -> str:
    return BETWEEN.sub(" ", text.casefold()).strip()
