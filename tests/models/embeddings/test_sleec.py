"""SLEEC's parts against plain numpy."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.models.contract import Case
from labelgrove.models.embeddings.completion import completed, linear_map
from labelgrove.models.embeddings.sleec import Sleec, known_products

SMALL = Sleec.example_settings(None)


def test_known_products_are_cosines_of_labels():
    chance = np.random.default_rng(0)
    Y = (chance.random((30, 6)) < 0.4).astype(np.float32)
    Y[7] = 0
    found = known_products(csr_array(Y), 4, chance)
    unit = Y / np.maximum(np.linalg.norm(Y, axis=1, keepdims=True), 1e-9)
    dense = found.toarray()
    rows, others = np.nonzero(dense)
    assert np.allclose(dense[rows, others], (unit @ unit.T)[rows, others])
    assert np.array_equal(dense, dense.T)
    assert np.allclose(found.diagonal(), Y.any(axis=1))
    products = unit @ unit.T - 2 * np.eye(30)
    best = products[0].max()
    nearest = dense[0].copy()
    nearest[0] = 0
    assert nearest.max() == pytest.approx(best)


def test_a_low_rank_matrix_is_completed():
    chance = np.random.default_rng(1)
    vectors = chance.standard_normal((40, 3))
    whole = vectors @ vectors.T
    seen = np.triu(chance.random((40, 40)) < 0.7)
    seen |= seen.T
    rows, others = np.nonzero(seen)
    known = csr_array((whole[rows, others], (rows, others)), shape=(40, 40))
    found = completed(known, 3, 300, chance)
    assert np.allclose(found @ found.T, whole, atol=0.05)


def test_the_linear_map_is_a_ridge_regression():
    chance = np.random.default_rng(2)
    X = np.where(chance.random((50, 20)) < 0.4, chance.random((50, 20)), 0)
    Z = chance.standard_normal((50, 4))
    found = linear_map(csr_array(X), Z, 0.5, 0.0)
    assert np.allclose(found, np.linalg.solve(X.T @ X + 0.5 * np.eye(20), X.T @ Z), atol=1e-3)


def test_a_sparse_map_lowers_its_objective():
    chance = np.random.default_rng(3)
    X = chance.random((60, 15))
    Z = chance.standard_normal((60, 5))

    def objective(V):
        results = X @ V
        squares = ((Z - results) ** 2).sum() / 2 + 0.1 * (V**2).sum() / 2
        return squares + 2.0 * np.abs(results).sum()

    plain, sparse = (linear_map(csr_array(X), Z, 0.1, weight) for weight in (0.0, 2.0))
    assert objective(sparse) < objective(plain)
    assert np.abs(X @ sparse).sum() < 0.5 * np.abs(X @ plain).sum()


def test_a_text_has_the_labels_of_the_nearest_documents(tmp_path):
    case = Case(lambda folder: Sleec(**SMALL), tmp_path)
    model, X = case.fitted, case.test[0]
    found = model.learners_
    rows = model._known(X[:1])
    shares = np.zeros(12)
    for learner in range(2):
        cluster = int(found.cluster_of(rows, learner)[0])
        members = np.flatnonzero(found.clusters[learner] == cluster)
        z = found.embedded(rows, learner, cluster)
        distances = np.linalg.norm(found.vectors[learner][members] - z, axis=1)
        nearest = members[np.argsort(distances)[:10]]
        shares += model.Y_[nearest].toarray().sum(axis=0) / 20
    assert found.n_clusters == 2
    for label, score in model.rank(X[:1], 12).row(0):
        assert score == pytest.approx(shares[label], abs=2e-3)


def test_documents_keep_their_neighbours_by_labels():
    """Of documents with the same two words, those with the same labels end up nearest."""
    Y = np.repeat(np.eye(3), 12, axis=0)
    chance = np.random.default_rng(0)
    X = csr_array(np.hstack([Y, chance.random((36, 6))]).astype(np.float32))
    model = Sleec(learners=1, size=3, kept=5).fit(X, csr_array(Y))
    vectors = model.learners_.vectors[0]
    apart = np.linalg.norm(vectors[:, None] - vectors, axis=2) + 9 * np.eye(36)
    groups = np.arange(36) // 12
    assert (groups[apart.argmin(axis=1)] == groups).all()
