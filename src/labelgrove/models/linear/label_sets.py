"""Sets of labels that are classes of their own: those that documents have, or random ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

FEW = 2  # frequent parts of a rare set that its documents count for


class LabelSets(NamedTuple):
    """Sets of labels, in groups of which each text has about one set.

    Parameters
    ----------
    members
        The labels of each set, shape (sets, L).
    group
        The group of each set, ascending, shape (sets,).
    documents
        The sets that each training document counts for, shape (n, sets).
    """

    members: csr_array
    group: NDArray[np.int32]
    documents: csr_array


def whole_sets(Y: csr_array, least: int) -> LabelSets:
    """Return the sets that at least some documents have, as one group.

    A document with a rarer set counts for the largest sets within its own, the most frequent of
    equally large ones first. A label that is in no set is a set of its own.

    Parameters
    ----------
    Y
        Labels (n, L) in canonical form.
    least
        Documents that a set must have.

    Examples
    --------
    >>> Y = csr_array(np.array([[1, 1, 0], [1, 1, 0], [1, 1, 1], [0, 0, 0]], np.float32))
    >>> found = whole_sets(Y, least=2)
    >>> found.members.toarray().astype(int).tolist()
    [[1, 1, 0], [0, 0, 1]]
    >>> found.documents.toarray().astype(int).tolist()
    [[1, 0], [1, 0], [1, 1], [0, 0]]
    """
    rows = [tuple(row.tolist()) for row in np.split(Y.indices, Y.indptr[1:-1])]
    counts: dict[tuple[int, ...], int] = {}
    for row in rows:
        counts[row] = counts.get(row, 0) + 1
    kept = [row for row, count in counts.items() if count >= least]
    known = {label for row in kept for label in row}
    kept += [(label,) for label in np.unique(Y.indices).tolist() if label not in known]
    kept.sort(key=lambda row: (-len(row), -counts.get(row, 0), row))
    number = {row: place for place, row in enumerate(kept)}
    members = _rows(kept, Y.shape[1])
    parts = _contained(Y, members)
    documents = [
        [number[row]] if row in number else _first(parts, document, members, set(row))
        for document, row in enumerate(rows)
    ]
    group = np.zeros(len(kept), np.int32)
    return LabelSets(members, group, _rows(documents, len(kept)))


def _contained(Y: csr_array, members: csr_array) -> csr_array:
    """Return which sets, but the empty one, lie within the labels of each document."""
    shared = csr_array(Y @ members.T)
    sizes = np.diff(members.indptr)
    shared.data = (shared.data == sizes[shared.indices]).astype(np.float32)
    shared.eliminate_zeros()
    shared.sort_indices()
    return shared


def _first(parts: csr_array, document: int, members: csr_array, left: set[int]) -> list[int]:
    """Return the first sets of a document, and those that hold labels which these lack."""
    found: list[int] = []
    for place in parts.indices[parts.indptr[document] : parts.indptr[document + 1]].tolist():
        own = set(members.indices[members.indptr[place] : members.indptr[place + 1]].tolist())
        if len(found) < FEW or own & left:
            found.append(place)
            left = left - own
    return found


def random_sets(Y: csr_array, size: int, n_groups: int, chance: np.random.Generator) -> LabelSets:
    """Return what documents have of random sets of labels, a group for each of these.

    The labels are drawn in rounds, so that each is in as many sets as any other.

    Parameters
    ----------
    Y
        Labels (n, L) in canonical form.
    size
        Labels in a set.
    n_groups
        Number of random sets.
    chance
        Draws them.
    """
    n, n_labels = Y.shape
    size = min(size, n_labels)
    rounds = -(-n_groups * size // n_labels)
    drawn = np.concatenate([chance.permutation(n_labels) for _ in range(rounds)])
    columns = Y.tocsc()
    kept: list[list[int]] = []
    group: list[int] = []
    documents: list[NDArray[np.int64]] = []
    for number in range(n_groups):
        labels = np.unique(drawn[number * size : (number + 1) * size])
        code = np.zeros(n, np.int64)
        for place, label in enumerate(labels.tolist()):
            code[columns.indices[columns.indptr[label] : columns.indptr[label + 1]]] += 1 << place
        codes, own = np.unique(code, return_inverse=True)
        documents.append(own + len(kept))
        for each in codes.tolist():
            kept.append([label for p, label in enumerate(labels.tolist()) if each >> p & 1])
            group.append(number)
    members = _rows(kept, n_labels)
    places = np.stack(documents, axis=1)
    ptr = np.arange(n + 1) * n_groups
    data = np.ones(places.size, np.float32)
    owned = csr_array((data, places.ravel().astype(np.int32), ptr), shape=(n, len(kept)))
    return LabelSets(members, np.array(group, np.int32), owned)


def _rows(rows: list[list[int]] | list[tuple[int, ...]], width: int) -> csr_array:
    """Return a matrix of ones at these columns of each row."""
    ptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    columns = np.array([column for row in rows for column in row], np.int32)
    found = csr_array((np.ones(len(columns), np.float32), columns, ptr), (len(rows), width))
    found.sort_indices()
    return found
