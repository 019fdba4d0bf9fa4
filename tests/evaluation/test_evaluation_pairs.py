"""Label pairs: equation 8 of LACO, by hand and against sets in plain Python."""

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import Decision, pair_divergence

#   true   {0, 1}  {0, 1}  {0, 2}  {3}
#   given  {0, 1}  {0}     {0, 3}  {1, 3}      label 2 only below the threshold
Y = csr_array(np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]))
RANKING = Ranking(
    np.array([[0, 1, -1], [0, 2, -1], [3, 0, 2], [1, 3, 2]]),
    np.array([[0.9, 0.8, 0.0], [0.9, 0.3, 0.0], [0.7, 0.6, 0.1], [0.8, 0.5, 0.4]]),
)


def as_ranking(sets):
    """Rank the labels of sets, shape (n, M), with scores of 1."""
    return Ranking.from_csr(csr_array(sets, dtype=np.float32), max(sets.shape[1], 1))


def test_by_hand():
    found = pair_divergence(Y, RANKING)
    # a, b            0, 1   0, 2   1, 0   2, 0     beside 0 stand two labels, beside 1 and 2 one
    # true, of          2/3    1/3    2/2    1/1
    # given, of         1/3    0/3    1/2    0/0    the pairs 0, 3 and 1, 3 are only given
    # smoothed true     3/6    2/6    3/4    2/3
    # smoothed given    2/6    1/6    2/4    1/2
    there = 1 / 2 * log(3 / 2) + 1 / 3 * log(2) + 3 / 4 * log(3 / 2) + 2 / 3 * log(4 / 3)
    # not together:   3/6    4/6    1/4    1/3
    #   given         4/6    5/6    2/4    1/2
    absent = 1 / 2 * log(3 / 4) + 2 / 3 * log(4 / 5) + 1 / 4 * log(1 / 2) + 1 / 3 * log(2 / 3)
    assert found == pytest.approx(
        {"KL": there, "whole-KL": there + absent, "pairs": 4, "labels": 3}
    )
    assert list(found) == ["KL", "whole-KL", "pairs", "labels"]
    assert all(type(value) is float for value in found.values())


def test_the_truth_is_no_way_from_itself():
    found = pair_divergence(Y, as_ranking(Y))
    assert found["KL"] == found["whole-KL"] == 0.0


def test_the_reference_may_be_other_documents():
    # with all documents twice shares are the same, but smoothing moves them less
    twice = csr_array(np.vstack([Y.toarray()] * 2))
    found = pair_divergence(twice, as_ranking(Y))
    # true (4+1)/9, (2+1)/9, (4+1)/6, (2+1)/4; given 3/6, 2/6, 3/4, 2/3
    expected = 5 / 9 * log(10 / 9) + 1 / 3 * log(1) + 5 / 6 * log(10 / 9) + 3 / 4 * log(9 / 8)
    assert found["KL"] == pytest.approx(expected)
    assert found["pairs"] == 4


def test_giving_everything_is_rewarded_by_the_equation_but_not_by_the_whole():
    everything = as_ranking(np.ones((4, 4)))
    modest, greedy = pair_divergence(Y, RANKING), pair_divergence(Y, everything)
    assert greedy["KL"] < 0 < modest["KL"]
    assert greedy["whole-KL"] > modest["whole-KL"] > 0


def test_a_decision_in_place_of_a_threshold():
    found = pair_divergence(Y, RANKING, threshold=Decision(top=1))
    # given {0}, {0}, {3}, {1}: no pair at all
    # true 3/6, 2/6, 3/4, 2/3; given 1/5, 1/5, 1/3, 1/2
    expected = 1 / 2 * log(5 / 2) + 1 / 3 * log(5 / 3) + 3 / 4 * log(9 / 4) + 2 / 3 * log(4 / 3)
    assert found["KL"] == pytest.approx(expected)


@pytest.mark.parametrize("truth", [np.eye(3), np.zeros((3, 3)), np.ones((2, 1)), np.ones((2, 0))])
def test_no_pair_is_seen(truth):
    ranking = as_ranking(np.ones((5, truth.shape[1])))
    assert set(pair_divergence(csr_array(truth), ranking).values()) == {0.0}


def test_stored_zeros_and_repeated_entries_do_not_count():
    messy = csr_array(
        (np.array([1, 1, 1, 0, 1, -1, 1, 3, 2]), [0, 1, 1, 2, 1, 0, 0, 2, 3], [0, 4, 6, 8, 9]),
        shape=Y.shape,
    )
    assert pair_divergence(messy, RANKING) == pair_divergence(Y, RANKING)


def naive(truth, sets):
    """Return KL and its whole, pair by pair, from dense arrays of 0 and 1, shape (n, M)."""
    there = absent = 0.0
    pairs = {
        (a, b)
        for a in range(truth.shape[1])
        for b in range(truth.shape[1])
        if a != b and (truth[:, a] & truth[:, b]).any()
    }
    for a, b in pairs:
        n_beside = sum(first == a for first, _ in pairs)
        g, p = (
            ((each[:, a] & each[:, b]).sum() + 1) / (each[:, a].sum() + n_beside + 1)
            for each in (truth, sets)
        )
        there += g * log(g / p)
        absent += (1 - g) * log((1 - g) / (1 - p))
    return there, there + absent, len(pairs), len({a for a, _ in pairs})


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 10), st.integers(1, 10), st.integers(1, 7), st.integers(0, 10_000))
def test_against_plain_python(m, n, width, seed):
    rng = generator(seed, "pairs")
    truth = rng.random((m, width)) < rng.uniform(0, 0.9)
    sets = rng.random((n, width)) < rng.uniform(0, 0.9)
    found = pair_divergence(csr_array(truth), as_ranking(sets))
    assert list(found.values()) == pytest.approx(naive(truth, sets), abs=1e-12)
    assert found["whole-KL"] > -1e-12


@pytest.mark.parametrize(
    ("truth", "words"),
    [
        (Y.toarray(), "sparse"),
        (Y[:, :3], "label number 3, but Y has 3 columns"),
        (Y[:0], "no documents"),
    ],
)
def test_wrong_calls(truth, words):
    with pytest.raises(InputError, match=words):
        pair_divergence(truth, RANKING)
