"""Learners that embed the documents of clusters, and search a text's neighbours there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from labelgrove.core import checks
from labelgrove.models.learned_parts import Part
from labelgrove.models.neighbours.memory import Memory, unit_rows

TIE = 1e-3  # what the similarity of a neighbour adds to its vote: it only parts equal votes
Measure = Literal["cosine", "distance"]


class Learners(NamedTuple):
    """Learners, each of which divides the documents into clusters and embeds these.

    Parameters
    ----------
    centers
        The greatest product of a row with one of a learner's centers tells its cluster, shape
        (learners x clusters, D).
    clusters
        The cluster of each document, shape (learners, n).
    starts, columns
        ``columns[starts[c]:starts[c + 1]]`` are the features that cluster c of all knows.
    projection
        A vector for each of them, shape (columns, d).
    vectors
        The vector of each document, shape (learners, n, d).
    """

    centers: csr_array
    clusters: NDArray[np.int32]
    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    projection: NDArray[np.float32]
    vectors: NDArray[np.float32]

    @classmethod
    def of(cls, parts: Sequence[Part]) -> Learners:
        """Return several learners, each with the fields above for one."""
        sizes = np.concatenate([np.diff(part["starts"]) for part in parts])
        return cls(
            csr_array(vstack([part["centers"] for part in parts]), dtype=np.float32),
            np.stack([part["clusters"] for part in parts]),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([part["columns"] for part in parts]),
            np.concatenate([part["projection"] for part in parts]),
            np.stack([part["vectors"] for part in parts]),
        )

    @property
    def n_clusters(self) -> int:
        """Number of clusters of each learner."""
        return int(self.centers.shape[0]) // len(self.clusters)

    def check(self, n_documents: int) -> None:
        """Refuse arrays of a file that do not fit each other."""
        vectors = checks.array("vectors", self.vectors, np.float32, (None, n_documents, None))
        n_learners, size = vectors.shape[0], vectors.shape[2]
        if not isinstance(self.centers, csr_array) or not n_learners:
            raise ValueError("centers must be a sparse matrix of clusters x features")
        n_all = int(self.centers.shape[0])
        if not n_all or n_all % n_learners:
            raise ValueError(f"{n_all} centers are not the same number for {n_learners} learners")
        checks.array("centers", self.centers.data, np.float32, (None,))
        checks.array("clusters", self.clusters, np.int32, (n_learners, n_documents))
        checks.below("clusters", self.clusters, self.n_clusters)
        n_columns = len(checks.array("columns", self.columns, np.int32, (None,)))
        checks.offsets("starts", self.starts, n_columns, n_all)
        checks.below("columns", self.columns, int(self.centers.shape[1]))
        checks.array("projection", self.projection, np.float32, (n_columns, size))
        for name, value in (("projection", self.projection), ("vectors", vectors)):
            checks.finite(name, value)

    def votes(self, X: csr_array, k: int, measure: Measure, threads: int | None) -> csr_array:
        """Return by how many learners each document is a neighbour of each row, shape (n, m).

        The similarity of neighbours adds very little, which parts those of equal votes.

        Parameters
        ----------
        X
            Features (n, D) of length 1.
        k
            Neighbours in a learner.
        measure
            How near vectors are to each other.
        threads
            None for all cores.
        """
        n_documents = self.clusters.shape[1]
        total = csr_array((X.shape[0], n_documents), dtype=np.float32)
        for rows, members, z, vectors in self._searches(X):
            nearest = _nearest(z, vectors, k, measure, threads)
            places = nearest[0] >= 0
            of = rows[np.nonzero(places)[0]]
            found = members[nearest[0][places]]
            vote = (1 + TIE * nearest[1][places]).astype(np.float32)
            total = total + csr_array((vote, (of, found)), total.shape)
        return csr_array(total)

    def _searches(
        self, X: csr_array
    ) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[np.float32], NDArray[np.float32]]]:
        """Yield for each learner and cluster: its rows of X, its documents, vectors of both."""
        for learner in range(len(self.clusters)):
            own = self.cluster_of(X, learner)
            for cluster in np.unique(own).tolist():
                rows = np.flatnonzero(own == cluster)
                members = np.flatnonzero(self.clusters[learner] == cluster)
                z = self.embedded(X[rows], learner, cluster)
                if len(members):
                    yield rows, members, z, self.vectors[learner][members]

    def cluster_of(self, X: csr_array, learner: int) -> NDArray[np.int64]:
        """Return the cluster of each row in a learner, shape (n,)."""
        first = learner * self.n_clusters
        return nearest_center(X, self.centers[first : first + self.n_clusters])

    def embedded(self, X: csr_array, learner: int, cluster: int) -> NDArray[np.float32]:
        """Return the vectors of rows in a cluster, shape (n, d)."""
        number = learner * self.n_clusters + cluster
        entries = slice(self.starts[number], self.starts[number + 1])
        found = with_columns(X, self.columns[entries]) @ self.projection[entries]
        return np.asarray(found, np.float32)


def nearest_center(X: csr_array, centers: csr_array) -> NDArray[np.int64]:
    """Return for each row of X (n, D) the row of centers (K, D) with the greatest product."""
    if centers.shape[0] == 1:
        return np.zeros(X.shape[0], np.int64)
    chosen: NDArray[np.int64] = csr_array(X @ centers.T).toarray().argmax(axis=1)
    return chosen


def with_columns(X: csr_array, columns: NDArray[np.int32]) -> csr_array:
    """Return X (n, D) with only these columns, in their order."""
    place = np.full(X.shape[1], -1, np.int32)
    place[columns] = np.arange(len(columns), dtype=np.int32)
    new = place[X.indices]
    known = new >= 0
    ptr = np.concatenate([[0], np.cumsum(known)])[X.indptr]
    return csr_array((X.data[known], new[known], ptr), shape=(X.shape[0], len(columns)))


def _nearest(
    z: NDArray[np.float32],
    vectors: NDArray[np.float32],
    k: int,
    measure: Measure,
    threads: int | None,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the k vectors nearest to each row of z, -1 for none, and similarities up to 1."""
    if measure == "cosine":
        nothing = csr_array((len(vectors), 1), dtype=np.float32)
        found = Memory(unit_rows(vectors), nothing).nearest(unit_rows(z), k, threads=threads)
        return found.documents, found.similarities
    k = min(k, len(vectors))
    squares = np.einsum("nd,nd->n", vectors, vectors)
    distances = squares - 2 * (z @ vectors.T)
    best = np.argpartition(distances, k - 1, axis=1)[:, :k]
    exact = np.linalg.norm(z[:, None] - vectors[best], axis=2)  # a product's last bit may differ
    order = np.lexsort((best, exact))
    documents = np.take_along_axis(best, order, axis=1).astype(np.int32)
    documents[~z.any(axis=1)] = -1  # what has no vector is like nothing
    alike = 1 / (1 + np.take_along_axis(exact, order, axis=1))
    return documents, alike.astype(np.float32)
