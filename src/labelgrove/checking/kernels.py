"""Compiled loops of near copies and of labels that stand together: arrays in and out."""

from __future__ import annotations

import numpy as np

from labelgrove.core.jit import njit

MOST = np.uint32(0xFFFFFFFF)
NOTHING = (int(MOST) * 0x9E3779B1 % 2**32) >> 16  # at every place, of a text without words
MIX = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def sketch(hashes, offsets, factors, summands, width):
    """Return MinHash sketches of texts: what the runs of words of two have in common.

    Parameters
    ----------
    hashes
        Hashes of the words of n texts, shape (m,), uint64.
    offsets
        Words of text d are ``offsets[d]:offsets[d + 1]``, shape (n + 1,).
    factors, summands
        Of the K hash functions, shape (K,), uint32; factors are odd.
    width
        Words in a run; a text of fewer words is one run.

    Returns
    -------
    Shape (n, K), uint16: the share of places where two texts are equal estimates the Jaccard
    similarity of their runs.
    """
    n, size = len(offsets) - 1, len(factors)
    sketches = np.empty((n, size), np.uint16)
    least = np.empty(size, np.uint32)
    for text in range(n):
        begin, end = offsets[text], offsets[text + 1]
        least[:] = MOST
        for start in range(begin, max(end - width + 1, min(begin + 1, end))):
            run = np.uint64(0)
            for word in range(start, min(start + width, end)):
                run = (run ^ hashes[word]) * MIX
                run ^= run >> np.uint64(32)
            value = np.uint32(run >> np.uint64(16))
            for k in range(size):
                hashed = np.uint32(factors[k] * value + summands[k])
                if hashed < least[k]:
                    least[k] = hashed
        for k in range(size):  # the high bits of a minimum are nearly always 0
            sketches[text, k] = np.uint16(np.uint32(least[k] * np.uint32(0x9E3779B1)) >> 16)
    return sketches


@njit(cache=True, nogil=True)
def link(order, keys, sketches, n_first, least, window, roots, best, likeness):
    """Compare texts that have the same key, and note those that are alike.

    A key that many texts share costs no more than any other: each is compared with the few before
    it, and a text of the second file with the last few of the first file.

    Parameters
    ----------
    order
        Numbers of m texts, those with equal keys side by side, and rising among them.
    keys
        The keys of the texts, in that order, shape (m,).
    sketches
        Of all n texts, shape (n, K), uint16.
    n_first
        Texts below this number are of the first file.
    least
        Places at which the sketches of two must be equal.
    window
        How many texts before it a text is compared with.
    roots
        The text under which each is grouped, shape (n,); changed.
    best
        The most similar text so far, in the same file and in the other one, -1 for none; shape
        (n, 2); changed.
    likeness
        Places at which its sketch is equal, shape (n, 2); changed.
    """
    start = 0  # of the texts with the same key
    last_first = -1  # the last of these that is of the first file
    for place in range(len(order)):
        if place == 0 or keys[place] != keys[place - 1]:
            start, last_first = place, -1
        text = order[place]
        near = max(start, place - window)
        for other in range(near, place):
            _compare(text, order[other], sketches, n_first, least, roots, best, likeness)
        if text < n_first:
            last_first = place
        elif last_first >= 0:
            for other in range(max(start, last_first + 1 - window), min(last_first + 1, near)):
                _compare(text, order[other], sketches, n_first, least, roots, best, likeness)


@njit(cache=True, nogil=True)
def _compare(one, two, sketches, n_first, least, roots, best, likeness):
    equal = 0
    for k in range(sketches.shape[1]):
        equal += sketches[one, k] == sketches[two, k]
    if equal < least:
        return
    across = int((one < n_first) != (two < n_first))
    if equal > likeness[one, across]:
        likeness[one, across], best[one, across] = equal, two
    if equal > likeness[two, across]:
        likeness[two, across], best[two, across] = equal, one
    first, second = _root(roots, one), _root(roots, two)
    if first != second:
        roots[max(first, second)] = min(first, second)


@njit(cache=True, nogil=True)
def _root(roots, text):
    while roots[text] != text:
        roots[text] = roots[roots[text]]
        text = roots[text]
    return text


@njit(cache=True, nogil=True)
def find_roots(roots):
    """Put the first text of its group in the place of each text's root."""
    for text in range(len(roots)):
        roots[text] = _root(roots, text)


@njit(cache=True, nogil=True)
def companions(indptr, indices, starts, documents, fewest, share, most):
    """Return which labels most documents of a label also have.

    Parameters
    ----------
    indptr, indices
        Labels of the n documents, csr.
    starts, documents
        Documents of the L labels, csc.
    fewest
        Labels with fewer documents are left out.
    share
        The least share of a label's documents that have the other one.
    most
        So many documents of a label are looked at, evenly spaced.

    Returns
    -------
    labels, others, together
        Pairs of labels and in which share of the documents of the first the second stands too.
    """
    n_labels = len(starts) - 1
    counts = np.zeros(n_labels, np.int64)
    met = np.empty(n_labels, np.int64)
    labels, others = np.empty(16, np.int32), np.empty(16, np.int32)
    together = np.empty(16, np.float32)
    size = 0
    for label in range(n_labels):
        n = starts[label + 1] - starts[label]
        if n < fewest:
            continue
        looked, n_met = min(n, most), 0
        for i in range(looked):
            document = documents[starts[label] + i * n // looked]
            for place in range(indptr[document], indptr[document + 1]):
                other = indices[place]
                if counts[other] == 0:
                    met[n_met] = other
                    n_met += 1
                counts[other] += 1
        for i in range(n_met):
            other = met[i]
            if other != label and counts[other] >= share * looked:
                if size == len(labels):
                    labels = np.concatenate((labels, np.empty_like(labels)))
                    others = np.concatenate((others, np.empty_like(others)))
                    together = np.concatenate((together, np.empty_like(together)))
                labels[size], others[size] = label, other
                together[size] = counts[other] / looked
                size += 1
            counts[other] = 0
        counts[label] = 0
    return labels[:size], others[:size], together[:size]
