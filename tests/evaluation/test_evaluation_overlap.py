"""How alike two rankings are, by hand."""

import pytest

from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import overlap

#   first   {0, 1, 2}  {3, -, -}
#   second  {1, 0, 4}  {3, 5, -}
FIRST = Ranking([[0, 1, 2], [3, -1, -1]], [[0.9, 0.8, 0.7], [0.9, 0.0, 0.0]])
SECOND = Ranking([[1, 0, 4], [3, 5, -1]], [[0.9, 0.8, 0.7], [0.9, 0.8, 0.0]])


def test_the_share_of_labels_that_both_name():
    # of the best two: {0, 1} in both, 3 in both; padding is no label
    expected = [(0 + 1) / 2, (2 + 1) / 4, (2 + 1) / 6]
    assert overlap(FIRST, SECOND, [1, 2, 3]) == pytest.approx(expected)
    assert overlap(SECOND, FIRST, [1, 2, 3]) == pytest.approx(expected)
    assert overlap(FIRST[:1], FIRST[:1], [1, 2, 3]).tolist() == [1, 1, 1]


def test_the_best_one_to_five_unless_told_otherwise():
    # places that neither has are shared by none
    expected = [(0 + 1) / 2, (2 + 1) / 4, (2 + 1) / 6, (2 + 1) / 8, (2 + 1) / 10]
    assert overlap(FIRST, SECOND) == pytest.approx(expected)
