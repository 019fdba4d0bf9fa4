"""Parents of concepts as two arrays, and what follows from them: children, ancestors, cycles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from labelgrove.core import checks
from labelgrove.core.errors import InputError
from labelgrove.core.ranking import largest_pairs


class IntLists(Sequence[tuple[int, ...]]):
    """Many short lists of numbers, one after the other, without a Python object for each.

    Parameters
    ----------
    offsets
        List ``i`` is ``indices[offsets[i]:offsets[i + 1]]``; shape (n + 1,), int64.
    indices
        All numbers, shape (total,), int32.

    Examples
    --------
    >>> lists = IntLists.of([(1, 2), (), (0,)])
    >>> lists[0], lists[1], len(lists)
    ((1, 2), (), 3)
    """

    def __init__(self, offsets: NDArray[np.int64], indices: NDArray[np.int32]) -> None:
        self.offsets = np.asarray(offsets, np.int64)
        self.indices = np.asarray(indices, np.int32)

    @classmethod
    def checked(cls, name: str, offsets: Any, indices: Any, n: int) -> IntLists:
        """Return n lists of numbers below n whose arrays come from a file, if they fit."""
        checks.array(name, indices, np.int32, (None,))
        checks.offsets(f"{name} offsets", offsets, len(indices), n)
        checks.below(name, indices, n)
        return cls(offsets, indices)

    @classmethod
    def of(cls, lists: Iterable[Sequence[int]]) -> IntLists:
        """Collect lists of numbers."""
        lists = list(lists)
        offsets = np.zeros(len(lists) + 1, np.int64)
        np.cumsum([len(numbers) for numbers in lists], out=offsets[1:])
        flat = np.fromiter(chain.from_iterable(lists), np.int32, int(offsets[-1]))
        return cls(offsets, flat)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, i: int) -> tuple[int, ...]: ...
    @overload
    def __getitem__(self, i: slice) -> list[tuple[int, ...]]: ...
    def __getitem__(self, i: int | slice) -> tuple[int, ...] | list[tuple[int, ...]]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(f"number {i} of {len(self)}")
        i %= len(self)
        return tuple(self.indices[self.offsets[i] : self.offsets[i + 1]].tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return NotImplemented if not isinstance(other, Sequence) else False
        return all(mine == tuple(theirs) for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"IntLists({list(self[:5])}{'...' if len(self) > 5 else ''})"

    def taken(self, order: NDArray[np.integer]) -> IntLists:
        """Return the lists with these numbers, shape (m,), in this order."""
        lengths = np.diff(self.offsets)[order]
        offsets = np.zeros(len(order) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        # place inside its own list, shifted to where that list starts here
        positions = np.arange(offsets[-1]) + np.repeat(self.offsets[order] - offsets[:-1], lengths)
        return IntLists(offsets, self.indices[positions])

    def inverted(self, n: int) -> IntLists:
        """Return for each of ``n`` numbers the lists it stands in: parents become children."""
        owners = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.offsets))
        offsets = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(self.indices, minlength=n), out=offsets[1:])
        return IntLists(offsets, owners[np.argsort(self.indices, kind="stable")])


def ancestors(parents: Sequence[tuple[int, ...]], i: int) -> tuple[int, ...]:
    """Return everything above concept ``i``, nearest first, each once."""
    above_all: dict[int, None] = {}
    near: Sequence[int] = (i,)
    while near:
        above = [
            parent for concept in near for parent in parents[concept] if parent not in above_all
        ]
        near = list(dict.fromkeys(above))
        above_all.update(dict.fromkeys(near))
    return tuple(above_all)


def above(
    parents: IntLists,
    rows: NDArray[np.integer],
    concepts: NDArray[np.integer],
    scores: NDArray[np.floating],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Return what stands above the concepts of some rows, each pair once, by row and number.

    Parameters
    ----------
    parents
        Of each concept; numbers from their length on have none.
    rows, concepts, scores
        Pairs of a row and a concept with a score, each of shape (m,).

    Returns
    -------
    rows, concepts, scores
        Pairs of a row and an ancestor, with the largest score of the concepts below it in that
        row, each of shape (pairs,).

    Examples
    --------
    >>> parents = IntLists.of([(1,), (2,), ()])
    >>> above(parents, np.array([0, 0]), np.array([0, 1]), np.array([0.2, 0.5]))[1].tolist()
    [1, 2]
    """
    near = np.asarray(rows, np.int64), np.asarray(concepts, np.int64), scores.astype(np.float32)
    found = [tuple(part[:0] for part in near)]
    while len(near[0]):
        known = near[1] < len(parents)
        lists = parents.taken(near[1][known])
        lengths = np.diff(lists.offsets)
        near = largest_pairs(
            np.repeat(near[0][known], lengths),
            lists.indices.astype(np.int64),
            np.repeat(near[2][known], lengths),
        )
        found.append(near)
    return largest_pairs(*(np.concatenate(part) for part in zip(*found, strict=True)))


def check_acyclic(parents: IntLists, ids: Sequence[str]) -> None:
    """Refuse a hierarchy in which a concept stands above itself; the message shows the circle."""
    if not len(parents.indices):
        return
    cycle = _find_cycle(parents)
    if cycle:
        shown = [ids[i] for i in cycle]
        if len(shown) > 12:
            shown = [*shown[:6], "...", *shown[-5:]]
        raise InputError(
            f"the hierarchy goes in a circle: {' > '.join(shown)}; remove one of these parents"
        )


def _find_cycle(parents: IntLists) -> list[int]:
    """Return concepts from one back to itself, each followed by its child, or nothing."""
    children = parents.inverted(len(parents))
    waiting = np.diff(parents.offsets).tolist()  # parents that are not yet known to be fine
    fine = [i for i, count in enumerate(waiting) if count == 0]
    n_fine = 0
    while fine:
        n_fine += 1
        for child in children[fine.pop()]:
            waiting[child] -= 1
            if waiting[child] == 0:
                fine.append(child)
    if n_fine == len(parents):
        return []
    # whoever is left has a parent that is left too, so going up must come back
    here = next(i for i, count in enumerate(waiting) if count)
    seen: dict[int, int] = {}
    walk: list[int] = []
    while here not in seen:
        seen[here] = len(walk)
        walk.append(here)
        here = next(parent for parent in parents[here] if waiting[parent])
    return [here, *reversed(walk[seen[here] :])]
