import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import by_frequency, evaluate, frequency_groups


def test_groups_hold_equal_shares():
    counts = generator(0, "zipf").geometric(0.05, 2000)
    groups = frequency_groups(counts, 4)
    shares = np.bincount(groups, weights=counts) / counts.sum()
    assert shares == pytest.approx([0.25] * 4, abs=0.02)
    assert (np.diff(np.bincount(groups)) > 0).all(), "rarer groups hold more labels"
    order = np.argsort(-counts, kind="stable")
    assert (np.diff(groups[order]) >= 0).all(), "no label is in an earlier group than a rarer one"


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([], []),
        ([0, 0], [3, 3]),
        ([5], [0]),
        ([10, 1, 0, 9], [0, 3, 3, 2]),  # begin at 0, 19, nowhere and 10 of 20
    ],
)
def test_small_cases(counts, expected):
    assert frequency_groups(counts, 4).tolist() == expected


def test_scores_by_group():
    # label 0 is frequent and right, label 1 rare and missed, label 2 in the test set only
    Y = csr_array(np.array([[1, 0, 0], [1, 1, 1]]))
    ranking = Ranking(np.array([[0, 1], [0, -1]]), np.array([[0.9, 0.1], [0.8, 0.0]]))
    frequent, rare = by_frequency(Y, ranking, [9, 3], n_groups=2)
    assert frequent["micro-F1"] == frequent["macro-F1"] == 1.0
    assert rare["micro-F1"] == rare["micro-recall"] == 0.0
    assert (frequent["labels"], rare["labels"]) == (1, 2)
    assert (frequent["occurrences"], rare["occurrences"]) == (9, 3)


def test_macro_f1_of_four_groups():
    # 8 | 4 + 4 | 3 + 3 + 2 | 2 + 2 + 2 + 2 + 0: each group has 8 occurrences
    counts = [8, 4, 4, 3, 3, 2, 2, 2, 2, 2, 0]
    # label        0  1 2  3 4 5  6 7 8 9 10
    Y = csr_array(
        np.array(
            [
                [1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0],
                [1, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0],
                [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
            ]
        )
    )
    labels = np.array([[0, 1, 2, 6], [0, 3, 4, 2], [5, 8, -1, -1]])
    ranking = Ranking(labels, np.array([[0.9] * 4, [0.9] * 3 + [0.4], [0.9] * 2 + [0.0] * 2]))
    found = by_frequency(Y, ranking, counts)
    assert [each["labels"] for each in found] == [1, 2, 3, 5]
    assert [each["occurrences"] for each in found] == [8, 8, 8, 8]
    # label 0: 2 of 2 given and of 3 true. 1 is right, 2 given once and true once, never both.
    # 3 and 5 are right, 4 is wrong. 6 is right, 8 wrong, 7 and 10 missed, 9 in neither
    macro = [4 / 5, (1 + 0) / 2, (1 + 0 + 1) / 3, (1 + 0 + 0 + 0) / 4]
    assert [each["macro-F1"] for each in found] == pytest.approx(macro)


def test_one_group_is_everything():
    rng = generator(1, "one group")
    Y = csr_array(rng.random((20, 6)) < 0.3)
    ranking = Ranking.from_dense(rng.random((20, 6)), 4)
    (whole,) = by_frequency(Y, ranking, Y.sum(axis=0), n_groups=1)
    found = evaluate(Y, ranking)
    assert all(found[name] == value for name, value in whole.items() if "-" in name)


def test_wrong_calls():
    with pytest.raises(InputError, match="n_groups"):
        frequency_groups([1], 0)
    with pytest.raises(InputError, match=r"shape \(3,\), but Y has 2"):
        by_frequency(csr_array(np.eye(2)), Ranking.empty(2, 1), [1, 2, 3])
    with pytest.raises(InputError, match=r"shape \(1, 2\), but Y has 2"):
        by_frequency(csr_array(np.eye(2)), Ranking.empty(2, 1), [[1, 2]])


def test_one_document_is_enough_to_tell_its_label_from_the_others():
    assert frequency_groups([0, 1], n_groups=2).tolist() == [1, 0]
    assert frequency_groups([0, 0], n_groups=2).tolist() == [1, 1]


def test_four_groups_unless_told_otherwise():
    assert frequency_groups([1] * 8).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_count_for_every_label_and_for_none():
    Y, ranking = csr_array(np.eye(2)), Ranking(np.array([[0], [1]]), np.ones((2, 1)))
    both = by_frequency(Y, ranking, [1, 1], n_groups=2)
    assert [(each["labels"], each["occurrences"]) for each in both] == [(1, 1), (1, 1)]
    none = by_frequency(Y, ranking, [], n_groups=2)
    assert [(each["labels"], each["micro-F1"]) for each in none] == [(0, 0), (2, 1)]
