"""PD-Sparse against plain numpy."""

import io

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

from labelgrove.core.progress import Lines
from labelgrove.core.types import FitContext, Run
from labelgrove.models.contract import Case
from labelgrove.models.linear import pd_sparse_kernels as kernels
from labelgrove.models.linear.pd_sparse import PdSparse


@pytest.mark.parametrize("cost", [0.3, 1.0, 50.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_projection_is_the_nearest_point(cost, seed):
    chance = np.random.default_rng(seed)
    true, false = chance.normal(0, 1, 3), chance.normal(0.3, 1, 5)
    found = true.copy(), false.copy()
    kernels.project(*found, cost)

    def distance(both):
        return ((both[:3] - true) ** 2).sum() + ((both[3:] - false) ** 2).sum()

    best = minimize(
        distance,
        np.full(8, 0.01),
        bounds=[(0, None)] * 8,
        constraints=[
            {"type": "eq", "fun": lambda both: both[:3].sum() - both[3:].sum()},
            {"type": "ineq", "fun": lambda both: cost - both[:3].sum()},
        ],
        options={"ftol": 1e-12},
    )
    assert distance(np.concatenate(found)) == pytest.approx(best.fun, abs=1e-5)
    assert found[0].sum() == pytest.approx(found[1].sum(), abs=1e-8)
    assert found[0].sum() <= cost + 1e-8


def objective(W, X, Y, cost, penalty):
    """Return what is minimised: l1, l2 and each document's greatest violation of the margin."""
    Z = X @ W
    losses = [max(0.0, 1 + z[y == 0].max() - z[y == 1].min()) for z, y in zip(Z, Y, strict=True)]
    return penalty * np.abs(W).sum() + (W**2).sum() / 2 + cost * sum(losses)


@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_the_weights_are_the_best_ones(penalty):
    chance = np.random.default_rng(0)
    X = np.where(chance.random((30, 8)) < 0.5, chance.random((30, 8)), 0).astype(np.float32)
    Y = (chance.random((30, 4)) < 0.4).astype(np.float32)
    Y[:, 0], Y[:, 1] = Y[:, 0] * (1 - Y[:, 1]), Y[:, 1]
    Y[Y.sum(axis=1) == 0, 3] = 1
    model = PdSparse(cost=2.0, penalty=penalty, epochs=300, added=3)
    W = model.fit(csr_array(X), csr_array(Y)).weights_.toarray()
    found = objective(W, X, Y, 2.0, penalty)
    for _ in range(300):  # no small step leads to less
        step = chance.normal(0, 1, W.shape) * (chance.random(W.shape) < 0.3)
        for size in (1e-3, 1e-2, 0.1):
            assert objective(W + size * step, X, Y, 2.0, penalty) > found - 2e-3
    assert found < objective(np.zeros_like(W), X, Y, 2.0, penalty)
    if penalty:
        assert (W == 0).any()


def test_ranks_by_scores(tmp_path):
    case = Case(lambda folder: PdSparse(), tmp_path)
    model, X = case.fitted, case.test[0]
    scores = (X[[0]] @ model.weights_).toarray().ravel()
    ranking = model.rank(X[:1], 12)
    for label, score in ranking.row(0):
        assert score == pytest.approx(np.tanh(scores[label]), rel=1e-5)
    assert sorted(ranking.labels[0][ranking.labels[0] >= 0]) == np.flatnonzero(scores > 0).tolist()
    label = int(ranking.labels[0, 0])
    assert model.explain(X, 0, label).weights.sum() == pytest.approx(scores[label], rel=1e-4)
    told = model.explain_label(label)
    assert np.array_equal(told.weights, model.weights_[:, [label]].toarray().ravel()[told.ids])


@pytest.mark.parametrize("labels", [[1.0, 0.0], [1.0, 1.0]])
def test_labels_that_teach_nothing_are_warned_of(labels):
    """Without a document that has one label and lacks another there is no margin to keep."""
    said = io.StringIO()
    X, one = csr_array(np.eye(2, dtype=np.float32)), csr_array(np.array(labels)[:, None])
    context = FitContext(run=Run(progress=Lines(said)))
    assert (PdSparse().fit(X, one, context=context).rank(X, 1).labels == -1).all()
    assert "warning: no document has one label and lacks another" in said.getvalue()


def test_few_weights_and_rows_that_outgrow_their_room(tmp_path):
    """A word of all documents has a sum for more labels than it has room for at first."""
    X = csr_array(np.hstack([np.eye(12), np.ones((12, 1))]).astype(np.float32))
    Y = csr_array(np.eye(12, dtype=np.float32))
    model = PdSparse(penalty=0.0, epochs=40).fit(X, Y)
    assert np.diff(model.weights_.indptr)[12] > 4
    assert model.rank(X, 1).labels.ravel().tolist() == [*range(12)]
    sparse = PdSparse(penalty=0.2, epochs=40).fit(X, Y)
    assert sparse.weights_.nnz < model.weights_.nnz


def test_weights_of_a_file_must_be_of_the_labels():
    model = PdSparse().fit(csr_array(np.eye(3, dtype="f4")), csr_array(np.eye(3)))
    model.check_state()
    model.weights_ = model.weights_[:, :2]
    with pytest.raises(ValueError, match="weights_ must be"):
        model.check_state()
