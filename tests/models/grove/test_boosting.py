"""Trees of LightGBM, read by our kernels."""

import lightgbm
import numpy as np
import pytest

from labelgrove.models.grove import boosting
from labelgrove.models.grove.boosting import BoostedTrees, grow


def random_rows(n=1500, seed=0):
    """Return rows of which a pair of columns tells which are right, and their log odds so far."""
    random = np.random.default_rng(seed)
    table = random.normal(size=(n, 5)).astype(np.float32)
    table[:, 3] = table[:, 3] > 0  # many equal values, many zeros
    table[:, 4] = 7  # nothing to ask
    true = (table[:, 0] > 0) == (table[:, 1] > 0)
    return table, true, 0.3 * random.normal(size=n)


@pytest.fixture(scope="module")
def rows():
    return random_rows()


@pytest.fixture(scope="module")
def trees(rows):
    return grow(lightgbm, *rows, 20, seed=3)


def test_sums_are_those_of_lightgbm(rows, trees):
    table, true, start = rows
    data = lightgbm.Dataset(table, true, init_score=start)
    peer = lightgbm.train({**boosting.PARAMETERS, "seed": 3}, data, 20)
    other = random_rows(seed=1)[0]
    for some in (table, other, other[:0]):
        wanted = peer.predict(some, raw_score=True) if len(some) else np.empty(0)
        assert trees.predict(some) == pytest.approx(wanted, abs=1e-9)
    assert len(trees.roots) == 20
    assert np.ptp(trees.predict(table)) > 1


def test_shares_sum_to_what_is_added_below_the_roots(rows, trees):
    table = rows[0]
    shares = trees.shares(table)
    assert shares.shape == table.shape
    roots = trees.value[trees.roots].sum()
    assert shares.sum(axis=1) == pytest.approx(trees.predict(table) - roots)
    assert not shares[:, 4].any()
    assert np.abs(shares[:, :2]).mean() > 5 * np.abs(shares[:, 2:]).mean()


def test_held_out_rows_end_the_growing(rows):
    table, _, start = rows
    held = np.arange(len(table)) % 4 == 0
    luck = np.random.default_rng(5).random(len(table)) > 0.5
    few = grow(lightgbm, table, luck, start, 100, seed=0, held=held)
    many = grow(lightgbm, *rows, 100, seed=0, held=held)
    assert len(few.roots) < 20 < len(many.roots)


def test_no_trees_add_nothing(rows):
    none = boosting._flat({"tree_info": []})
    assert none.predict(rows[0]).tolist() == [0] * len(rows[0])
    assert not none.shares(rows[0]).any()


def test_a_tree_of_one_leaf_adds_its_value(rows):
    tree = boosting._flat({"tree_info": [{"tree_structure": {"leaf_value": 0.25}}]})
    assert tree.predict(rows[0][:3]).tolist() == [0.25] * 3
    assert not tree.shares(rows[0]).any()


def test_a_tree_by_hand():
    tree = BoostedTrees(
        np.array([0], np.int32),
        np.array([1, -1, 0, -1, -1], np.int32),
        np.array([0.5, 0, 2.0, 0, 0]),
        np.array([1, -1, 3, -1, -1], np.int32),
        np.array([2, -1, 4, -1, -1], np.int32),
        np.array([0.1, -1.0, 0.4, 0.2, 0.9]),
    )
    table = np.array([[9, 0.5], [2, 0.6], [2.1, 0.6]], np.float32)
    assert tree.predict(table) == pytest.approx([-1.0, 0.2, 0.9])
    assert tree.shares(table) == pytest.approx(np.array([[0, -1.1], [-0.2, 0.3], [0.5, 0.3]]))
