"""Trees over documents whose nodes are split by nDCG.

Prabhu and Varma, "FastXML: a fast, accurate and stable tree-classifier for extreme multi-label
learning", KDD 2014. As in the authors' program, and other than in the paper's algorithm, the
separator is learned once, after the sides have settled; errors of the smaller side count more, as
if both were equal; and a leaf keeps its 100 best labels.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.models.forests.classifier import DocumentForest


class FastXml(DocumentForest):
    """Trees over documents; a label is as probable as its share in the leaves that a text reaches.

    Examples
    --------
    >>> X = csr_array(np.repeat(np.eye(3, dtype=np.float32), 4, axis=0))
    >>> model = FastXml(trees=5, max_leaf=2, cost=10).fit(X, X)
    >>> model.rank(X[::4], k=1).labels.ravel().tolist()
    [0, 1, 2]
    """

    name: ClassVar[str] = "fastxml"

    def _gains(self, Y: csr_array) -> NDArray[np.float64]:
        return np.ones(Y.shape[1])
