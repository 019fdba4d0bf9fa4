"""Linear scores whose weights and dual variables are both few.

Yen, Huang, Zhong, Ravikumar and Dhillon, "PD-Sparse: a primal and dual sparse approach to extreme
multiclass and multilabel classification", ICML 2016. The wrong label with the greatest score is
searched among all, where the paper samples some of them, and training ends after ``epochs``, where
the authors' program stops early by held-out documents. The default cost is 5 in place of 1, which
ranked held-out documents of debtags worse and of reuters alike.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features
from labelgrove.core.random import generator
from labelgrove.core.ranges import Real
from labelgrove.core.ranking import Ranking
from labelgrove.core.settings import setting
from labelgrove.core.types import Explanation, FitContext
from labelgrove.models.sparse_rows import canonical_rows, known_rows
from labelgrove.text.vocabulary import read_only

ROWS = 256  # texts that are ranked at once
ROOM = 4  # labels that each feature has room for at first


class PdSparse(Classifier):
    """Linear scores by which each document's true labels are a margin before the wrong ones.

    A label with a score z above 0 has the probability tanh(z), by which labels are ranked as by
    their scores; others are not named.

    Attributes
    ----------
    weights_
        Shape (D, L).

    Examples
    --------
    >>> X = csr_array(np.eye(3, dtype=np.float32))
    >>> PdSparse().fit(X, X).rank(X, k=1).labels.ravel().tolist()
    [0, 1, 2]
    """

    name: ClassVar[str] = "pd-sparse"
    uses_workers: ClassVar[bool] = False

    cost: float = setting(
        5.0,
        "Weight of the errors of a document against the size of the weights.",
        least=1e-6,
        most=1e6,
        search=Real(0.1, 10.0, log=True),
    )
    penalty: float = setting(
        0.1,
        "Weight of l1: a larger value keeps fewer weights.",
        least=0,
        most=1e6,
        search=Real(0.001, 1.0, log=True),
    )
    epochs: int = setting(20, "Passes over the documents.", least=1)
    added: int = setting(
        1, "Wrong labels with the greatest scores that a pass adds to a document.", least=1
    )

    weights_: csr_array

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        from labelgrove.models.linear import pd_sparse_kernels as kernels

        rows = canonical_rows(X, self.name)
        (n, width), sizes = rows.shape, np.diff(Y.indptr)
        rooms = np.concatenate([[0], np.cumsum(sizes + self.epochs * self.added)]).astype(np.int64)
        own, alpha = np.zeros(rooms[-1], np.int32), np.zeros(rooms[-1])
        own[np.arange(Y.nnz) + np.repeat(rooms[:-1] - Y.indptr[:-1], sizes)] = Y.indices
        own_size = sizes.astype(np.int64)
        row_start = np.arange(width, dtype=np.int64) * ROOM
        row_size, row_room = np.zeros(width, np.int64), np.full(width, ROOM, np.int64)
        used = np.array([width * ROOM], np.int64)
        labels, sums = np.zeros(width * ROOM + 1, np.int32), np.zeros(width * ROOM + 1, np.float32)
        matrices = [read_only(part) for part in (rows.indptr, rows.indices, rows.data)]
        truth = [read_only(part) for part in (Y.indptr, Y.indices)]
        chance = generator(self.seed, "pd-sparse")
        if not ((sizes > 0) & (sizes < Y.shape[1])).any():
            context.run.progress.say(
                "warning: no document has one label and lacks another, so pd-sparse learns nothing "
                "and will name no label: it puts true labels before wrong ones; choose bonsai"
            )
        with context.run.progress.task("training", self.epochs, "passes") as shown:
            for _ in range(self.epochs):
                labels, sums, moved = kernels.one_pass(
                    *(*matrices, *truth, chance.permutation(n), float(self.penalty)),
                    *(float(self.cost), self.added, int(chance.integers(2**62))),
                    *(rooms, own_size, own, alpha, row_start, row_size, row_room),
                    *(labels, sums, used, Y.shape[1]),
                )
                shown.advance(moved=round(moved, 4))
        # what the rows hold, without the room that is left in them
        ends = np.concatenate([[0], np.cumsum(row_size)])
        places = np.arange(ends[-1]) + np.repeat(row_start - ends[:-1], row_size)
        beyond = np.maximum(np.abs(sums[places]) - np.float32(self.penalty), 0)
        weights = np.sign(sums[places]) * beyond
        found = csr_array((weights, labels[places], ends), shape=(width, Y.shape[1]))
        found.eliminate_zeros()
        found.sort_indices()
        self.weights_ = csr_array(found, dtype=np.float32)

    def _rank(self, X: Features, k: int) -> Ranking:
        rows, parts = known_rows(X, self.name, self.weights_.shape[0]), [Ranking.empty(0, k)]
        for first in range(0, rows.shape[0], ROWS):
            scores = csr_array(rows[first : first + ROWS] @ self.weights_)
            scores.data = np.tanh(np.maximum(scores.data, 0))
            scores.eliminate_zeros()
            parts.append(Ranking.from_csr(scores, k))
        return Ranking.concatenate(parts)

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return each feature's part in the score."""
        row = known_rows(X, self.name, self.weights_.shape[0])[np.array([i])]
        shares = self.weights_[row.indices][:, [label]].toarray().ravel() * row.data
        spoke = shares != 0
        return Explanation(row.indices[spoke].astype(np.int64), shares[spoke])

    def _explain_label(self, label: int) -> Explanation:
        """Return the weights of the words that a label has."""
        column = self.weights_[:, [label]].toarray().ravel()
        words = np.flatnonzero(column)
        return Explanation(words, column[words])

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings that differ from the defaults."""
        return {"epochs": 12}

    def check_state(self) -> None:
        """Refuse weights of other labels."""
        super().check_state()
        if not isinstance(self.weights_, csr_array) or self.weights_.shape[1] != self.n_labels_:
            raise ValueError(f"weights_ must be a sparse matrix of words x {self.n_labels_} labels")
        checks.array("weights_", self.weights_.data, np.float32, (None,))
        checks.finite("weights_", self.weights_.data)
