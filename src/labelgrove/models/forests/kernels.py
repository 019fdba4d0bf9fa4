"""Kernels of trees over documents: splitting a node, and descending trees.

Arrays in and out, nothing else; each is tested against plain numpy.
"""

import numpy as np

from labelgrove.core.jit import njit
from labelgrove.models.random_kernels import next_random

GAIN = 1e-6  # by which a round must raise the mean nDCG, or it was the last one
NEWTON_STEPS, SWEEPS, HALVINGS = 10, 10, 20
TOLERANCE = 0.01  # of the first violation of the optimum: Newton steps end there
DECREASE = 0.01  # share of the promised decrease that a step must bring
RIDGE = 1e-12  # keeps second derivatives above 0
LONGEST = 10.0  # change of a weight at most


@njit(cache=True, nogil=True)
def columns_of(indptr, indices, rows, place):
    """Return some rows of a csr matrix by column, with columns numbered anew.

    ``place`` is scratch of one int32 per column, all -1, and is left so. Returns offsets per new
    column, the place in ``rows`` and in the matrix of each entry, and the old number of each new
    column, in the order in which they occur.
    """
    total = 0
    for row in rows:
        total += indptr[row + 1] - indptr[row]
    known = np.empty(min(total, len(place)), np.int32)
    counts = np.zeros(len(known) + 1, np.int64)
    found = 0
    for row in rows:
        for p in range(indptr[row], indptr[row + 1]):
            column = indices[p]
            if place[column] < 0:
                place[column] = found
                known[found] = column
                found += 1
            counts[place[column] + 1] += 1
    ptr = np.cumsum(counts[: found + 1])
    at = ptr[:-1].copy()
    owner = np.empty(total, np.int32)
    entry = np.empty(total, np.int64)
    for i in range(len(rows)):
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            column = place[indices[p]]
            owner[at[column]] = i
            entry[at[column]] = p
            at[column] += 1
    for column in known[:found]:
        place[column] = -1
    return ptr, owner, entry, known[:found].copy()


@njit(cache=True, nogil=True)
def divide(ptr, owner, gains, sides):
    """Move rows to the side whose ranking of labels gives them the greater nDCG, until none gains.

    ``owner[ptr[c]:ptr[c + 1]]`` are the rows that have label c, which counts ``gains[c]``.
    ``sides`` holds -1 or 1 for each row and is changed. Each side ranks all labels by the sum of
    their gains among its rows, each divided by what the row could reach if gains were 1. Returns
    the mean of both sides' rows, as it was before the last moves.
    """
    n, n_labels = len(sides), len(gains)
    discount = 1.0 / np.log2(np.arange(2, n_labels + 2))
    ideal = np.concatenate((np.ones(1), np.cumsum(discount)))
    sizes = np.zeros(n, np.int64)
    for i in owner:
        sizes[i] += 1
    before = -2.0
    while True:
        sums = np.zeros((2, n_labels))
        for c in range(n_labels):
            for p in range(ptr[c], ptr[c + 1]):
                sums[(sides[owner[p]] + 1) // 2, c] += gains[c] / ideal[sizes[owner[p]]]
        difference = np.zeros(n_labels)
        now = 0.0
        for side in range(2):
            order = np.argsort(-sums[side], kind="mergesort")
            for rank in range(n_labels):
                difference[order[rank]] += (2 * side - 1) * discount[rank]
                now += discount[rank] * sums[side, order[rank]]
        now /= n
        gained = np.zeros(n)
        for c in range(n_labels):
            for p in range(ptr[c], ptr[c + 1]):
                gained[owner[p]] += gains[c] * difference[c]
        for i in range(n):
            if gained[i] > 0:
                sides[i] = 1
            elif gained[i] < 0:
                sides[i] = -1
        if now - before < GAIN:
            return now
        before = now


@njit(cache=True, nogil=True, inline="always")
def _violation(weight, slope):
    """Return by how much a weight of a sum of |weights| and a smooth loss violates its optimum."""
    if weight > 0:
        return abs(slope + 1.0)
    if weight < 0:
        return abs(slope - 1.0)
    return max(0.0, -(slope + 1.0), slope - 1.0)


@njit(cache=True, nogil=True)
def separate(ptr, owner, values, sides, costs, seed):
    """Return weights (D,) that minimise |w|_1 + sum of costs x log(1 + exp(-side x score)).

    ``owner[ptr[j]:ptr[j + 1]]`` are the rows that have feature j, with these ``values``. Newton
    steps, each by coordinate descent over the features with a line search behind it, as in
    Yuan, Ho and Lin, "An improved GLMNET for l1-regularized logistic regression", JMLR 2012.
    """
    n, width = len(sides), len(ptr) - 1
    weights, wanted = np.zeros(width), np.zeros(width)
    slopes, bends = np.zeros(width), np.zeros(width)
    scores, moves = np.zeros(n), np.zeros(n)
    pull, curve = np.zeros(n), np.zeros(n)
    active = np.arange(width)
    first, last_worst, inner = 0.0, np.inf, 1.0
    state = np.uint64(seed)
    for step in range(NEWTON_STEPS):
        for i in range(n):
            chance = 1.0 / (1.0 + np.exp(sides[i] * scores[i]))  # of the wrong side
            pull[i] = -costs[i] * sides[i] * chance
            curve[i] = costs[i] * chance * (1.0 - chance)
        total, worst, n_active = 0.0, 0.0, 0
        for j in range(width):
            slope, bend = 0.0, RIDGE
            for p in range(ptr[j], ptr[j + 1]):
                slope += values[p] * pull[owner[p]]
                bend += values[p] * values[p] * curve[owner[p]]
            slopes[j], bends[j] = slope, bend
            if weights[j] == 0.0 and abs(slope) < 1.0 - last_worst / n:
                continue  # it stays 0
            active[n_active] = j
            n_active += 1
            violation = _violation(weights[j], slope)
            total += violation
            worst = max(worst, violation)
        first = total if step == 0 else first
        if total <= TOLERANCE * first:
            break
        last_worst = worst
        moves[:] = 0.0
        wanted[:] = weights
        sweeps = 0
        for _ in range(SWEEPS):
            sweeps += 1
            for s in range(n_active - 1, 0, -1):
                state, drawn = next_random(state)
                other = np.int64(drawn % np.uint64(s + 1))
                active[s], active[other] = active[other], active[s]
            left = 0.0
            for j in active[:n_active]:
                slope = slopes[j] + (wanted[j] - weights[j]) * RIDGE
                for p in range(ptr[j], ptr[j + 1]):
                    slope += values[p] * curve[owner[p]] * moves[owner[p]]
                left += _violation(wanted[j], slope)
                if slope + 1.0 < bends[j] * wanted[j]:
                    change = -(slope + 1.0) / bends[j]
                elif slope - 1.0 > bends[j] * wanted[j]:
                    change = -(slope - 1.0) / bends[j]
                else:
                    change = -wanted[j]
                if abs(change) < 1e-12:
                    continue
                change = min(max(change, -LONGEST), LONGEST)
                wanted[j] += change
                for p in range(ptr[j], ptr[j + 1]):
                    moves[owner[p]] += values[p] * change
            if left <= inner * first:
                break
        if sweeps == 1:
            inner *= 0.25
        promised = np.sum(np.abs(wanted)) - np.sum(np.abs(weights))
        for j in range(width):
            promised += slopes[j] * (wanted[j] - weights[j])
        share, done = 1.0, False
        for _ in range(HALVINGS):
            change = 0.0
            for j in range(width):
                aim = weights[j] + share * (wanted[j] - weights[j])
                change += abs(aim) - abs(weights[j])
            for i in range(n):
                before, after = sides[i] * scores[i], sides[i] * (scores[i] + share * moves[i])
                change += costs[i] * (_log_loss(after) - _log_loss(before))
            if change <= DECREASE * share * promised:
                done = True
                break
            share *= 0.5
        if not done:
            break
        for j in range(width):
            weights[j] += share * (wanted[j] - weights[j])
        for i in range(n):
            scores[i] += share * moves[i]
    return weights


@njit(cache=True, nogil=True, inline="always")
def _log_loss(margin):
    """Return log(1 + exp(-margin)) without overflow."""
    return max(-margin, 0.0) + np.log1p(np.exp(-abs(margin)))


@njit(cache=True, nogil=True)
def split(
    indptr, indices, data, label_ptr, labels, gains, rows, cost, bias, seed, feature_place,
    label_place,
):  # fmt: skip
    """Split the documents ``rows`` of a node.

    Features and labels are csr matrices; ``gains`` of all labels, scratch of -1 for all features
    and labels. Returns the features that have a weight, these weights, that of a constant feature
    with the value ``bias``, and the score of each document; no features and no scores where the
    documents cannot be split.
    """
    n = len(rows)
    none = np.empty(0, np.int32), np.empty(0, np.float32), np.float32(0.0), np.empty(0)
    sides = np.empty(n, np.int64)
    state = np.uint64(seed)
    for i in range(n):
        state, drawn = next_random(state)
        sides[i] = 2 * np.int64(drawn & np.uint64(1)) - 1
    ptr, owner, _, known = columns_of(label_ptr, labels, rows, label_place)
    divide(ptr, owner, gains[known], sides)
    right = np.sum(sides > 0)
    if right == 0 or right == n:
        return none
    costs = np.empty(n)
    for i in range(n):
        costs[i] = cost * n / (right if sides[i] > 0 else n - right)
    ptr, owner, entry, known = columns_of(indptr, indices, rows, feature_place)
    ptr = np.append(ptr, ptr[-1] + n)
    owner = np.append(owner, np.arange(n).astype(np.int32))
    values = np.append(data[entry].astype(np.float64), np.full(n, bias))
    weights = separate(ptr, owner, values, sides, costs, state)
    scores = np.zeros(n)
    for j in range(len(weights)):
        weight = np.float64(np.float32(weights[j]))  # as they are kept
        if weight != 0.0:
            for p in range(ptr[j], ptr[j + 1]):
                scores[owner[p]] += values[p] * weight
    right = np.sum(scores >= 0)
    if right == 0 or right == n:
        return none
    kept = np.flatnonzero(weights[:-1])
    constant = np.float32(weights[-1] * bias)
    return known[kept], weights[kept].astype(np.float32), constant, scores


@njit(cache=True, nogil=True)
def descend(indptr, indices, data, first, children, ptr, features, weights, bias, roots, value, at):
    """Write the node in which each row of a csr matrix ends, for every tree, to ``at``.

    Rows are those from ``first`` on, ``at`` has shape (rows, trees). ``children`` (nodes, 2) has
    the nodes for a score below 0 and for others, -1 where a row ends; each comes behind its
    parent. ``value`` is scratch of one number per feature, all 0, and is left so.
    """
    for i in range(len(at)):
        begin, end = indptr[first + i], indptr[first + i + 1]
        for p in range(begin, end):
            value[indices[p]] = data[p]
        for t in range(len(roots)):
            node = roots[t]
            while children[node, 0] >= 0:
                score = np.float64(bias[node])
                for p in range(ptr[node], ptr[node + 1]):
                    score += value[features[p]] * weights[p]
                node = children[node, 1 if score >= 0 else 0]
            at[i, t] = node
        for p in range(begin, end):
            value[indices[p]] = 0.0


@njit(cache=True, nogil=True)
def products(indptr, indices, data, other_ptr, other_indices, other_data, pair_ptr, pair_indices):
    """Return the products of some rows of two csr matrices with sorted columns.

    Row i is multiplied with the other matrix' rows ``pair_indices[pair_ptr[i]:pair_ptr[i + 1]]``.
    """
    found = np.zeros(len(pair_indices))
    for i in range(len(pair_ptr) - 1):
        for q in range(pair_ptr[i], pair_ptr[i + 1]):
            low, end = other_ptr[pair_indices[q]], other_ptr[pair_indices[q] + 1]
            total = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                column, high = indices[p], end
                while low < high:  # columns ascend, so the search goes on where it was
                    middle = (low + high) // 2
                    if other_indices[middle] < column:
                        low = middle + 1
                    else:
                        high = middle
                if low < end and other_indices[low] == column:
                    total += np.float64(data[p]) * np.float64(other_data[low])
            found[q] = total
    return found
