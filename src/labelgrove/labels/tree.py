"""A tree over the labels: parents per level, the last level is the labels themselves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks, storage
from labelgrove.core.errors import InputError


class LabelTree:
    """Labels as leaves of a tree whose leaves are all equally deep.

    Level 0 is the root alone, level ``depth`` the labels in the order of Y's columns, and the
    levels between are clusters. Where a branch would end early, single nodes carry it down.

    Parameters
    ----------
    levels
        For each level from 1 on, the parent of each node, a number in the level above;
        ``levels[-1]`` has shape (L,). Every cluster has at least one child.

    Attributes
    ----------
    levels
        As above, int32.
    depth
        Number of levels below the root, at least 1.
    n_labels
        L.

    Examples
    --------
    >>> tree = LabelTree([np.array([0, 0]), np.array([0, 1, 0, 1, 1])])
    >>> tree.labels_of(1, 1).tolist()
    [1, 3, 4]
    >>> tree.membership(1).toarray().astype(int).tolist()
    [[1, 0], [0, 1], [1, 0], [0, 1], [0, 1]]
    >>> offsets, nodes = tree.children(1)
    >>> offsets.tolist(), nodes.tolist()
    ([0, 2, 5], [0, 2, 1, 3, 4])
    """

    def __init__(self, levels: Sequence[NDArray[np.integer[Any]]]) -> None:
        self.levels: list[NDArray[np.int32]] = [np.asarray(level, np.int32) for level in levels]
        self._children: dict[int, tuple[NDArray[np.int64], NDArray[np.int32]]] = {}
        if not self.levels:
            raise InputError("a tree has at least one level, the labels")
        for level, parents in enumerate(self.levels, 1):
            n_above = self.n_nodes(level - 1)
            if parents.ndim != 1 or not np.array_equal(np.unique(parents), np.arange(n_above)):
                raise InputError(
                    f"level {level} of a tree must give each of the {n_above} nodes above it a "
                    f"child, and no others"
                )

    # --- builders -----------------------------------------------------------------------------

    @classmethod
    def balanced(
        cls,
        vectors: csr_array,
        max_leaf: int = 100,
        *,
        seed: int = 0,
        threads: int | None = None,
    ) -> LabelTree:
        """Halve the labels until no cluster has more than ``max_leaf``: Parabel's deep tree.

        Parameters
        ----------
        vectors
            Label vectors, shape (L, D), as `label_vectors` gives; empty rows are allowed.
        max_leaf
            Most labels under a parent of labels. The clusters of a level differ in size by at
            most one label.
        seed
            Chooses the starts of the clustering; other seeds give other trees.
        threads
            None for all cores; the tree does not depend on it.
        """
        from labelgrove.labels.growing import grow_balanced

        return cls(grow_balanced(vectors, max_leaf, seed, threads))

    @classmethod
    def kmeans(
        cls,
        vectors: csr_array,
        branching: int = 100,
        max_leaf: int = 100,
        *,
        max_depth: int | None = None,
        balanced: bool = False,
        seed: int = 0,
        threads: int | None = None,
    ) -> LabelTree:
        """Cluster the labels by k-means, and the clusters again: Bonsai's shallow, wide tree.

        A cluster of n labels gets ``min(branching, ceil(2 n / max_leaf))`` children, so that
        small clusters are not ground to dust. From the third level on, and where the vectors are
        too alike to be parted, the sizes of siblings are balanced, so that the tree soon ends.

        Parameters
        ----------
        vectors
            Label vectors, shape (L, D), as `label_vectors` gives; empty rows are allowed.
        branching
            Most children of a cluster, at least 2.
        max_leaf
            Clusters with more labels are clustered again.
        max_depth
            Most levels of clusters, at least 1; the last may then have more labels than
            ``max_leaf``. By default as many as it takes.
        balanced
            Let the sizes of siblings differ by at most one.
        seed
            Chooses the starts of the clustering; other seeds give other trees.
        threads
            None for all cores; the tree does not depend on it.
        """
        from labelgrove.labels.growing import grow_k_means

        return cls(grow_k_means(vectors, branching, max_leaf, max_depth, balanced, seed, threads))

    @classmethod
    def from_parents(cls, parents: Sequence[Sequence[int]], n_labels: int) -> LabelTree:
        """Take over a given hierarchy: ``from_parents(space.parents, space.n_labels)``.

        A label that is also a parent stands as a leaf under itself. Of several parents the first
        counts. The leaves right under a node that has clusters too share one more cluster, and
        so do the labels without a parent, under the root. Concepts above no label are left out.

        Parameters
        ----------
        parents
            Numbers of the parents of each label and then of each other concept; no circles.
        n_labels
            L; the first L numbers are labels.
        """
        from labelgrove.labels.growing import grow_from_parents

        return cls(grow_from_parents(parents, n_labels))

    def compress(self, K: int, H: int) -> LabelTree:
        """Return the shallow, wide tree of Algorithm 1 of AttentionXML and LightAttention.

        The parents of the leaves stay, as do their c-th ancestors, the c-th ancestors of
        those, and so on, H - 1 times, and above them the root. A node with fewer than c
        ancestors has the root for one. In a binary tree a node then has up to K = 2^c children.

        Parameters
        ----------
        K
            2^c with c of at least 1.
        H
            Levels of clusters that stay, at least 1, if the tree has so many.
        """
        c = int(K).bit_length() - 1
        if K < 2 or 2**c != K:
            raise InputError(f"K must be a power of two such as 8, got {K}")
        if H < 1:
            raise InputError(f"H must be at least 1, got {H}")
        lowest = self.depth - 1
        return self.keep_depths([d for d in range(lowest, lowest - c * H, -c) if d > 0])

    def keep_depths(self, depths: Sequence[int]) -> LabelTree:
        """Return the tree with only these levels of clusters between root and labels.

        Parameters
        ----------
        depths
            Numbers from 1 to ``depth - 1``, in any order; none gives a flat tree.
        """
        for depth in depths:
            if not 1 <= depth < self.depth:
                raise InputError(
                    f"there is no level {depth} of clusters; levels go from 1 to {self.depth - 1}"
                )
        kept = [0, *sorted(set(depths)), self.depth]
        return LabelTree([self.ancestors(b, a) for a, b in pairwise(kept)])

    # --- looking around -----------------------------------------------------------------------

    @property
    def depth(self) -> int:
        """Number of levels below the root."""
        return len(self.levels)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.levels[-1])

    def __repr__(self) -> str:
        widths = " > ".join(f"{self.n_nodes(level):,}" for level in range(self.depth + 1))
        return f"<LabelTree: {widths}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelTree):
            return NotImplemented
        return self.depth == other.depth and all(
            np.array_equal(a, b) for a, b in zip(self.levels, other.levels, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def n_nodes(self, level: int) -> int:
        """Return the number of nodes of a level, 1 for level 0."""
        return len(self.levels[level - 1]) if level else 1

    def ancestors(self, level: int, above: int) -> NDArray[np.int32]:
        """Return for each node of a level its ancestor in a level above, shape (n_nodes,)."""
        if not 0 <= above <= level <= self.depth:
            raise InputError(f"no levels {above} and {level} in a tree of depth {self.depth}")
        nodes = np.arange(self.n_nodes(level), dtype=np.int32)
        for parents in reversed(self.levels[above:level]):
            nodes = parents[nodes]
        return nodes

    def children(self, level: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the children of a level's nodes, numbers in the next level.

        Returns
        -------
        offsets, nodes
            Node v has the children ``nodes[offsets[v]:offsets[v + 1]]``, ascending; shapes
            (n_nodes + 1,) and (n_nodes of the next level,).
        """
        if not 0 <= level < self.depth:
            raise InputError(f"level {level} has no children in a tree of depth {self.depth}")
        if level not in self._children:  # asked for again by every ranking
            self._children[level] = _grouped(self.levels[level], self.n_nodes(level))
        return self._children[level]

    def labels_of(self, level: int, node: int) -> NDArray[np.int32]:
        """Return the labels under a node, ascending."""
        return np.flatnonzero(self.ancestors(self.depth, level) == node).astype(np.int32)

    def membership(self, level: int) -> csr_array:
        """Return which node of a level each label is under, shape (L, n_nodes), float32.

        ``Y @ tree.membership(level)`` counts the labels of documents under each node.
        """
        return csr_array(
            (
                np.ones(self.n_labels, np.float32),
                self.ancestors(self.depth, level),
                np.arange(self.n_labels + 1),
            ),
            shape=(self.n_labels, self.n_nodes(level)),
        )

    def indicators(self, Y: csr_array, level: int) -> csr_array:
        """Return which nodes of a level documents (n, L) have a label under, binary float32."""
        nodes = csr_array(Y @ self.membership(level), dtype=np.float32)
        nodes.eliminate_zeros()
        nodes.sort_indices()
        nodes.data[:] = 1.0
        return nodes

    # --- storage ------------------------------------------------------------------------------

    def write(self, folder: Path) -> None:
        """Write the tree into an open folder."""
        levels = {f"level{number}": parents for number, parents in enumerate(self.levels, 1)}
        storage.write_values(folder, {"depth": self.depth, **levels})

    @classmethod
    def read(cls, folder: Path) -> LabelTree:
        """Read what `write` wrote."""
        values = storage.read_values(folder)
        with checks.reading(folder):
            depth = checks.whole("depth", values["depth"], least=1, most=len(values))
            return cls.checked([values[f"level{number}"] for number in range(1, depth + 1)])

    @classmethod
    def checked(cls, levels: Sequence[Any]) -> LabelTree:
        """Return a tree whose levels come from a file, if they are numbers of nodes."""
        n_above = 1
        for number, level in enumerate(levels, 1):
            checks.array(f"level {number}", level, np.int32, (None,))
            checks.below(f"level {number}", level, n_above)
            n_above = len(level)
        return cls(levels)


def _grouped(parents: NDArray[np.int32], n: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(parents, minlength=n), out=offsets[1:])
    return offsets, np.argsort(parents, kind="stable").astype(np.int32)
