"""Teacher knowledge: the labels of a text's neighbours and their parents, and words that tell them.

Algorithm 1 of Wang et al., "Exploiting dynamic and fine-grained semantic scope for extreme
multi-label text classification", 2022.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, vstack
from torch import Tensor

from labelgrove.core import checks, storage
from labelgrove.core.estimator import Featurizer
from labelgrove.core.features import TokenSequences
from labelgrove.labels import LabelTree, label_vectors
from labelgrove.labels.vectors import keep_heaviest
from labelgrove.text import PAD, UNK
from labelgrove.text.token_weights import rarity_of, tfidf_of

if TYPE_CHECKING:
    from labelgrove.labels import LabelSpace


class Lessons:
    """Teacher knowledge of many texts.

    Parameters
    ----------
    shares
        Of labels and their parents in the knowledge of each text, shape (n, N).
    words
        Words that describe them, shape (N, D).
    """

    def __init__(self, shares: csr_array, words: NDArray[np.int32]) -> None:
        self.shares, self.words = shares, words

    def of(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Return shares (b, U) for some texts of the U labels that any of them is told, (U, D)."""
        some = self.shares[rows]
        told, places = np.unique(some.indices, return_inverse=True)
        found = csr_array((some.data, places, some.indptr), shape=(len(rows), len(told)))
        words = self.words[told].astype(np.int64)
        return torch.from_numpy(found.toarray()), torch.from_numpy(words)


@dataclass(frozen=True, eq=False)
class Teacher:
    """What can be told of labels.

    Numbers are those of the labels (L), then of what stands above them: the other concepts of
    their vocabulary, or, without a hierarchy, the clusters of a label tree.

    Parameters
    ----------
    words
        The words that describe each, shape (N, D), int32, padded behind.
    above
        The parents of each label, shape (L, N), binary.
    given
        Whether the parents are those of the label space.
    rarity
        How rare each word is in training texts (idf), shape (n_words,): with it the heaviest words
        of a label are found that gets documents later.

    Examples
    --------
    >>> words = np.array([[5, 6], [7, 0], [8, 0]])  # two labels, and the parent of the first
    >>> teacher = Teacher(words, csr_array([[0, 0, 1], [0, 0, 0]]), np.ones(9))
    >>> teacher.lessons(csr_array([[0.5, 0.2], [0.0, 1.0]])).toarray().round(2)
    array([[0.33, 0.33, 0.33],
           [0.  , 1.  , 0.  ]], dtype=float32)
    """

    words: NDArray[np.int32]
    above: csr_array
    rarity: NDArray[np.float32]
    given: bool = False

    def lessons(self, votes: csr_array, weighted: bool = False) -> csr_array:
        """Return the share of each label and parent in the teacher knowledge of texts.

        Parameters
        ----------
        votes
            Of the neighbours, shape (n, L); every label with a vote is told.
        weighted
            Tell labels in the measure of their votes, and not all alike as in Algorithm 1.

        Returns
        -------
        csr_array
            Shape (n, N), float32; rows sum to 1, or are empty.
        """
        told = csr_array(votes, dtype=np.float32, copy=True)
        told.eliminate_zeros()
        if not weighted:
            told.data[:] = 1.0
        above = csr_array(told @ self.above.astype(np.float32))
        told.resize(told.shape[0], self.above.shape[1])
        found = csr_array(told + above)  # a set: a parent of several labels, or itself a label
        if not weighted:
            found.data[:] = 1.0
        found.sort_indices()
        totals = np.asarray(found.sum(axis=1)).ravel()
        found.data /= np.repeat(totals, np.diff(found.indptr))
        return found

    def with_more(
        self,
        X: TokenSequences,
        Y: csr_array,
        labels: LabelSpace | None,
        reader: Featurizer | None,
    ) -> Teacher:
        """Return a teacher that also knows the labels behind those it knew.

        Parents of known labels stay; new labels have those of the label space, if the others do.

        Parameters
        ----------
        X, Y
            Words and labels of more documents.
        labels
            The new label space, in which known labels have their old numbers.
        reader
            Turns names into words.
        """
        n_known, n_labels = self.above.shape[0], Y.shape[1]
        heaviest = _heaviest(label_vectors(tfidf_of(X, self.rarity), Y), self.words.shape[1])
        old = self.words[:n_known]
        known = np.where((old == PAD).all(axis=1, keepdims=True), heaviest[:n_known], old)
        if self.given and labels is not None:
            parents = _parents(labels, n_labels)
            if parents[:n_known].nnz >= self.above.nnz:  # else the space is another's
                # a concept may have become a label, so all is put together anew
                rest = np.full((len(labels) - n_labels, old.shape[1]), PAD, np.int32)
                words = np.concatenate([known, heaviest[n_known:], rest])
                return Teacher(_named(labels, reader, words), parents, self.rarity, given=True)
        new = heaviest[n_known:]
        if labels is not None:
            new = _named(labels, reader, new, range(n_known, n_labels))
        words = np.concatenate([known, new, self.words[n_known:]])
        gap = csr_array((n_known, n_labels - n_known), dtype=np.float32)
        above = hstack([self.above[:, :n_known], gap, self.above[:, n_known:]], format="csr")
        rows = csr_array((n_labels - n_known, above.shape[1]), dtype=np.float32)
        above = csr_array(vstack([above, rows], format="csr"))
        return Teacher(words, above, self.rarity, self.given)

    def write(self, folder: Path) -> None:
        """Write it into a folder."""
        values = {name: getattr(self, name) for name in ("words", "above", "rarity", "given")}
        storage.write_values(folder, values)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `write` wrote."""
        values = storage.read_values(folder)
        with checks.reading(folder):
            rarity = checks.array("rarity", values["rarity"], np.float32, (None,))
            words = checks.array("words", values["words"], np.int32, (None, None))
            checks.below("words", words, len(rarity))
            above = values["above"]
            if not isinstance(above, csr_array) or above.shape[1] != len(words):
                raise ValueError(f"above must be sparse rows of {len(words):,} columns")
            return cls(words, above, rarity, bool(values["given"]))


def new_teacher(
    X: TokenSequences,
    Y: csr_array,
    labels: LabelSpace | None,
    reader: Featurizer | None,
    *,
    length: int,
    hierarchy: bool,
    max_leaf: int,
    seed: int,
    threads: int | None,
) -> Teacher:
    """Return what can be told of the labels of training documents.

    Parameters
    ----------
    X, Y
        Words (n, n_words) and labels (n, L).
    labels
        With names and hierarchy, if there are any.
    reader
        Turns names into words.
    length
        Words that describe a label, D: of its name, or, where no word of that is known, the
        heaviest of its documents.
    hierarchy
        Tell parents too: the given ones, or, where no label has any, clusters of labels.
    max_leaf
        Labels of a cluster at most.
    seed, threads
        Of the clusters.
    """
    n_labels, rarity = Y.shape[1], rarity_of(X)
    vectors = label_vectors(tfidf_of(X, rarity), Y)
    words = _heaviest(vectors, length)
    if hierarchy and labels is not None and len(labels.parents.indices):
        rest = np.full((len(labels) - n_labels, length), PAD, np.int32)
        words = _named(labels, reader, np.concatenate([words, rest]))
        return Teacher(words, _parents(labels, n_labels), rarity, given=True)
    if labels is not None:
        words = _named(labels, reader, words, range(n_labels))
    if not hierarchy or n_labels <= max_leaf:
        return Teacher(words, csr_array((n_labels, n_labels), dtype=np.float32), rarity)
    tree = LabelTree.balanced(vectors, max_leaf, seed=seed, threads=threads)
    inside = tree.membership(tree.depth - 1)
    words = np.concatenate([words, _heaviest(csr_array(inside.T @ vectors), length)])
    none = csr_array((n_labels, n_labels), dtype=np.float32)
    return Teacher(words, csr_array(hstack([none, inside], format="csr")), rarity)


def _parents(labels: LabelSpace, n_labels: int) -> csr_array:
    """Return the parents of labels, shape (L, all concepts)."""
    parents = labels.parents
    numbers = parents.indices[: parents.offsets[n_labels]]
    return csr_array(
        (np.ones(len(numbers), np.float32), numbers, parents.offsets[: n_labels + 1]),
        shape=(n_labels, len(labels)),
    )


def _named(
    labels: LabelSpace,
    reader: Featurizer | None,
    words: NDArray[np.int32],
    numbers: range | None = None,
) -> NDArray[np.int32]:
    """Return words (n, D) with those of names where a name has a known word."""
    if reader is None:
        return words
    chosen = range(len(labels)) if numbers is None else numbers
    names = reader.transform([labels.names[i] for i in chosen])
    assert isinstance(names, TokenSequences)
    found, length = words.copy(), words.shape[1]
    for row in range(len(names)):
        own = names.sequence(row)
        own = own[own > UNK][:length]
        if len(own):
            found[row] = PAD
            found[row, : len(own)] = own
    return found


def _heaviest(vectors: csr_array, length: int) -> NDArray[np.int32]:
    """Return the heaviest words of each label vector (L, n_words), heaviest first, shape (L, D)."""
    kept = keep_heaviest(vectors, length)
    rows = np.repeat(np.arange(kept.shape[0]), np.diff(kept.indptr))
    order = np.lexsort((kept.indices, -kept.data, rows))
    places = np.arange(len(rows)) - np.repeat(kept.indptr[:-1], np.diff(kept.indptr))
    found = np.full((kept.shape[0], length), PAD, np.int32)
    found[rows, places] = kept.indices[order]
    return found
