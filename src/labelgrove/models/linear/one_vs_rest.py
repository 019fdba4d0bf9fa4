"""One linear classifier a label, in the form of DiSMEC.

Babbar and Schölkopf, "DiSMEC: distributed sparse machines for extreme multi-label
classification", WSDM 2017.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from labelgrove.core.types import FitContext
from labelgrove.labels import LabelTree
from labelgrove.models.linear.classifier import LinearForest
from labelgrove.models.linear.training import Loss


class OneVsRest(LinearForest):
    """A linear classifier for every label, trained on all documents that have labels.

    It needs no tree; its time grows with documents x labels.

    Parameters
    ----------
    loss
        ``"squared-hinge"`` or ``"logistic"``.
    cost
        Weight of the losses against the size of the weights.
    tail
        A document counts more for the labels that it has the rarer they are: the inverse of
        their propensity to this power. 0 treats all labels alike, 1 gives rare ones the most.
    epochs, tolerance
        When the solver stops: after so many passes, or when no document violates by more.
    threshold
        Smaller weights are dropped.
    sharpness
        Slope of the logistic function that turns scores into probabilities.
    seed, threads
        As for every model; threads change nothing in the result.

    Examples
    --------
    >>> X = csr_array(np.eye(3, dtype=np.float32))
    >>> OneVsRest().fit(X, X).rank(X, k=1).labels.ravel().tolist()
    [0, 1, 2]
    """

    name: ClassVar[str] = "one-vs-rest"

    def __init__(
        self,
        loss: Loss = "squared-hinge",
        cost: float = 1.0,
        tail: float = 0.0,
        epochs: int = 10,
        tolerance: float = 0.1,
        threshold: float = 0.05,
        sharpness: float = 3.0,
        *,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.loss = loss
        self.cost = cost
        self.tail = tail
        self.epochs = epochs
        self.tolerance = tolerance
        self.threshold = threshold
        self.sharpness = sharpness
        self.seed = seed
        self.threads = threads

    def _grow(self, X: csr_array, Y: csr_array, context: FitContext) -> list[LabelTree]:
        return [LabelTree([np.zeros(Y.shape[1], np.int32)])]
