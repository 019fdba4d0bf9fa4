import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove.core.errors import UnknownNameError
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import (
    Decision,
    counts_by_label,
    evaluate,
    score_ranking,
    tune_label_thresholds,
    tune_threshold,
)
from labelgrove.evaluation.threshold import _between

GOALS = ["micro-F1", "macro-F1"]


@st.composite
def cases(draw):
    """Truth (n, M) and a padded ranking with many equal scores."""
    n, n_labels, steps = (draw(st.integers(*span)) for span in ((1, 10), (1, 6), (1, 12)))
    rng = generator(draw(st.integers(0, 10_000)), "thresholds")
    scores = rng.integers(1, steps + 1, (n, n_labels)) / (steps + 1)
    listed = csr_array(np.where(rng.random((n, n_labels)) < 0.8, scores, 0.0))
    ranking = Ranking.from_csr(listed, draw(st.integers(1, n_labels)))
    unseen = draw(st.integers(0, 2))
    truth = rng.random((n, n_labels + unseen)) < rng.uniform(0.1, 0.6)
    return csr_array(truth), ranking


@settings(max_examples=150, deadline=None)
@given(cases(), st.sampled_from(GOALS), st.booleans())
def test_no_threshold_is_better(case, goal, at_least_one):
    Y, ranking = case

    def score(value):
        decision = Decision(threshold=value, at_least_one=at_least_one)
        return evaluate(Y, ranking, threshold=decision)[goal]

    found = tune_threshold(Y, ranking, goal, at_least_one=at_least_one)
    everything = [*np.unique(ranking.scores).tolist(), 2.0]
    best = max(score(value) for value in everything)
    assert found.score == pytest.approx(best)
    assert score(found.value) == pytest.approx(best)
    assert float(np.float32(found.value)) == found.value


def test_micro_by_hand():
    # scores   0.75*  0.5   0.375*  0.125     three labels are true, one of them is not ranked
    # F1       2/4    2/5   4/6     4/7
    Y = csr_array(np.array([[1, 0, 1], [0, 0, 1]]))
    ranking = Ranking(np.array([[0, 1], [2, 0]]), np.array([[0.75, 0.5], [0.375, 0.125]]))
    assert tune_threshold(Y, ranking) == (0.25, pytest.approx(4 / 6))


def test_macro_by_hand():
    # label 0: hits at 0.75 and 0.5; label 1: a miss at 0.625, never true
    # down to 0.75: label 0 has 2/3, mean over label 0: 2/3
    # down to 0.625: label 1 joins with 0, mean 1/3; down to 0.5: (1 + 0) / 2
    Y = csr_array(np.array([[1, 0], [1, 0]]))
    ranking = Ranking(np.array([[0, 1], [0, -1]]), np.array([[0.75, 0.625], [0.5, 0.0]]))
    assert tune_threshold(Y, ranking, "macro-F1") == (0.6875, pytest.approx(2 / 3))
    # for micro-F1 the second hit is worth the miss: 4 / (3 + 2) against 2 / (1 + 2)
    assert tune_threshold(Y, ranking, "micro-F1") == (0.5, pytest.approx(4 / 5))


def test_of_equal_scores_the_highest_threshold_wins():
    # scores   0.875*  0.625  0.5   0.25*     two labels are true
    # F1       2/3     2/4    2/5   4/6
    Y = csr_array(np.array([[1, 0, 0, 1]]))
    ranking = Ranking(np.array([[0, 1, 2, 3]]), np.array([[0.875, 0.625, 0.5, 0.25]]))
    assert tune_threshold(Y, ranking) == (0.75, pytest.approx(2 / 3))


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("ranking", [Ranking.empty(2, 3), Ranking.empty(2, 0)])
def test_without_any_hit_the_threshold_is_a_half(goal, ranking):
    assert tune_threshold(csr_array(np.eye(2)), ranking, goal) == (0.5, 0.0)
    wrong = Ranking(np.array([[1], [0]]), np.array([[0.9], [0.8]]))
    assert tune_threshold(csr_array(np.eye(2)), wrong, goal) == (0.5, 0.0)


def test_neighbouring_floats_are_kept_apart():
    low = np.float32(0.3)
    high = np.nextafter(low, np.float32(1))
    Y = csr_array(np.array([[1, 0]]))
    ranking = Ranking(np.array([[0, 1]]), np.array([[high, low]]))
    found = tune_threshold(Y, ranking)
    assert found.score == 1.0
    assert Decision(threshold=found.value).mask(ranking).tolist() == [[True, False]]
    assert _between(float(high), float(low)) == float(high)


def test_only_first_places():
    # the second places are all misses, so the best is to give the first and nothing else
    Y = csr_array(np.array([[1, 0], [0, 1]]))
    ranking = Ranking(np.array([[0, 1], [1, 0]]), np.array([[0.25, 0.125], [1.0, 1.0]]))
    found = tune_threshold(Y, ranking, at_least_one=True)
    assert found.score == 1.0
    assert found.value == np.nextafter(np.float32(1), np.float32(2)), "just above the second place"
    # no score is left to tell a threshold by
    assert tune_threshold(Y, ranking.top(1), at_least_one=True) == (0.5, 1.0)


def test_unknown_goal():
    with pytest.raises(UnknownNameError, match="did you mean 'micro-F1'"):
        tune_threshold(csr_array(np.eye(2)), Ranking.empty(2, 1), "micro-f1")


# --- a threshold for each label ---------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(cases())
def test_no_threshold_of_a_label_is_better(case):
    Y, ranking = case
    n_labels = int(ranking.labels.max(initial=0)) + 1
    found = tune_label_thresholds(Y, ranking, n_labels, 0.25, strength=0)
    scored = score_ranking(Y, ranking)

    def f1(thresholds):
        return counts_by_label(scored, Decision(threshold=thresholds).mask(ranking)).f1[:n_labels]

    tried = [
        f1(np.full(n_labels, value)) for value in [*np.unique(ranking.scores).tolist(), 0.25, 2.0]
    ]
    assert f1(found) == pytest.approx(np.max(tried, axis=0))


def test_thresholds_of_labels_by_hand():
    # label 0: hits at 0.75 and 0.5, a miss at 0.625: F1 2/3, 2/4, 4/5, so all are given from 0.5
    # label 1: a miss at 0.875, a hit at 0.25, a miss at 0.125: F1 0, 2/3, 2/4, so from 0.1875
    # label 2: a true document that is not ranked; label 3: never true
    labels = np.array([[1, 0, -1], [0, 1, 3], [0, 1, -1]])
    scores = np.array([[0.875, 0.75, 0.0], [0.625, 0.25, 0.125], [0.5, 0.125, 0.0]])
    Y = csr_array(np.array([[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]]))
    ranking = Ranking(labels, scores)
    assert tune_label_thresholds(Y, ranking, 4, 0.75, strength=0).tolist() == [
        0.5, 0.1875, 0.75, 0.75,
    ]  # fmt: skip
    # label 0 has two true documents, label 1 one: (2 * 0.5 + 2 * 0.75) / 4, (0.1875 + 1.5) / 3
    assert tune_label_thresholds(Y, ranking, 4, 0.75, strength=2).tolist() == [
        0.625, 0.5625, 0.75, 0.75,
    ]  # fmt: skip


def test_labels_without_evidence_have_the_common_threshold():
    nothing = tune_label_thresholds(csr_array(np.eye(2)), Ranking.empty(2, 3), 5, 0.25)
    assert nothing.tolist() == [0.25] * 5


def test_a_threshold_of_a_label_lies_between_its_scores():
    # label 0 is given from 0.5 on; of label 1, the last of all, 0.75 is a hit and 0.25 a miss
    ranking = Ranking(np.array([[1, 0], [1, -1]]), np.array([[0.75, 0.5], [0.25, 0.0]]))
    Y = csr_array(np.array([[1, 1], [0, 0]]))
    assert tune_label_thresholds(Y, ranking, 2, 0.25, strength=0).tolist() == [0.5, 0.5]


def test_neighbouring_floats_of_a_label_are_kept_apart():
    low = np.float32(0.3)
    for _ in range(2):  # halfway rounds to the one above or to the one below
        high = np.nextafter(low, np.float32(1))
        ranking = Ranking(np.array([[0], [0]]), np.array([[high], [low]]))
        found = tune_label_thresholds(csr_array([[1], [0]]), ranking, 1, 0.5, strength=0)
        assert found.tolist() == [high]
        low = high


def test_the_common_threshold_weighs_five_documents_unless_told_otherwise():
    ranking = Ranking(np.array([[0], [0]]), np.array([[0.75], [0.25]]))
    found = tune_label_thresholds(csr_array([[1], [0]]), ranking, 1, 0.2)
    assert found == pytest.approx([(1 * 0.5 + 5 * 0.2) / 6])
