import numpy as np
from scipy.sparse import csr_array

from labelgrove.checking import kernels
from labelgrove.checking.companions import companions


def test_pairs_are_those_of_dense_counting():
    random = np.random.default_rng(0)
    dense = (random.random((400, 30)) < 0.1).astype(np.int8)
    dense[:, 1] |= dense[:, 0]  # 0 brings 1
    dense[:, 3] = dense[:, 2]  # 2 and 3 are one
    dense[:, 4] = 1  # on every document: no news
    counts = dense.astype(int).T @ dense.astype(int)
    shares = counts / counts.diagonal()[:, None]
    wanted = {
        (i, j)
        for i, j in zip(*np.nonzero(shares >= 0.97), strict=True)
        if i != j and counts[i, i] >= 10
    }
    Y = csr_array(dense)
    columns = Y.tocsc()
    labels, others, together = kernels.companions(
        Y.indptr.astype(np.int64), Y.indices.astype(np.int32),
        columns.indptr.astype(np.int64), columns.indices.astype(np.int32), 10, 0.97, 10**6,
    )  # fmt: skip
    assert set(zip(labels.tolist(), others.tolist(), strict=True)) == wanted
    assert np.allclose(together, shares[labels, others])
    found = companions(Y)
    assert found.same == [(2, 3)]
    assert (0, 1) in found.narrower
    assert all(other != 4 for _, other in found.narrower)


def test_labels_with_few_documents_are_left_out():
    assert companions(csr_array(np.ones((9, 2), np.int8))) == ([], [])
