"""Ranks labels by their frequency in training, whatever the text says."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Explanation, FitContext


class MostFrequent(Classifier):
    """The dummy: a label's probability is the share of training documents that have it.

    Attributes
    ----------
    labels_
        Label numbers, the most frequent first, shape (L,).
    shares_
        Share of training documents of each of ``labels_``, shape (L,).

    Examples
    --------
    >>> X, Y = csr_array((3, 4)), csr_array([[1, 1], [0, 1], [0, 0]])
    >>> MostFrequent().fit(X, Y).rank(X[:1], k=2).labels.tolist()
    [[1, 0]]
    """

    name: ClassVar[str] = "most-frequent"
    reads_text: ClassVar[bool] = False
    uses_workers: ClassVar[bool] = False

    labels_: NDArray[np.int32]
    shares_: NDArray[np.float32]

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        order = np.argsort(-counts, kind="stable")
        self.labels_ = order.astype(np.int32)
        self.shares_ = (counts[order] / Y.shape[0]).astype(np.float32)

    def check_state(self) -> None:
        """Refuse labels that there are not."""
        super().check_state()
        checks.array("labels_", self.labels_, np.int32, (self.n_labels_,))
        checks.below("labels_", self.labels_, self.n_labels_)
        checks.array("shares_", self.shares_, np.float32, (self.n_labels_,))

    def _rank(self, X: Features, k: int) -> Ranking:
        shape = (X.shape[0], k)
        return Ranking(
            np.broadcast_to(self.labels_[:k], shape), np.broadcast_to(self.shares_[:k], shape)
        )

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return no words: none had a say."""
        return Explanation(np.empty(0, np.int64), np.empty(0, np.float32))
