"""Every step of the solver against plain numpy, on small problems."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.models.linear import training_kernels
from labelgrove.models.linear.dense_kernels import DenseRows, zero_weights
from labelgrove.models.linear.training_kernels import EarlierLabels


def splitmix(state):
    """Yield the numbers of the generator that shuffles rows (splitmix64)."""
    every = 2**64 - 1
    while True:
        state = (state + 0x9E3779B97F4A7C15) & every
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & every
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & every
        yield mixed ^ (mixed >> 31)


def logistic_step(alpha, margin, q, cost):
    """Return the new dual variables of logistic loss after four guarded Newton steps."""
    z, low = alpha, 1e-6 * cost
    for _ in range(4):
        slope = margin + q * (z - alpha) + np.log(z / (cost - z))
        step = z - slope / (q + cost / (z * (cost - z)))
        down, up = np.maximum(low, 0.1 * z), np.minimum(cost - low, cost - 0.1 * (cost - z))
        z = np.where(step <= low, down, np.where(step >= cost - low, up, step))
    return z


def plain_solve(A, Y, sees, cost, true_cost, logistic, epochs, tolerance, seed):
    """Return weights (F, L), the numbers of epochs and of rows visited, and a distance.

    A (n, F) are all features, with a last one that is 1; label c sees feature f if ``sees[f, c]``.
    The distance is that of the closest decision from its threshold.
    """
    n = len(A)
    sign, limit = np.where(Y, 1, -1), np.where(Y, true_cost, cost)
    ridge = np.zeros(Y.shape) if logistic else 0.5 / limit
    alpha = np.full(Y.shape, 1e-3 * cost if logistic else 0.0)
    seen, square = A**2 @ sees, (A**2).sum(axis=1) + (0 if logistic else 0.5 / cost)
    weights = sees * (A.T @ (alpha * sign))
    order, due, pause, numbers = list(range(n)), np.zeros(n), np.zeros(n), splitmix(seed)
    visits, closest = 0, np.inf
    for epoch in range(epochs):
        for i in range(n - 1, 0, -1):
            j = next(numbers) % (i + 1)
            order[i], order[j] = order[j], order[i]
        worst, awake = 0.0, [i for i in order if due[i] <= epoch]
        for i in awake:
            margin = sign[i] * (A[i] @ weights)
            if logistic:
                new = logistic_step(alpha[i], margin, seen[i], limit[i])
            else:
                slope = margin - 1 + ridge[i] * alpha[i]
                new = np.maximum(alpha[i] - slope / (seen[i] + ridge[i]), 0)
            change = new - alpha[i]
            violated = np.abs(change) * square[i]
            worst = max(worst, violated.max())
            closest = min(closest, abs(violated.max() - tolerance))
            if violated.max() < tolerance:
                pause[i] = 2 * pause[i] + 1
                due[i] = epoch + 1 + pause[i]
            else:
                pause[i] = 0
                closest = min(closest, np.abs(violated - 0.1 * tolerance).min())
                change[violated <= 0.1 * tolerance] = 0
                alpha[i] += change
                weights += sees * np.outer(A[i], change * sign[i])
        visits += len(awake)
        if worst < tolerance:
            if len(awake) == n:
                return weights, (epoch + 1, visits), closest
            due[:] = 0
    return weights, (epochs, visits), closest


def offsets(rows):
    return np.cumsum([0, *map(len, rows)])


def chained(rng, Y, n_features, n_before, link):
    """Return labels before those of a node, and the node's own but the last, as features.

    They follow n_features of the text: an array (n, features), which labels see each, shape
    (features, L), and the `EarlierLabels`.
    """
    n, n_labels = Y.shape
    truth = np.hstack([rng.random((n, n_before)) < 0.3, Y[:, :-1]])
    sees = np.arange(truth.shape[1])[:, None] < n_before + np.arange(n_labels)
    rows = [n_features + np.flatnonzero(row) for row in truth]
    flat = np.concatenate(rows).astype(np.int32)
    earlier = EarlierLabels(offsets(rows), flat, n_features + n_before, np.float32(link))
    return link * truth, sees, earlier


def problem(seed, n, n_features, n_labels, learned, n_before, n_dense):
    """Return the text (n, n_features), all features of all kinds, what labels see, and the truth.

    And the earlier labels and the dense columns as the solver wants them. Only the first
    ``learned`` labels have documents.
    """
    rng = np.random.default_rng(seed)
    text = rng.standard_normal((n, n_features)) * (rng.random((n, n_features)) < 0.5)
    X, Y = csr_array(text.astype(np.float32)), rng.random((n, n_labels)) < 0.4
    Y[:, learned:] = False
    parts, sees = [X.toarray().astype(float)], [np.ones((n_features, n_labels))]
    earlier = dense = None
    if n_before is not None:
        part, seen, earlier = chained(rng, Y, n_features, n_before, link=0.75)
        parts, sees = [*parts, part], [*sees, seen]
    if n_dense:
        vectors = rng.standard_normal((n + 2, n_dense)).astype(np.float32)
        rows = rng.permutation(n + 2)[:n].astype(np.int32)
        dense = DenseRows(vectors, rows, zero_weights(n_labels, n_dense))
        parts, sees = [*parts, vectors[dense.rows]], [*sees, np.ones((n_dense, n_labels))]
    A = np.hstack([*parts, np.ones((n, 1))])
    return X, A, np.vstack([*sees, np.ones((1, n_labels))]), Y, earlier, dense


# rows, features, labels, those that have documents, columns beyond, epochs, tolerance
SIZES = [
    (1, 0, 1, 1, 0, 3, 1e-3),
    (2, 1, 2, 2, 1, 1, 1e-3),
    (20, 13, 5, 5, 3, 2, 1e-3),
    (20, 13, 5, 5, 3, 60, 0.1),  # ends by the tolerance
    (12, 8, 40, 4, 8, 12, 0.05),  # soon few labels move at once
]


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("n_dense", [0, 6])
@pytest.mark.parametrize("n_before", [None, 0, 3])
def test_every_step_of_the_solver_is_that_of_plain_numpy(n_before, n_dense, size, logistic):
    """``n_before`` is None for no chain, or the number of labels before those of the node."""
    *shape, padding, epochs, tolerance = size
    true_cost = np.random.default_rng(0).uniform(0.2, 4.0, shape[2]).astype(np.float32)
    how = np.float32(0.5), true_cost, logistic, epochs, np.float32(tolerance), 7
    for seed in range(99):  # the first problem of which rounding turns no decision
        X, A, sees, Y, earlier, dense = problem(seed, *shape, n_before, n_dense)
        wanted, visited, closest = plain_solve(A, Y, sees, *how)
        if closest > 5e-6:
            break
    assert closest > 5e-6
    truth = csr_array(Y)
    weights = np.zeros((A.shape[1] - n_dense, shape[2] + padding), np.float32)
    used = training_kernels.solve(
        *(X.indptr.astype(np.int64), X.indices, X.data),
        *(truth.indptr.astype(np.int64), truth.indices.astype(np.int32), weights),
        *(*how, earlier, dense),
    )
    assert used == visited
    parts = [weights[:, : shape[2]]]
    if n_dense:
        parts = [parts[0][:-1], dense.label_weights(shape[2]).T, parts[0][-1:]]
    np.testing.assert_allclose(np.vstack(parts), wanted, atol=1e-4)
    assert not weights[:, shape[2] :].any(), "columns beyond the labels stay zero"


@pytest.mark.parametrize("cost", [0.01, 1.0, 30.0])
def test_a_logistic_step_stays_inside_its_bounds(cost):
    """The bounds are a millionth of the cost; far steps go nine tenths of the way to an end."""
    cost = np.float32(cost)
    for share in (1e-6, 1e-5, 1e-3, 0.3, 0.7, 0.999, 1 - 1e-6):
        for margin in (-60, -20, -8, -2, -0.3, 0, 0.3, 2, 8, 20, 60):
            for q in (0.5, 2.0, 900.0):
                given = np.float32(share) * cost, np.float32(margin), np.float32(q)
                found = float(training_kernels._logistic_step(*given, cost))
                wanted = logistic_step(*map(float, given), float(cost))
                assert found == pytest.approx(wanted, rel=2e-3)
                assert float(cost) - found == pytest.approx(float(cost) - wanted, rel=0.2)
