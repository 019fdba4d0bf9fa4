"""The table of what makers say of candidates, worked out by hand."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.core.ranking import Ranking
from labelgrove.labels.hierarchy import IntLists
from labelgrove.models.grove.evidence import LabelFacts, gather
from labelgrove.models.logistic import log_odds

NONE = np.log(1e-6) - np.log1p(-1e-6)  # the log odds of a probability of 0
NINE, FIFTH = np.log(9), np.log(0.25)  # those of 0.9 and 0.2

RANKINGS = {
    "tree": Ranking(np.array([[2, 0], [1, -1]]), np.array([[0.9, 0.5], [0.5, 0.0]])),
    "names": Ranking(np.array([[3, -1], [-1, -1]]), np.array([[0.2, 0.0], [0.0, 0.0]])),
}
FACTS = LabelFacts(
    np.array([3, 0, 1, 7]),
    np.array([1, 2, 3, 4]),
    IntLists.of([(1,), (), (1,), (0, 1)]),
)


def column(evidence, name):
    return evidence.table[:, evidence.columns.index(name)].tolist()


def test_candidates_are_those_of_any_maker_by_text_and_label():
    evidence = gather(RANKINGS, FACTS)
    assert evidence.texts.tolist() == [0, 0, 0, 1]
    assert evidence.labels.tolist() == [0, 2, 3, 1]
    assert evidence.table.shape == (4, 12)
    assert evidence.table.dtype == np.float32
    assert len(evidence.columns) == 12


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("tree score", [0, NINE, -0.5, 0]),  # label 3 is below the last that the tree names
        ("tree place", [1 / 2, 1, 0, 1]),
        ("tree absent", [0, 0, 1, 0]),
        ("tree behind", [-NINE, 0, -0.5 - NINE, 0]),
        ("names score", [FIFTH - 0.5, FIFTH - 0.5, FIFTH, NONE - 0.5]),  # says nothing of text 1
        ("names place", [0, 0, 1, 0]),
        ("names absent", [1, 1, 0, 1]),
        ("names behind", [-0.5, -0.5, 0, -0.5]),
        ("documents", np.log1p([3, 1, 7, 0])),
        ("new", [0, 0, 0, 1]),
        ("words", [1, 3, 4, 2]),
        ("kin", [0.9, 0.5, 1.4, 0]),  # of the parent that labels 0, 2 and 3 share
    ],
)
def test_columns_by_hand(name, wanted):
    assert column(gather(RANKINGS, FACTS), name) == pytest.approx(list(wanted), abs=1e-5)


def test_counts_are_those_of_the_fold_that_ranked_the_text():
    facts = FACTS._replace(counts=np.array([[1, 9, 2, 0], [9, 4, 9, 9]]))
    evidence = gather(RANKINGS, facts, np.array([0, 1]))
    assert column(evidence, "documents") == pytest.approx(np.log1p([1, 2, 0, 4]).tolist())
    assert column(evidence, "new") == [0, 0, 1, 0]


def test_texts_without_candidates():
    evidence = gather({"tree": Ranking.empty(3, 2), "names": Ranking.empty(3, 5)}, FACTS)
    assert evidence.table.shape == (0, 12)
    ranking = evidence.ranking(np.empty(0), 3, 2)
    assert ranking.labels.tolist() == [[-1, -1]] * 3
    assert not evidence.best(np.empty(0), 2).any()


def test_truth_best_and_ranking():
    evidence = gather(RANKINGS, FACTS)
    Y = csr_array(np.array([[0, 1, 1, 0], [0, 1, 0, 0]], np.float32))
    assert evidence.truth(Y).tolist() == [False, True, False, True]
    scores = np.array([0.3, 0.1, 0.3, 0.2])
    assert evidence.best(scores, 1).tolist() == [True, False, False, True]  # 0 before 3
    assert evidence.best(scores, 2).tolist() == [True, False, True, True]
    assert evidence.ranking(scores, 2, 2).labels.tolist() == [[0, 3], [1, -1]]
    assert evidence[evidence.truth(Y)].labels.tolist() == [2, 1]


def test_log_odds_are_finite():
    assert log_odds(np.array([0.0, 0.5, 1.0])) == pytest.approx([NONE, 0, -NONE], rel=1e-5)
