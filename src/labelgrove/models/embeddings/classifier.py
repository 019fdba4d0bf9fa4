"""What the models with learned embeddings share: a text has the labels of its neighbours there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features
from labelgrove.core.random import generator
from labelgrove.core.ranges import Whole
from labelgrove.core.ranking import Ranking
from labelgrove.core.settings import setting
from labelgrove.core.types import Explanation, FitContext
from labelgrove.labels.vectors import normalised
from labelgrove.models.embeddings.learners import (
    TIE,
    Learners,
    Measure,
    nearest_center,
    with_columns,
)
from labelgrove.models.learned_parts import Part, fingerprint, learn_parts
from labelgrove.models.sparse_rows import canonical_rows, known_rows

ROWS = 512  # texts whose neighbours are searched at once


class LocalEmbeddings(Classifier):
    """Several embeddings of clusters of documents; the nearest documents vote with their labels.

    A label's score is the share of the neighbours that have it, over all learners.

    Attributes
    ----------
    learners_
        The clusters and embeddings.
    Y_
        The labels of the documents, shape (n, L).
    """

    uses_workers: ClassVar[bool] = False
    measure: ClassVar[Measure] = "cosine"

    learners: int = setting(
        15, "Number of learners, each with clusters and embeddings of its own.", least=1
    )
    neighbours: int = setting(
        10,
        "Number of nearest documents that vote, in each learner.",
        least=1,
        search=Whole(5, 50, log=True),
    )
    size: int = setting(50, "Size of the embeddings.", least=1, search=Whole(20, 200, log=True))
    cluster_size: int = setting(
        6000, "Documents of a cluster on average, at least; a smaller set is one cluster.", least=1
    )

    learners_: Learners
    Y_: csr_array

    def _centers(
        self, X: csr_array, Y: csr_array, n_clusters: int, chance: np.random.Generator
    ) -> csr_array:
        """Return a linear function for each cluster, shape (n_clusters, D)."""
        raise NotImplementedError

    def _projection(
        self, X: csr_array, Y: csr_array, chance: np.random.Generator
    ) -> NDArray[np.float32]:
        """Return the vectors of the features of a cluster, shape (D, size)."""
        raise NotImplementedError

    def _learn(self, X: csr_array, Y: csr_array, n_clusters: int, number: int) -> Part:
        """Return a learner, as `Learners.of` reads it, from rows of length 1."""
        chance = generator(self.seed, self.name, number)
        centers = self._centers(X, Y, n_clusters, chance)
        clusters = nearest_center(X, centers)
        starts, columns, projections = [0], [], []
        vectors = np.zeros((X.shape[0], self.size), np.float32)
        for cluster in range(n_clusters):
            rows = np.flatnonzero(clusters == cluster)
            known = np.unique(X[rows].indices).astype(np.int32)
            own = with_columns(X[rows], known)
            projection = self._projection(own, Y[rows], chance)
            vectors[rows] = own @ projection
            starts.append(starts[-1] + len(known))
            columns.append(known)
            projections.append(projection)
        return {
            "centers": centers,
            "clusters": clusters.astype(np.int32),
            "starts": np.array(starts, np.int64),
            "columns": np.concatenate(columns),
            "projection": np.concatenate(projections),
            "vectors": vectors,
        }

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        rows = normalised(canonical_rows(X, self.name))
        n_clusters = max(1, rows.shape[0] // self.cluster_size)

        def learn(number: int) -> Part:
            return self._learn(rows, Y, n_clusters, number)

        def about() -> str:
            return fingerprint({"model": self.name, **self.get_params(deep=False)}, [rows, Y])

        parts = learn_parts(self.learners, learn, context.run, about, "learners", self.threads)
        self.learners_ = Learners.of(parts)
        self.Y_ = csr_array(Y, dtype=np.float32)

    def _known(self, X: Features) -> csr_array:
        """Return rows of length 1 with the features that it learned from."""
        width = int(self.learners_.centers.shape[1])
        return normalised(known_rows(X, self.name, width))

    def _rank(self, X: Features, k: int) -> Ranking:
        rows, parts = self._known(X), [Ranking.empty(0, k)]
        most = len(self.learners_.clusters) * self.neighbours * (1 + TIE)
        for first in range(0, rows.shape[0], ROWS):
            part = rows[first : first + ROWS]
            votes = self.learners_.votes(part, self.neighbours, self.measure, self.threads)
            scores = csr_array(votes @ self.Y_, dtype=np.float32)
            scores.data = np.minimum(scores.data / np.float32(most), 1.0)
            parts.append(Ranking.from_csr(scores, k))
        return Ranking.concatenate(parts)

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return how much each word drew the text to documents with the label.

        Its part in the products with their vectors, less that in those with the vectors of the
        other neighbours, over all learners.
        """
        rows = self._known(X)[np.array([i])]
        total = np.zeros(rows.nnz)
        found = self.learners_
        for learner in range(len(found.clusters)):
            cluster = int(found.cluster_of(rows, learner)[0])
            members = np.flatnonzero(found.clusters[learner] == cluster)
            one = found._replace(
                centers=csr_array((1, rows.shape[1]), dtype=np.float32),
                clusters=np.where(found.clusters[[learner]] == cluster, 0, 1),
                starts=found.starts[learner * found.n_clusters + cluster :][:2],
                vectors=found.vectors[[learner]],
            )
            near = one.votes(rows, self.neighbours, self.measure, 1).indices
            if not len(near) or not len(members):
                continue
            has = self.Y_[near][:, [label]].toarray().ravel() > 0
            sides = np.where(has, 1 / max(has.sum(), 1), -1 / max((~has).sum(), 1))
            towards = sides @ found.vectors[learner][near]
            number = learner * found.n_clusters + cluster
            entries = slice(found.starts[number], found.starts[number + 1])
            place = np.zeros(rows.shape[1])
            place[found.columns[entries]] = found.projection[entries] @ towards
            total += rows.data * place[rows.indices] / len(found.clusters)
        spoke = total != 0
        return Explanation(rows.indices[spoke].astype(np.int64), total[spoke].astype(np.float32))

    def state(self) -> dict[str, Any]:
        """Return the learners' arrays beside the other state."""
        state = super().state()
        learners = state.pop("learners_", None)
        return state if learners is None else {**state, **learners._asdict()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` returned."""
        names = Learners._fields
        self.learners_ = Learners(**{name: state[name] for name in names})
        super().set_state({name: value for name, value in state.items() if name not in names})

    def check_state(self) -> None:
        """Refuse learners whose arrays do not fit each other or the documents' labels."""
        super().check_state()
        if not isinstance(self.Y_, csr_array) or self.Y_.shape[1] != self.n_labels_:
            raise ValueError(f"Y_ must be a sparse matrix of documents x {self.n_labels_:,} labels")
        checks.array("Y_", self.Y_.data, np.float32, (None,))
        checks.finite("Y_", self.Y_.data)
        self.learners_.check(int(self.Y_.shape[0]))
