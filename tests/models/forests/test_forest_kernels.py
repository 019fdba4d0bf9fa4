"""Kernels of trees over documents, against plain numpy."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array, random_array

from labelgrove.models.forests import kernels
from labelgrove.text.vocabulary import read_only


def some(rows, columns, density, seed=0):
    chance = np.random.default_rng(seed)
    found = csr_array(random_array((rows, columns), density=density, rng=chance, dtype="f4"))
    found.sort_indices()
    return found


def parts(*matrices):
    """Return arrays as models give them, so that kernels are compiled once for both."""
    return [read_only(part) for m in matrices for part in (m.indptr, m.indices, m.data)]


def by_column(dense):
    columns = csr_array(dense.T)
    return columns.indptr.astype(np.int64), columns.indices, columns.data


def test_columns_of_rows():
    X, place = some(20, 30, 0.2), np.full(30, -1, np.int32)
    rows = np.array([3, 17, 4, 9])
    ptr, owner, entry, known = kernels.columns_of(*parts(X)[:2], rows, place)
    found = np.zeros((4, 30))
    for new, old in enumerate(known):
        entries = slice(ptr[new], ptr[new + 1])
        found[owner[entries], old] = X.data[entry[entries]]
    assert np.array_equal(found, X[rows].toarray())
    assert (place == -1).all()


def divided(Y, gains, sides):
    """Do what `divide` does by dense arrays, as the formulas of the paper stand."""
    discounts = 1 / np.log2(np.arange(2, Y.shape[1] + 2))
    sizes = Y.sum(axis=1)
    ideal = np.array([discounts[:size].sum() or 1.0 for size in sizes])
    gained = Y * gains / ideal[:, None]
    before = -2.0
    while True:
        places = [np.argsort(-gained[sides == side].sum(axis=0), kind="stable") for side in (-1, 1)]
        discount = np.zeros((2, Y.shape[1]))
        for side in range(2):
            discount[side, places[side]] = discounts
        reached = gained @ discount.T  # of each row on each side
        now = reached[np.arange(len(Y)), (sides + 1) // 2].mean()
        better = reached[:, 1] - reached[:, 0]
        sides = np.where(better > 1e-12, 1, np.where(better < -1e-12, -1, sides))
        if now - before < 1e-6:
            return now, sides
        before = now


@pytest.mark.parametrize("weighted", [False, True])
def test_documents_go_where_their_labels_rank_high(weighted):
    chance = np.random.default_rng(3)
    Y = (chance.random((40, 9)) < 0.25).astype(int)
    Y[5] = 0  # a document without labels stays where it is
    gains = chance.uniform(1, 9, 9) if weighted else np.ones(9)
    sides = 2 * chance.integers(0, 2, 40) - 1
    now, expected = divided(Y, gains, sides.copy())
    found = sides.copy()
    reached = kernels.divide(*by_column(Y)[:2], gains, found)
    assert reached == pytest.approx(now)
    assert np.array_equal(found, expected)
    assert found[5] == sides[5]
    assert len(np.unique(found)) == 2


def objective(weights, X, sides, costs):
    return np.abs(weights).sum() + costs @ np.logaddexp(0, -sides * (X @ weights))


def test_a_separator_is_the_best_one():
    chance = np.random.default_rng(1)
    X = np.where(chance.random((60, 12)) < 0.4, chance.normal(size=(60, 12)), 0)
    sides = np.where(X @ chance.normal(size=12) + chance.normal(size=60) > 0, 1, -1)
    costs = np.where(sides > 0, 1.5, 0.7)
    weights = kernels.separate(*by_column(X), sides, costs, np.uint64(7))

    def halves(both):  # |w| is smooth for the sum of a positive and a negative part
        return both.sum() + costs @ np.logaddexp(0, -sides * (X @ (both[:12] - both[12:])))

    best = minimize(halves, np.full(24, 0.1), bounds=[(0, None)] * 24).fun
    assert objective(weights, X, sides, costs) == pytest.approx(best, rel=1e-3)
    assert (weights == 0).any()
    assert (weights != 0).any()


def test_a_split_follows_its_separator():
    chance = np.random.default_rng(0)
    Y = csr_array(np.repeat(np.eye(2, dtype=np.float32), 10, axis=0))
    X = csr_array((np.repeat(np.eye(2), 10, axis=0) + 0.1 * chance.random((20, 2))).astype("f4"))
    rows = np.arange(20)
    places = np.full(2, -1, np.int32), np.full(2, -1, np.int32)
    arguments = (*parts(X, Y)[:5], np.ones(2), rows)
    features, weights, bias, scores = kernels.split(*arguments, 1.0, 1.0, 5, *places)
    full = np.zeros(2)
    full[features] = weights
    assert np.allclose(X @ full + bias, scores, atol=1e-6)
    assert len({*(scores[:10] >= 0), *(scores[10:] < 0)}) == 1
    few = kernels.split(*arguments, 1e-3, 1.0, 5, *places)  # no weight is worth its price
    assert [len(few[0]), len(few[3])] == [0, 0]


def test_rows_descend():
    children = np.array([[1, 2], [-1, -1], [3, 4], [-1, -1], [-1, -1], [-1, -1]], np.int32)
    ptr = np.array([0, 1, 1, 2, 2, 2, 2])
    features, weights = np.array([0, 1], np.int32), np.array([1, 1], np.float32)
    bias = np.array([-0.5, 0, -0.5, 0, 0, 0], np.float32)
    X = csr_array(np.array([[0, 0], [1, 0], [1, 1], [0.5, 0]], np.float32))
    at, value = np.empty((3, 2), np.int32), np.zeros(2, np.float32)
    roots = np.array([0, 5], np.int32)
    tables = [read_only(part) for part in (children, ptr, features, weights, bias, roots)]
    kernels.descend(*parts(X), 1, *tables, value, at)
    assert at.tolist() == [[3, 5], [4, 5], [3, 5]]  # a score of 0 goes right
    assert not value.any()


def test_products_of_pairs():
    one, other, pairs = some(15, 40, 0.2), some(9, 40, 0.3, 1), some(15, 9, 0.4, 2)
    found = kernels.products(*parts(one, other), *parts(pairs)[:2])
    rows = np.repeat(np.arange(15), np.diff(pairs.indptr))
    assert np.allclose(found, (one @ other.T).toarray()[rows, pairs.indices])
