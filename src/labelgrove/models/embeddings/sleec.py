"""Linear maps to a space in which each document keeps the neighbours that it has by its labels.

Bhatia, Jain, Kar, Varma and Jain, "Sparse local embeddings for extreme multi-label classification",
NIPS 2015. Vectors of labels have length 1 here; equally near ones come in random order, so that
learners differ also where there is one cluster.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from labelgrove.core.ranges import Real, Whole
from labelgrove.core.settings import setting
from labelgrove.labels.clustering import k_means
from labelgrove.labels.vectors import normalised
from labelgrove.models.embeddings.classifier import LocalEmbeddings
from labelgrove.models.embeddings.completion import completed, linear_map
from labelgrove.models.embeddings.label_neighbours import label_neighbours

BUDGET = 20_000  # comparisons of a document with those that share labels


class Sleec(LocalEmbeddings):
    """Clusters of like texts, and a linear map for each to a space of its own.

    Examples
    --------
    >>> X = csr_array(np.repeat(np.eye(3, dtype=np.float32), 4, axis=0))
    >>> Sleec(learners=2, neighbours=3, size=3).fit(X, X).rank(X[::4], k=1).labels.ravel().tolist()
    [0, 1, 2]
    """

    name: ClassVar[str] = "sleec"
    measure = "distance"

    learners: int = setting(5)
    neighbours: int = setting(25)
    size: int = setting(100)
    kept: int = setting(
        50,
        "Number of nearest documents by labels whose products the embedding keeps.",
        least=1,
        search=Whole(10, 200, log=True),
    )
    rounds: int = setting(50, "Rounds in which the embedding of the labels is found.", least=1)
    ridge: float = setting(
        2.0,
        "Weight of the squares of the linear map.",
        above=0,
        most=1e6,
        search=Real(0.01, 10.0, log=True),
    )
    sparsity: float = setting(
        0.0, "Weight of l1 of what the linear map returns for the documents.", least=0, most=1e6
    )

    def _centers(
        self, X: csr_array, Y: csr_array, n_clusters: int, chance: np.random.Generator
    ) -> csr_array:
        if n_clusters == 1:
            return csr_array((1, X.shape[1]), dtype=np.float32)
        chosen = k_means(X, n_clusters, seed=int(chance.integers(2**62)), threads=1)
        sums = [csr_array(X[chosen == c].sum(axis=0)[None, :]) for c in range(n_clusters)]
        return normalised(csr_array(vstack(sums), dtype=np.float32))

    def _projection(
        self, X: csr_array, Y: csr_array, chance: np.random.Generator
    ) -> NDArray[np.float32]:
        wide: NDArray[np.float32] = np.zeros((X.shape[1], self.size), np.float32)
        if not X.shape[0]:
            return wide
        known = known_products(Y, self.kept, chance)
        wanted = completed(known, self.size, self.rounds, chance)
        found = linear_map(X, wanted, float(self.ridge), float(self.sparsity))
        wide[:, : found.shape[1]] = found
        return wide

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings for a few hundred documents."""
        return {"learners": 2, "neighbours": 10, "size": 20, "cluster_size": 200, "rounds": 10}


def known_products(Y: csr_array, k: int, chance: np.random.Generator) -> csr_array:
    """Return the products of documents' labels that are to be kept, shape (n, n), symmetric.

    Those of a document with itself and with its k nearest by labels, and where it is one of theirs.

    Parameters
    ----------
    Y
        Labels (n, L); rows count with length 1.
    k
        Nearest documents.
    chance
        Of the order of equally near ones.
    """
    n, unit = Y.shape[0], normalised(Y)
    near = label_neighbours(Y, k, BUDGET, chance, power=0.5)
    rows = np.concatenate([np.repeat(np.arange(n), k), np.arange(n)])
    others = np.concatenate([near.ravel(), np.arange(n)])
    pairs = csr_array(
        (np.ones((others >= 0).sum(), np.float32), (rows[others >= 0], others[others >= 0])), (n, n)
    )
    pairs = csr_array(pairs + pairs.T)
    pairs.sum_duplicates()
    rows = np.repeat(np.arange(n), np.diff(pairs.indptr))
    values = np.empty(pairs.nnz)
    for first in range(0, pairs.nnz, 1 << 16):
        part = slice(first, first + (1 << 16))
        both = unit[rows[part]].multiply(unit[pairs.indices[part]])
        values[part] = np.asarray(both.sum(axis=1)).ravel()
    return csr_array((values, pairs.indices, pairs.indptr), shape=(n, n))
