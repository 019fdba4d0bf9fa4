"""Intervals without resampling, against the bootstrap and against hand."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import additive, bootstrap, intervals


@pytest.fixture(scope="module")
def ranked():
    rng = np.random.default_rng(0)
    Y = csr_array((rng.random((400, 12)) < 0.2).astype(np.float32))
    scores = np.sort(rng.random((400, 5)), axis=1)[:, ::-1].astype(np.float32)
    labels = np.argsort(rng.random((400, 12)) - 0.4 * Y.toarray(), axis=1)[:, :5]
    return Y, Ranking(labels.astype(np.int32), np.ascontiguousarray(scores))


def test_they_agree_with_the_bootstrap(ranked):
    metrics = ["P@1", "P@5", "R@5", "nDCG@5", "micro-F1"]
    found = intervals(*ranked, metrics)
    for name, drawn in bootstrap(additive(*ranked, metrics)).items():
        width = drawn.high - drawn.low
        assert found[name] == pytest.approx((drawn.low, drawn.high), abs=0.1 * width), name


def test_a_mean_by_hand():
    Y = csr_array(np.eye(2, dtype=np.float32)[[0] * 40 + [1] * 60])
    ranking = Ranking(np.zeros((100, 1), np.int32), np.ones((100, 1), np.float32))
    error = (0.4 * 0.6 / 99) ** 0.5  # of 40 right ones in 100
    expected = (0.4 - 1.96 * error, 0.4 + 1.96 * error)
    assert intervals(Y, ranking, ["P@1"])["P@1"] == pytest.approx(expected)


def test_few_documents_have_none_and_all_stay_between_0_and_1(ranked):
    Y, ranking = ranked
    assert intervals(Y[:29], Ranking(ranking.labels[:29], ranking.scores[:29]), ["P@1"]) == {}
    Y = csr_array(np.eye(2, dtype=np.float32)[[0] * 99 + [1]])
    ranking = Ranking(np.zeros((100, 1), np.int32), np.ones((100, 1), np.float32))
    assert intervals(Y, ranking, ["P@1"])["P@1"][1] == 1.0
