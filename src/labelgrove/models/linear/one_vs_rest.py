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


class OneVsRest(LinearForest):
    """A linear classifier for every label, trained on all documents.

    It needs no tree; its time grows with documents x labels.

    Examples
    --------
    >>> X = csr_array(np.eye(3, dtype=np.float32))
    >>> OneVsRest().fit(X, X).rank(X, k=1).labels.ravel().tolist()
    [0, 1, 2]
    """

    name: ClassVar[str] = "one-vs-rest"

    def _grow(self, X: csr_array, Y: csr_array, context: FitContext) -> list[LabelTree]:
        return [LabelTree([np.zeros(Y.shape[1], np.int32)])]
