"""What is searched, and what is refused before anything is read."""

import pytest

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.ranges import Choice, Real, Whole
from labelgrove.tuning.metric import Metric
from labelgrove.tuning.space import new_space


def test_a_model_brings_its_ranges_and_defaults():
    space = new_space("knn")
    assert space.ranges == {"neighbours": Whole(5, 100, log=True), "power": Real(0.5, 4.0)}
    assert space.start == {"neighbours": 30, "power": 1.5}
    assert space.chosen({"neighbours": 7, "power": 2.0}) == ({"neighbours": 7, "power": 2.0}, {})


def test_ranges_replace_add_and_fix():
    space = new_space(
        "knn",
        ranges={"power": "1..2", "neighbours": "9", "text.ngrams": "[1, 1],[1, 2]"},
        features={"text": {"min_df": 2}},
    )
    assert space.ranges == {
        "power": Real(1.0, 2.0),  # as the default is: not whole
        "text.ngrams": Choice(([1, 1], [1, 2])),
    }
    assert space.settings == {"neighbours": 9}
    values = {"power": 1.25, "text.ngrams": [1, 2]}
    text = {"min_df": 2, "ngrams": [1, 2]}
    assert space.chosen(values) == ({"neighbours": 9, "power": 1.25}, {"text": text})


def test_a_setting_that_the_data_decide_begins_with_none():
    space = new_space("bonsai", ranges={"cost": "1..3"})
    assert space.ranges["cost"] == Real(1.0, 3.0)  # as the declared range is: not whole
    assert (space.start["cost"], space.start["max_leaf"]) == (None, None)
    assert space.chosen({"cost": None, "max_leaf": 50}) == ({"max_leaf": 50}, {})


def test_what_is_set_is_fixed_unless_a_range_names_it():
    fixed = new_space("knn", settings={"power": 2.0})
    assert (list(fixed.ranges), fixed.settings) == (["neighbours"], {"power": 2.0})
    begun = new_space("knn", settings={"power": 2.0}, ranges={"power": "1..3"})
    assert (begun.start["power"], begun.settings) == (2.0, {})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ranges": {"powr": "1..2"}}, "did you mean 'power'"),
        ({"ranges": {"power": "2..1"}}, "range of power: a range goes from less to more"),
        ({"ranges": {"neighbours": "0..5"}}, "range 0..5 of neighbours: "),
        ({"ranges": {"neighbours": "1.5..5"}}, "range 1.5..5 of neighbours: .*whole number"),
        ({"ranges": {"by": "tf-idf,magic"}}, "range tf-idf,magic of by: .*'magic'"),
        ({"ranges": {"power": "null,1"}}, "a recipe cannot hold null"),
        ({"ranges": {"text.min_fd": "1..2"}}, "did you mean 'text.min_df'"),
        ({"ranges": {"title.min_df": "1..2"}}, "unknown setting"),
        ({"features": {"title": {}}}, "knn has no view 'title'; it has text"),
        ({"settings": {"power": 1.0, "neighbours": 2}}, "there is nothing to search"),
    ],
)
def test_what_cannot_be_searched_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        new_space("knn", **arguments)


def test_a_model_without_ranges_needs_some():
    with pytest.raises(InputError, match="most-frequent declares no ranges"):
        new_space("most-frequent")


def test_metrics():
    assert Metric("PSnDCG@7").ks == (1, 3, 5, 7)
    assert Metric("macro-F1").goal == "macro"
    assert Metric("P@1").better(0.5, 0.4)
    assert Metric("hamming-loss").better(0.4, 0.5)
    for name in ("nDCG", "P@0", "F1@5", "micro-F2"):
        with pytest.raises(UnknownNameError, match=f"unknown metric '{name}'"):
            Metric(name)
