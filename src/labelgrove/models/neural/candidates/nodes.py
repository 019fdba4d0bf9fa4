"""Candidates as arrays: children of nodes in a label tree, and which of them are true."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.labels import LabelTree


class ChildNodes(NamedTuple):
    """Nodes of a level for some texts.

    Parameters
    ----------
    nodes
        Shape (b, C), int64; 0 where a text has fewer than C.
    real
        Which of them count, shape (b, C), bool; those of a text come first.
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

    Attributes
    ----------
    parents
        The parent of each node of the next level, shape (n_nodes,).

    Examples
    --------
    >>> tree = LabelTree([np.array([0, 0]), np.array([0, 1, 1])])
    >>> Children(tree, 1).of(np.array([[1, -1], [0, 1]])).nodes
    array([[1, 2, 0],
           [0, 1, 2]])
    """

    def __init__(self, tree: LabelTree, level: int) -> None:
        self.offsets, self.nodes = tree.children(level)
        self.parents = tree.levels[level]

    def of(self, parents: NDArray[np.integer[Any]]) -> ChildNodes:
        """Return the children of parents (b, p), in their order; -1 is no parent."""
        known = parents >= 0
        sizes = np.where(known, self.offsets[parents + 1] - self.offsets[parents], 0)
        ends = np.cumsum(sizes, axis=1)
        width = max(int(ends[:, -1].max(initial=0)), 1) if parents.size else 1
        nodes = np.zeros((len(parents), width), np.int64)
        owners = np.zeros((len(parents), width), np.int64)
        real = np.arange(width) < ends[:, -1:]
        flat = sizes.ravel()
        starts = np.where(known, self.offsets[:-1][parents], 0).ravel()
        nodes[real] = self.nodes[runs(starts, flat)]
        places = np.broadcast_to(np.arange(parents.shape[1]), parents.shape).ravel()
        owners[real] = np.repeat(places, flat)
        return ChildNodes(nodes, real, owners)


class Entries(NamedTuple):
    """The nodes of some texts in one run, those of a text ascending; both of shape (m,).

    Parameters
    ----------
    texts
        Whose they are, numbers from 0 in the order asked for.
    nodes
        What they are.
    """

    texts: NDArray[np.int64]
    nodes: NDArray[np.int64]


class Truth:
    """The nodes that documents have, looked up for many at once.

    Parameters
    ----------
    Y
        Documents x nodes, what is not 0 is true.

    Examples
    --------
    >>> truth = Truth(csr_array([[0, 1, 1], [1, 0, 0]]))
    >>> truth.of(np.array([1, 0])).nodes
    array([0, 1, 2])
    >>> truth.holds(np.array([1, 0]), np.array([[0, 1], [0, 1]]))
    array([[ True, False],
           [False,  True]])
    """

    def __init__(self, Y: csr_array) -> None:
        if not Y.has_sorted_indices:
            Y = Y.sorted_indices()
        self.width = int(Y.shape[1])
        self._offsets = Y.indptr.astype(np.int64)
        self._nodes = Y.indices

    def sizes(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many nodes documents have, shape (b,)."""
        sizes: NDArray[np.int64] = self._offsets[rows + 1] - self._offsets[rows]
        return sizes

    def of(self, rows: NDArray[np.int64]) -> Entries:
        """Return the nodes of documents (b,)."""
        sizes = self.sizes(rows)
        places = runs(self._offsets[rows], sizes)
        return Entries(np.repeat(np.arange(len(rows)), sizes), self._nodes[places].astype(np.int64))

    def holds(self, rows: NDArray[np.int64], nodes: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Tell which of the nodes (b, C) are true of the documents (b,)."""
        own = self.of(rows)
        texts = np.arange(len(rows))[:, None]
        return _among(self._keys(*own), self._keys(texts, nodes)) & (nodes >= 0)

    def listed(self, own: Entries, lists: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Tell which entries (m,) stand in the lists (b, p) of their texts; -1 is nothing."""
        texts = np.broadcast_to(np.arange(len(lists))[:, None], lists.shape)
        keys = self._keys(texts, lists)[lists >= 0]
        return _among(np.sort(keys), self._keys(*own))

    def _keys(self, texts: NDArray[np.int64], nodes: NDArray[Any]) -> NDArray[np.int64]:
        keys: NDArray[np.int64] = texts * self.width + nodes
        return keys


def topped_up(
    truth: Truth, rows: NDArray[np.int64], guessed: NDArray[np.integer[Any]], most: int
) -> NDArray[np.int64]:
    """Return the parents to learn from: all true ones, then the best guesses up to ``most``.

    Parameters
    ----------
    truth
        The parents of all documents' labels.
    rows
        Documents, shape (b,).
    guessed
        Parents of these by how likely they are, best first, -1 for none, shape (b, p).
    most
        Parents of a text, unless more are true.

    Returns
    -------
    parents
        Shape (b, at least 1), padded with -1: true ones that were guessed come first, then other
        true ones, then other guesses.
    """
    own = truth.of(rows)
    true = truth.holds(rows, guessed)
    missed = Entries(*(each[~truth.listed(own, guessed)] for each in own))
    ordered = np.hstack(
        [np.where(true, guessed, -1), aligned(missed, len(rows)), np.where(true, -1, guessed)]
    )
    ordered = np.take_along_axis(ordered, np.argsort(ordered < 0, axis=1, kind="stable"), axis=1)
    limits = np.maximum(truth.sizes(rows), most)[:, None]
    ordered[np.arange(ordered.shape[1]) >= limits] = -1
    width = max(int((ordered >= 0).sum(axis=1).max(initial=0)), 1)
    return ordered[:, :width].astype(np.int64)


def aligned(own: Entries, n: int) -> NDArray[np.int64]:
    """Return the entries of n texts as rows (n, W), padded behind with -1."""
    sizes = np.bincount(own.texts, minlength=n)
    rows = np.full((n, int(sizes.max(initial=0))), -1, np.int64)
    rows[np.arange(rows.shape[1]) < sizes[:, None]] = own.nodes
    return rows


def ranks(own: Entries, n: int) -> NDArray[np.int64]:
    """Return the number of each entry within its text, from 0, shape (m,)."""
    sizes = np.bincount(own.texts, minlength=n)
    return runs(0 * sizes, sizes)


def runs(starts: NDArray[Any], sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Return start, start + 1, ... for each start, ``sizes`` numbers of each, one after another.

    Examples
    --------
    >>> runs(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    places: NDArray[np.int64] = np.arange(total) + np.repeat(starts - ends + sizes, sizes)
    return places


def _among(known: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which numbers are among known ones, which ascend."""
    if not len(known):
        return np.zeros(asked.shape, bool)
    places = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    found: NDArray[np.bool_] = known[places] == asked
    return found
