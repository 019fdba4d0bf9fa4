"""What linear models choose from the data, and that a user's own values win."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from labelgrove.core.progress import Silent
from labelgrove.core.types import FitContext, Run
from labelgrove.models.linear import choosing
from labelgrove.models.linear.bonsai import LEAF, Bonsai
from labelgrove.models.linear.choosing import cost_for, goes_without_tree
from labelgrove.models.linear.one_vs_rest import OneVsRest
from labelgrove.models.linear.parabel import Parabel

MANY_LABELS = 2 * LEAF + 20  # more than go without a tree in any case


class Heard(Silent):
    """Keeps what is said."""

    def __init__(self):
        self.lines = []

    def say(self, message):
        self.lines.append(message)


def labelled(n_labels=MANY_LABELS, per_label=2):
    """Return documents of one label each, whose first feature it is; the others are noise."""
    label = np.tile(np.arange(n_labels), per_label)
    Y = csr_array((np.ones(len(label), np.float32), (np.arange(len(label)), label)))
    noise = random_array(
        (len(label), 30), density=0.1, format="csr", dtype=np.float32, rng=np.random.default_rng(0)
    )
    both = np.hstack([Y.toarray(), noise.toarray()])
    return csr_array(both.astype(np.float32)), Y


def test_fewer_documents_have_a_higher_cost():
    costs = [cost_for(n) for n in (1, 100, 300, 1000, 3000, 10_000, 100_000, 10**9)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] == choosing.MOST
    assert costs[-1] == choosing.COST_OF_MANY


def test_labels_with_many_documents_are_worth_a_tree():
    assert goes_without_tree(*labelled(30, per_label=choosing.RARE - 1))
    assert not goes_without_tree(*labelled(30, per_label=choosing.RARE))


@pytest.mark.parametrize("kind", [Bonsai, Parabel, OneVsRest])
def test_the_chosen_cost_is_told_and_saved(kind, tmp_path):
    X, Y = labelled(30)
    heard = Heard()
    model = kind(cost=None).fit(X, Y, context=FitContext(run=Run(progress=heard)))
    assert model.cost_ == cost_for(60) == 2.0
    assert "cost 2, chosen for 60 documents" in heard.lines
    model.save(tmp_path / "model")
    loaded = kind.load(tmp_path / "model")
    assert (loaded.cost, loaded.cost_) == (None, 2.0)
    same = kind(cost=2.0).fit(X, Y)
    for name, array in same.forest_.state().items():
        np.testing.assert_array_equal(array, model.forest_.state()[name])


def test_a_given_cost_wins_without_a_word():
    X, Y = labelled(30)
    heard = Heard()
    model = Bonsai(cost=0.3).fit(X, Y, context=FitContext(run=Run(progress=heard)))
    assert model.cost_ == 0.3
    assert not [line for line in heard.lines if "cost" in line]


def test_the_other_models_keep_the_cost_of_their_papers():
    X, Y = labelled(30)
    assert OneVsRest().fit(X, Y).cost_ == Parabel().fit(X, Y).cost_ == 1.0


def test_a_quick_training_needs_no_tree_unless_one_is_asked_for(tmp_path):
    X, Y = labelled()
    heard = Heard()
    model = Bonsai().fit(X, Y, context=FitContext(run=Run(progress=heard)))
    assert model.flat_
    assert [line for line in heard.lines if line.startswith(f"no label tree: {MANY_LABELS} labels")]
    model.save(tmp_path / "model")
    assert Bonsai.load(tmp_path / "model").flat_
    for asked in ({"max_leaf": LEAF}, {"trees": 1}):
        assert not Bonsai(**asked).fit(X, Y).flat_


def test_a_long_training_has_a_tree(monkeypatch):
    X, Y = labelled()
    monkeypatch.setattr(choosing, "QUICK", X.nnz * MANY_LABELS - 1)
    heard = Heard()
    model = Bonsai().fit(X, Y, context=FitContext(run=Run(progress=heard)))
    assert not model.flat_
    assert "growing label trees" in heard.lines
    assert max(np.diff(model.forest_.tables.child_ptr)) <= LEAF


def test_parts_of_documents_that_get_a_tree_get_one_too(monkeypatch):
    X, Y = labelled()
    half = np.arange(0, X.shape[0], 2)
    assert Bonsai().for_parts(X, Y).fit(X[half], Y[half]).flat_
    monkeypatch.setattr(choosing, "QUICK", X.nnz * MANY_LABELS - 1)
    assert Bonsai().fit(X[half], Y[half]).flat_
    assert not Bonsai().for_parts(X, Y).fit(X[half], Y[half]).flat_
    assert Bonsai(max_leaf=7).for_parts(X, Y).max_leaf == 7
