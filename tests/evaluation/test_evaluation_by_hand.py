"""One small case, every metric of which is worked out by hand."""

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import (
    Decision,
    evaluate,
    labels_in_use,
    per_document,
    perfect_ranking,
    propensity_gains,
    score_ranking,
)
from labelgrove.evaluation.scores import parse

# five documents, labels 0 to 4 known to the model, label 5 in the test set only
#   doc 0  true {0, 2}         ranked 0* 1  2* 3
#   doc 1  true {1, 5}         ranked 3  1* -  -
#   doc 2  true {}             ranked 0  -  -  -
#   doc 3  true {0, 2, 3, 4}   ranked 4* 3* 2* 1
#   doc 4  true {3}            ranked -  -  -  -      (* is a hit)
Y = csr_array(
    np.array(
        [
            [1, 0, 1, 0, 0, 0],
            [0, 1, 0, 0, 0, 1],
            [0, 0, 0, 0, 0, 0],
            [1, 0, 1, 1, 1, 0],
            [0, 0, 0, 1, 0, 0],
        ]
    )
)
RANKING = Ranking(
    np.array([[0, 1, 2, 3], [3, 1, -1, -1], [0, -1, -1, -1], [4, 3, 2, 1], [-1, -1, -1, -1]]),
    np.array(
        [
            [0.9, 0.8, 0.6, 0.1],
            [0.7, 0.5, 0.0, 0.0],
            [0.4, 0.0, 0.0, 0.0],
            [0.95, 0.9, 0.3, 0.2],
            [0.0, 0.0, 0.0, 0.0],
        ]
    ),
)
PROPENSITIES = np.array([1.0, 0.5, 0.5, 0.25, 0.2, 0.1])  # inverses 1, 2, 2, 4, 5, 10
A = 1 / np.log2(3)  # discount of the second place; the third's is 1/2
B = 1 / np.log2(5)  # of the fourth

EXPECTED = {
    "P@1": (1 + 0 + 0 + 1 + 0) / 5,
    "P@3": (2 / 3 + 1 / 3 + 0 + 3 / 3 + 0) / 5,
    "P@5": (2 / 5 + 1 / 5 + 0 + 3 / 5 + 0) / 5,  # four places only, the fifth is a miss
    "R@1": (1 / 2 + 0 + 0 + 1 / 4 + 0) / 5,
    "R@3": (2 / 2 + 1 / 2 + 0 + 3 / 4 + 0) / 5,
    "R@5": (2 / 2 + 1 / 2 + 0 + 3 / 4 + 0) / 5,
    "nDCG@1": (1 + 0 + 0 + 1 + 0) / 5,
    "nDCG@3": ((1 + 0.5) / (1 + A) + A / (1 + A) + 0 + 1 + 0) / 5,
    "nDCG@5": ((1 + 0.5) / (1 + A) + A / (1 + A) + 0 + (1.5 + A) / (1.5 + A + B) + 0) / 5,
    # gained by document 1, 0, 0, 5, 0; best 2 (label 2), 10 (label 5), 0, 5 (label 4), 4
    "PSP@1": 6 / 21,
    # gained 1 + 2, 2, 0, 5 + 4 + 2, 0; best 2 + 1, 10 + 2, 0, 5 + 4 + 2, 4
    "PSP@3": 16 / 30,
    # gained the same; best of document 3 is now 5 + 4 + 2 + 1
    "PSP@5": 16 / 31,
    "PSnDCG@1": 6 / 21,
    # gained 1 + 2/2, 2 A, 0, 5 + 4 A + 2/2, 0; best 2 + A, 10 + 2 A, 0, 5 + 4 A + 2/2, 4
    "PSnDCG@3": (8 + 6 * A) / (22 + 7 * A),
    "PSnDCG@5": (8 + 6 * A) / (22 + 7 * A + B),
    # from 0.5 on: {0, 1, 2}, {3, 1}, {}, {4, 3}, {}: 7 given, 5 correct, 9 true
    "micro-precision": 5 / 7,
    "micro-recall": 5 / 9,
    "micro-F1": 10 / 16,
    # label:       0    1    2    3    4    5
    # correct      1    1    1    1    1    0
    # given        1    2    1    2    1    0
    # true         2    1    2    2    1    1
    "macro-precision": (1 + 1 / 2 + 1 + 1 / 2 + 1 + 0) / 6,
    "macro-recall": (1 / 2 + 1 + 1 / 2 + 1 / 2 + 1 + 0) / 6,
    "macro-F1": (2 / 3 + 2 / 3 + 2 / 3 + 2 / 4 + 1 + 0) / 6,
    "samples-F1": (4 / 5 + 2 / 4 + 0 + 4 / 6 + 0) / 5,
    # wrong by document: label 1; labels 3 and 5; none; labels 0 and 2; label 3
    "hamming-loss": (1 + 2 + 0 + 2 + 1) / (5 * 6),
    "subset-accuracy": 1 / 5,  # document 2: nothing is true, nothing is given
    # hit labels: {0, 4}; {0, 2, 1, 4, 3}; the same. All six have a document
    "coverage@1": 2 / 6,
    "coverage@3": 5 / 6,
    "coverage@5": 5 / 6,
}


def test_every_metric_in_order():
    found = evaluate(Y, RANKING, propensities=PROPENSITIES)
    assert list(found) == list(EXPECTED)
    assert found == pytest.approx(EXPECTED)
    assert all(type(value) is float for value in found.values())


def test_without_propensities_their_metrics_are_absent():
    found = evaluate(Y, RANKING)
    assert list(found) == [name for name in EXPECTED if not name.startswith("PS")]


def test_ks_are_sorted_and_taken_once():
    found = evaluate(Y, RANKING, ks=(3, 1, 3))
    assert [name for name in found if name.startswith("P@")] == ["P@1", "P@3"]


@pytest.mark.parametrize("metric", [m for m in EXPECTED if m[:2] not in {"mi", "ma", "co"}])
def test_documents_average_to_the_metric(metric):
    values = per_document(Y, RANKING, metric, propensities=PROPENSITIES)
    assert values.shape == (5,)
    assert values.mean() == pytest.approx(EXPECTED[metric])


def test_values_per_document():
    assert per_document(Y, RANKING, "P@2").tolist() == [0.5, 0.5, 0.0, 1.0, 0.0]
    assert per_document(Y, RANKING, "R@2").tolist() == [0.5, 0.5, 0.0, 0.5, 0.0]
    assert per_document(Y, RANKING, "subset-accuracy").tolist() == [0, 0, 1, 0, 0]
    assert per_document(Y, RANKING, "hamming-loss") == pytest.approx(np.array([1, 2, 0, 2, 1]) / 6)
    # document 0 gained 3 of its best 3; the mean of the best is 30 / 5
    assert per_document(Y, RANKING, "PSP@3", propensities=PROPENSITIES)[0] == pytest.approx(3 / 6)


def test_gains_of_each_document():
    gained, best = propensity_gains(score_ranking(Y, RANKING), 3, PROPENSITIES)
    assert gained == pytest.approx([3, 2, 0, 11, 0])
    assert best == pytest.approx([3, 12, 0, 11, 4])
    gained, best = propensity_gains(score_ranking(Y, RANKING), 3, PROPENSITIES, discounted=True)
    assert gained == pytest.approx([1 + 2 / 2, 2 * A, 0, 5 + 4 * A + 2 / 2, 0])
    assert best == pytest.approx([2 + A, 10 + 2 * A, 0, 5 + 4 * A + 2 / 2, 4])


def test_labels_that_no_document_has_are_not_to_be_covered():
    # labels 0 and 1 are true, label 2 of three is not
    found = evaluate(csr_array([[1, 1, 0]]), Ranking([[0, 2]], [[0.9, 0.8]]), ks=(1, 2))
    assert (found["coverage@1"], found["coverage@2"]) == (0.5, 0.5)


def test_a_perfect_ranking_reaches_one():
    # best by propensity first, so that PSP and PSnDCG are perfect too
    ranking = Ranking(np.array([[1, 0], [2, -1]]), np.array([[0.9, 0.8], [0.7, 0.0]]))
    truth = csr_array(np.array([[1, 1, 0], [0, 0, 1]]))
    found = evaluate(truth, ranking, ks=(1, 2), propensities=np.array([0.9, 0.2, 0.5]))
    expected = dict.fromkeys(found, 1.0) | {
        "P@2": 0.75,  # the second document has one label only, and P@2 divides by 2
        "R@1": 0.75,
        "hamming-loss": 0.0,
        "coverage@1": 2 / 3,
    }
    assert found == pytest.approx(expected)


def test_nothing_true_and_nothing_given():
    found = evaluate(csr_array((3, 4)), Ranking.empty(3, 2), propensities=np.ones(4))
    expected = dict.fromkeys(found, 0.0) | {"subset-accuracy": 1.0}
    assert found == expected


def test_a_ranking_without_places():
    found = evaluate(Y, Ranking.empty(5, 0), propensities=PROPENSITIES)
    assert found["P@1"] == found["nDCG@5"] == found["PSP@3"] == found["micro-F1"] == 0.0
    assert found["hamming-loss"] == pytest.approx(9 / 30)


def test_a_single_label():
    truth = csr_array(np.array([[1], [0], [1], [1]]))
    ranking = Ranking(np.zeros((4, 1)), np.array([[0.9], [0.6], [0.4], [0.8]]))
    found = evaluate(truth, ranking, ks=(1,))
    # given to 0, 1 and 3, true of 0, 2 and 3: 2 correct
    assert found["P@1"] == 3 / 4
    assert found["micro-F1"] == found["macro-F1"] == pytest.approx(2 / 3)
    assert found["hamming-loss"] == 2 / 4
    assert found["subset-accuracy"] == 2 / 4


def test_macro_is_over_labels_with_a_positive_or_a_prediction():
    # label 0 right, label 1 given wrongly (F1 0, in the mean), label 2 in neither (not in it)
    ranking = Ranking(np.array([[0, 1]]), np.array([[0.9, 0.8]]))
    found = evaluate(csr_array(np.array([[1, 0, 0]])), ranking)
    assert found["macro-F1"] == found["macro-precision"] == found["macro-recall"] == 0.5


def test_hamming_loss_over_more_columns():
    assert evaluate(Y, RANKING, n_labels=60)["hamming-loss"] == pytest.approx(6 / (5 * 60))


def test_a_single_label_is_enough():
    found = evaluate(csr_array([[1], [0]]), Ranking([[0], [0]], [[0.9], [0.8]]), n_labels=1)
    assert found["hamming-loss"] == 0.5


def test_a_decision_in_place_of_a_threshold():
    found = evaluate(Y, RANKING, threshold=Decision(top=1))
    # given 0*, 3, 0, 4*, none
    assert found["micro-precision"] == 2 / 4
    assert found["micro-recall"] == pytest.approx(2 / 9)


def test_stored_zeros_and_repeated_entries_of_y_do_not_count():
    clean = evaluate(Y, RANKING, propensities=PROPENSITIES)
    coo = Y.tocoo()
    row, column = coo.coords
    # label 4 of document 0 as a stored 0, label 0 of document 0 twice
    messy = csr_array(
        (
            np.concatenate([coo.data, [0, 1]]),
            (np.concatenate([row, [0, 0]]), np.concatenate([column, [4, 0]])),
        ),
        shape=Y.shape,
    )
    doubled = csr_array(
        (np.repeat(Y.data, 2), np.repeat(Y.indices, 2), 2 * Y.indptr), shape=Y.shape
    )
    kept = doubled.nnz
    for given in (messy, doubled, csr_matrix(Y), Y.astype(bool), Y * -3.0):
        assert evaluate(given, RANKING, propensities=PROPENSITIES) == clean
    assert doubled.nnz == kept, "the caller's Y is left alone"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"Y": Y.toarray()}, "sparse"),
        ({"Y": Y[:3]}, "5 documents, Y has 3"),
        ({"Y": Y[:, :3]}, "label number 4, but Y has 3 columns"),
        ({"ks": (0, 1)}, "at least 1, got 0"),
        ({"n_labels": 5}, "n_labels is 5, but 6 labels are true or ranked"),
        ({"Y": csr_array((5, 6)), "ranking": Ranking.empty(5, 1), "n_labels": 0}, "n_labels is 0"),
        ({"propensities": PROPENSITIES[:5]}, r"shape \(5,\), but Y has 6"),
        ({"propensities": 1 / PROPENSITIES}, "label number 1 has 2.*not their inverses"),
        ({"propensities": 0 * PROPENSITIES}, "label number 0 has 0"),
        ({"propensities": np.nan * PROPENSITIES}, "label number 0 has nan"),
        ({"threshold": float("nan")}, "threshold is not a number"),
        (
            {"ranking": RANKING.with_scores(np.where(RANKING.labels == 3, np.nan, 0.5))},
            "document 0 are not numbers",
        ),
    ],
)
def test_wrong_calls_say_what_is_wrong(change, words):
    given = {"Y": Y, "ranking": RANKING} | change
    with pytest.raises(InputError, match=words):
        evaluate(given.pop("Y"), given.pop("ranking"), **given)


def test_no_documents():
    with pytest.raises(InputError, match="no documents"):
        evaluate(csr_array((0, 3)), Ranking.empty(0, 2))


@pytest.mark.parametrize("metric", ["micro-F1", "coverage@3", "P@0", "P", "p@1", "nDCG@-1"])
def test_metrics_that_are_no_mean_over_documents_are_refused(metric):
    with pytest.raises(UnknownNameError, match="metric"):
        per_document(Y, RANKING, metric)


def test_the_first_label_counts_where_it_is_only_ranked():
    Y, ranking = csr_array([[0, 1]]), Ranking([[0]], [[0.9]])
    assert evaluate(Y, ranking, n_labels=2, threshold=0.5)["hamming-loss"] == 1.0
    with pytest.raises(InputError, match="n_labels is 1, but 2 labels are true or ranked"):
        evaluate(Y, ranking, n_labels=1)


def test_the_k_of_a_metric_is_read_from_its_name():
    assert parse("P@3") == ("P", 3)
    assert parse("PSnDCG@10") == ("PSnDCG", 10)
    assert parse("samples-F1") == ("samples-F1", 0), "there is no k"


def test_propensity_metrics_per_document_ask_for_propensities():
    with pytest.raises(InputError, match="PSP@1 needs propensities"):
        per_document(Y, RANKING, "PSP@1")


def test_the_smallest_gain_counts():
    # one label with the propensity 1: the best gain of all documents is 1
    found = evaluate(csr_array([[1]]), Ranking([[0]], [[0.9]]), ks=(1,), propensities=np.ones(1))
    assert (found["PSP@1"], found["PSnDCG@1"]) == (1.0, 1.0)


def test_a_truth_without_labels():
    found = evaluate(csr_array((2, 0)), Ranking.empty(2, 1))
    assert (found["hamming-loss"], found["subset-accuracy"]) == (0.0, 1.0)
    assert evaluate(csr_array((2, 0)), Ranking.empty(2, 0))["P@1"] == 0.0


def test_the_first_label_that_the_tagger_does_not_know_is_in_use():
    # label 2 twice; labels 3 and 4 are a vocabulary's that nobody uses
    assert labels_in_use(csr_array([[1, 0, 1, 0, 0], [0, 0, 1, 0, 0]]), n_known=2) == 3
    assert labels_in_use(csr_array([[1, 0], [0, 0]]), n_known=2) == 2


def test_a_label_behind_the_last_column_is_told():
    with pytest.raises(InputError, match="label number 2, but Y has 2 columns"):
        score_ranking(csr_array([[1, 0]]), Ranking([[2]], [[0.9]]))


def test_entries_that_cancel_out_are_true():
    # label 0 is stored twice, as 1 and -1; label 2 once, as 0
    Y = csr_array((np.array([1, -1, 1, 0]), [0, 0, 1, 2], [0, 4]), shape=(1, 3))
    scored = score_ranking(Y, Ranking([[0, 2, 1]], [[0.9, 0.8, 0.7]]))
    assert scored.hits.tolist() == [[True, False, True]]
    assert (scored.n_true.tolist(), scored.n_positives.tolist()) == ([2], [1, 1, 0])
    assert perfect_ranking(Y).labels.tolist() == [[0, 1]]
    assert Y.data.tolist() == [1, -1, 1, 0], "the caller's Y is left alone"


def test_the_document_whose_scores_are_no_numbers_is_named():
    ranking = Ranking([[0, 1], [0, 1], [0, 1]], [[0.5, 0.4], [0.5, np.nan], [np.nan, np.nan]])
    with pytest.raises(InputError, match="document 1 are not numbers"):
        score_ranking(csr_array(np.ones((3, 2))), ranking)


@pytest.mark.parametrize("value", [1, 3])
def test_a_clean_truth_is_not_copied(value):
    clean = csr_array(value * Y)
    assert np.shares_memory(score_ranking(clean, RANKING).Y.data, clean.data)
