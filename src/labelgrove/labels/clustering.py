"""Clusters of vectors on the sphere: balanced 2-means with exact halves, and k-means.

Both work on sparse rows of length 1 (or empty ones) and give the same clusters for the same
seed, whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from labelgrove.core.errors import InputError
from labelgrove.core.random import generator
from labelgrove.core.threads import workers
from labelgrove.labels.vectors import normalised

# Halving ends after about six rounds on real label vectors. More rounds of k-means than the
# limit below add less than a hundredth to the mean cosine.
ROUNDS = 50
TOLERANCE = 1e-5
K_ROUNDS = 20
K_TOLERANCE = 1e-3
# Three steps of power iteration before the rounds raise the mean cosine of real label vectors by
# about a hundredth for a tenth more time, and leave trees of different seeds different.
STEPS = 3

Arrays = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], int]


def two_means(vectors: csr_array, seed: int = 0) -> NDArray[np.int32]:
    """Split vectors into two halves whose sizes differ by at most one.

    Parameters
    ----------
    vectors
        Shape (n, D); rows are scaled to length 1.
    seed
        Chooses the start.

    Returns
    -------
    ndarray
        0 or 1 for each vector, shape (n,); with an odd n the first half is the larger.

    Examples
    --------
    >>> two_means(csr_array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [0.1, 0.9]])).tolist() in (
    ...     [0, 1, 0, 1],
    ...     [1, 0, 1, 0],
    ... )
    True
    """
    vectors = check_vectors(vectors)
    return next(iter(halving(vectors, seed, threads=1))) if vectors.shape[0] else _no_clusters()


def k_means(
    vectors: csr_array,
    k: int,
    *,
    balanced: bool = False,
    seed: int = 0,
    rounds: int = K_ROUNDS,
    threads: int | None = None,
) -> NDArray[np.int32]:
    """Cluster vectors around k centroids on the sphere.

    Needs 4 k bytes for every feature that occurs.

    Parameters
    ----------
    vectors
        Shape (n, D); rows are scaled to length 1.
    k
        Number of clusters; with fewer vectors, each gets its own. No cluster is empty.
    balanced
        Let sizes differ by at most one.
    seed
        Chooses the start.
    rounds
        Stop after so many, or when nothing is gained.
    threads
        None for all cores.

    Returns
    -------
    ndarray
        A cluster number for each vector, shape (n,).

    Examples
    --------
    >>> clusters = k_means(csr_array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1]]), 2)
    >>> bool(clusters[0] == clusters[2] != clusters[1])
    True
    """
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}")
    if rounds < 1:
        raise InputError(f"rounds must be at least 1, got {rounds}")
    vectors = check_vectors(vectors)
    rows = np.arange(vectors.shape[0])
    if not len(rows):
        return _no_clusters()
    chance = generator(seed, "k-means")
    return k_means_of(arrays(vectors), rows, k, balanced, chance, rounds, workers(threads))


def check_vectors(vectors: csr_array) -> csr_array:
    """Return vectors as float32 rows of length 1, or say what is wrong with them."""
    if not issparse(vectors):
        raise InputError("vectors must be a sparse matrix of labels x features")
    vectors = csr_array(vectors)
    if not vectors.has_canonical_format:  # a feature in two entries would spoil the length
        vectors = vectors.copy()
        vectors.sum_duplicates()
    if not np.isfinite(vectors.data).all():
        raise InputError("vectors hold a value that is not a finite number")
    return normalised(vectors)


def arrays(vectors: csr_array) -> Arrays:
    """Return offsets, features, values and the number of features, in the kernels' own types."""
    # read-only and mapped arrays would be compiled for anew
    return (
        np.require(vectors.indptr, np.int64, ["C", "W", "E"]),
        np.require(vectors.indices, np.int32, ["C", "W", "E"]),
        np.require(vectors.data, np.float32, ["C", "W", "E"]),
        int(vectors.indices.max(initial=-1)) + 1,
    )


def halving(
    vectors: csr_array, seed: int, threads: int | None = None
) -> Iterator[NDArray[np.int32]]:
    """Halve all vectors, then each half, and so on; yield the node of each after every step.

    Parameters
    ----------
    vectors
        Shape (n, D), rows of length 1 or 0, at least one.
    seed
        Chooses the starts.
    threads
        Threads over the nodes of a step; None for all cores.

    Yields
    ------
    ndarray
        Node numbers, shape (n,), int32: 0 and 1 after the first step, 2v and 2v + 1 for the
        halves of node v after the next. Sizes differ by at most one; nodes may become empty.
    """
    from labelgrove.labels.kernels import halve_nodes

    n = vectors.shape[0]
    matrix = arrays(vectors)
    lengths = np.diff(vectors.indptr)
    order = np.arange(n)
    bounds = np.array([0, n])
    step = 0
    with ThreadPoolExecutor(workers(threads)) as pool:
        while True:
            sizes = np.diff(bounds)
            chance = generator(seed, "halving", step).random((2, len(sizes)))
            firsts = (chance[0] * sizes).astype(np.int64)
            seconds = firsts + 1 + (chance[1] * (sizes - 1)).astype(np.int64)
            seconds %= np.maximum(sizes, 1)
            node_arrays = (order, bounds, firsts, seconds)

            def work(piece: tuple[int, int], node_arrays: Any = node_arrays) -> None:
                halve_nodes(*matrix, *node_arrays, *piece, STEPS, ROUNDS, TOLERANCE)

            # each node stands alone, so how they are dealt to threads changes nothing
            pieces = _even_pieces(lengths[order], bounds, 4 * workers(threads))
            list(pool.map(work, pieces))
            middles = bounds[:-1] + (sizes + 1) // 2
            bounds = np.append(np.stack([bounds[:-1], middles], axis=1).ravel(), n)
            nodes = np.empty(n, np.int32)
            nodes[order] = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
            yield nodes
            step += 1


def _even_pieces(
    weights: NDArray[np.integer], bounds: NDArray[np.int64], n: int
) -> list[tuple[int, int]]:
    """Cut the nodes into at most n runs of about equal weight; returns (begin, end) of each."""
    done = np.concatenate([[0], np.cumsum(weights + 1)])[bounds]
    cuts = np.unique(np.searchsorted(done, np.linspace(0, done[-1], n + 1)))
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))


def k_means_of(
    matrix: Arrays,
    rows: NDArray[np.int64],
    k: int,
    balanced: bool,
    chance: np.random.Generator,
    rounds: int = K_ROUNDS,
    threads: int = 1,
) -> NDArray[np.int32]:
    """Cluster some rows of a matrix, at least one; see `k_means`."""
    from labelgrove.labels import kernels

    n = len(rows)
    if n <= k:
        return np.arange(n, dtype=np.int32)
    if k == 1:
        return np.zeros(n, np.int32)
    slots = np.full(matrix[-1], -1, np.int32)
    *local, n_features = kernels.local_rows(*matrix[:-1], rows, slots)
    sums = np.zeros((n_features, k), np.float32)
    scales = np.ones(k, np.float32)
    starts = np.full(n, -1, np.int32)
    starts[_starts(np.diff(local[0]) == 0, k, chance)] = np.arange(k)
    for i in np.flatnonzero(starts >= 0):
        row = slice(local[0][i], local[0][i + 1])
        np.add.at(sums[:, starts[i]], local[1][row], local[2][row])

    held = np.full(n, -1, np.int32)  # where the sums have each row
    best, reached = held, -1.0
    for turn in range(rounds):
        now = _assign(local, sums, scales, balanced, threads)
        if turn == 0:
            sums[:] = 0.0  # the starts stood there, which belong to no cluster yet
        lengths = kernels.regroup(now, held, *local, sums)
        gained = lengths.sum()  # the sum of all rows' cosines to their centroid
        if gained > reached:
            best = now
        if gained <= reached * (1.0 + K_TOLERANCE):
            break
        reached = gained
        scales = (1.0 / np.where(lengths > 0, lengths, np.inf)).astype(np.float32)
    return best


def _assign(
    local: Sequence[NDArray[Any]],
    sums: NDArray[np.float32],
    scales: NDArray[np.float32],
    balanced: bool,
    threads: int,
) -> NDArray[np.int32]:
    from labelgrove.labels import kernels

    n, k = len(local[0]) - 1, len(scales)
    chosen = np.zeros(n, np.int32)
    best, second = np.empty((2, n), np.float32)

    def work(piece: tuple[int, int]) -> None:
        kernels.nearest(*piece, *local, sums, scales, chosen, best, second)

    if threads == 1:
        work((0, n))
    else:
        pieces = pairwise(np.linspace(0, n, 4 * threads + 1).astype(int).tolist())
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, pieces))
    if balanced:  # those who would lose most by their second choice choose first
        kernels.fill(np.argsort(second - best, kind="stable"), *local, sums, scales, chosen)
    else:
        kernels.mend(chosen, best, k)
    return chosen


def _starts(empty: NDArray[np.bool_], k: int, chance: np.random.Generator) -> NDArray[np.int64]:
    """Choose k rows; empty ones only where there are not enough others."""
    order = chance.permutation(len(empty))
    return order[np.argsort(empty[order], kind="stable")][:k]


def _no_clusters() -> NDArray[np.int32]:
    return np.zeros(0, np.int32)
