"""Compiled loops: arrays in and out."""

from __future__ import annotations

import heapq

import numpy as np

from labelgrove.core.jit import njit


@njit(cache=True, nogil=True)
def assign_folds(indptr, indices, starts, documents, wanted, room, ties):
    """Give each document to a fold, those of the rarest label first (Sechidis et al. 2011).

    Parameters
    ----------
    indptr, indices
        Labels of the n documents, csr.
    starts, documents
        Documents of the L labels, csc.
    wanted
        Documents with a label that each fold still wants, shape (folds, L); changed.
    room
        Documents that each fold still wants, shape (folds,); changed.
    ties
        Numbers in [0, 1) that decide between equal folds, shape (n,).

    Returns
    -------
    The fold of each document, shape (n,), int32.
    """
    n = indptr.shape[0] - 1
    n_labels = starts.shape[0] - 1
    folds = np.full(n, -1, np.int32)
    left = np.diff(starts).astype(np.int64)
    # a heap of count * L + label; an entry whose count has changed since is passed over
    heap = [left[label] * n_labels + label for label in range(n_labels) if left[label] > 0]
    heapq.heapify(heap)
    while heap:
        entry = heapq.heappop(heap)
        label = entry % n_labels
        if left[label] != entry // n_labels:
            continue
        for place in range(starts[label], starts[label + 1]):
            document = documents[place]
            if folds[document] >= 0:
                continue
            fold = _neediest(wanted[:, label], room, ties[document])
            folds[document] = fold
            room[fold] -= 1.0
            for position in range(indptr[document], indptr[document + 1]):
                other = indices[position]
                wanted[fold, other] -= 1.0
                left[other] -= 1
                if left[other] > 0 and other != label:
                    heapq.heappush(heap, left[other] * n_labels + other)
    for document in range(n):
        if folds[document] < 0:
            fold = _neediest(room, room, ties[document])
            folds[document] = fold
            room[fold] -= 1.0
    return folds


@njit(cache=True, nogil=True)
def _neediest(wanted, room, tie):
    """Return the fold that wants most, of equals the one with most room, then by ``tie``."""
    best = wanted.max()
    most = -np.inf
    equals = 0
    for fold in range(wanted.shape[0]):
        if wanted[fold] >= best - 1e-9:
            if room[fold] > most + 1e-9:
                most = room[fold]
                equals = 1
            elif room[fold] >= most - 1e-9:
                equals += 1
    chosen = int(tie * equals)
    for fold in range(wanted.shape[0]):
        if wanted[fold] >= best - 1e-9 and room[fold] >= most - 1e-9:
            if chosen == 0:
                return fold
            chosen -= 1
    return 0
