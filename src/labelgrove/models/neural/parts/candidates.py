"""Which labels are judged for a text: the children of its likeliest parents in a label tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.labels import LabelTree


class Candidates(NamedTuple):
    """Nodes of a level for some texts.

    Parameters
    ----------
    nodes
        Shape (b, C), int64; 0 where a text has fewer than C.
    real
        Which of them count, shape (b, C), bool.
    owners
        The place of each candidate's parent among the parents of its text, shape (b, C), int64.
    """

    nodes: NDArray[np.int64]
    real: NDArray[np.bool_]
    owners: NDArray[np.int64]


class Children:
    """The children of a tree's nodes at one level.

    Parameters
    ----------
    tree
        The tree.
    level
        The level of the parents, 0 for the root.

    Examples
    --------
    >>> tree = LabelTree([np.array([0, 0]), np.array([0, 1, 1])])
    >>> Children(tree, 1).of(np.array([[1, -1], [0, 1]])).nodes
    array([[1, 2, 0],
           [0, 1, 2]])
    """

    def __init__(self, tree: LabelTree, level: int) -> None:
        self.offsets, self.nodes = tree.children(level)

    def of(self, parents: NDArray[np.integer[Any]]) -> Candidates:
        """Return the children of parents (b, p), in their order; -1 is no parent."""
        known = parents >= 0
        sizes = np.where(known, np.diff(self.offsets)[parents], 0)
        ends = np.cumsum(sizes, axis=1)
        width = max(int(ends[:, -1].max(initial=0)), 1) if parents.size else 1
        nodes = np.zeros((len(parents), width), np.int64)
        owners = np.zeros((len(parents), width), np.int64)
        real = np.arange(width) < ends[:, -1:]
        flat = sizes.ravel()
        starts = np.where(known, self.offsets[:-1][parents], 0).ravel()
        within = np.arange(flat.sum()) - np.repeat(np.cumsum(flat) - flat, flat)
        nodes[real] = self.nodes[np.repeat(starts, flat) + within]
        places = np.broadcast_to(np.arange(parents.shape[1]), parents.shape).ravel()
        owners[real] = np.repeat(places, flat)
        return Candidates(nodes, real, owners)


def topped_up(
    true: Sequence[NDArray[np.integer[Any]]], guessed: NDArray[np.integer[Any]], most: int
) -> NDArray[np.int64]:
    """Return the parents to learn from: all true ones, then the best guesses up to ``most``.

    Parameters
    ----------
    true
        The parents of each text's labels.
    guessed
        Other parents by how likely they are, best first, -1 for none, shape (b, p).
    most
        Parents of a text, unless more are true.

    Returns
    -------
    parents
        Shape (b, at least ``most``), padded with -1.
    """
    width = max(most, max(map(len, true), default=0))
    parents = np.full((len(true), width), -1, np.int64)
    for i, own in enumerate(true):
        parents[i, : len(own)] = own
        room = most - len(own)
        if room > 0:
            others = guessed[i][(guessed[i] >= 0) & ~np.isin(guessed[i], own)][:room]
            parents[i, len(own) : len(own) + len(others)] = others
    return parents
