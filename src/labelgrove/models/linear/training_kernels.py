"""Kernels of training: the classifiers of one node.

Arrays in and out, nothing else; each is tested against plain numpy. A node's labels are the
contiguous inner axis everywhere, so that one pass over a document's features serves all of them
with vector instructions.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.jit import njit
from labelgrove.models.linear.dense_kernels import (
    BLOCK,
    aligned_zeros,
    move_labels,
    score_block,
)
from labelgrove.models.random_kernels import next_random

ONE = np.float32(1.0)
ZERO = np.float32(0.0)
# approximate reciprocals (arcp) would be taken in vectors but not in scalars: which of the two
# runs can depend on where arrays lie in memory, and the same data must give the same model
FAST = {"nnan", "ninf", "nsz", "contract", "reassoc"}


@njit(cache=True, nogil=True)
def gather(indptr, indices, data, rows, place):
    """Copy some rows of a csr matrix, with their features numbered anew from 0.

    ``place`` is scratch of one int32 per feature, all -1, and is left so. Returns indptr,
    indices and data of the copy, and the old number of each new feature, ascending.
    """
    n = len(rows)
    ptr = np.zeros(n + 1, np.int64)
    for i in range(n):
        ptr[i + 1] = ptr[i] + indptr[rows[i] + 1] - indptr[rows[i]]
    new_indices = np.empty(ptr[n], np.int32)
    new_data = np.empty(ptr[n], np.float32)
    features = np.empty(min(ptr[n], len(place)), np.int32)
    found = 0
    for i in range(n):
        start = indptr[rows[i]]
        for p in range(ptr[i], ptr[i + 1]):
            feature = indices[start + p - ptr[i]]
            new_indices[p] = feature
            new_data[p] = data[start + p - ptr[i]]
            if place[feature] < 0:
                place[feature] = 0
                features[found] = feature
                found += 1
    features = np.sort(features[:found])
    for f in range(found):
        place[features[f]] = f
    for p in range(ptr[n]):
        new_indices[p] = place[new_indices[p]]
    for f in range(found):
        place[features[f]] = -1
    return ptr, new_indices, new_data, features


@njit(cache=True, nogil=True)
def truth(indptr, indices, rows, parent, place, node, first, last):
    """Return the true children of ``node`` for some rows of a csr matrix of the level below.

    ``parent`` and ``place`` give each column's parent and its place among its siblings; places
    from ``first`` to before ``last`` count, numbered from ``first``. Returns offsets per row,
    and places.
    """
    ptr = np.zeros(len(rows) + 1, np.int64)
    for i in range(len(rows)):
        here = 0
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            c = indices[p]
            here += parent[c] == node and first <= place[c] < last
        ptr[i + 1] = ptr[i] + here
    found = np.empty(ptr[-1], np.int32)
    for i in range(len(rows)):
        q = ptr[i]
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            c = indices[p]
            if parent[c] == node and first <= place[c] < last:
                found[q] = place[c] - first
                q += 1
    return ptr, found


@njit(cache=True, nogil=True, inline="always")
def _logistic_step(alpha, margin, q, cost):
    """Return the new dual variable of logistic loss, by a few guarded Newton steps.

    It minimises q/2 (z - alpha)^2 + margin (z - alpha) + z log z + (cost - z) log(cost - z).
    """
    z = alpha
    low = cost * np.float32(1e-6)
    high = cost - low
    for _ in range(4):
        slope = margin + q * (z - alpha) + np.log(z / (cost - z))
        bend = q + cost / (z * (cost - z))
        step = z - slope / bend
        if step <= low:
            step = max(low, np.float32(0.1) * z)
        elif step >= high:
            step = min(high, cost - np.float32(0.1) * (cost - z))
        z = step
    return z


@njit(cache=True, nogil=True, fastmath=FAST, inline="always")
def _score(indices, data, first, last, weights, score):
    """Write the scores of a row with features ``first`` to before ``last`` of all labels."""
    width = len(score)
    for c in range(width):
        score[c] = weights[-1, c]
    p = first
    while p + 4 <= last:  # four at a time: the scores are read and written a quarter as often
        v0, v1, v2, v3 = data[p], data[p + 1], data[p + 2], data[p + 3]
        w0, w1 = weights[indices[p]], weights[indices[p + 1]]
        w2, w3 = weights[indices[p + 2]], weights[indices[p + 3]]
        for c in range(width):
            score[c] += v0 * w0[c] + v1 * w1[c] + v2 * w2[c] + v3 * w3[c]
        p += 4
    for rest in range(p, last):
        v = data[rest]
        w = weights[indices[rest]]
        for c in range(width):
            score[c] += v * w[c]


class EarlierLabels(NamedTuple):
    """The labels before those of a node in a chain, as further features of the rows.

    Each has a row of ``weights``, behind those of the text's features. The label c of the node has
    row ``own + c``, and sees only rows before that one; in those it does not see, its weights stay
    zero.

    Parameters
    ----------
    ptr, rows
        ``rows[ptr[i]:ptr[i + 1]]`` are the rows of ``weights`` of the labels that row i has.
    own
        The row of ``weights`` of the node's first label.
    link
        Value of a label as a feature.
    """

    ptr: NDArray[np.int64]
    rows: NDArray[np.int32]
    own: int
    link: np.float32


@njit(cache=True, nogil=True, inline="always")
def _sees_from(row, own):
    """Return the first label that sees the earlier label whose weights are in ``row``."""
    return max(0, row - own + 1)


@njit(cache=True, nogil=True, fastmath=FAST, inline="always")
def _score_earlier(rows, weights, own, link, score, seen):
    """Add the earlier labels of a row to its scores, and to the squares of what a label sees."""
    for r in rows:
        start = _sees_from(r, own)
        for c in range(start, len(score)):
            score[c] += link * weights[r, c]
        for c in range(start, len(seen)):
            seen[c] += link * link


@njit(cache=True, nogil=True, fastmath=FAST)
def solve(
    indptr, indices, data, true_ptr, true, weights, cost, true_cost, logistic, epochs, tolerance,
    seed, earlier, dense,
):  # fmt: skip
    """Train the classifiers of all labels of a node at once, by dual coordinate descent.

    Minimises |w|^2 / 2 + sum of cost x loss for each label, with a constant feature 1 for the
    bias; rows that have label c count ``true_cost[c]``, others ``cost``.
    ``true[true_ptr[i]:true_ptr[i + 1]]`` are the labels of row i. ``weights`` of shape
    (features + 1, width), zero at first, is the result; its last row is the bias. There may be
    more columns than labels, which stay zero: a width that fills vector registers is faster.

    A row on which no label violates its optimum by ``tolerance`` is set aside for one epoch,
    then two, four and so on: most rows mean nothing to most labels. It ends when a pass over all
    rows finds no violation. Returns the number of epochs and of rows visited.

    ``earlier`` is None, or `EarlierLabels` for a chain. Numba compiles a version for each, and
    the one for None has no code for chains. So it is with ``dense``, None or `DenseRows`, whose
    weights, zero at first too, are the other part of the result.
    """
    if earlier is not None:
        earlier_ptr, earlier_rows, own, link = earlier
    n = len(indptr) - 1
    n_features = weights.shape[0] - 1
    n_labels = len(true_cost)
    width = weights.shape[1]
    if dense is not None:
        vectors, documents, dense_weights = dense
        d = vectors.shape[1]
        block = aligned_zeros(BLOCK, dense_weights.shape[1])
        products = np.empty((BLOCK, BLOCK), np.float32)
        dense_scores = np.empty((BLOCK, dense_weights.shape[0]), np.float32)
    start = np.float32(cost * 1e-3) if logistic else ZERO
    # of the row at hand, for each label: these are of rows without it
    sign = np.full(n_labels, -ONE)
    limit = np.full(n_labels, cost)
    ridge = np.full(n_labels, ZERO if logistic else np.float32(0.5 / cost))
    false_ridge = ridge[0]
    true_ridge = np.zeros(n_labels, np.float32) if logistic else np.float32(0.5) / true_cost
    square = np.empty(n, np.float32)
    for i in range(n):
        total = ONE
        for p in range(indptr[i], indptr[i + 1]):
            total += data[p] * data[p]
        if dense is not None:
            for f in range(d):
                total += vectors[documents[i], f] * vectors[documents[i], f]
        square[i] = total
    alpha = np.full((n, n_labels), start)
    if logistic:  # the weights that belong to the first alphas
        for i in range(n):
            for p in range(true_ptr[i], true_ptr[i + 1]):
                sign[true[p]] = ONE
            for c in range(n_labels):
                weights[n_features, c] += start * sign[c]
            for p in range(indptr[i], indptr[i + 1]):
                for c in range(n_labels):
                    weights[indices[p], c] += data[p] * start * sign[c]
            if earlier is not None:
                for r in earlier_rows[earlier_ptr[i] : earlier_ptr[i + 1]]:
                    for c in range(_sees_from(r, own), n_labels):
                        weights[r, c] += link * start * sign[c]
            if dense is not None:
                for c in range(n_labels):
                    for f in range(d):
                        dense_weights[c, f] += vectors[documents[i], f] * start * sign[c]
            for p in range(true_ptr[i], true_ptr[i + 1]):
                sign[true[p]] = -ONE
    score = np.empty(width, np.float32)
    change = np.zeros(width, np.float32)
    seen = np.zeros(n_labels, np.float32)
    touched = np.empty(n_labels, np.int32)
    steps = np.empty(n_labels, np.float32)
    order = np.arange(n).astype(np.int32)
    visited = np.empty(n, np.int32)
    due = np.zeros(n, np.int32)
    pause = np.zeros(n, np.int32)
    state = np.uint64(seed)
    visits = 0
    for epoch in range(epochs):
        for i in range(n - 1, 0, -1):
            state, drawn = next_random(state)
            j = np.int64(drawn % np.uint64(i + 1))
            order[i], order[j] = order[j], order[i]
        n_due = 0
        for i in order:
            visited[n_due] = i
            n_due += due[i] <= epoch
        visits += n_due
        worst = ZERO
        for k in range(n_due):
            i = visited[k]
            first, last = indptr[i], indptr[i + 1]
            _score(indices, data, first, last, weights, score)
            if earlier is not None:
                linked = earlier_rows[earlier_ptr[i] : earlier_ptr[i + 1]]
                _score_earlier(linked, weights, own, link, score, seen)
            if dense is not None:
                if k % BLOCK == 0:
                    score_block(
                        *(visited[k:n_due], vectors, documents, dense_weights),
                        *(block, products, dense_scores),
                    )
                for c in range(n_labels):
                    score[c] += dense_scores[k % BLOCK, c]
            for p in range(true_ptr[i], true_ptr[i + 1]):
                c = true[p]
                sign[c] = ONE
                limit[c] = true_cost[c]
                ridge[c] = true_ridge[c]
            q = square[i]
            largest = ZERO
            if logistic:
                for c in range(n_labels):
                    old = alpha[i, c]
                    change[c] = _logistic_step(old, sign[c] * score[c], q + seen[c], limit[c]) - old
                    largest = max(largest, abs(change[c]))
            else:
                for c in range(n_labels):
                    old = alpha[i, c]
                    slope = sign[c] * score[c] - ONE + ridge[c] * old
                    change[c] = max(old - slope / (q + seen[c] + ridge[c]), ZERO) - old
                    largest = max(largest, abs(change[c]))
            if earlier is not None:
                q += link * link * np.float32(len(linked))
            q += false_ridge
            worst = max(worst, largest * q)
            if largest * q < tolerance:
                pause[i] = pause[i] * 2 + 1
                due[i] = epoch + 1 + pause[i]
            else:
                pause[i] = 0
                small = np.float32(0.1) * tolerance / q
                m = 0
                for c in range(n_labels):
                    if abs(change[c]) > small:
                        touched[m] = c
                        m += 1
                for t in range(m):
                    alpha[i, touched[t]] += change[touched[t]]
                    steps[t] = change[touched[t]] * sign[touched[t]]
                if dense is not None:
                    move_labels(
                        *(k % BLOCK, touched[:m], steps),
                        *(block, products, dense_scores, dense_weights),
                    )
                if m * 16 < n_labels:  # very few labels moved: write only theirs
                    for t in range(m):
                        weights[n_features, touched[t]] += steps[t]
                    for p in range(first, last):
                        f = indices[p]
                        v = data[p]
                        for t in range(m):
                            weights[f, touched[t]] += v * steps[t]
                    if earlier is not None:
                        for r in linked:
                            for t in range(m):
                                if touched[t] >= _sees_from(r, own):
                                    weights[r, touched[t]] += link * steps[t]
                else:
                    for c in range(n_labels):
                        if abs(change[c]) <= small:
                            change[c] = ZERO
                        change[c] *= sign[c]
                        weights[n_features, c] += change[c]
                    for p in range(first, last):
                        f = indices[p]
                        v = data[p]
                        for c in range(width):
                            weights[f, c] += v * change[c]
                    if earlier is not None:
                        for r in linked:
                            for c in range(_sees_from(r, own), width):
                                weights[r, c] += link * change[c]
            for p in range(true_ptr[i], true_ptr[i + 1]):
                c = true[p]
                sign[c] = -ONE
                limit[c] = cost
                ridge[c] = false_ridge
            if earlier is not None and len(linked):
                seen[:] = ZERO
        if worst < tolerance:
            if n_due == n:
                return epoch + 1, visits
            due[:] = 0  # rows set aside have the last word
    return epochs, visits


@njit(cache=True, nogil=True)
def compress(weights, n_labels, features, order, threshold):
    """Keep the weights of at least ``threshold`` as sparse rows by feature.

    ``weights`` has a row for each of ``features``, which are ascending in this ``order``, and
    the bias as its last row, which is left out; the first ``n_labels`` columns count.
    At most 256 labels. Returns the features that have any, where each one's entries start, and
    the entries' labels and values.
    """
    n_rows = 0
    n_entries = 0
    for f in order:
        here = 0
        for c in range(n_labels):
            if abs(weights[f, c]) >= threshold:
                here += 1
        n_entries += here
        n_rows += here > 0
    kept = np.empty(n_rows, np.int32)
    ptr = np.zeros(n_rows + 1, np.int64)
    labels = np.empty(n_entries, np.uint8)
    values = np.empty(n_entries, np.float32)
    row = 0
    entry = 0
    for f in order:
        before = entry
        for c in range(n_labels):
            if abs(weights[f, c]) >= threshold:
                labels[entry] = c
                values[entry] = weights[f, c]
                entry += 1
        if entry > before:
            kept[row] = features[f]
            row += 1
            ptr[row] = entry
    return kept, ptr, labels, values


@njit(cache=True, nogil=True)
def join(features, starts, ends, order, labels, values):
    """Put sparse rows into ``order``, in which rows of one feature follow one another, as one.

    Row r has the feature ``features[r]`` and the entries from ``starts[r]`` to before
    ``ends[r]``. Returns what `compress` does.
    """
    kept = np.empty(len(order), np.int32)
    ptr = np.zeros(len(order) + 1, np.int64)
    new_labels = np.empty(len(labels), np.uint8)
    new_values = np.empty(len(values), np.float32)
    rows = 0
    entry = 0
    for r in order:
        if rows == 0 or kept[rows - 1] != features[r]:
            kept[rows] = features[r]
            rows += 1
        for e in range(starts[r], ends[r]):
            new_labels[entry] = labels[e]
            new_values[entry] = values[e]
            entry += 1
        ptr[rows] = entry
    return kept[:rows].copy(), ptr[: rows + 1].copy(), new_labels, new_values
