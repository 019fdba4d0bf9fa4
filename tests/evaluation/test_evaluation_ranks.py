"""Systems over several data sets, against scipy and Demšar's (2006) worked examples."""

import numpy as np
import pytest
from scipy import stats

from labelgrove.core.errors import InputError
from labelgrove.evaluation import (
    average_ranks,
    best_of,
    critical_difference,
    ranks,
    wilcoxon_over_sets,
)

# after Table 6 of Demšar: AUC of C4.5 and three variants on 14 data sets, with his average ranks
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def test_average_ranks_of_a_published_table():
    assert average_ranks(DEMSAR).round(3).tolist() == [3.143, 2.0, 2.893, 1.964]


def test_friedman_and_critical_difference():
    found = ranks(DEMSAR)
    told = stats.friedmanchisquare(*DEMSAR.T)
    assert found.friedman[:2] == pytest.approx((told.statistic, told.pvalue))
    assert found.friedman.note == ""
    assert found.critical == pytest.approx(1.25, abs=0.005)  # the paper's


@pytest.mark.parametrize(("systems", "q"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_critical_difference_has_the_published_quantiles(systems, q):
    given = critical_difference(systems, 10) / np.sqrt(systems * (systems + 1) / 60)
    assert given == pytest.approx(q, abs=0.0011)


def test_equal_scores_share_a_rank_and_losses_rank_the_other_way():
    scores = [[0.5, 0.5, 0.1], [0.3, 0.2, 0.1]]
    assert average_ranks(scores).tolist() == [1.25, 1.75, 3.0]
    assert average_ranks(scores, lower_is_better=True).tolist() == [2.75, 2.25, 1.0]


def test_without_any_difference_p_is_1():
    found = ranks(np.full((6, 3), 0.5))
    assert found.average.tolist() == [2, 2, 2]
    assert found.friedman == (0.0, 1.0, "")


def test_too_few_results_are_told_instead_of_a_p_value():
    five = ranks(DEMSAR[:5])
    assert five.friedman.p is None
    assert five.critical is None
    assert "5 data sets are too few for a p-value, it takes 6" in five.friedman.note
    two = ranks(DEMSAR[:, :2])
    assert two.friedman.p is None
    assert "needs three systems, here are 2" in two.friedman.note
    one = wilcoxon_over_sets(DEMSAR[:1, 0], DEMSAR[:1, 1])
    assert one.p is None
    assert one.note.startswith("1 data set is too few")
    assert wilcoxon_over_sets(DEMSAR[:5, 0], DEMSAR[:5, 1]).p is None


def test_wilcoxon_over_sets():
    first, second = np.array([0.9, 0.8, 0.75, 0.6, 0.55, 0.5]), np.array([0.8] + [0.45] * 5)
    found = wilcoxon_over_sets(first, second)
    assert (found.p, found.note) == (pytest.approx(2 / 64), "")
    told = stats.wilcoxon(first, second)
    assert found.statistic == told.statistic


def test_a_missing_score_is_told():
    with pytest.raises(InputError, match="system 1 has no score on data set 0"):
        ranks([[0.5, np.nan, 0.2]])
    with pytest.raises(InputError, match=r"need the shape \(data sets, systems\), got \(2,\)"):
        average_ranks([0.5, 0.4])
    for shape in ((0, 3), (3, 0), (1, 2, 3)):
        with pytest.raises(InputError, match="need the shape"):
            ranks(np.zeros(shape))
    with pytest.raises(InputError, match="system 2 has no score on data set 1"):
        ranks([[0.5, 0.4, 0.3], [0.5, 0.4, np.nan], [np.nan, 0.4, 0.3]])


def test_ranks_of_losses():
    scores = [[0.5, 0.5, 0.1], [0.3, 0.2, 0.1]]
    assert ranks(scores).average.tolist() == [1.25, 1.75, 3.0]
    assert ranks(scores, lower_is_better=True).average.tolist() == [2.75, 2.25, 1.0]


def test_a_stricter_level_has_a_larger_critical_difference():
    assert ranks(DEMSAR, alpha=0.1).critical == pytest.approx(critical_difference(4, 14, 0.1))
    # 2.291 is the published quantile of four systems at 0.1
    expected = 2.291 * np.sqrt(4 * 5 / (6 * 14))
    assert critical_difference(4, 14, 0.1) == pytest.approx(expected, abs=0.001)


def test_the_best_scores():
    scores = [0.3, None, 0.1 + 0.2, 0.2]
    assert best_of(scores) == {0, 2}, "rounding is no difference"
    assert best_of(scores, lower_is_better=True) == {3}
    assert best_of([None, 0.0]) == {1}
    assert best_of([None]) == best_of([]) == set()
