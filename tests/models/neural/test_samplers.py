"""Which labels a step judges: candidate sets by hand, and what every sampler promises."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove.labels import LabelTree
from labelgrove.models.neural.candidates.nodes import Children, Truth
from labelgrove.models.neural.candidates.samplers import Everything, Generated, Static, Uniform

# four clusters: 0 holds labels 0 and 4, 1 holds 1, 2 and 3, 2 holds 5 and 6, 3 holds 7
TREE = LabelTree([np.zeros(4, int), np.array([0, 1, 1, 1, 0, 2, 2, 3])])
LABELS = [[4], [2, 5, 7], [], [0, 1, 2, 3, 4, 5, 6, 7]]


def matrix(lists, width):
    found = np.zeros((len(lists), width), np.float32)
    for row, own in zip(found, lists, strict=True):
        row[list(own)] = 1
    return csr_array(found)


Y = matrix(LABELS, 8)
CLUSTERS = TREE.indicators(Y, 1)


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng():
        torch.manual_seed(1)
        yield


def rows(*numbers):
    return np.array(numbers)


def sets(chosen):
    """Return the labels of each text; what is padding is 0, and none stands twice."""
    assert chosen.labels.shape == chosen.real.shape
    assert (chosen.labels[~chosen.real] == 0).all()
    assert (np.diff(chosen.real.astype(int), axis=1) <= 0).all(), "padding comes last"
    found = [own[real].tolist() for own, real in zip(chosen.labels, chosen.real, strict=True)]
    assert all(len(set(own)) == len(own) for own in found)
    return [sorted(own) for own in found]


# --- truth --------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6))
def test_truth_against_a_loop(seed):
    rng = np.random.default_rng(seed)
    truth = (rng.random((6, 9)) < rng.random()).astype(np.float32)
    asked, which = rng.integers(-1, 9, (4, 5)), rng.integers(0, 6, 4)
    wanted = [
        [node >= 0 and truth[row, node] == 1 for node in own]
        for own, row in zip(asked, which, strict=True)
    ]
    assert Truth(csr_array(truth)).holds(which, asked).tolist() == wanted


# --- generated ----------------------------------------------------------------------------------


def generated(logits, numbers, most=2, budget=6):
    sampler = Generated(Children(TREE, 1), Y, CLUSTERS, most, budget)
    return sampler.choose(rows(*numbers), torch.tensor(logits))


def test_generated_clusters_are_those_of_the_scores():
    # documents 0 (label 4, cluster 0) and 2 (no label)
    chosen = generated([[-9.0, 1.0, 0.0, 2.0], [0.5, -1.0, 3.0, -2.0]], [0, 2])
    assert sets(chosen) == [[0, 4, 7], [0, 4, 5, 6]], "0 by truth and 3; 2 and 0"
    assert chosen.real.sum(axis=1).tolist() == [3, 4]


def test_generated_true_clusters_come_before_likelier_ones():
    # document 1 has labels of clusters 1, 2, 3: the best two of these, and the third's one label
    chosen = generated([[9.0, 0.0, 1.0, 2.0]], [1])
    assert sets(chosen) == [[2, 5, 6, 7]], "clusters 3 and 2, and label 2 outside them"
    chosen = generated([[9.0, 0.0, 1.0, 2.0]], [1], most=4)
    assert sets(chosen) == [[*range(8)]]


def test_the_generator_has_a_choice_whatever_the_number_of_true_clusters():
    # document 1 has labels of clusters 1, 2, 3: the likeliest of these, cluster 0, and the labels
    sampler = Generated(Children(TREE, 1), Y, CLUSTERS, 2, 6, most_true=1)
    chosen = sampler.choose(rows(1), torch.tensor([[-9.0, 0.0, 1.0, 2.0]]))
    assert sets(chosen) == [sorted({0, 4} | {7} | {*Y[[1]].indices.tolist()})]
    # where nothing else is left, the true ones are taken
    sampler = Generated(Children(TREE, 1), Y, CLUSTERS, 4, 8, most_true=1)
    assert sets(sampler.choose(rows(1), torch.zeros(1, 4))) == [[*range(8)]]


def test_static_leaves_room_for_guesses():
    sampler = Static(Children(TREE, 1), Y, CLUSTERS, GUESSED, 2, 6, most_true=1)
    # of the true parents 1, 2, 3 of document 1 the guessed 2; then the guess 0
    assert sets(sampler.choose(rows(1))) == [sorted({0, 4, 5, 6} | {*Y[[1]].indices.tolist()})]


def test_generated_takes_no_gradient_and_changes_no_logits():
    logits = torch.randn(1, 4, requires_grad=True)
    before = logits.detach().clone()
    Generated(Children(TREE, 1), Y, CLUSTERS, 2, 6).choose(rows(1), logits)
    assert torch.equal(logits, before)
    assert logits.grad is None


def test_generated_with_more_labels_than_the_budget_draws_of_them():
    # document 3 has all: cluster 1 holds 1, 2, 3; of the five others two are drawn
    seen = set()
    for _ in range(30):
        (own,) = sets(generated([[0.0, 1.0, 0.0, 0.0]], [3], most=1, budget=5))
        assert {1, 2, 3} < {*own}
        assert len(own) == 5
        seen |= {*own}
    assert seen == {*range(8)}
    (own,) = sets(generated([[0.0, 1.0, 0.0, 0.0]], [3], most=1, budget=2))
    assert own == [1, 2, 3], "these fill it alone"


def test_generated_with_one_cluster():
    tree = LabelTree([np.zeros(1, int), np.zeros(3, int)])
    truth = matrix([[1], []], 3)
    sampler = Generated(Children(tree, 1), truth, tree.indicators(truth, 1), 5, 10)
    assert sets(sampler.choose(rows(0, 1), torch.zeros(2, 1))) == [[0, 1, 2]] * 2


# --- static -------------------------------------------------------------------------------------

GUESSED = np.array([[1, 3, 0], [2, 0, -1], [3, -1, -1], [1, 0, 2]])


def test_static_tops_true_parents_up_with_guesses():
    sampler = Static(Children(TREE, 1), Y, CLUSTERS, GUESSED, 2)
    found = sets(sampler.choose(rows(0, 1, 2)))
    assert found == [[0, 1, 2, 3, 4], [1, 2, 3, 5, 6, 7], [7]]
    assert sets(sampler.choose(rows(3))) == [[*range(8)]], "all true parents, also above the most"


def test_static_within_a_budget():
    sampler = Static(Children(TREE, 1), Y, CLUSTERS, GUESSED, 2, 6)
    # of the true parents 1, 2, 3 of document 1 the guessed 2 comes first, then 1
    assert sets(sampler.choose(rows(0, 1))) == [[0, 1, 2, 3, 4], [1, 2, 3, 5, 6, 7]]
    (own,) = sets(sampler.choose(rows(3)))
    assert len(own) == 6
    assert {0, 1, 2, 3, 4} < {*own}, "clusters 1 and 0, and one of the three labels elsewhere"


def test_static_is_the_same_at_every_step():
    sampler = Static(Children(TREE, 1), Y, CLUSTERS, GUESSED, 2, 8)
    first = sampler.choose(rows(0, 1, 2, 3))
    torch.manual_seed(99)
    again = sampler.choose(rows(0, 1, 2, 3))
    assert np.array_equal(first.labels, again.labels)


# --- uniform ------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6))
def test_uniform_holds_all_own_labels_and_fills_the_budget(seed):
    rng = np.random.default_rng(seed)
    width, budget = int(rng.integers(1, 30)), int(rng.integers(1, 12))
    lists = [
        rng.choice(width, rng.integers(0, width + 1), replace=False)
        for _ in range(rng.integers(1, 6))
    ]
    torch.manual_seed(seed)
    found = sets(Uniform(matrix(lists, width), budget).choose(np.arange(len(lists))))
    for own, true in zip(found, lists, strict=True):
        assert len(own) == min(budget, width)
        assert len({*own} & {*true.tolist()}) == min(len(true), budget)


def test_uniform_draws_every_other_label_equally_often():
    sampler = Uniform(matrix([[4], [2, 5, 7]], 11), 6)
    counts = np.zeros((2, 11))
    times = 2500
    for _ in range(times):
        for row, own in zip(counts, sets(sampler.choose(rows(0, 1))), strict=True):
            row[own] += 1
    for row, own in zip(counts, ([4], [2, 5, 7]), strict=True):
        assert (row[own] == times).all()
        others = np.delete(row, own) / times
        wanted = (6 - len(own)) / (11 - len(own))
        np.testing.assert_allclose(others, wanted, atol=0.03)


def test_uniform_is_new_at_every_step_and_the_same_for_a_seed():
    sampler = Uniform(matrix([[3], []], 1000), 20)
    first, second = sampler.choose(rows(0, 1)), sampler.choose(rows(0, 1))
    assert not np.array_equal(first.labels, second.labels)
    torch.manual_seed(1)
    assert np.array_equal(sampler.choose(rows(0, 1)).labels, first.labels)


# --- all of them --------------------------------------------------------------------------------


def test_everything():
    assert Everything().choose(rows(0, 1)) is None


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6))
def test_true_labels_are_always_candidates(seed):
    rng = np.random.default_rng(seed)
    clusters = int(rng.integers(1, 6))
    parents = np.concatenate([np.arange(clusters), rng.integers(0, clusters, rng.integers(0, 20))])
    tree = LabelTree([np.zeros(clusters, int), rng.permutation(parents)])
    width, n = tree.n_labels, 5
    truth = csr_array((rng.random((n, width)) < 0.2).astype(np.float32))
    above, children = tree.indicators(truth, 1), Children(tree, 1)
    guessed = np.array([rng.permutation(clusters) for _ in range(n)])
    logits, most = torch.randn(n, clusters), int(rng.integers(1, 6))
    for sampler in (
        Generated(children, truth, above, most, width),
        Static(children, truth, above, guessed, most),
        Static(children, truth, above, guessed, most, width),
        Uniform(truth, width),
    ):
        found = sets(sampler.choose(np.arange(n), logits))
        for i, own in enumerate(found):
            assert {*truth[[i]].indices.tolist()} <= {*own}
            assert own, "something is judged for every text"
