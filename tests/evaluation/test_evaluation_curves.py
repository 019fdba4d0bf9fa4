"""Precision against recall, against scikit-learn."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import precision_recall_curve

from labelgrove.core.errors import InputError
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import Decision, evaluate, precision_recall


def made(n=50, n_labels=8, k=8, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.random((n, n_labels)) < 0.3
    scores = np.round(rng.random((n, n_labels)) * 0.6 + 0.4 * truth + 0.01, 2)
    return csr_array(truth.astype(np.float32)), Ranking.from_dense(scores, k)


@pytest.mark.parametrize("k", [8, 3])
def test_every_point_is_scikit_learns(k):
    Y, ranking = made(k=k)
    found = precision_recall(Y, ranking, points=1000)
    dense = ranking.to_csr(8).toarray()
    precision, recall, thresholds = precision_recall_curve(Y.toarray().ravel(), dense.ravel())
    named = thresholds > 0  # with 0 scikit-learn also gives what is not listed
    np.testing.assert_allclose(found.thresholds, thresholds[named][::-1])
    np.testing.assert_allclose(found.precision, precision[:-1][named][::-1])
    np.testing.assert_allclose(found.recall, recall[:-1][named][::-1])


def test_the_chosen_point_is_exact():
    Y, ranking = made()
    for threshold in (0.37, Decision(top=2), 2.0):
        told = evaluate(Y, ranking, threshold=threshold)
        chosen = precision_recall(Y, ranking, threshold=threshold, points=5).chosen
        assert chosen == pytest.approx((told["micro-precision"], told["micro-recall"]))


def test_thinning_keeps_the_ends_and_leaves_no_wide_gap():
    Y, ranking = made(n=2000, n_labels=20, k=20)
    ranking = ranking.with_scores(ranking.scores + np.linspace(0, 1e-3, 20))
    whole, thin = (precision_recall(Y, ranking, points=points) for points in (10**6, 100))
    assert 50 < len(thin.recall) <= 100
    assert len(whole.recall) > 100
    assert (thin.recall[0], thin.recall[-1]) == (whole.recall[0], whole.recall[-1])
    assert np.hypot(np.diff(thin.recall), np.diff(thin.precision)).max() < 0.1


def test_nothing_listed_or_nothing_true():
    nothing = precision_recall(csr_array((3, 4)), Ranking.empty(3, 2), threshold=0.5)
    assert len(nothing.recall) == 0
    assert nothing.chosen == (0.0, 0.0)
    _, ranking = made()
    assert precision_recall(csr_array((50, 8)), ranking).recall.max() == 0
    with pytest.raises(InputError, match="two points or more"):
        precision_recall(csr_array((50, 8)), ranking, points=1)


def all_hits(listed, true):
    """A document with labels that are all true, of which the first are listed."""
    ranking = Ranking.from_dense(np.linspace(0.9, 0.1, listed)[None], listed)
    return csr_array(np.ones((1, true))), ranking


def test_points_lie_evenly_along_the_curve():
    # precision is always 1, recall rises from 1/8 to 6/8: the first after halfway is 4/8
    Y, ranking = all_hits(6, 8)
    curve = precision_recall(Y, ranking, points=3)
    assert (curve.recall * 8).tolist() == [1, 4, 6]
    assert curve.precision.tolist() == [1, 1, 1]
    assert (precision_recall(Y, ranking, points=2).recall * 8).tolist() == [1, 6]
    # precision falls from 1 by 1/2, 1/6, ... to 1/6: halfway is in the first step
    Y = csr_array(np.array([[1, 0, 0, 0, 0, 0]]))
    falling = precision_recall(Y, ranking, points=3)
    assert falling.precision.tolist() == [1, 1 / 2, 1 / 6]
    assert falling.recall.tolist() == [1, 1, 1]
    assert len(precision_recall(Y, ranking, points=6).recall) == 6, "uneven, but no more than asked"


@pytest.mark.parametrize(("listed", "fewer"), [(300, False), (301, True)])
def test_up_to_300_points_are_kept_unless_told_otherwise(listed, fewer):
    curve = precision_recall(*all_hits(listed, 512))
    assert (len(curve.recall) < listed) == fewer
    assert len(curve.recall) <= 300
