"""Ranges as users write them."""

import pytest

from labelgrove.core.errors import InputError
from labelgrove.core.ranges import Choice, Real, Whole, as_text, parse_range, parse_value


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("5..50", Whole(5, 50)),
        ("-5..50:log", None),
        ("1..64:log", Whole(1, 64, log=True)),
        ("1e-5..1e-3:log", Real(1e-5, 1e-3, log=True)),
        (".5..1", Real(0.5, 1.0)),
        ("-1.5..2", Real(-1.5, 2.0)),
        ("hinge,logistic", Choice(("hinge", "logistic"))),
        ("1,2,4", Choice((1, 2, 4))),
        ("true,false", Choice((True, False))),
        ("[1, 1],[1, 2]", Choice(([1, 1], [1, 2]))),
        ("null,5", Choice((None, 5))),
        ("7", Choice((7,))),
        ("50..5", None),
        ("5..5", None),
        ("0..1:log", None),
        ("a..b", None),
        ("", None),
    ],
)
def test_ranges_are_read_and_written_alike(text, wanted):
    if wanted is None:
        with pytest.raises(InputError):
            parse_range(text)
        return
    assert parse_range(text) == wanted
    assert parse_range(str(wanted)) == wanted


@pytest.mark.parametrize("value", ["word", "two words", "5", "true", "", 5, 0.5, None, [1, "a"]])
def test_values_are_read_as_they_are_written(value):
    assert parse_value(as_text(value)) == value


def test_what_ranges_hold():
    assert Whole(1, 3).holds(3)
    assert not Whole(1, 3).holds(2.0)
    assert not Whole(0, 1).holds(True)
    assert Real(0, 1).holds(1)
    assert not Real(0, 1).holds(None)
    assert Choice(([1, 2],)).holds((1, 2)), "JSON knows lists only"
    assert not Choice((1,)).holds("1")
    assert (Whole(1, 3).size, Choice((1, 2)).size, Real(0, 1).size) == (3, 2, float("inf"))
