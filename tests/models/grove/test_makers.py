"""Makers: which labels they learn, and in which shape."""

import numpy as np
from scipy.sparse import csr_array, eye_array

from labelgrove.models.grove.makers import Maker
from labelgrove.models.linear import choosing


def test_labels_without_documents_do_not_decide_the_shape_of_parts(monkeypatch):
    n = 500
    X = csr_array(eye_array(n, format="csr"), dtype=np.float32)
    Y = csr_array((X.data, X.indices, X.indptr), shape=(n, 10 * n))  # nine tenths have none
    monkeypatch.setattr(choosing, "QUICK", 2 * X.nnz * n)
    maker = Maker.new("tree", "", {})
    assert maker.for_parts(X, Y).model.max_leaf is None, "all of them go without a tree"
    monkeypatch.setattr(choosing, "QUICK", X.nnz * n - 1)
    assert maker.for_parts(X, Y).model.max_leaf is not None
