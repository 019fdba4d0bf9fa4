"""Altered trees of a ranker are refused: a row would go round in them, or read beyond itself."""

import numpy as np
import pytest

from labelgrove.models.grove.boosting import BoostedTrees

TREES = BoostedTrees(
    roots=np.array([0, 3], np.int32),
    feature=np.array([1, -1, -1, -1], np.int32),
    threshold=np.array([0.5, 0, 0, 0]),
    left=np.array([1, -1, -1, -1], np.int32),
    right=np.array([2, -1, -1, -1], np.int32),
    value=np.array([0.0, 1, 2, 3]),
)


def test_whole_trees_are_accepted():
    TREES.check(2)


@pytest.mark.parametrize(
    ("name", "place", "value", "said"),
    [
        ("left", 0, 0, "leads back"),
        ("right", 0, 4, "must lie from 0 to 3"),
        ("left", 0, -1, "must lie from 0 to 3"),
        ("feature", 0, 2, "must lie from -1 to 1"),
        ("feature", 0, -2, "must lie from -1 to 1"),
        ("feature", 1, 0, "must lie from 0 to 3"),  # a leaf that asks has no children
        ("roots", 1, 9, "must lie from 0 to 3"),
        ("value", 3, np.nan, "not finite"),
    ],
)
def test_altered_trees_are_refused(name, place, value, said):
    array = getattr(TREES, name).copy()
    array[place] = value
    with pytest.raises(ValueError, match=said):
        TREES._replace(**{name: array}).check(2)


@pytest.mark.parametrize("name", ["threshold", "left", "right", "value"])
def test_arrays_of_other_lengths_are_refused(name):
    with pytest.raises(ValueError, match=f"trees.{name} is"):
        TREES._replace(**{name: getattr(TREES, name)[:-1]}).check(2)
