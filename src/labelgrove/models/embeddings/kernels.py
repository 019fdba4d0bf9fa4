"""Kernels of embeddings that are learned from pairs of documents.

Arrays in and out, nothing else; each is tested against plain numpy.
"""

import numpy as np

from labelgrove.core.jit import njit
from labelgrove.models.random_kernels import next_random

ALIKE = np.float32(1e-7)  # products that differ by less are equal
TINY = np.float32(1e-12)  # least length of a vector that is divided by its length
# no approximate reciprocals: they would be taken in vectors but not in scalars, and the same data
# must give the same model
FAST = {"nnan", "ninf", "nsz", "contract", "reassoc"}


@njit(cache=True, nogil=True, inline="always")
def _product(indices, data, first, last, table, start):
    """Return the product of a sparse row with a row of a table, whose cells may be shared."""
    total = np.float32(0.0)
    for p in range(first, last):
        total += data[p] * table[(start + indices[p]) % len(table)]
    return total


@njit(cache=True, nogil=True)
def partition(indptr, indices, data, width, near, n_clusters, rounds, rate, sparsity, cells, seed):
    """Return linear functions whose greatest tells the cluster of a row, flat (clusters x width).

    Rows that are ``near`` each other, numbers of shape (n, k), -1 for none, are drawn into one
    cluster and random rows out of it: FTRL with l1 on logistic losses. There are at most
    ``cells`` cells; beyond, cells are shared by what falls on the same one.
    """
    n, k = near.shape
    size = min(n_clusters * width, cells)
    weights, moves = np.zeros(size, np.float32), np.zeros(size, np.float32)
    squares = np.ones(size, np.float32)
    order = np.arange(n)
    state = np.uint64(seed)
    for shuffled in range(rounds + 1):
        for i in range(n - 1, 0, -1):
            state, drawn = next_random(state)
            j = np.int64(drawn % np.uint64(i + 1))
            order[i], order[j] = order[j], order[i]
        if shuffled == 0:  # clusters begin as random rows
            for c in range(min(n_clusters, n)):
                for p in range(indptr[order[c]], indptr[order[c] + 1]):
                    cell = (c * width + indices[p]) % size
                    weights[cell] = data[p]
                    moves[cell] = data[p] / rate + (sparsity if data[p] > 0 else -sparsity)
            continue
        for i in order:
            if near[i, 0] < 0:
                continue
            best, chosen, equal = np.float32(-np.inf), 0, 0
            for c in range(n_clusters):
                here = _product(indices, data, indptr[i], indptr[i + 1], weights, c * width)
                if here > best + ALIKE:
                    best, chosen, equal = here, c, 1
                elif here >= best - ALIKE:
                    equal += 1
                    state, drawn = next_random(state)
                    if drawn % np.uint64(equal) == 0:
                        chosen = c
            for q in range(2 * k):
                other = near[i, q] if q < k else 0
                if q >= k:
                    state, drawn = next_random(state)
                    other = np.int64(drawn % np.uint64(n))
                first, last = indptr[other], indptr[other + 1]
                score = _product(indices, data, first, last, weights, chosen * width)
                pull = (1.0 if q < k else 0.0) - 1.0 / (1.0 + np.exp(-np.float64(score)))
                for p in range(first, last):
                    cell = (chosen * width + indices[p]) % size
                    slope = np.float32(pull) * data[p]
                    before = np.sqrt(squares[cell])
                    squares[cell] += slope * slope
                    after = np.sqrt(squares[cell])
                    moves[cell] += slope + (after - before) / rate * weights[cell]
                    left = max(abs(moves[cell]) - sparsity, np.float32(0.0))
                    weights[cell] = np.sign(moves[cell]) * rate * left / after
    return weights


@njit(cache=True, nogil=True, fastmath=FAST)
def _embed(indices, data, first, last, weights, vector):
    """Write the vector of a sparse row to ``vector``, and return its length."""
    vector[:] = 0
    for p in range(first, last):
        row, value = weights[indices[p]], data[p]
        for d in range(len(vector)):
            vector[d] += value * row[d]
    square = np.float32(0.0)
    for d in range(len(vector)):
        square += vector[d] * vector[d]
    return max(np.sqrt(square), TINY)


@njit(cache=True, nogil=True, fastmath=FAST)
def _move(indices, data, first, last, direction, rate, weights, squares):
    """Move the weights of a sparse row's features along a direction of its vector (AdaGrad)."""
    for p in range(first, last):
        row, sums, value = weights[indices[p]], squares[indices[p]], data[p]
        for d in range(len(direction)):
            slope = value * direction[d]
            sums[d] += slope * slope
            row[d] += rate * slope / np.sqrt(sums[d])


@njit(cache=True, nogil=True, fastmath=FAST)
def embed_pairs(indptr, indices, data, near, rounds, rate, gamma, weights, seed):
    """Learn ``weights`` (features, d) so that rows have a great cosine with those near them.

    For each row i, each row p ``near`` it, shape (n, k), -1 for none, and as many random rows q,
    it lowers log(1 + sum over q of exp(-gamma (cos(i, p) - cos(i, q)))). Row i is moved once, by
    the sum of its slopes.
    """
    n, k = near.shape
    size = weights.shape[1]
    squares = np.ones(weights.shape, np.float32)
    own, others = np.empty(size, np.float32), np.empty((2 * k, size), np.float32)
    direction, own_direction = np.empty(size, np.float32), np.empty(size, np.float32)
    lengths, cosines = np.empty(2 * k, np.float32), np.empty(2 * k, np.float32)
    pulls, terms = np.empty(2 * k, np.float32), np.empty(k, np.float32)
    drawn_rows = np.empty(2 * k, np.int64)
    order = np.arange(n)
    state = np.uint64(seed)
    for _ in range(rounds):
        for i in range(n - 1, 0, -1):
            state, drawn = next_random(state)
            j = np.int64(drawn % np.uint64(i + 1))
            order[i], order[j] = order[j], order[i]
        for i in order:
            if near[i, 0] < 0:
                continue
            length = _embed(indices, data, indptr[i], indptr[i + 1], weights, own)
            for q in range(2 * k):
                drawn_rows[q] = near[i, q % k]
                if q >= k:
                    state, drawn = next_random(state)
                    drawn_rows[q] = np.int64(drawn % np.uint64(n))
                row = drawn_rows[q]
                lengths[q] = _embed(indices, data, indptr[row], indptr[row + 1], weights, others[q])
                product = np.float32(0.0)
                for d in range(size):
                    product += own[d] * others[q, d]
                cosines[q] = product / (length * lengths[q])
            pulls[:] = 0
            for q in range(k):
                total = np.float32(1.0)
                for r in range(k):
                    terms[r] = np.exp(-gamma * (cosines[q] - cosines[k + r]))
                    total += terms[r]
                for r in range(k):
                    share = gamma * terms[r] / total
                    pulls[q] += share
                    pulls[k + r] -= share
            own_direction[:] = 0
            for q in range(2 * k):
                row = drawn_rows[q]
                for d in range(size):
                    away = cosines[q] * own[d] / length
                    own_direction[d] += pulls[q] * (others[q, d] / lengths[q] - away) / length
                    away = cosines[q] * others[q, d] / lengths[q]
                    direction[d] = pulls[q] * (own[d] / length - away) / lengths[q]
                _move(
                    indices, data, indptr[row], indptr[row + 1], direction, rate, weights, squares
                )
            _move(indices, data, indptr[i], indptr[i + 1], own_direction, rate, weights, squares)
