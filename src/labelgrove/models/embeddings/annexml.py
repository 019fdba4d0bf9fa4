"""Documents with like labels near each other, by a learned graph.

Tagami, "AnnexML: approximate nearest neighbor search for extreme multi-label classification", KDD
2017, with the settings of the author's program. Neighbours in the embedding are searched exactly
(the paper's graph search is for speed), and equally near neighbours by labels come in random order.
A document is moved once for all its pairs; the author's program moves it for each of them, which
takes twice as long for the same scores (benchmarks/LOG.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.ranges import Real
from labelgrove.core.settings import setting
from labelgrove.models.embeddings.classifier import LocalEmbeddings
from labelgrove.models.embeddings.label_neighbours import label_neighbours
from labelgrove.text.vocabulary import read_only

CELLS = 1 << 24  # weights of all clusters of a learner
BUDGET = 5_000, 20_000  # comparisons of a document, to find clusters and within one


class AnnexMl(LocalEmbeddings):
    """Clusters and embeddings in which documents with like labels are near, by cosines.

    Examples
    --------
    >>> X = csr_array(np.repeat(np.eye(3, dtype=np.float32), 4, axis=0))
    >>> AnnexMl(learners=2, neighbours=3).fit(X, X).rank(X[::4], k=1).labels.ravel().tolist()
    [0, 1, 2]
    """

    name: ClassVar[str] = "annexml"
    measure = "cosine"

    neighbours: int = setting(
        10,
        "Number of nearest documents that vote, in each learner; each document is also embedded "
        "near so many with like labels, which takes time in proportion.",
    )
    gamma: float = setting(
        10.0,
        "How much a difference of cosines counts in the loss.",
        above=0,
        most=1000,
        search=Real(1.0, 50.0, log=True),
    )
    rate: float = setting(0.1, "Learning rate.", above=0, most=10)
    epochs: int = setting(
        10, "Passes over the documents, to find clusters and to embed them.", least=1
    )
    sparsity: float = setting(
        4.0, "Weight of l1 in finding clusters: a larger value keeps fewer words.", least=0
    )

    def _centers(
        self, X: csr_array, Y: csr_array, n_clusters: int, chance: np.random.Generator
    ) -> csr_array:
        """Return a linear function for each cluster, shape (n_clusters, D)."""
        from labelgrove.models.embeddings import kernels

        width = X.shape[1]
        if n_clusters == 1:
            return csr_array((1, width), dtype=np.float32)
        near = label_neighbours(Y, self.neighbours, BUDGET[0], chance)
        weights = kernels.partition(
            *(read_only(part) for part in (X.indptr, X.indices, X.data)),
            *(width, near, n_clusters, self.epochs, np.float32(self.rate)),
            *(np.float32(self.sparsity), CELLS, int(chance.integers(2**62))),
        )
        if len(weights) == n_clusters * width:
            return csr_array(weights.reshape(n_clusters, width))
        cells = np.arange(width)
        parts = [weights[(c * width + cells) % len(weights)] for c in range(n_clusters)]
        return csr_array(np.stack(parts))

    def _projection(
        self, X: csr_array, Y: csr_array, chance: np.random.Generator
    ) -> NDArray[np.float32]:
        """Return the vectors of the features of a cluster, shape (D, size)."""
        from labelgrove.models.embeddings import kernels

        bound = 1 / max(X.nnz / max(X.shape[0], 1), 1) ** 0.5
        projection = chance.uniform(-bound, bound, (X.shape[1], self.size)).astype(np.float32)
        near = label_neighbours(Y, self.neighbours, BUDGET[1], chance)
        kernels.embed_pairs(
            *(read_only(part) for part in (X.indptr, X.indices, X.data)),
            *(near, self.epochs, np.float32(self.rate), np.float32(self.gamma), projection),
            int(chance.integers(2**62)),
        )
        return projection

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings for a few hundred documents."""
        return {"learners": 2, "size": 16, "epochs": 5, "cluster_size": 200}
