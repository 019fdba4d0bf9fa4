"""How trees over labels are made; `LabelTree` holds what comes out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError
from labelgrove.core.random import generator
from labelgrove.core.threads import workers
from labelgrove.labels.clustering import arrays, check_vectors, halving, k_means_of
from labelgrove.labels.hierarchy import IntLists, check_acyclic

Levels = list[NDArray[np.int32]]
_LOPSIDED = 0.9  # a cluster with this share of its parent's labels has not parted them
_FREE_LEVELS = 2  # below these, sizes are balanced, so that a few large clusters end soon


def levels_from_nodes(nodes_per_level: Sequence[NDArray[np.int32]], n_labels: int) -> Levels:
    """Return parents per level from the node of each label in every level of clusters.

    Parameters
    ----------
    nodes_per_level
        For each level below the root, any numbers that tell its clusters apart, shape (L,);
        labels of one cluster are of one cluster above too. Clusters come out in their order.
    n_labels
        L.
    """
    levels: Levels = []
    above = np.zeros(n_labels, np.int32)
    for nodes in nodes_per_level:
        _, some, numbers = np.unique(nodes, return_index=True, return_inverse=True)
        levels.append(above[some])
        above = numbers.astype(np.int32)
    levels.append(above)
    return levels


def grow_balanced(vectors: csr_array, max_leaf: int, seed: int, threads: int | None) -> Levels:
    """Halve until no cluster is larger than ``max_leaf``; see `LabelTree.balanced`."""
    vectors = _check(vectors, max_leaf)
    n_labels = vectors.shape[0]
    steps = 0
    while -(-n_labels // 2**steps) > max_leaf:
        steps += 1
    return levels_from_nodes(list(islice(halving(vectors, seed, threads), steps)), n_labels)


def grow_k_means(
    vectors: csr_array,
    branching: int,
    max_leaf: int,
    max_depth: int | None,
    balanced: bool,
    seed: int,
    threads: int | None,
) -> Levels:
    """Cluster, and cluster the clusters; see `LabelTree.kmeans`."""
    vectors = _check(vectors, max_leaf)
    if branching < 2:
        raise InputError(f"branching must be at least 2, got {branching}")
    if max_depth is not None and max_depth < 1:
        raise InputError(f"max_depth must be at least 1, got {max_depth}")
    matrix = arrays(vectors)
    nodes_per_level: Levels = []

    def part(job: tuple[int, NDArray[np.int64]]) -> NDArray[np.int32]:
        number, rows = job
        if len(rows) <= max_leaf:
            return np.zeros(len(rows), np.int32)
        k = min(branching, -(-2 * len(rows) // max_leaf))
        purpose = ("k-means tree", len(nodes_per_level), number)
        even = balanced or len(nodes_per_level) >= _FREE_LEVELS
        # one cluster has all threads for itself, several share them
        inside = workers(threads) if len(groups) == 1 else 1
        clusters = k_means_of(matrix, rows, k, even, generator(seed, *purpose), threads=inside)
        if not even and np.bincount(clusters).max() > _LOPSIDED * len(rows):
            clusters = k_means_of(matrix, rows, k, True, generator(seed, *purpose), threads=inside)
        return clusters

    groups = [np.arange(vectors.shape[0])]
    with ThreadPoolExecutor(workers(threads)) as pool:
        while max(map(len, groups)) > max_leaf and len(nodes_per_level) != max_depth:
            parts = list(pool.map(part, enumerate(groups)))
            groups = [
                rows[clusters == c]
                for rows, clusters in zip(groups, parts, strict=True)
                for c in range(clusters.max() + 1)
            ]
            nodes = np.empty(vectors.shape[0], np.int32)
            for number, rows in enumerate(groups):
                nodes[rows] = number
            nodes_per_level.append(nodes)
    return levels_from_nodes(nodes_per_level, vectors.shape[0])


def grow_from_parents(parents: Sequence[Sequence[int]], n_labels: int) -> Levels:
    """Take over a hierarchy; see `LabelTree.from_parents`."""
    if n_labels < 1:
        raise InputError("a tree needs at least one label")
    lists = parents if isinstance(parents, IntLists) else IntLists.of(parents)
    check_acyclic(lists, [str(i) for i in range(len(lists))])
    is_parent = np.zeros(len(lists), bool)
    for label in range(n_labels):
        is_parent[list(_upwards(lists, label))[1:]] = True
    paths = []
    for label in range(n_labels):
        path = list(_upwards(lists, label))[::-1]
        paths.append(tuple(path if is_parent[label] else path[:-1]))
    depth = max(map(len, paths))
    nodes_per_level: Levels = []
    for level in range(1, depth + 1):
        # a path that ends above this level goes on by a node of its own, which -1 tells apart
        here = [path[:level] if len(path) >= level else (*path, -1) for path in paths]
        numbers = {path: i for i, path in enumerate(dict.fromkeys(sorted(here)))}
        nodes_per_level.append(np.array([numbers[path] for path in here], np.int32))
    return levels_from_nodes(nodes_per_level, n_labels)


def _upwards(parents: Sequence[Sequence[int]], i: int) -> Iterator[int]:
    yield i
    while above := parents[i]:
        i = above[0]
        yield i


def _check(vectors: csr_array, max_leaf: int) -> csr_array:
    if max_leaf < 1:
        raise InputError(f"max_leaf must be at least 1, got {max_leaf}")
    vectors = check_vectors(vectors)
    if not vectors.shape[0]:
        raise InputError("a tree needs at least one label")
    return vectors
