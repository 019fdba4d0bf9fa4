"""The most confused pairs of labels, by hand and pair by pair."""

from collections import Counter

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import Decision, confused_labels


def test_by_hand():
    Y = csr_array(np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]]))
    labels = np.array([[2, 3], [2, 0], [2, 3], [2, 3]])
    scores = np.array([[0.9, 0.8], [0.9, 0.8], [0.9, 0.1], [0.9, 0.1]])
    found = confused_labels(Y, Ranking(labels, scores))
    # the first document misses 0 and 1 and is given 2 and 3: four pairs of one half; the second
    # misses nothing; the third and the fourth have one pair each
    assert [tuple(each) for each in found] == [
        (0, 2, 1.5, 2),
        (3, 2, 1.0, 1),
        (0, 3, 0.5, 1),
        (1, 2, 0.5, 1),
        (1, 3, 0.5, 1),
    ]
    assert confused_labels(Y, Ranking(labels, scores), most=2) == found[:2]


@pytest.mark.parametrize("at_once", [1, 50, 1 << 21])
def test_pair_by_pair(monkeypatch, at_once):
    monkeypatch.setattr("labelgrove.evaluation.confusion.AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    Y = csr_array((rng.random((60, 12)) < 0.25).astype(np.float32))
    ranking = Ranking.from_dense(rng.random((60, 12)), 6)
    weights, documents = Counter(), Counter()
    for i in range(60):
        true, given = set(Y[[i]].indices.tolist()), set(ranking.labels[i, :4].tolist())
        for pair in ((m, w) for m in true - given for w in given - true):
            weights[pair] += 1 / max(len(true - given), len(given - true))
            documents[pair] += 1
    found = confused_labels(Y, ranking, threshold=Decision(top=4), most=1000)
    assert {each[:2]: each.weight for each in found} == pytest.approx(weights)
    assert {each[:2]: each.documents for each in found} == documents
    assert confused_labels(Y, ranking, threshold=Decision(top=4), most=7) == found[:7]
    falling = np.array([each.weight for each in found])
    np.testing.assert_allclose(falling, sorted(weights.values(), reverse=True))


def test_nothing_above_the_threshold_confuses_nothing():
    assert confused_labels(csr_array(np.eye(3)), Ranking.empty(3, 2)) == []


def test_twenty_pairs_unless_told_otherwise():
    # one document misses five labels and is given five others
    Y = csr_array(np.array([[1] * 5 + [0] * 5]))
    ranking = Ranking(np.arange(5, 10)[None], np.full((1, 5), 0.5))
    found = confused_labels(Y, ranking)
    assert [each[:2] for each in found] == [(m, w) for m in range(4) for w in range(5, 10)]
    assert {each.weight for each in found} == {1 / 5}
    assert len(confused_labels(Y, ranking, most=100)) == 25


def test_nothing_to_confuse_without_labels():
    assert confused_labels(csr_array((2, 0)), Ranking.empty(2, 1)) == []
