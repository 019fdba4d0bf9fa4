import numpy as np
import pytest

from labelgrove.core.errors import InputError
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import Decision, capped_rows

RANKING = Ranking(
    np.array([[3, 1, 0], [2, 0, -1], [-1, -1, -1]]),
    np.array([[0.9, 0.7, 0.2], [0.3, 0.1, 0.0], [0.0, 0.0, 0.0]]),
)


def given_labels(decision):
    given = decision.mask(RANKING)
    return [RANKING.labels[i][given[i]].tolist() for i in range(len(RANKING))]


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (Decision(top=2), [[3, 1], [2, 0], []]),
        (Decision(top=9), [[3, 1, 0], [2, 0], []]),
        (Decision(threshold=0.5), [[3, 1], [], []]),
        (Decision(threshold=0.0), [[3, 1, 0], [2, 0], []]),  # padding is never given
        (Decision(threshold=0.5, at_least_one=True), [[3, 1], [2], []]),
        (Decision(threshold=0.5, top=1), [[3], [], []]),
        (Decision(threshold=2.0, top=1, at_least_one=True), [[3], [2], []]),
    ],
)
def test_what_is_given(decision, expected):
    assert given_labels(decision) == expected
    sets = decision.to_csr(RANKING, 5)
    assert sets.shape == (3, 5)
    assert [sorted(row) for row in expected] == [
        sets.indices[sets.indptr[i] : sets.indptr[i + 1]].tolist() for i in range(3)
    ]


def test_a_score_reaches_a_threshold_of_the_same_decimal():
    # float32(0.7) is below float64's 0.7
    assert given_labels(Decision(threshold=0.7))[0] == [3, 1]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "needs a threshold"),
        ({"threshold": float("nan")}, "NaN"),
        ({"top": 0}, "at least 1, got 0"),
    ],
)
def test_wrong_decisions(settings, words):
    with pytest.raises(InputError, match=words):
        Decision(**settings)


def test_capped_rows():
    # the last places are 0.2, padded, padded
    assert capped_rows(RANKING, 0.2, n_labels=4) == 1
    assert capped_rows(RANKING, 0.3, n_labels=4) == 0
    assert capped_rows(RANKING, 0.0, n_labels=4) == 1
    assert capped_rows(RANKING, 0.0, n_labels=3) == 0, "all labels are ranked"
    assert capped_rows(Ranking.empty(3, 0), 0.0, n_labels=4) == 0


def test_decisions_by_place_are_capped_only_beyond_the_ranking():
    assert capped_rows(RANKING, Decision(top=3), n_labels=9) == 0
    assert capped_rows(RANKING, Decision(top=4), n_labels=9) == 1
    assert capped_rows(RANKING, Decision(threshold=0.3, top=4), n_labels=9) == 0


def test_a_label_given_by_right_is_no_cap():
    one = RANKING.top(1)
    assert capped_rows(one, Decision(threshold=0.5, at_least_one=True), n_labels=9) == 1


def test_thresholds_of_labels():
    ranking = Ranking(np.array([[2, 0, 1], [1, -1, -1]]), np.array([[0.9, 0.7, 0.3], [0.2, 0, 0]]))
    decision = Decision(threshold=np.array([0.8, 0.3, 0.9]))
    assert decision.mask(ranking).tolist() == [[True, False, True], [False, False, False]]
    # a label that is not ranked may have the lowest threshold of all
    assert capped_rows(ranking, decision, n_labels=4) == 1
    assert capped_rows(ranking, Decision(threshold=np.array([0.8, 0.31, 0.9])), n_labels=4) == 0
    with pytest.raises(InputError, match="there are thresholds of 2 labels, none of label 2"):
        Decision(threshold=np.array([0.5, 0.5])).mask(ranking)
    with pytest.raises(InputError, match="NaN"):
        Decision(threshold=np.array([0.5, np.nan]))


def test_the_first_label_is_given_whatever_its_number():
    ranking = Ranking(np.array([[0, 1]]), np.array([[0.3, 0.2]]))
    assert Decision(threshold=0.5, at_least_one=True).mask(ranking).tolist() == [[True, False]]


def test_thresholds_of_labels_where_nothing_is_ranked():
    decision = Decision(threshold=np.array([0.5, 0.5]))
    assert decision.mask(Ranking.empty(2, 0)).shape == (2, 0)
    assert not decision.mask(Ranking.empty(2, 3)).any()
