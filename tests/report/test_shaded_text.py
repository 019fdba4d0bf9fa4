"""Texts drawn with shaded words."""

from xml.etree import ElementTree

import pytest

from labelgrove.report.shaded_text import COLUMNS, shaded_text
from labelgrove.tagger import Evidence, Explained
from labelgrove.tagger.explaining import Reasons


def drawn(text, *words):
    reasons = Reasons(
        [Evidence(text[start:end], w, ((start, end),)) for start, end, w in words], ()
    )
    return ElementTree.fromstring(shaded_text(text, [Explained("a", "A & B", 0.5, reasons, 1)]))


def lines(root):
    found = {}
    for each in root.findall("{*}text")[1:]:
        found.setdefault(float(each.get("y")), []).append(each.text)
    return [" ".join(found[y]) for y in sorted(found)]


def test_marks_lie_behind_their_words():
    root = drawn("one two three", (4, 7, 0.5), (8, 13, -0.25))
    first, second = root.findall("{*}rect")[1:]
    assert [each.get("class") for each in (first, second)] == ["for", "against"]
    assert [each.get("fill-opacity") for each in (first, second)] == ["0.70", "0.35"]
    places = {each.text: float(each.get("x")) for each in root.findall("{*}text")}
    assert float(first.get("x")) == pytest.approx(places["two"] - 1)
    assert "two +0.50, three -0.25" in root.find("{*}desc").text
    assert root.find("{*}text").text == "A & B: 0.50"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("word " * 40, [("word " * 14).strip()] * 2 + [("word " * 12).strip()]),
        ("x" * 100, ["x" * COLUMNS, "x" * 28]),
        ("茶" * 40, ["茶" * 36, "茶" * 4]),
        ("a\x1b[2Jb", ["a\\x1b[2Jb"]),
        ("", []),
    ],
)
def test_lines_break_between_words_and_fit(text, shown):
    assert lines(drawn(text)) == shown
