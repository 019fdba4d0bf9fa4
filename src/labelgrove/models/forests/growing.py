"""Growing a tree over documents, node after node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.random import generator
from labelgrove.models.learned_parts import Part
from labelgrove.text.vocabulary import read_only


@dataclass(frozen=True)
class Growth:
    """How a tree is grown.

    Parameters
    ----------
    cost
        Weight of the logistic loss against the sum of the separator's weights.
    bias
        Value of a constant feature.
    max_leaf
        A node with more documents is split.
    leaf_labels
        Labels that a leaf keeps at most.
    seed
        Of the sides on which documents begin, and of the solver.
    """

    cost: float
    bias: float
    max_leaf: int
    leaf_labels: int
    seed: int


def grow(
    X: csr_array, Y: csr_array, gains: NDArray[np.float64], growth: Growth, number: int
) -> Part:
    """Return a tree, as `TreesOverDocuments.of` reads it.

    Parameters
    ----------
    X, Y
        Features (n, D) and labels (n, L).
    gains
        What each label counts, shape (L,).
    growth
        How it is grown.
    number
        Its number in the forest, on which its random choices depend.
    """
    from labelgrove.models.forests import kernels

    matrices = [read_only(part) for part in (X.indptr, X.indices, X.data, Y.indptr, Y.indices)]
    places = np.full(X.shape[1], -1, np.int32), np.full(Y.shape[1], -1, np.int32)
    chance = generator(growth.seed, "tree over documents", number)
    waiting = [np.arange(X.shape[0])]
    children: list[tuple[int, int]] = []
    separators: list[tuple[NDArray[Any], NDArray[Any], float]] = []
    leaves: list[NDArray[np.int64]] = []
    leaf: list[int] = []
    for rows in waiting:  # grows in the loop: level after level
        seed = int(chance.integers(2**62))
        features, weights, bias, scores = np.empty(0, "i4"), np.empty(0, "f4"), 0.0, np.empty(0)
        if len(rows) > growth.max_leaf:
            features, weights, bias, scores = kernels.split(
                *(*matrices, gains, rows, growth.cost, growth.bias, seed, *places)
            )
        separators.append((features, weights, float(bias)))
        if len(scores):
            children.append((len(waiting), len(waiting) + 1))
            leaf.append(-1)
            waiting += [rows[scores < 0], rows[scores >= 0]]
        else:
            children.append((-1, -1))
            leaf.append(len(leaves))
            leaves.append(rows)
    sizes = [len(features) for features, _, _ in separators]
    return {
        "children": np.array(children, np.int32),
        "leaf": np.array(leaf, np.int32),
        "ptr": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "features": np.concatenate([features for features, _, _ in separators]),
        "weights": np.concatenate([weights for _, weights, _ in separators]),
        "bias": np.array([bias for _, _, bias in separators], np.float32),
        "shares": _shares(Y, gains, leaves, growth.leaf_labels),
    }


def _shares(
    Y: csr_array, gains: NDArray[np.float64], leaves: list[NDArray[np.int64]], most: int
) -> csr_array:
    """Return the mean gain of each label in each leaf, shape (leaves, L), the greatest of a leaf.

    Parameters
    ----------
    Y, gains
        Labels (n, L), and what each counts.
    leaves
        The rows of each leaf.
    most
        Labels that a leaf keeps.
    """
    sizes = np.array([len(rows) for rows in leaves])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    each = np.repeat(1.0 / np.maximum(sizes, 1), sizes)
    members = csr_array((each, np.concatenate(leaves), starts), (len(leaves), Y.shape[0]))
    shares = csr_array(members @ Y)
    shares.data *= gains[shares.indices]
    shares.sort_indices()
    for row in np.flatnonzero(np.diff(shares.indptr) > most).tolist():
        values = shares.data[shares.indptr[row] : shares.indptr[row + 1]]
        values[np.argsort(-values, kind="stable")[most:]] = 0.0
    shares.eliminate_zeros()
    return csr_array(shares, dtype=np.float32)
