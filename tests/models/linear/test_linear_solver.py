"""The solver reaches the optimum that scipy and liblinear find."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_array

from labelgrove.models.linear import training_kernels
from labelgrove.models.linear.dense_kernels import DenseRows, zero_weights


def with_constant(X):
    return np.hstack([X.toarray().astype(float), np.ones((X.shape[0], 1))])


def objective(w, A, sign, cost, logistic):
    """Return |w|^2 / 2 + sum of cost * loss, and its slope; ``cost`` is of each row, or of all."""
    margin = sign * (A @ w)
    if logistic:
        loss, slope = np.logaddexp(0, -margin), -1 / (1 + np.exp(np.clip(margin, -500, 500)))
    else:
        loss, slope = np.maximum(0, 1 - margin) ** 2, -2 * np.maximum(0, 1 - margin)
    return w @ w / 2 + (cost * loss).sum(), w + A.T @ (cost * sign * slope)


def curvature(w, A, sign, cost, logistic):
    """Return the second derivative of the objective, where it has one."""
    margin = sign * (A @ w)
    if logistic:
        p = 1 / (1 + np.exp(np.clip(margin, -500, 500)))
        bend = p * (1 - p)
    else:
        bend = 2.0 * (margin < 1)
    return np.eye(len(w)) + (A.T * (cost * bend)) @ A


def optimum(A, sign, cost, logistic):
    found = minimize(
        *(objective, np.zeros(A.shape[1])),
        args=(A, sign, cost, logistic),
        jac=True,
        hess=curvature,
        method="trust-exact",
        options={"maxiter": 10_000, "gtol": 1e-8},
    )
    return found.x


def solve(
    X, Y, cost=1.0, logistic=False, epochs=3000, tolerance=1e-5, seed=1, true_cost=None, padding=0,
    n_dense=0,
):  # fmt: skip
    """Return weights (features + 1, labels) and what the solver says; ``true_cost`` (labels,).

    The last ``n_dense`` columns of X are given as a dense block, whose rows lie in another order.
    """
    n_labels = Y.shape[1]
    true_cost = np.full(n_labels, cost) if true_cost is None else true_cost
    dense = None
    if n_dense:
        rows = np.random.default_rng(seed).permutation(X.shape[0]).astype(np.int32)
        vectors = np.empty((X.shape[0], n_dense), np.float32)
        vectors[rows] = X.toarray()[:, -n_dense:]
        dense = DenseRows(vectors, rows, zero_weights(n_labels, n_dense))
        X = csr_array(X[:, :-n_dense])
    weights = np.zeros((X.shape[1] + 1, n_labels + padding), np.float32)
    used = training_kernels.solve(
        *(X.indptr.astype(np.int64), X.indices, X.data),
        *(Y.indptr.astype(np.int64), Y.indices.astype(np.int32), weights),
        *(np.float32(cost), np.asarray(true_cost, np.float32), logistic),
        *(epochs, np.float32(tolerance), seed, None, dense),
    )
    assert not weights[:, n_labels:].any(), "columns beyond the labels stay zero"
    weights = weights[:, :n_labels]
    if dense is not None:
        assert not dense.weights[n_labels:].any(), "what only fills tiles stays zero"
        assert not dense.weights[:, n_dense:].any(), "what only fills tiles stays zero"
        weights = np.vstack([weights[:-1], dense.label_weights(n_labels).T, weights[-1:]])
    return weights, used


def problem(seed, n=40, n_features=15, n_labels=6, scale=1.0, density=0.3, truth=0.2):
    rng = np.random.default_rng(seed)
    X = scale * rng.standard_normal((n, n_features)) * (rng.random((n, n_features)) < density)
    Y = rng.random((n, n_labels)) < truth
    return csr_array(X.astype(np.float32)), csr_array(Y.astype(np.float32))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 50),
    n_features=st.integers(0, 20),
    n_labels=st.integers(1, 6),
    density=st.sampled_from([0.0, 0.1, 0.5]),
    cost=st.sampled_from([0.01, 1.0, 5.0]),
    heavier=st.lists(st.sampled_from([0.2, 1.0, 3.0, 10.0]), min_size=6, max_size=6),
    logistic=st.booleans(),
    padding=st.integers(0, 3),
    n_dense=st.integers(0, 9),
)
def test_objective_and_weights_are_those_of_the_optimum(
    seed, n, n_features, n_labels, density, cost, heavier, logistic, padding, n_dense
):
    """Also where documents that have a label count more or less than those without.

    And where the last features are given as dense columns.
    """
    X, Y = problem(seed, n, n_features, n_labels, density=density)
    true_cost = cost * np.array(heavier[:n_labels])
    n_dense = min(n_dense, n_features)
    weights, _ = solve(X, Y, cost, logistic, true_cost=true_cost, padding=padding, n_dense=n_dense)
    A = with_constant(X)
    for c in range(n_labels):
        sign = 2 * Y.toarray()[:, c] - 1
        costs = np.where(sign > 0, true_cost[c], cost)
        best = optimum(A, sign, costs, logistic)
        least = objective(best, A, sign, costs, logistic)[0]
        reached = objective(weights[:, c].astype(float), A, sign, costs, logistic)[0]
        assert reached == pytest.approx(least, rel=1e-3)
        np.testing.assert_allclose(weights[:, c], best, atol=0.02 * max(1, abs(best).max()))


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize("n_dense", [0, 7])
def test_many_labels_at_once_are_the_same_as_each_alone(logistic, n_dense):
    """Of 40 labels a row often moves so few that only theirs are written; alone, that never is."""
    X, Y = problem(5, n=60, n_features=15, n_labels=40, truth=0.1)
    together, _ = solve(X, Y, 2.0, logistic, tolerance=1e-6, n_dense=n_dense)
    for c in range(40):
        own = csr_array(Y[:, [c]])
        alone, _ = solve(X, own, 2.0, logistic, tolerance=1e-6, n_dense=n_dense)
        np.testing.assert_allclose(together[:, [c]], alone, rtol=0, atol=1e-3)


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize("n_dense", [0, 7])
def test_few_labels_that_learn_among_many_that_do_not(logistic, n_dense):
    """Three of 64 labels have documents, which weigh much: they move far, the others do not."""
    X, Y = problem(6, n=60, n_features=15, n_labels=64, truth=0.3)
    learned = [3, 40, 41]
    dense = np.zeros(Y.shape, np.float32)
    dense[:, learned] = Y.toarray()[:, learned]
    costs = {"cost": 0.01, "logistic": logistic, "tolerance": 1e-5, "n_dense": n_dense}
    together, _ = solve(X, csr_array(dense), true_cost=np.full(64, 30.0), **costs)
    for c in learned:
        alone, _ = solve(X, csr_array(dense[:, [c]]), true_cost=np.full(1, 30.0), **costs)
        assert abs(alone).max() > 0.3
        np.testing.assert_allclose(together[:, [c]], alone, rtol=0, atol=1e-4)


@pytest.mark.parametrize("cost", [0.02, 1.0])
def test_no_row_violates_its_optimum_by_the_tolerance(cost):
    """More features than rows: the dual variable of each row follows from the weights."""
    for seed in range(5):
        X, Y = problem(seed, n=10, n_features=20, n_labels=1, density=0.8, truth=0.4)
        weights, (epochs, _) = solve(X, Y, cost, tolerance=0.05)
        assert epochs < 3000
        A, sign = with_constant(X), 2 * Y.toarray()[:, 0] - 1
        alpha = sign * np.linalg.lstsq(A.T, weights[:, 0].astype(float), rcond=None)[0]
        slope, bend = (
            sign * (A @ weights[:, 0]) - 1 + 0.5 / cost * alpha,
            (A**2).sum(1) + 0.5 / cost,
        )
        violated = np.abs(np.maximum(alpha - slope / bend, 0) - alpha) * bend
        assert violated.max() < 0.05 + 1e-3


def test_without_a_tolerance_all_epochs_are_used():
    """Also where nothing moves any more; a tolerance of any size ends it then."""
    X, Y = csr_array(np.float32([[1.0]])), csr_array(np.float32([[1.0]]))
    _, (epochs, visits) = solve(X, Y, tolerance=0.0, epochs=50)
    assert (epochs, visits) == (50, 50)
    _, (epochs, _) = solve(X, Y, tolerance=1e-6, epochs=50)
    assert epochs < 50


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize("heavier", [1.0, 6.0])
def test_same_as_liblinear(heavier, logistic):
    linear_model = pytest.importorskip("sklearn.linear_model")
    svm = pytest.importorskip("sklearn.svm")
    X, Y = problem(3, n=120, n_features=30, n_labels=4)
    true_cost = np.full(4, 0.7 * heavier)
    weights, _ = solve(X, Y, 0.7, logistic, tolerance=1e-6, true_cost=true_cost)
    A = with_constant(X)
    for c in range(4):
        shared = {
            "C": 0.7,
            "class_weight": {1: heavier},
            "fit_intercept": False,
            "tol": 1e-8,
            "max_iter": 100_000,
        }
        if logistic:
            peer = linear_model.LogisticRegression(**shared)
        else:
            peer = svm.LinearSVC(dual=True, loss="squared_hinge", random_state=0, **shared)
        peer.fit(A, Y.toarray()[:, c])
        np.testing.assert_allclose(weights[:, c], peer.coef_[0], atol=1e-3)


@pytest.mark.parametrize("logistic", [False, True])
def test_a_heavier_label_is_found_more_often(logistic):
    """And it changes nothing for the other labels of the same documents."""
    X, Y = problem(4, n_labels=3)
    even, _ = solve(X, Y, logistic=logistic, tolerance=1e-6)
    tilted, _ = solve(X, Y, logistic=logistic, tolerance=1e-6, true_cost=[1.0, 5.0, 1.0])
    A = with_constant(X)
    own = Y.toarray()[:, 1] > 0
    assert (A[own] @ tilted[:, 1]).min() > (A[own] @ even[:, 1]).min()
    assert (A @ tilted[:, 1]).mean() > (A @ even[:, 1]).mean() + 0.1
    np.testing.assert_allclose(tilted[:, [0, 2]], even[:, [0, 2]], atol=1e-4)


def test_quiet_rows_have_the_last_word():
    """Two documents that pull at one bias: each is at rest right after its own step.

    A solver that ends when the documents it did look at are at rest ends far from the optimum.
    """
    X = csr_array((2, 1), dtype=np.float32)
    Y = csr_array(np.array([[1.0], [0.0]], np.float32))
    for seed in range(20):
        weights, _ = solve(X, Y, cost=30.0, seed=seed)
        assert abs(weights[1, 0]) < 1e-3, f"the bias is {weights[1, 0]} for seed {seed}"


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize("n_labels", [1, 2, 9, 64])
def test_labels_do_not_influence_each_other(n_labels, logistic):
    """At the optimum; on the way there they share the order in which documents rest."""
    X, Y = problem(5, n_labels=n_labels, truth=0.1)
    together, _ = solve(X, Y, logistic=logistic, tolerance=1e-6, padding=-n_labels % 8)
    for c in range(0, n_labels, 8):
        alone, _ = solve(X, csr_array(Y[:, [c]]), logistic=logistic, tolerance=1e-6)
        np.testing.assert_allclose(together[:, c], alone[:, 0], atol=1e-4)


def test_seed_changes_the_way_and_not_the_goal():
    X, Y = problem(6)
    first, _ = solve(X, Y, epochs=2, seed=1)
    again, _ = solve(X, Y, epochs=2, seed=1)
    other, _ = solve(X, Y, epochs=2, seed=2)
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    goals = [solve(X, Y, tolerance=1e-6, seed=seed)[0] for seed in (1, 2)]
    np.testing.assert_allclose(*goals, atol=1e-4)


def test_stops_by_tolerance_or_by_epochs():
    X, Y = problem(7)
    assert solve(X, Y, epochs=3, tolerance=1e-6)[1] == (3, 3 * 40), "nothing rests yet"
    epochs, visits = solve(X, Y, epochs=3000, tolerance=0.1)[1]
    assert epochs < 3000
    assert visits < epochs * 40, "documents on which nothing moves are set aside"


@pytest.mark.parametrize("logistic", [False, True])
def test_no_documents_and_no_features(logistic):
    nothing = csr_array((0, 0), dtype=np.float32)
    weights, used = solve(nothing, csr_array((0, 3), dtype=np.float32), logistic=logistic)
    assert not weights.any()
    assert used == (1, 0)


@pytest.mark.parametrize("scale", [1e-3, 30.0])
def test_logistic_steps_stay_inside_their_bounds(scale):
    X, Y = problem(8, n=20, scale=scale)
    weights, _ = solve(X, Y, cost=20.0, logistic=True, epochs=5000)
    A = with_constant(X)
    assert np.isfinite(weights).all()
    for c in range(Y.shape[1]):
        sign = 2 * Y.toarray()[:, c] - 1
        least = objective(optimum(A, sign, 20.0, True), A, sign, 20.0, True)[0]
        reached = objective(weights[:, c].astype(float), A, sign, 20.0, True)[0]
        assert reached == pytest.approx(least, rel=1e-2)


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize("epochs", [1, 2, 5])
def test_a_dense_block_changes_nothing_but_rounding(epochs, logistic):
    """Every step is the same as if the dense columns were sparse, also inside a block of rows.

    Forty labels: some rows move so few of them that only those are written.
    """
    X, Y = problem(5, n=100, n_features=30, n_labels=40, scale=0.3, density=0.9, truth=0.04)
    given = {"cost": 5.0, "logistic": logistic, "epochs": epochs, "tolerance": 0.05, "seed": 3}
    sparse, visits = solve(X, Y, **given)
    dense, dense_visits = solve(X, Y, **given, n_dense=13)
    assert visits == dense_visits
    np.testing.assert_allclose(dense, sparse, atol=1e-4)
