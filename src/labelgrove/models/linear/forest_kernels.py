"""Kernels of ranking: scoring the children of nodes, and descending a tree.

Arrays in and out, nothing else; each is tested against plain numpy.
"""

import numpy as np

from labelgrove.core.jit import njit
from labelgrove.models.linear.dense_kernels import write_scores

ZERO = np.float32(0.0)


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
    indptr, indices, data, dense, rows, visits, out_ptr, out, node, chunk, tables, place
):
    """Write the scores of one chunk's children for the rows that visit its node.

    ``visits`` are the visits, ``rows`` the row of each, and the scores of visit v go to ``out``
    from ``out_ptr[v]`` on, where all children of the node have their places. ``place`` is scratch
    as in `gather`, or empty, and is returned: many visits pay for a table of the chunk's
    features, few are looked up one by one. ``dense`` are dense columns of the rows, or None.
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
    if dense is not None:
        begin = tables.child_ptr[node] + offset
        values = tables.dense_value[begin * tables.n_dense :][: own * tables.n_dense]
        write_scores(
            dense, rows, visits, out_ptr, out, offset, bias,
            values.reshape(tables.n_dense, own), tables.dense_scale[begin:],
        )  # fmt: skip
    for v in visits:
        i = rows[v]
        score = out[out_ptr[v] + offset :][:own]
        if dense is None:
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
    """Return the visits in the order of their nodes, all below ``n_nodes``, by counting."""
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
    indptr,
    indices,
    data,
    dense,
    first,
    last,
    root,
    depth,
    beam,
    sharpness,
    carry,
    tables,
    nodes,
    logps,
):
    """Descend one tree for the rows from ``first`` to before ``last`` of a csr matrix.

    ``dense`` are dense columns of its rows, or None: Numba compiles a version for each.

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
        order = np.arange(n_visits) if n == 1 else _by_node(visit_node, len(tables.child_ptr))
        start = 0
        while start < n_visits:
            node = visit_node[order[start]]
            end = start + 1
            while end < n_visits and visit_node[order[end]] == node:
                end += 1
            for chunk in range(tables.chunk_ptr[node], tables.chunk_ptr[node + 1]):
                place = score_chunk(
                    indptr, indices, data, dense, visit_row, order[start:end], out_ptr, out, node,
                    chunk, tables, place,
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
