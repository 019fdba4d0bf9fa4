"""Loops over sparse rows, compiled: heaviest entries, balanced halves, spherical k-means."""

import numpy as np

from labelgrove.core.jit import njit


@njit(cache=True, nogil=True)
def scale_rows(indptr, data):
    """Scale each row to length 1, in place; rows of zeros stay."""
    for i in range(len(indptr) - 1):
        square = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            square += np.float64(data[j]) * np.float64(data[j])
        if square > 0.0:
            scale = 1.0 / np.sqrt(square)
            for j in range(indptr[i], indptr[i + 1]):
                data[j] *= scale


@njit(cache=True, nogil=True)
def largest(values, m):
    """Mark the m largest values; of equal ones at the edge those that stand first.

    Quickselect by hand: numba takes many seconds to compile its sorts.
    """
    work = values.copy()
    low, high, wanted = 0, len(work) - 1, m - 1
    while low < high:
        a, b, c = work[low], work[(low + high) // 2], work[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while work[i] > pivot:
                i += 1
            while work[j] < pivot:
                j -= 1
            if i <= j:
                work[i], work[j] = work[j], work[i]
                i += 1
                j -= 1
        if wanted <= j:
            high = j
        elif wanted >= i:
            low = i
        else:
            break
    edge = work[wanted]
    left = m
    for i in range(len(values)):
        left -= values[i] > edge
    chosen = np.zeros(len(values), np.bool_)
    for i in range(len(values)):
        if values[i] > edge:
            chosen[i] = True
        elif values[i] == edge and left > 0:
            chosen[i] = True
            left -= 1
    return chosen


@njit(cache=True, nogil=True)
def heaviest_entries(indptr, data, m):
    """Mark the m entries of largest absolute value in each row; equal ones by place."""
    kept = np.ones(len(data), np.bool_)
    for i in range(len(indptr) - 1):
        start, end = indptr[i], indptr[i + 1]
        if end - start <= m:
            continue
        kept[start:end] = largest(np.abs(data[start:end]), m)
    return kept


@njit(cache=True, nogil=True)
def local_rows(indptr, indices, data, rows, slots):
    """Copy some rows, their features renumbered by first use, so that a node's sums are small.

    `slots` is a workspace of one -1 for each feature, and is left so.
    Returns offsets, features, values and the number of features.
    """
    n = len(rows)
    offsets = np.zeros(n + 1, np.int64)
    for i in range(n):
        offsets[i + 1] = offsets[i] + indptr[rows[i] + 1] - indptr[rows[i]]
    features = np.empty(offsets[n], np.int32)
    values = np.empty(offsets[n], np.float32)
    used = np.empty(min(offsets[n], len(slots)), np.int32)
    m = 0
    for i in range(n):
        shift = indptr[rows[i]] - offsets[i]
        for j in range(offsets[i], offsets[i + 1]):
            feature = indices[j + shift]
            if slots[feature] < 0:
                slots[feature] = m
                used[m] = feature
                m += 1
            features[j] = slots[feature]
            values[j] = data[j + shift]
    for j in range(m):
        slots[used[j]] = -1
    return offsets, features, values, m


@njit(cache=True, nogil=True)
def dot_rows(offsets, features, values, weights, out):
    """Write the product of each row with a dense vector to `out`."""
    for i in range(len(out)):
        total = np.float32(0.0)
        for j in range(offsets[i], offsets[i + 1]):
            total += values[j] * weights[features[j]]
        out[i] = total


@njit(cache=True, nogil=True)
def sharpen(offsets, features, values, weights, steps):
    """Turn `weights` towards the direction in which the rows differ most: power iteration."""
    n = len(offsets) - 1
    scores = np.empty(n, np.float32)
    for _ in range(steps):
        dot_rows(offsets, features, values, weights, scores)
        mean = np.float32(np.mean(scores.astype(np.float64)))
        turned = np.zeros(len(weights), np.float32)
        for i in range(n):
            for j in range(offsets[i], offsets[i + 1]):
                turned[features[j]] += (scores[i] - mean) * values[j]
        length = 0.0
        for f in range(len(turned)):
            length += turned[f] * turned[f]
        if length == 0.0:
            return
        weights[:] = turned / np.float32(np.sqrt(length))


@njit(cache=True, nogil=True)
def halve(offsets, features, values, n_features, first, second, steps, rounds, tolerance):
    """Split rows into exact halves by spherical 2-means; returns who is in the first half.

    Starts from the rows `first` and `second`. With unit rows the sum of cosines to the own
    centroid is the sum of the two centroids' lengths before scaling, and which half a row is
    nearer to depends on the difference of the centroids only: one dense vector is enough.
    """
    n = len(offsets) - 1
    half = (n + 1) // 2
    weights = np.zeros(n_features, np.float32)
    for j in range(offsets[first], offsets[first + 1]):
        weights[features[j]] += values[j]
    for j in range(offsets[second], offsets[second + 1]):
        weights[features[j]] -= values[j]
    sharpen(offsets, features, values, weights, steps)

    total = np.zeros(n_features, np.float64)
    for j in range(offsets[n]):
        total[features[j]] += values[j]
    ours = np.zeros(n_features, np.float64)
    left = np.zeros(n, np.bool_)
    scores = np.empty(n, np.float32)
    best = -1.0
    for _ in range(rounds):
        dot_rows(offsets, features, values, weights, scores)
        now = largest(scores, half)
        for i in range(n):
            if now[i] != left[i]:
                sign = 1.0 if now[i] else -1.0
                for j in range(offsets[i], offsets[i + 1]):
                    ours[features[j]] += sign * values[j]
        left = now
        a = 0.0
        b = 0.0
        for f in range(n_features):
            a += ours[f] ** 2
            b += (total[f] - ours[f]) ** 2
        a = np.sqrt(a)
        b = np.sqrt(b)
        if a + b <= best * (1.0 + tolerance):
            break
        best = a + b
        scale_a = 1.0 / a if a > 0.0 else 0.0
        scale_b = 1.0 / b if b > 0.0 else 0.0
        for f in range(n_features):
            weights[f] = ours[f] * scale_a - (total[f] - ours[f]) * scale_b
    return left


@njit(cache=True, nogil=True)
def halve_nodes(
    indptr,
    indices,
    data,
    n_features,
    order,
    bounds,
    firsts,
    seconds,
    begin,
    end,
    steps,
    rounds,
    tolerance,
):
    """Reorder `order` within the nodes begin to end so that each begins with its first half.

    Node v holds the rows order[bounds[v]:bounds[v + 1]], sorted; so do its halves afterwards.
    """
    slots = np.full(n_features, -1, np.int32)
    for v in range(begin, end):
        rows = order[bounds[v] : bounds[v + 1]].copy()
        if len(rows) < 2:
            continue
        offsets, features, values, m = local_rows(indptr, indices, data, rows, slots)
        left = halve(offsets, features, values, m, firsts[v], seconds[v], steps, rounds, tolerance)
        there = bounds[v]
        for i in range(len(rows)):
            if left[i]:
                order[there] = rows[i]
                there += 1
        for i in range(len(rows)):
            if not left[i]:
                order[there] = rows[i]
                there += 1


@njit(cache=True, nogil=True)
def cosines(i, offsets, features, values, sums, scales, out):
    """Write the cosines of row i with all centroids to `out`; sums has shape (features, k)."""
    out[:] = np.float32(0.0)
    for j in range(offsets[i], offsets[i + 1]):
        row = sums[features[j]]
        value = values[j]
        for c in range(len(out)):
            out[c] += value * row[c]
    for c in range(len(out)):
        out[c] *= scales[c]


@njit(cache=True, nogil=True)
def nearest(begin, end, offsets, features, values, sums, scales, chosen, best, second):
    """Find the nearest centroid of the rows begin to end, its cosine and the next best one."""
    scores = np.empty(len(scales), np.float32)
    for i in range(begin, end):
        cosines(i, offsets, features, values, sums, scales, scores)
        best[i] = second[i] = np.float32(-np.inf)
        for c in range(len(scores)):
            if scores[c] > best[i]:
                second[i] = best[i]
                best[i] = scores[c]
                chosen[i] = c
            elif scores[c] > second[i]:
                second[i] = scores[c]


@njit(cache=True, nogil=True)
def mend(chosen, best, k):
    """Let rows that are near to no centroid join the smallest cluster, and leave none empty.

    An empty cluster takes the row that is farthest from its own centroid. Needs n >= k.
    """
    sizes = np.zeros(k, np.int64)
    for i in range(len(chosen)):
        if best[i] > 0.0:
            sizes[chosen[i]] += 1
    for i in range(len(chosen)):
        if not best[i] > 0.0:
            chosen[i] = np.argmin(sizes)
            sizes[chosen[i]] += 1
    for c in range(k):
        if sizes[c] == 0:
            far = -1
            for i in range(len(chosen)):
                if sizes[chosen[i]] > 1 and (far < 0 or best[i] < best[far]):
                    far = i
            sizes[chosen[far]] -= 1
            chosen[far] = c
            sizes[c] = 1


@njit(cache=True, nogil=True)
def fill(order, offsets, features, values, sums, scales, chosen):
    """Let rows choose, in this order, the nearest centroid that has room.

    Sizes differ by at most one. Cosines are computed again rather than kept, since n x k of
    them may not fit.
    """
    n, k = len(order), len(scales)
    scores = np.empty(k, np.float32)
    sizes = np.zeros(k, np.int64)
    room, larger = n // k, n % k  # so many clusters may take one more
    for i in order:
        cosines(i, offsets, features, values, sums, scales, scores)
        taken = -1
        for c in range(k):
            free = sizes[c] < room or (sizes[c] == room and larger > 0)
            if free and (taken < 0 or scores[c] > scores[taken]):
                taken = c
        if sizes[taken] == room:
            larger -= 1
        sizes[taken] += 1
        chosen[i] = taken


@njit(cache=True, nogil=True)
def regroup(chosen, held, offsets, features, values, sums):
    """Move rows between the sums from cluster `held` (-1 for none) to `chosen`.

    Brings `held` up to date and returns the lengths of the sums, shape (k,).
    """
    for i in range(len(chosen)):
        if chosen[i] != held[i]:
            for j in range(offsets[i], offsets[i + 1]):
                if held[i] >= 0:
                    sums[features[j], held[i]] -= values[j]
                sums[features[j], chosen[i]] += values[j]
            held[i] = chosen[i]
    squares = np.zeros(sums.shape[1], np.float64)
    for f in range(sums.shape[0]):
        for c in range(sums.shape[1]):
            squares[c] += sums[f, c] * sums[f, c]
    return np.sqrt(squares)
