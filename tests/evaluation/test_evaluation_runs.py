"""Systems trained several times, beside a baseline: small numbers by hand."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import additive, combinations, compare_runs, pair_divergence
from labelgrove.evaluation import perfect_ranking as perfect
from labelgrove.evaluation.significance import paired_bootstrap

METRICS = ("micro-F1", "hamming-loss")
N = 60
TRUTH = csr_array(np.tile([[1, 0], [0, 1]], (N // 2, 1)))


def run(n_right):
    """Return a system that gives one label a document, the true one to the first n_right."""
    wrong = np.arange(N) >= n_right
    labels = (np.arange(N) % 2) ^ wrong
    return additive(TRUTH, Ranking(labels[:, None], np.ones((N, 1))), METRICS)


def test_differences_are_those_of_the_means_over_trainings():
    """One label each, given and true: micro-F1 is the share of right documents, Hamming 1 - it."""
    runs = {"bert": [run(30), run(36)], "laco": [run(42), run(45), run(48)]}
    found = compare_runs(runs, "bert")
    assert found.keys() == {"laco"}
    assert found["laco"]["micro-F1"].value == pytest.approx(45 / 60 - 33 / 60)
    assert found["laco"]["hamming-loss"].value == pytest.approx(33 / 60 - 45 / 60)
    assert found["laco"]["micro-F1"].low > 0
    assert found["laco"]["micro-F1"].p < 0.05
    # the same draws, the other way round
    back = compare_runs(runs, "laco")["bert"]["micro-F1"]
    assert back.value == pytest.approx(-found["laco"]["micro-F1"].value)
    assert back.p == found["laco"]["micro-F1"].p


def test_one_training_each_is_the_paired_bootstrap():
    bert, laco = run(30), run(33)
    found = compare_runs({"bert": [bert], "laco": [laco]}, "bert")["laco"]
    assert found == paired_bootstrap(laco, bert)


def test_trainings_that_differ_widen_the_interval():
    """The same means, but of trainings that are apart: what one training shows is luck."""
    steady = compare_runs({"bert": [run(30)] * 2, "laco": [run(40)] * 2}, "bert")["laco"]
    apart = compare_runs({"bert": [run(30)] * 2, "laco": [run(20), run(60)]}, "bert")["laco"]
    one, other = steady["micro-F1"], apart["micro-F1"]
    assert one.value == pytest.approx(other.value)
    assert other.high - other.low > 2 * (one.high - one.low)
    assert one.p < 0.05 < other.p


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(InputError, match="unknown system 'bret'"):
        compare_runs({"bert": [run(3)]}, "bret")
    with pytest.raises(InputError, match="'laco' has no training"):
        compare_runs({"bert": [run(3)], "laco": []}, "bert")
    fewer = {"micro-F1": run(3)["micro-F1"]}
    with pytest.raises(InputError, match=r"same metrics, got .* for 'laco', \['micro-F1'\]"):
        compare_runs({"bert": [run(3)], "laco": [fewer]}, "bert")


def test_the_rows_of_the_ground_truth():
    """Tables 5 and 6: sets {0, 1}, {1} twice, and none; only {0, 1} was learned from."""
    Y = csr_array(np.array([[0.2, 0.2], [0.0, 0.2], [0.0, 0.2], [0.0, 0.0]]))  # any number counts
    train = csr_array(np.array([[1, 1], [1, 1]]))
    sets = combinations(Y, perfect(Y), train)
    assert (sets["given"], sets["given-unseen"], sets["subset-accuracy"]) == (3, 2, 1)
    assert pair_divergence(Y, perfect(Y))["whole-KL"] == 0
    far = pair_divergence(train, perfect(Y))
    # smoothed: g is 3/4 both ways; p(1|0) = 2/3, p(0|1) = 2/5
    p = np.array([2 / 3, 2 / 5])
    assert far["KL"] == pytest.approx((0.75 * np.log(0.75 / p)).sum())
    assert perfect(csr_array((2, 3))).labels.shape == (2, 1)
