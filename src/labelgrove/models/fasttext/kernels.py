"""Kernels of fastText: rows of a text, stochastic gradient descent, the Huffman tree.

A text is a list of rows of ``inputs``: text d has ``ids[ptr[d]:ptr[d + 1]]``. Its mean is what the
output layer reads. Gradients are taken one document after another, so the same order of documents
gives the same model. ``rate`` falls linearly from document ``done`` of ``total`` on.
"""

import heapq

import numpy as np

from labelgrove.core.jit import njit

FAST = {"nnan", "ninf", "nsz", "contract", "reassoc"}
ONE, ZERO = np.float32(1.0), np.float32(0.0)
TOGETHER = 16  # documents whose means are taken before one-vs-all learns from them
BLOCK = 32  # labels whose weights stay in the cache while these documents pass
SPECIAL = 2  # numbers of words that stand for none: padding, unknown
REACH = np.float32(16.0)  # log odds that the table of sigmoids covers on either side
STEPS = 8192  # entries of that table


@njit(cache=True, nogil=True)
def rows_of_words(tokens, offsets, n_words, most, buckets):
    """Return the rows of texts: known words, each followed by the n-grams that it begins.

    An n-gram of 2 to ``most`` words is hashed to one of ``buckets`` rows behind those of the
    words; one with an unknown word is left out.
    """
    ptr = np.zeros(len(offsets), np.int64)
    for d in range(len(offsets) - 1):
        here = 0
        for i in range(offsets[d], offsets[d + 1]):
            for j in range(i, min(i + most, offsets[d + 1])):
                if tokens[j] < SPECIAL:
                    break
                here += 1
        ptr[d + 1] = ptr[d] + here
    ids = np.empty(ptr[-1], np.int32)
    at = 0
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            code = np.uint64(0)
            for j in range(i, min(i + most, offsets[d + 1])):
                if tokens[j] < SPECIAL:
                    break
                code = (code ^ np.uint64(tokens[j])) * np.uint64(0x9E3779B97F4A7C15)
                code ^= code >> np.uint64(29)
                if j == i:
                    ids[at] = tokens[j]
                else:
                    ids[at] = n_words + np.int32(code % np.uint64(buckets))
                at += 1
    return ids, ptr


@njit(cache=True, nogil=True)
def joined_rows(ids, ptr, more, offsets, shift):
    """Return the rows of texts with those of known tokens behind them, numbered from ``shift``."""
    n = len(ptr) - 1
    out_ptr = np.zeros(n + 1, np.int64)
    for d in range(n):
        here = ptr[d + 1] - ptr[d]
        for i in range(offsets[d], offsets[d + 1]):
            here += more[i] >= SPECIAL
        out_ptr[d + 1] = out_ptr[d] + here
    out = np.empty(out_ptr[n], np.int32)
    for d in range(n):
        at = out_ptr[d]
        for i in range(ptr[d], ptr[d + 1]):
            out[at] = ids[i]
            at += 1
        for i in range(offsets[d], offsets[d + 1]):
            if more[i] >= SPECIAL:
                out[at] = shift + more[i]
                at += 1
    return out, out_ptr


@njit(cache=True, nogil=True, fastmath=FAST)
def mean(ids, first, last, inputs, out):
    """Write the mean of some rows into ``out``, zeros without any."""
    size = inputs.shape[1]
    for j in range(size):
        out[j] = ZERO
    for p in range(first, last):
        row = inputs[ids[p]]
        for j in range(size):
            out[j] += row[j]
    if last > first:
        share = np.float32(1.0 / (last - first))
        for j in range(size):
            out[j] *= share


@njit(cache=True, nogil=True)
def means(ids, ptr, inputs):
    """Return the mean of each text, shape (n, d)."""
    out = np.zeros((len(ptr) - 1, inputs.shape[1]), np.float32)
    for d in range(len(ptr) - 1):
        mean(ids, ptr[d], ptr[d + 1], inputs, out[d])
    return out


@njit(cache=True, nogil=True, fastmath=FAST)
def give_back(ids, first, last, inputs, gradient, longest):
    """Add the gradient of a mean, cut to a length, to the rows that it was made of."""
    if last == first:
        return
    size = inputs.shape[1]
    length = ZERO
    for j in range(size):
        length += gradient[j] * gradient[j]
    length = np.sqrt(length)
    share = np.float32(1.0 / (last - first))
    if length > longest:
        share *= longest / length
    for j in range(size):
        gradient[j] *= share
    for p in range(first, last):
        row = inputs[ids[p]]
        for j in range(size):
            row[j] += gradient[j]


@njit(cache=True, nogil=True, fastmath=FAST)
def product(one, other):
    """Return the dot product of two vectors."""
    found = ZERO
    for j in range(len(one)):
        found += one[j] * other[j]
    return found


@njit(cache=True, nogil=True, fastmath=FAST)
def step(weights, hidden, gradient, error):
    """Move weights by an error, and add what it says of the mean to its gradient."""
    for j in range(len(hidden)):
        gradient[j] += error * weights[j]
        weights[j] += error * hidden[j]


@njit(cache=True, nogil=True)
def falling(rate, done, total):
    """Return the rate after ``done`` of ``total`` documents."""
    return np.float32(rate * max(1.0 - done / total, 0.0))


@njit(cache=True, nogil=True)
def drawn(state):
    """Return the next state of a generator of random numbers (xorshift), never 0."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@njit(cache=True, nogil=True, fastmath=FAST)
def one_vs_all(
    order, ids, ptr, y_ptr, y_ids, inputs, outputs, bias, sigmoids, quiet, clip, rate, done, total
):
    """Learn each label against the rest, from documents in an order.

    A label that a document lacks learns from it if its probability is at least ``quiet``.
    """
    n_labels, size = outputs.shape
    hidden = np.zeros((TOGETHER, size), np.float32)
    gradient = np.zeros((TOGETHER, size), np.float32)
    at = np.zeros(TOGETHER, np.int64)
    scale = np.float32(STEPS / 2) / REACH
    for start in range(0, len(order), TOGETHER):
        n = min(TOGETHER, len(order) - start)
        now = falling(rate, done + start, total)
        for b in range(n):
            d = order[start + b]
            mean(ids, ptr[d], ptr[d + 1], inputs, hidden[b])
            gradient[b] = ZERO
            at[b] = y_ptr[d]
        for first in range(0, n_labels, BLOCK):
            last = min(first + BLOCK, n_labels)
            for b in range(n):
                end = y_ptr[order[start + b] + 1]
                own, back = hidden[b], gradient[b]
                for label in range(first, last):
                    odds = product(outputs[label], own) + bias[label]
                    place = min(max((odds + REACH) * scale, ZERO), np.float32(STEPS - 1))
                    p = sigmoids[np.int64(place)]
                    if at[b] < end and y_ids[at[b]] == label:
                        at[b] += 1
                        error = ONE - p
                    else:
                        if p < quiet:
                            continue
                        error = -p
                    step(outputs[label], own, back, now * error)
        for b in range(n):
            d = order[start + b]
            give_back(ids, ptr[d], ptr[d + 1], inputs, gradient[b], now * clip)


@njit(cache=True, nogil=True, fastmath=FAST)
def softmax(order, ids, ptr, y_ptr, y_ids, inputs, outputs, clip, rate, done, total, state):
    """Learn one label of each document, drawn from its own, against all others."""
    n_labels, size = outputs.shape
    hidden, gradient = np.zeros(size, np.float32), np.zeros(size, np.float32)
    p = np.zeros(n_labels, np.float32)
    for i in range(len(order)):
        d = order[i]
        n_own = y_ptr[d + 1] - y_ptr[d]
        if n_own == 0:
            continue
        now = falling(rate, done + i, total)
        state = drawn(state)
        target = y_ids[y_ptr[d] + np.int64(state >> np.uint64(33)) % n_own]
        mean(ids, ptr[d], ptr[d + 1], inputs, hidden)
        gradient[:] = ZERO
        for label in range(n_labels):
            p[label] = product(outputs[label], hidden)
        top = p.max()
        whole = ZERO
        for label in range(n_labels):
            p[label] = np.exp(p[label] - top)
            whole += p[label]
        for label in range(n_labels):
            error = (ONE if label == target else ZERO) - p[label] / whole
            step(outputs[label], hidden, gradient, now * error)
        give_back(ids, ptr[d], ptr[d + 1], inputs, gradient, now * clip)
    return state


@njit(cache=True, nogil=True, fastmath=FAST)
def hierarchical(
    order, ids, ptr, y_ptr, y_ids, inputs, outputs, parents, right, clip, rate, done, total, state
):
    """Learn the turns of a tree on the way to one label of each document, drawn from its own."""
    size = outputs.shape[1]
    n_labels = (len(parents) + 1) // 2
    hidden, gradient = np.zeros(size, np.float32), np.zeros(size, np.float32)
    for i in range(len(order)):
        d = order[i]
        n_own = y_ptr[d + 1] - y_ptr[d]
        if n_own == 0:
            continue
        now = falling(rate, done + i, total)
        state = drawn(state)
        node = np.int64(y_ids[y_ptr[d] + np.int64(state >> np.uint64(33)) % n_own])
        mean(ids, ptr[d], ptr[d + 1], inputs, hidden)
        gradient[:] = ZERO
        while parents[node] >= 0:
            weights = outputs[parents[node] - n_labels]
            p = ONE / (ONE + np.exp(-product(weights, hidden)))
            step(weights, hidden, gradient, now * ((ONE if right[node] else ZERO) - p))
            node = parents[node]
        give_back(ids, ptr[d], ptr[d + 1], inputs, gradient, now * clip)
    return state


@njit(cache=True, nogil=True)
def huffman(counts):
    """Return the two children of each inner node of a Huffman tree, shape (L - 1, 2), int32.

    Children below L are labels, L + i is inner node i, and the last inner node is the root. Rare
    labels are joined first; of equal counts, labels before inner nodes, then by number.
    """
    n_labels = len(counts)
    order = np.argsort(counts, kind="mergesort")
    children = np.empty((n_labels - 1, 2), np.int32)
    total = np.zeros(n_labels - 1, np.int64)
    leaf, inner = 0, 0
    for i in range(n_labels - 1):
        for side in range(2):
            if leaf < n_labels and (inner == i or counts[order[leaf]] <= total[inner]):
                children[i, side] = order[leaf]
                total[i] += counts[order[leaf]]
                leaf += 1
            else:
                children[i, side] = n_labels + inner
                total[i] += total[inner]
                inner += 1
    return children


@njit(cache=True, nogil=True)
def way_up(children):
    """Return parent (-1 for the root) and side (True for the second child) of each node."""
    n_labels = len(children) + 1
    parents = np.full(2 * n_labels - 1, -1, np.int32)
    right = np.zeros(2 * n_labels - 1, np.bool_)
    for i in range(n_labels - 1):
        for side in range(2):
            parents[children[i, side]] = n_labels + i
            right[children[i, side]] = side == 1
    return parents, right


@njit(cache=True, nogil=True)
def descend(hidden, outputs, children, k):
    """Return the k likeliest labels of texts (n, k) and their probabilities, best first.

    The likeliest node is opened first, and a node is never likelier than the one above it, so
    that labels come in their order.
    """
    n, n_labels = len(hidden), len(children) + 1
    labels = np.full((n, k), -1, np.int32)
    scores = np.zeros((n, k), np.float32)
    for d in range(n):
        waiting = [(0.0, 2 * n_labels - 2)]  # minus the log of a node's probability, and the node
        found = 0
        while found < k:
            cost, node = heapq.heappop(waiting)
            if node < n_labels:
                labels[d, found] = node
                scores[d, found] = np.float32(np.exp(-cost))
                found += 1
                continue
            odds = np.float64(product(outputs[node - n_labels], hidden[d]))
            for side in range(2):
                turn = odds if side == 1 else -odds
                # log(1 + exp(-turn)) without overflow
                more = max(-turn, 0.0) + np.log1p(np.exp(-abs(turn)))
                heapq.heappush(waiting, (cost + more, np.int64(children[node - n_labels, side])))
    return labels, scores
