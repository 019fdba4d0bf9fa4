"""Kernels of learned embeddings, against plain numpy."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.models.embeddings import kernels
from labelgrove.text.vocabulary import read_only


def parts(X):
    return [read_only(part) for part in (X.indptr, X.indices, X.data)]


def loss(weights, X, near, others, gamma):
    """Return the sum of the losses of the paper for given random documents."""
    Z = X @ weights
    Z = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    cosines = Z @ Z.T
    return sum(
        np.log1p(np.exp(-gamma * (cosines[i, p] - cosines[i, others])).sum())
        for i in range(len(Z))
        for p in near[i]
    )


def test_a_step_is_down_the_slope_of_the_loss():
    """Document 0 is near document 1, and with this seed document 0 is drawn as the other one."""
    X = csr_array(np.array([[1.0, 0.5, 0], [0, 0.5, 1.0]], np.float32))
    near = np.array([[1], [-1]], np.int32)
    start = np.random.default_rng(0).uniform(-1, 1, (3, 4)).astype(np.float32)
    weights, gamma = start.copy(), 0.01  # small slopes: AdaGrad divides by nearly 1
    kernels.embed_pairs(*parts(X), near, 1, np.float32(1), np.float32(gamma), weights, 2)
    slope = np.zeros(start.shape)
    for cell in np.ndindex(3, 4):
        change = np.zeros(start.shape)
        change[cell] = 1e-4
        both = [loss(start + step * change, X, [[1], []], [0], gamma) for step in (1, -1)]
        slope[cell] = (both[0] - both[1]) / 2e-4
    assert np.abs(slope).max() > 1e-4
    assert np.allclose(weights - start, -slope, rtol=0.01, atol=1e-6)


def test_near_documents_get_near():
    chance = np.random.default_rng(1)
    X = csr_array((chance.random((60, 30)) < 0.3).astype(np.float32))
    groups = np.repeat(np.arange(3), 20)
    near = np.stack([chance.permutation(np.flatnonzero(groups == g))[:5] for g in groups])
    near = near.astype(np.int32)
    start = chance.uniform(-0.3, 0.3, (30, 8)).astype(np.float32)
    weights = start.copy()
    arguments = (near, 8, np.float32(0.1), np.float32(10), weights, 3)
    kernels.embed_pairs(*parts(X), *arguments)
    everyone = np.arange(60)
    after = loss(weights, X, near, everyone, 10)
    assert after < 0.6 * loss(start, X, near, everyone, 10)
    again = start.copy()
    kernels.embed_pairs(*parts(X), *arguments[:4], again, 3)
    assert np.array_equal(weights, again)


@pytest.mark.parametrize("cells", [1000, 37])
def test_near_documents_share_a_cluster(cells):
    topics = np.repeat(np.eye(4), 15, axis=0)
    X = csr_array(np.repeat(topics, 3, axis=1).astype(np.float32))
    near = np.repeat(np.arange(60).reshape(4, 15)[:, :5], 15, axis=0).astype(np.int32)
    flat = kernels.partition(*parts(X), 12, near, 2, 10, np.float32(0.1), np.float32(0.1), cells, 1)
    assert len(flat) == min(24, cells)
    weights = np.stack([flat[(c * 12 + np.arange(12)) % len(flat)] for c in range(2)])
    own = np.argmax(X @ weights.T, axis=1).reshape(4, 15)
    assert (own == own[:, :1]).all()
