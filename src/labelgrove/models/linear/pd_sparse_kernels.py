"""Kernels of PD-Sparse: passes over the documents in which few labels of each are looked at.

Arrays in and out, nothing else; each is tested against plain numpy.
"""

import numpy as np

from labelgrove.core.jit import njit

HALVINGS = 60  # of an interval that holds a threshold
NOTHING = 1e-12  # a dual variable below it is 0


@njit(cache=True, nogil=True)
def _threshold(values, other, total, low, high):
    """Return the number at which the parts of values above it have a sum.

    The sum is ``total``, or without ``other`` empty that of the parts of ``other`` above its
    negative.
    """
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        left = -total
        for value in values:
            left += max(value - middle, 0.0)
        for value in other:
            left -= max(value + middle, 0.0)
        if left > 0:
            low = middle
        else:
            high = middle
    return high


@njit(cache=True, nogil=True)
def project(true, false, cost):
    """Move both lists of numbers to the nearest ones from 0 that have the same sum, up to cost."""
    if np.max(true) + np.max(false) <= 0:
        true[:], false[:] = 0.0, 0.0
        return
    none = np.empty(0)
    by_false = _threshold(false, true, 0.0, -np.max(true), np.max(false))
    by_true = -by_false
    if np.sum(np.maximum(false - by_false, 0.0)) > cost:
        by_false = _threshold(false, none, cost, np.max(false) - cost, np.max(false))
        by_true = _threshold(true, none, cost, np.max(true) - cost, np.max(true))
    for k in range(len(true)):
        true[k] = max(true[k] - by_true, 0.0)
    for k in range(len(false)):
        false[k] = max(false[k] - by_false, 0.0)


@njit(cache=True, nogil=True)
def one_pass(
    indptr, indices, data, true_ptr, true, order, penalty, cost, added, seed,
    own_ptr, own_size, own_labels, own_alpha, row_start, row_size, row_room, labels, sums, used,
    n_labels,
):  # fmt: skip
    """Improve the dual variables of all documents in this order, one after another.

    Of document i, the labels ``own_labels[own_ptr[i]:][:own_size[i]]`` have dual variables, its
    true ones first; up to ``added`` wrong ones with the greatest scores join them, and those that
    end as 0 leave. The sums of feature j, data times dual variables, are
    ``sums[row_start[j]:][:row_size[j]]`` for these ``labels``, with room for ``row_room[j]`` in
    arrays of which ``used[0]`` cells are used; its weights are the parts beyond the penalty.
    Returns the arrays of labels and sums, which may have grown, and the mean change.
    """
    scores, change = np.zeros(n_labels), np.zeros(n_labels)
    taken = np.zeros(n_labels, np.bool_)
    state, moved = np.uint64(seed), 0.0
    for i in order:
        first, last = indptr[i], indptr[i + 1]
        n_true = true_ptr[i + 1] - true_ptr[i]
        square = 0.0
        for p in range(first, last):
            square += np.float64(data[p]) * np.float64(data[p])
        if n_true == 0 or n_true == n_labels or square == 0.0:
            continue
        scores[:] = 0.0
        for p in range(first, last):
            start = row_start[indices[p]]
            for q in range(start, start + row_size[indices[p]]):
                weight = abs(sums[q]) - penalty
                if weight > 0:
                    scores[labels[q]] += data[p] * weight * np.sign(sums[q])
        begin, size = own_ptr[i], own_size[i]
        for a in range(begin, begin + size):
            taken[own_labels[a]] = True
        for _ in range(added):
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            shift = np.int64((state >> np.uint64(33)) % np.uint64(n_labels))
            best, highest = -1, -1.0  # lower scores are right by a margin of 1
            for step in range(n_labels):  # of equal ones a random one
                k = step + shift if step + shift < n_labels else step + shift - n_labels
                if not taken[k] and scores[k] > highest:
                    best, highest = k, scores[k]
            if best < 0:
                break
            own_labels[begin + size], own_alpha[begin + size] = best, 0.0
            taken[best] = True
            size += 1
        for a in range(begin, begin + size):
            taken[own_labels[a]] = False
        if size == n_true:
            continue
        right, wrong = np.empty(n_true), np.empty(size - n_true)
        for a in range(size):
            k, alpha = own_labels[begin + a], own_alpha[begin + a]
            if a < n_true:
                right[a] = alpha - scores[k] / square
            else:
                wrong[a - n_true] = alpha + (1.0 + scores[k]) / square
        project(right, wrong, cost)
        largest, kept = 0.0, begin
        for a in range(size):
            k, alpha = own_labels[begin + a], own_alpha[begin + a]
            now = right[a] if a < n_true else wrong[a - n_true]
            change[k] = now - alpha if a < n_true else alpha - now
            largest = max(largest, abs(change[k]))
            taken[k] = abs(change[k]) > NOTHING
        moved += largest
        for p in range(first, last) if largest > NOTHING else range(0):
            j = indices[p]
            start, end = row_start[j], row_start[j] + row_size[j]
            for q in range(start, end):
                if taken[labels[q]]:
                    sums[q] += data[p] * change[labels[q]]
                    taken[labels[q]] = False
            missing = 0
            for a in range(begin, begin + size):
                missing += taken[own_labels[a]]
            if row_size[j] + missing > row_room[j]:
                room = 2 * (row_size[j] + missing)
                while used[0] + room > len(labels):
                    labels = np.append(labels, np.zeros(len(labels), np.int32))
                    sums = np.append(sums, np.zeros(len(sums), np.float32))
                labels[used[0] : used[0] + row_size[j]] = labels[start:end]
                sums[used[0] : used[0] + row_size[j]] = sums[start:end]
                row_start[j], row_room[j] = used[0], room
                used[0] += room
            for a in range(begin, begin + size):
                k = own_labels[a]
                if taken[k]:
                    place = row_start[j] + row_size[j]
                    labels[place], sums[place] = k, data[p] * change[k]
                    row_size[j] += 1
                taken[k] = abs(change[k]) > NOTHING
        for a in range(size):
            k = own_labels[begin + a]
            taken[k] = False
            now = right[a] if a < n_true else wrong[a - n_true]
            if a < n_true or now > NOTHING:
                own_labels[kept], own_alpha[kept] = k, now
                kept += 1
        own_size[i] = kept - begin
    return labels, sums, moved / max(len(order), 1)
