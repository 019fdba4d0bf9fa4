"""Scores and hits of held-out documents, worked by hand."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import HeldOutPlaces, ThresholdOutcome

# three documents; scores of their ranked labels, * for the right ones:
#   0.9* 0.5 0.005    (2 true labels, one of them not ranked)
#   0.8* 0.5*         (2 true labels)
#   0.5               (no true label)
RANKING = Ranking(
    np.array([[0, 1, 2], [1, 2, -1], [0, -1, -1]]),
    np.array([[0.9, 0.5, 0.005], [0.8, 0.5, 0.0], [0.5, 0.0, 0.0]]),
)
Y = csr_array([[1, 0, 0, 1], [0, 1, 1, 0], [0, 0, 0, 0]])


def test_places_by_hand():
    places = HeldOutPlaces.of(Y, RANKING)
    assert len(places) == 3
    assert places.scores.tolist() == pytest.approx([0.9, 0.5, 0.8, 0.5, 0.5])
    assert places.hits.tolist() == [True, False, True, True, False]
    assert places.offsets.tolist() == [0, 2, 4, 5]
    assert places.n_true.tolist() == [2, 2, 0]
    places.check()


def test_outcomes_by_hand():
    places = HeldOutPlaces.of(Y, RANKING)
    assert places.at(0.6) == pytest.approx((0.6, 1.0, 2 / 4, 2 / 3, 2 / 3))
    assert places.at(0.5) == pytest.approx((0.5, 3 / 5, 3 / 4, 5 / 3, 1.0))
    assert places.at(0.5, k=1) == pytest.approx((0.5, 2 / 3, 2 / 4, 1.0, 1.0))
    assert places.at(0.95) == ThresholdOutcome(0.95, 0.0, 0.0, 0.0, 0.0)
    assert [each.threshold for each in places.table([0.3, 0.7])] == [0.7, 0.3]


def test_sums_at_every_threshold_by_hand():
    sums = HeldOutPlaces.of(Y, RANKING).sweep
    assert sums.thresholds.tolist() == pytest.approx([0.9, 0.8, 0.5])
    assert sums.given.tolist() == [1, 2, 5]
    assert sums.correct.tolist() == [1, 2, 3]
    assert sums.squares.tolist() == [1, 2, 4 + 4 + 1]


def test_of_many_documents_some_are_kept_whole():
    ranking = Ranking.concatenate([RANKING] * 40)
    places = HeldOutPlaces.of(csr_array(np.tile(Y.toarray(), (40, 1))), ranking, most=30)
    assert len(places) == 30
    places.check()
    lengths = np.diff(places.offsets)
    assert set(zip(lengths.tolist(), places.n_true.tolist(), strict=True)) <= {(2, 2), (1, 0)}
    assert 10 < (lengths == 2).sum() < 30


def test_nothing_likely_is_nothing_given():
    places = HeldOutPlaces.of(Y, RANKING.with_scores(np.zeros_like(RANKING.scores)))
    assert len(places.sweep.thresholds) == 0
    assert places.at(0.0) == ThresholdOutcome(0.0, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("scores", np.array([0.9, np.nan, 0.8, 0.5, 0.5], np.float32), "scores"),
        ("hits", np.ones(4, np.bool_), "hits"),
        ("offsets", np.array([0, 2, 4, 6]), "offsets must rise"),
        ("offsets", np.array([0, 4, 5]), "offsets"),
        ("n_true", np.array([2, -1, 0], np.int32), "n_true"),
        ("n_true", np.array([2, 2, 0], np.int64), "n_true"),
    ],
)
def test_saved_arrays_that_do_not_belong_together_are_refused(name, value, words):
    places = HeldOutPlaces.of(Y, RANKING)
    given = {each: getattr(places, each) for each in ("scores", "hits", "offsets", "n_true")}
    with pytest.raises(ValueError, match=words):
        HeldOutPlaces(**(given | {name: value})).check()
