"""How well a label goes with the other labels of a document."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.labels.pairs import cooccurrence

COMPANIONS = 1_000  # of a label that are kept, the most frequent first
SMOOTHING = 5.0  # documents' worth of belief that labels come independently of each other
SHARE = 1e-4  # what is added to a share before its logarithm is taken

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LabelCompanions:
    """Which labels come together in some documents.

    Parameters
    ----------
    keys, together
        Pairs of labels, ``first * L + second``, ascending, and the documents with both, (m,).
    counts
        Documents of each label, shape (L,).
    documents
        Number of documents.
    """

    keys: Ints
    together: NDArray[np.int32]
    counts: Ints
    documents: int

    @classmethod
    def of(cls, Y: csr_array) -> LabelCompanions:
        """Count the labels of documents, shape (n, L)."""
        counts = cooccurrence(Y, COMPANIONS)
        counts.sort_indices()
        n_labels = Y.shape[1]
        first = np.repeat(np.arange(n_labels, dtype=np.int64), np.diff(counts.indptr))
        own = np.bincount(Y.indices, minlength=n_labels)
        return cls(first * n_labels + counts.indices, counts.data, own, int(Y.shape[0]))

    def columns(self, Y: csr_array, texts: Ints, labels: Ints) -> NDArray[np.float32]:
        """Return what the other labels of its document say of each pair, shape (m, 3).

        The largest share of the documents of another label that have this one too, and the mean
        of these shares beside the label's share of all documents, as logarithms; then that share.

        Parameters
        ----------
        Y
            Labels of documents, shape (n, L).
        texts, labels
            Pairs of a document and a label, shapes (m,).
        """
        many = np.diff(Y.indptr)[texts]
        pair = np.repeat(np.arange(len(texts)), many)
        within = np.arange(len(pair)) - np.repeat(np.cumsum(many) - many, many)
        others = Y.indices[np.repeat(Y.indptr[texts], many) + within].astype(np.int64)
        kept = others != labels[pair]
        pair, others = pair[kept], others[kept]
        usual = (self.counts[labels] + 0.5) / (self.documents + 1.0)
        shares = self._shares(others, labels[pair], usual[pair])
        most = np.zeros(len(texts))
        np.maximum.at(most, pair, shares)
        n_others = np.bincount(pair, minlength=len(texts))
        most[n_others == 0] = usual[n_others == 0]
        lift = np.bincount(pair, np.log(shares / usual[pair]), len(texts)) / np.maximum(n_others, 1)
        found = np.stack([np.log(most + SHARE), lift, np.log(usual)], axis=1)
        return found.astype(np.float32)

    def _shares(self, others: Ints, labels: Ints, usual: Floats) -> Floats:
        """Return the share of the documents of ``others`` that have ``labels``, shape (m,)."""
        keys = others * len(self.counts) + labels
        places = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        both = np.zeros(len(keys))
        if len(self.keys):
            both = np.where(self.keys[places] == keys, self.together[places], 0)
        shares: Floats = (both + SMOOTHING * usual) / (self.counts[others] + SMOOTHING)
        return shares
