"""Labels by the beginning of a word of their names or ids, in the memory of these themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice

import numpy as np

from labelgrove.labels import LabelSpace

BREAK = "\n"  # before every name; in names only spaces are left between words
ID = "\t"  # before an id that is another word than the name
BETWEEN = re.compile(r"[\W_]+")


class LabelSearch:
    """Finds labels by the beginning of a word of their name or id.

    Labels whose name or id is exactly what was asked for come first, then frequent labels. All
    names stand in one string, the most frequent first, so that a search is a pass of `str.find`
    over it for each of these, and the last stops as soon as enough is found.

    Parameters
    ----------
    space
        The labels.

    Examples
    --------
    >>> space = LabelSpace.from_labels([["cat food"], ["cat food"], ["dog"], ["food"]])
    >>> [space.ids[number] for number in LabelSearch(space).find("FOOD", 0, 5)]
    ['food', 'cat food']
    """

    def __init__(self, space: LabelSpace) -> None:
        counts = np.zeros(len(space), np.int64)
        counts[: space.n_labels] = space.counts
        self._order = np.argsort(-counts, kind="stable")
        names = [_called(space, number) for number in self._order.tolist()]
        self._text = "".join(f"{BREAK} {name}" for name in names) + BREAK
        self._ends = np.cumsum([len(name) + 2 for name in names])

    def find(self, beginning: str, offset: int, limit: int) -> list[int]:
        """Return the numbers of at most ``limit`` labels, after leaving out ``offset``."""
        wanted = _plain(beginning)
        if not wanted:
            return []
        whole = [(before, after) for before in (BREAK, ID) for after in (BREAK, ID)]
        searches = [self._matches(f"{before} {wanted}{after}") for before, after in whole]
        matches = chain.from_iterable([*searches, self._matches(f" {wanted}")])
        return list(islice(_once(matches), offset, offset + limit))

    def _matches(self, wanted: str) -> Iterator[int]:
        at = self._text.find(wanted)
        while at != -1:
            place = int(np.searchsorted(self._ends, at, side="right"))
            yield int(self._order[place])
            at = self._text.find(wanted, int(self._ends[place]))  # on with the next name


def _once(numbers: Iterable[int]) -> Iterator[int]:
    """Yield each number when it comes for the first time."""
    seen = set()
    for number in numbers:
        if number not in seen:
            seen.add(number)
            yield number


def _called(space: LabelSpace, number: int) -> str:
    """Return a label's plain name, with its id behind it where that is another word."""
    name, label = _plain(space.names[number]), _plain(space.ids[number])
    return name if name == label else f"{name}{ID} {label}"


def _plain(text: str) -> str:
    return BETWEEN.sub(" ", text.casefold()).strip()
