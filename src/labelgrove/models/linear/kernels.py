"""Kernels of the linear models: training one node, and scoring its children.

Arrays in and out, nothing else; each is tested against plain numpy. A node's labels are the
contiguous inner axis everywhere, so that one pass over a document's features serves all of them
with vector instructions.
"""

import numpy as np
from numba import njit

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


@njit(cache=True, nogil=True, fastmath=FAST)
def solve(
    indptr, indices, data, true_ptr, true, weights, cost, true_cost, logistic, epochs, tolerance,
    seed,
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
    """
    n = len(indptr) - 1
    n_features = weights.shape[0] - 1
    n_labels = len(true_cost)
    width = weights.shape[1]
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
            for p in range(true_ptr[i], true_ptr[i + 1]):
                sign[true[p]] = -ONE
    score = np.empty(width, np.float32)
    change = np.zeros(width, np.float32)
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
            _score(indices, data, first, last, weights, score)
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
                    change[c] = _logistic_step(old, sign[c] * score[c], q, limit[c]) - old
                    largest = max(largest, abs(change[c]))
            else:
                for c in range(n_labels):
                    old = alpha[i, c]
                    slope = sign[c] * score[c] - ONE + ridge[c] * old
                    change[c] = max(old - slope / (q + ridge[c]), ZERO) - old
                    largest = max(largest, abs(change[c]))
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
                if m * 16 < n_labels:  # very few labels moved: write only theirs
                    for t in range(m):  # touched[t] is at least t
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
                        for c in range(width):
                            weights[f, c] += v * change[c]
            for p in range(true_ptr[i], true_ptr[i + 1]):
                c = true[p]
                sign[c] = -ONE
                limit[c] = cost
                ridge[c] = false_ridge
        if worst < tolerance:
            if visits - before == n:
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


# --- ranking ----------------------------------------------------------------------------------


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
def score_chunk(indptr, indices, data, rows, visits, out_ptr, out, node, chunk, tables, place):
    """Write the scores of one chunk's children for the rows that visit its node.

    ``visits`` are the visits, ``rows`` the row of each, and the scores of visit v go to ``out``
    from ``out_ptr[v]`` on, where all children of the node have their places. ``place`` is scratch
    as in `gather`, or empty, and is returned: many visits pay for a table of the chunk's
    features, few are looked up one by one.
    """
    first, last = tables.chunk_rows[chunk], tables.chunk_rows[chunk + 1]
    offset = tables.chunk_child[chunk]
    own = tables.child_ptr[node + 1] - tables.child_ptr[node]
    if chunk + 1 < tables.chunk_ptr[node + 1]:
        own = tables.chunk_child[chunk + 1]
    own -= offset
    bias = tables.bias[tables.child_ptr[node] + offset :][:own]
    entries = tables.chunk_entries[chunk]
    scale = tables.chunk_scale[chunk]
    table = len(visits) > 8 and len(visits) * 8 > last - first
    if table:
        if len(place) == 0:
            place = np.full(tables.n_features, -1, np.int32)
        for r in range(first, last):
            place[tables.row_feature[r]] = r - first
    for v in visits:
        i = rows[v]
        score = out[out_ptr[v] + offset :][:own]
        score[:] = bias
        for q in range(indptr[i], indptr[i + 1]):
            feature = indices[q]
            if table:
                if place[feature] < 0:
                    continue
                r = first + place[feature]
            else:
                r = _find(tables.row_feature, first, last, feature)
                if r == last or tables.row_feature[r] != feature:
                    continue
            x = data[q] * scale
            start = entries + tables.row_ptr[r + chunk]
            for e in range(start, entries + tables.row_ptr[r + chunk + 1]):
                score[tables.entry_label[e]] += x * np.float32(tables.entry_value[e])
    if table:
        for r in range(first, last):
            place[tables.row_feature[r]] = -1
    return place


@njit(cache=True, nogil=True, inline="always")
def _insert(nodes, scores, found, node, score):
    """Put a node into lists that hold the best ones so far, best first; return how many."""
    k = len(nodes)
    j = found
    if found == k:
        worst = scores[k - 1]
        if score < worst or (score == worst and node > nodes[k - 1]):
            return found
        j = k - 1
    else:
        found += 1
    while j > 0 and (scores[j - 1] < score or (scores[j - 1] == score and nodes[j - 1] > node)):
        scores[j] = scores[j - 1]
        nodes[j] = nodes[j - 1]
        j -= 1
    scores[j] = score
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
def keep_best(children, reached, score, sharpness, found, nodes, logps):
    """Let the children of a node reached with log probability ``reached`` compete for places.

    A child's probability given its parent is 1 / (1 + exp(-sharpness * score)), in logarithms so
    that none is lost. ``nodes`` and ``logps``, shape (k,), hold the ``found`` best so far, best
    first, equal ones by number; returns how many they hold now.
    """
    k = len(nodes)
    for c in range(len(children)):
        # a logarithm for every child is dear: most are out by this bound on it
        if found == k and reached + min(ZERO, sharpness * score[c]) < logps[k - 1]:
            continue
        logp = reached + _log_probability(score[c], sharpness)
        found = _insert(nodes, logps, found, children[c], logp)
    return found


@njit(cache=True, nogil=True)
def _by_node(visit_node, n_nodes):
    """Return the visits in the order of their nodes, by counting."""
    ends = np.zeros(n_nodes + 1, np.int64)
    for node in visit_node:
        ends[node + 1] += 1
    for node in range(n_nodes):
        ends[node + 1] += ends[node]
    order = np.empty(len(visit_node), np.int64)
    for v in range(len(visit_node)):
        order[ends[visit_node[v]]] = v
        ends[visit_node[v]] += 1
    return order


@njit(cache=True, nogil=True)
def rank_rows(
    indptr, indices, data, first, last, root, depth, beam, sharpness, carry, tables, nodes, logps
):
    """Descend one tree for the rows from ``first`` to before ``last`` of a csr matrix.

    On each level a node serves all rows that visit it before the next node is read. The best
    labels and their log probabilities go to ``nodes`` and ``logps`` of shape (n, k), best first,
    -1 and -inf where there are fewer. The log probability of a label's path counts ``carry``
    times, of an only child's once.
    """
    n = last - first
    here = np.full((n, 1), root, np.int32)
    here_logps = np.zeros((n, 1), np.float32)
    place = np.empty(0, np.int32)
    for level in range(depth):
        leaves = level == depth - 1
        below = nodes if leaves else np.empty((n, beam), np.int32)
        below_logps = logps if leaves else np.empty((n, beam), np.float32)
        below[:] = -1
        below_logps[:] = -np.inf
        visit_row = np.empty(here.size, np.int64)
        visit_node = np.empty(here.size, np.int64)
        out_ptr = np.empty(here.size, np.int64)
        n_visits = 0
        size = 0
        for i in range(n):
            for h in range(here.shape[1]):
                if here[i, h] >= 0:
                    visit_row[n_visits] = first + i
                    visit_node[n_visits] = here[i, h]
                    out_ptr[n_visits] = size
                    n_visits += 1
                    size += tables.child_ptr[here[i, h] + 1] - tables.child_ptr[here[i, h]]
        out = np.empty(size, np.float32)
        visit_node = visit_node[:n_visits]
        # a row visits no node twice
        order = np.arange(n_visits) if n == 1 else _by_node(visit_node, len(tables.child_ptr) - 1)
        start = 0
        while start < n_visits:
            node = visit_node[order[start]]
            end = start + 1
            while end < n_visits and visit_node[order[end]] == node:
                end += 1
            for chunk in range(tables.chunk_ptr[node], tables.chunk_ptr[node + 1]):
                place = score_chunk(
                    indptr, indices, data, visit_row, order[start:end], out_ptr, out, node, chunk,
                    tables, place,
                )  # fmt: skip
            start = end
        v = 0
        for i in range(n):
            found = 0
            for h in range(here.shape[1]):
                node = here[i, h]
                if node >= 0:
                    start, end = tables.child_ptr[node], tables.child_ptr[node + 1]
                    reached = here_logps[i, h]
                    if leaves and end - start > 1:  # an only child has nothing but its path
                        reached *= carry
                    found = keep_best(
                        tables.child[start:end], reached, out[out_ptr[v] :], sharpness, found,
                        below[i], below_logps[i],
                    )  # fmt: skip
                    v += 1
        here, here_logps = below, below_logps


@njit(cache=True, nogil=True)
def average(labels, scores, mean_labels, mean_scores):
    """Average the scores of t rankings, shape (t, n, m); a label that one lacks has 0 there.

    The best k labels and their means go to ``mean_labels`` and ``mean_scores`` of shape (n, k),
    best first, equal ones by number; -1 and 0 where there are fewer.
    """
    n_rankings = len(labels)
    mean_labels[:] = -1
    mean_scores[:] = 0
    for i in range(labels.shape[1]):
        own = labels[:, i].copy().ravel()
        own_scores = scores[:, i].copy().ravel()
        order = np.argsort(own, kind="mergesort")
        found = 0
        j = 0
        while j < len(own):
            label = own[order[j]]
            total = ZERO
            while j < len(own) and own[order[j]] == label:
                total += own_scores[order[j]]
                j += 1
            if label >= 0:
                mean = total / np.float32(n_rankings)
                found = _insert(mean_labels[i], mean_scores[i], found, label, mean)
