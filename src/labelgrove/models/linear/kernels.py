"""Kernels of the linear models: training one node, and scoring its children.

Arrays in and out, nothing else; each is tested against plain numpy. A node's labels are the
contiguous inner axis everywhere, so that one pass over a document's features serves all of them
with vector instructions.
"""

import numpy as np
from numba import njit

ONE = np.float32(1.0)
ZERO = np.float32(0.0)


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
def _random(state):
    """Return the next state of a generator of 64-bit numbers (splitmix64), and a number."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    mixed = state
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, mixed ^ (mixed >> np.uint64(31))


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


@njit(cache=True, nogil=True, fastmath=True)
def solve(
    indptr, indices, data, true_ptr, true, weights, cost, logistic, epochs, tolerance, seed
):  # fmt: skip
    """Train the classifiers of all labels of a node at once, by dual coordinate descent.

    Minimises |w|^2 / 2 + cost * sum of losses for each label, with a constant feature 1 for the
    bias. ``true[true_ptr[i]:true_ptr[i + 1]]`` are the labels of row i. ``weights`` of shape
    (features + 1, labels), zero at first, is the result; its last row is the bias.

    A row on which no label violates its optimum by ``tolerance`` is set aside for one epoch,
    then two, four and so on: most rows mean nothing to most labels. It ends when a pass over all
    rows finds no violation. Returns the number of epochs and of rows visited.
    """
    n = len(indptr) - 1
    n_features = weights.shape[0] - 1
    n_labels = weights.shape[1]
    ridge = np.float32(0.0) if logistic else np.float32(0.5 / cost)
    start = np.float32(cost * 1e-3) if logistic else ZERO
    square = np.empty(n, np.float32)
    for i in range(n):
        total = ONE
        for p in range(indptr[i], indptr[i + 1]):
            total += data[p] * data[p]
        square[i] = total + ridge
    alpha = np.full((n, n_labels), start)
    sign = np.full(n_labels, -ONE)
    if logistic:  # the weights that belong to the first alphas
        for i in range(n):
            for p in range(true_ptr[i], true_ptr[i + 1]):
                sign[true[p]] = ONE
            for c in range(n_labels):
                weights[n_features, c] += start * sign[c]
            for p in range(indptr[i], indptr[i + 1]):
                for c in range(n_labels):
                    weights[indices[p], c] += data[p] * start * sign[c]
            for p in range(true_ptr[i], true_ptr[i + 1]):
                sign[true[p]] = -ONE
    score = np.empty(n_labels, np.float32)
    change = np.empty(n_labels, np.float32)
    touched = np.empty(n_labels, np.int32)
    order = np.arange(n).astype(np.int32)
    due = np.zeros(n, np.int32)
    pause = np.zeros(n, np.int32)
    state = np.uint64(seed)
    visits = 0
    for epoch in range(epochs):
        for i in range(n - 1, 0, -1):
            state, drawn = _random(state)
            j = np.int64(drawn % np.uint64(i + 1))
            order[i], order[j] = order[j], order[i]
        worst = ZERO
        before = visits
        for k in range(n):
            i = order[k]
            if due[i] > epoch:
                continue
            visits += 1
            first, last = indptr[i], indptr[i + 1]
            for c in range(n_labels):
                score[c] = weights[n_features, c]
            for p in range(first, last):
                f = indices[p]
                v = data[p]
                for c in range(n_labels):
                    score[c] += v * weights[f, c]
            for p in range(true_ptr[i], true_ptr[i + 1]):
                sign[true[p]] = ONE
            q = square[i]
            inverse = ONE / q
            largest = ZERO
            if logistic:
                for c in range(n_labels):
                    old = alpha[i, c]
                    change[c] = _logistic_step(old, sign[c] * score[c], q, cost) - old
                    largest = max(largest, abs(change[c]))
            else:
                for c in range(n_labels):
                    old = alpha[i, c]
                    slope = sign[c] * score[c] - ONE + ridge * old
                    change[c] = max(old - slope * inverse, ZERO) - old
                    largest = max(largest, abs(change[c]))
            worst = max(worst, largest * q)
            if largest * q < tolerance:
                pause[i] = pause[i] * 2 + 1
                due[i] = epoch + 1 + pause[i]
            else:
                pause[i] = 0
                small = np.float32(0.1) * tolerance * inverse
                m = 0
                for c in range(n_labels):
                    if abs(change[c]) > small:
                        touched[m] = c
                        m += 1
                for t in range(m):
                    alpha[i, touched[t]] += change[touched[t]]
                if m * 4 < n_labels:  # few labels moved: write only theirs
                    for t in range(m):
                        c = touched[t]
                        change[t] = change[c] * sign[c]
                        weights[n_features, c] += change[t]
                    for p in range(first, last):
                        f = indices[p]
                        v = data[p]
                        for t in range(m):
                            weights[f, touched[t]] += v * change[t]
                else:
                    for c in range(n_labels):
                        if abs(change[c]) <= small:
                            change[c] = ZERO
                        change[c] *= sign[c]
                        weights[n_features, c] += change[c]
                    for p in range(first, last):
                        f = indices[p]
                        v = data[p]
                        for c in range(n_labels):
                            weights[f, c] += v * change[c]
            for p in range(true_ptr[i], true_ptr[i + 1]):
                sign[true[p]] = -ONE
        if worst < tolerance:
            if visits - before == n:
                return epoch + 1, visits
            due[:] = 0  # rows set aside have the last word
    return epochs, visits


@njit(cache=True, nogil=True)
def compress(weights, features, threshold):
    """Keep the weights (f + 1, c) of at least ``threshold`` as sparse rows by feature.

    Returns the features that have any, where each one's entries start, and the entries' labels
    and values; the bias, the last row, is left out.
    """
    n_features = weights.shape[0] - 1
    n_labels = weights.shape[1]
    n_rows = 0
    n_entries = 0
    for f in range(n_features):
        here = 0
        for c in range(n_labels):
            if abs(weights[f, c]) >= threshold:
                here += 1
        n_entries += here
        n_rows += here > 0
    kept = np.empty(n_rows, np.int32)
    ptr = np.zeros(n_rows + 1, np.int64)
    labels = np.empty(n_entries, np.uint16)
    values = np.empty(n_entries, np.float32)
    row = 0
    entry = 0
    for f in range(n_features):
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


@njit(cache=True, nogil=True, inline="always")
def _find(features, start, end, wanted):
    """Return the place of the first of the ascending features[start:end] not below ``wanted``."""
    while start < end:
        middle = (start + end) >> 1
        if features[middle] < wanted:
            start = middle + 1
        else:
            end = middle
    return start


@njit(cache=True, nogil=True)
def score_chunk(
    indptr, indices, data, pairs, pair_row, pair_out, out, chunk,
    chunk_child, chunk_rows, row_feature, row_ptr, entry_label, entry_value, place,
):  # fmt: skip
    """Add the scores of one chunk's children for all rows that visit its node.

    ``pairs`` are the visits, ``pair_row`` the row of each, and the scores of visit p go to
    ``out`` from ``pair_out[p] + chunk_child[chunk]`` on. ``place`` is scratch as in `gather`.
    Many visits pay for a table of the chunk's features, few are looked up one by one.
    """
    first, last = chunk_rows[chunk], chunk_rows[chunk + 1]
    offset = chunk_child[chunk]
    table = len(pairs) * 8 > last - first
    if table:
        for r in range(first, last):
            place[row_feature[r]] = r
    for p in pairs:
        i = pair_row[p]
        base = pair_out[p] + offset
        for q in range(indptr[i], indptr[i + 1]):
            feature = indices[q]
            if table:
                r = place[feature]
                if r < 0:
                    continue
            else:
                r = _find(row_feature, first, last, feature)
                if r == last or row_feature[r] != feature:
                    continue
            v = data[q]
            for e in range(row_ptr[r], row_ptr[r + 1]):
                out[base + entry_label[e]] += v * entry_value[e]
    if table:
        for r in range(first, last):
            place[row_feature[r]] = -1


@njit(cache=True, nogil=True, inline="always")
def _insert(nodes, logps, found, node, logp):
    """Put a node into lists that hold the best ones so far, best first; return how many."""
    k = len(nodes)
    j = found
    if found == k:
        worst = logps[k - 1]
        if logp < worst or (logp == worst and node > nodes[k - 1]):
            return found
        j = k - 1
    else:
        found += 1
    while j > 0 and (logps[j - 1] < logp or (logps[j - 1] == logp and nodes[j - 1] > node)):
        logps[j] = logps[j - 1]
        nodes[j] = nodes[j - 1]
        j -= 1
    logps[j] = logp
    nodes[j] = node
    return found


@njit(cache=True, nogil=True, inline="always")
def _log_probability(score, sharpness):
    """Return log(1 / (1 + exp(-sharpness * score))) without overflow."""
    s = -sharpness * score
    if s > 20.0:
        return -s
    if s < -20.0:
        return np.float32(0.0)
    return np.float32(-np.log1p(np.exp(s)))


@njit(cache=True, nogil=True)
def select(
    pair_ptr, pair_node, pair_logp, pair_out, out, child_ptr, child, sharpness, nodes, logps
):
    """Choose the best k children over all visits of each row.

    Row i visits ``pair_node[pair_ptr[i]:pair_ptr[i + 1]]``, each reached with ``pair_logp``; raw
    scores of the children are in ``out``. A child's probability given its parent is
    1 / (1 + exp(-sharpness * score)), in logarithms so that none is lost. Results go to ``nodes``
    and ``logps`` of shape (n, k), best first, equal ones by number; -1 where there are fewer.
    """
    for i in range(len(pair_ptr) - 1):
        found = 0
        for p in range(pair_ptr[i], pair_ptr[i + 1]):
            node = pair_node[p]
            start = child_ptr[node]
            for c in range(start, child_ptr[node + 1]):
                logp = pair_logp[p] + _log_probability(out[pair_out[p] + c - start], sharpness)
                found = _insert(nodes[i], logps[i], found, child[c], logp)


@njit(cache=True, nogil=True)
def rank_one(
    indices, data, root, depth, beam, sharpness, carry, child_ptr, child, bias, chunk_ptr,
    chunk_child, chunk_rows, row_feature, row_ptr, entry_label, entry_value, nodes, logps,
):  # fmt: skip
    """Descend one tree for one row, as `score_chunk` and `select` do for many.

    The best labels and their log probabilities go to ``nodes`` and ``logps`` of shape (k,). The
    log probability of a label's path counts ``carry`` times.
    """
    k = len(nodes)
    here = np.full(max(beam, 1), -1, np.int32)
    here_logps = np.zeros(max(beam, 1), np.float32)
    here[0] = root
    n_here = 1
    for level in range(depth):
        if level == depth - 1:
            here_logps *= carry
        width = k if level == depth - 1 else max(beam, 1)
        below = np.full(width, -1, np.int32)
        below_logps = np.full(width, -np.inf, np.float32)
        found = 0
        for h in range(n_here):
            node = here[h]
            start, end = child_ptr[node], child_ptr[node + 1]
            score = bias[start:end].copy()
            for chunk in range(chunk_ptr[node], chunk_ptr[node + 1]):
                first, last = chunk_rows[chunk], chunk_rows[chunk + 1]
                offset = chunk_child[chunk]
                for q in range(len(indices)):
                    r = _find(row_feature, first, last, indices[q])
                    if r < last and row_feature[r] == indices[q]:
                        for e in range(row_ptr[r], row_ptr[r + 1]):
                            score[offset + entry_label[e]] += data[q] * entry_value[e]
            for c in range(start, end):
                logp = here_logps[h] + _log_probability(score[c - start], sharpness)
                found = _insert(below, below_logps, found, child[c], logp)
        here, here_logps, n_here = below, below_logps, found
    nodes[:] = here
    logps[:] = here_logps
