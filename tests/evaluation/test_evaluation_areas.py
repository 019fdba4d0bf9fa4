"""Areas under curves against scikit-learn, whatever part of the labels a ranking names."""

from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import average_precision_score, roc_auc_score

from labelgrove.core.errors import InputError
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import areas, areas_by_frequency, equal_groups


def made(n=60, n_labels=9, k=4, seed=0):
    """Rounded scores, so that some are equal; label 8 has no document, label 7 has all."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, n_labels)) < 0.3
    truth[:, 8], truth[:, 7] = False, True
    scores = np.round(np.clip(rng.random((n, n_labels)) * 0.6 + 0.4 * truth, 0.01, 1), 1)
    return csr_array(truth.astype(np.float32)), scores, Ranking.from_dense(scores, k)


@pytest.mark.parametrize("k", [1, 4, 9])
def test_half_for_ties_is_scikit_learns_value(k):
    Y, scores, ranking = made(k=k)
    dense = ranking.to_csr(9).toarray()
    found = areas(Y, ranking, ties="half")
    for label in range(7):
        true = Y.toarray()[:, label]
        assert found.auc[label] == pytest.approx(roc_auc_score(true, dense[:, label]))
        assert found.aupr[label] == pytest.approx(average_precision_score(true, dense[:, label]))
    assert np.isnan(found.auc[7:]).all()
    assert np.isnan(found.aupr[7:]).all()
    if k == 9:
        assert found.auc[0] == pytest.approx(roc_auc_score(Y.toarray()[:, 0], scores[:, 0]))


def test_the_last_score_may_be_any_number():
    Y = csr_array(np.array([[0], [1], [0]], np.float32))
    ranking = Ranking(np.array([[0], [0], [-1]]), np.array([[0.5], [-1.0], [0.0]]))
    found = areas(Y, ranking)
    assert found.auc[0] == pytest.approx(0.5)
    assert found.aupr[0] == pytest.approx(0.5)


def test_a_positive_that_is_not_listed_earns_nothing():
    Y = csr_array(np.array([[1], [0], [1], [0], [1], [0]], np.float32))
    labels = np.array([[0], [0], [0], [0], [-1], [-1]])
    scores = np.array([[0.9], [0.8], [0.5], [0.5], [0.0], [0.0]])
    # of 9 pairs the first positive wins 3; the second wins against the negative that is not
    # listed and draws with the one of its own score; the third wins none, or draws with one
    found = areas(Y, Ranking(labels, scores))
    assert found.auc[0] == pytest.approx(4.5 / 9)
    assert found.aupr[0] == pytest.approx((1 / 1 + 2 / 4) / 3)
    half = areas(Y, Ranking(labels, scores), ties="half")
    assert half.auc[0] == pytest.approx(5 / 9)
    assert half.aupr[0] == pytest.approx((1 / 1 + 2 / 4 + 3 / 6) / 3)


def test_ties_do_not_matter_where_all_are_listed_and_a_wrong_word_is_told():
    Y, _, ranking = made(k=9)
    for none, half in zip(areas(Y, ranking), areas(Y, ranking, ties="half"), strict=True):
        np.testing.assert_array_equal(none, half)
    with pytest.raises(InputError, match="way with ties 'all'"):
        areas(Y, ranking, ties="all")


def test_a_label_that_is_never_listed_has_no_area():
    Y = csr_array(np.array([[1, 0], [0, 1]], np.float32))
    ranking = Ranking(np.array([[0], [0]]), np.array([[0.5], [0.4]]))
    assert areas(Y, ranking).auc.tolist() == [1.0, 0.0]
    assert areas(Y, ranking).aupr.tolist() == [1.0, 0.0]
    assert areas(Y, ranking, ties="half").auc.tolist() == [1.0, 0.5]


def test_groups_of_frequency():
    Y, _, ranking = made(n_labels=9)
    counts = [50, 30, 20, 20, 10, 10, 4]  # labels 7 and 8 have no training document
    groups = areas_by_frequency(Y, ranking, counts, n_groups=2, least=1)
    found = areas(Y, ranking)
    assert [group["labels"] for group in groups] == [2, 5]
    assert [group["occurrences"] for group in groups] == [80, 64]
    assert groups[1]["AUC"] == pytest.approx(found.auc[2:7].mean())
    assert groups[0]["AUPR"] == pytest.approx(found.aupr[:2].mean())
    half = areas_by_frequency(Y, ranking, counts, n_groups=2, least=1, ties="half")
    assert half[1]["AUC"] == pytest.approx(areas(Y, ranking, ties="half").auc[2:7].mean())
    (few,) = areas_by_frequency(Y, ranking, counts, n_groups=1, least=61)
    assert few["labels"] == 0
    assert np.isnan(few["AUC"])


def test_groups_by_test_documents_are_ranges_of_counts():
    # test documents of labels 0 to 5: 9, 6, 3, 3, 2, 1; in training the last is the most frequent
    columns = [9, 6, 3, 3, 2, 1]
    truth = np.array([[row < each for each in columns] for row in range(10)], np.float32)
    scores = np.linspace(1, 0.1, 60).reshape(10, 6)
    Y, ranking = csr_array(truth), Ranking.from_dense(scores, 6)
    found = areas(Y, ranking)
    groups = areas_by_frequency(Y, ranking, by="test", n_groups=3, least=2)
    assert [(each["labels"], each["fewest"], each["most"]) for each in groups] == [
        (1, 9, 9), (1, 6, 6), (3, 2, 3),
    ]  # fmt: skip
    assert [each["occurrences"] for each in groups] == [9, 6, 8]
    assert [each["share"] for each in groups] == pytest.approx([9 / 24, 6 / 24, 8 / 24])
    assert groups[2]["AUC"] == pytest.approx(found.auc[2:5].mean())
    trained = areas_by_frequency(Y, ranking, [1, 1, 1, 1, 1, 90], n_groups=2, least=1)
    assert [each["labels"] for each in trained] == [1, 5]
    with pytest.raises(InputError, match="counts, or by='test'"):
        areas_by_frequency(Y, ranking)
    with pytest.raises(InputError, match="frequency to group labels by 'tests'"):
        areas_by_frequency(Y, ranking, by="tests")
    with pytest.raises(InputError, match=r"counts have shape \(7,\), but Y has 6 columns"):
        areas_by_frequency(Y, ranking, [1] * 7)
    with pytest.raises(InputError, match=r"counts have shape \(1, 6\)"):
        areas_by_frequency(Y, ranking, [[1] * 6])


def test_three_groups_of_labels_with_five_documents_unless_told_otherwise():
    # labels 0 to 3 have 6, 5, 5 and 4 of 9 documents: the last is too rare
    truth = np.array([[row < each for each in (6, 5, 5, 4)] for row in range(9)], np.float32)
    ranking = Ranking.from_dense(np.linspace(1, 0.1, 36).reshape(9, 4), 4)
    groups = areas_by_frequency(csr_array(truth), ranking, [10, 10, 10, 70])
    assert [each["labels"] for each in groups] == [1, 1, 1]
    assert [each["share"] for each in groups] == pytest.approx([0.1, 0.1, 0.1])


@pytest.mark.parametrize(("counts", "share"), [([1], 1.0), ([0, 0], 0.0), ([], 0.0)])
def test_shares_of_one_training_document_or_none(counts, share):
    Y = csr_array(np.array([[1, 0], [0, 1]], np.float32))
    ranking = Ranking(np.array([[0], [0]]), np.array([[0.5], [0.4]]))
    (group,) = areas_by_frequency(Y, ranking, counts, n_groups=1, least=1)
    assert (group["labels"], group["share"]) == (2, share)


def test_a_score_of_0_is_as_if_the_label_were_not_listed():
    Y = csr_array(np.array([[1], [0], [1]], np.float32))
    zero = Ranking(np.array([[0], [0], [0]]), np.array([[0.5], [0.4], [0.0]]))
    absent = Ranking(np.array([[0], [0], [-1]]), zero.scores)
    for ties in ("none", "half"):
        assert areas(Y, zero, ties=ties) == areas(Y, absent, ties=ties)
    assert areas(Y, zero) == (0.5, 0.5)


@pytest.mark.parametrize("n_groups", [1, 2, 3, 4])
def test_equal_groups_are_the_most_equal_of_all(n_groups):
    rng = np.random.default_rng(n_groups)
    for _ in range(20):
        counts = rng.integers(0, 12, rng.integers(1, 10))
        groups = equal_groups(counts, n_groups)
        levels = np.unique(counts)[::-1]
        for level in levels:
            assert len(set(groups[counts == level])) == 1, "labels of one count were parted"
        assert (np.diff(groups[np.argsort(-counts, kind="stable")]) >= 0).all()
        sums = [
            sum(counts[np.isin(counts, part)].sum() ** 2 for part in np.split(levels, cuts))
            for cuts in combinations(range(1, len(levels)), min(n_groups, len(levels)) - 1)
        ]
        assert sum(counts[groups == each].sum() ** 2 for each in range(n_groups)) == min(sums)


def test_equal_groups_of_no_labels_and_none_asked_for():
    assert equal_groups([]).tolist() == []
    with pytest.raises(InputError, match="n_groups must be at least 1, got 0"):
        equal_groups([1, 2], 0)


def test_labels_without_a_document_make_no_empty_group():
    assert equal_groups([5, 0], 2).tolist() == [0, 1]
    assert equal_groups([0, 0, 3, 3], 2).tolist() == [1, 1, 0, 0]


def test_three_equal_groups_unless_told_otherwise():
    assert equal_groups([4, 3, 2, 1]).tolist() == equal_groups([4, 3, 2, 1], 3).tolist()
    assert equal_groups([4, 3, 2, 1]).tolist() == [0, 1, 2, 2]
