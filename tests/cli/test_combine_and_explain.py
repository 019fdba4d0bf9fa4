"""Several taggers asked together, and the words behind a label, from the command line."""

import json
import re
from xml.etree import ElementTree

import pytest

from command_line import called, fails, labelgrove


@pytest.fixture(scope="module")
def linear(data):
    for model in ("bonsai", "one-vs-rest"):
        called("train", data / "train.jsonl", "--model", model, "--out", data / model, "-q")
    return data / "bonsai", data / "one-vs-rest"


def test_combine_calibrates_and_shows_how_far_taggers_agree(linear, data, tmp_path):
    done = labelgrove(
        *("combine", *linear, "--out", tmp_path / "both"),
        *("--valid", data / "test.jsonl", "--test", data / "test.jsonl"),
    )
    assert "top 5" in done.stdout
    assert f"saved to {tmp_path / 'both'}" in done.stdout
    scored = called("evaluate", tmp_path / "both", data / "test.jsonl")
    assert re.search(r"^nDCG +\d", scored.stdout, re.MULTILINE)
    assert "two taggers or more" in fails("combine", linear[0], "--out", tmp_path / "one")
    assert "exists already" in fails("combine", *linear, "--out", tmp_path / "both")


def test_combine_changes_no_tagger_and_takes_none_twice(linear, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(linear[0])
    said = fails("combine", linear[0], link, "--out", tmp_path / "both")
    assert "are one tagger, and twice the same tells nothing new" in said
    before = (linear[1] / "manifest.json").read_bytes()
    said = fails("combine", *linear, "--out", linear[1], "--overwrite")
    assert f"--out {linear[1]} is {linear[1]} itself, which combine does not change" in said
    assert (linear[1] / "manifest.json").read_bytes() == before


def test_explain_colours_the_words_and_writes_a_page(linear, data, tmp_path):
    text = json.loads((data / "test.jsonl").read_text().splitlines()[0])
    page = tmp_path / "why.html"
    done = labelgrove(
        *("explain", linear[0], "--text", text["text"] + " <b>", "--label", text["labels"][0]),
        *("--html", page),
        FORCE_COLOR="1",
        COLORTERM="truecolor",
    )
    word = f"topic{int(text['labels'][0].split()[1])}a"
    assert re.search(rf"\x1b\[[\d;]*48[\d;]*m{word}\x1b", done.stdout), "a coloured background"
    written = page.read_text()
    assert re.search(rf"<mark[^>]*>{word}</mark>", written)
    assert "&lt;b&gt;" in written
    best = labelgrove("explain", linear[0], "--text", text["text"], "-k", "2")
    assert "\x1b" not in best.stdout, "no colours in a pipe"
    assert len(re.findall(r"^label \d\d  0\.\d\d$|^label \d\d  1\.00$", best.stdout, re.M)) == 2
    silent = called("explain", linear[0], "--text", "quite unheard of", "-k", "1")
    assert "(no word spoke for it or against it)" in silent.stdout
    assert "unknown" in fails("explain", linear[0], "--text", "x", "--label", "nothing").lower()
    assert "--html needs a file" in fails(
        "explain", linear[0], "--text", "x", "--html", tmp_path / "no" / "page.html"
    )


def test_explain_draws_the_text_with_its_shaded_words(linear, data, tmp_path):
    text = json.loads((data / "test.jsonl").read_text().splitlines()[0])
    picture = tmp_path / "why.svg"
    whole = text["text"] + " <b> " + "x" * 200
    done = called("explain", linear[0], "--text", whole, "-k", "2", "--svg", picture)
    assert f"written to {picture}" in done.stdout
    root = ElementTree.fromstring(picture.read_text("utf-8"))
    assert [each.tag.rpartition("}")[2] for each in root[:3]] == ["title", "desc", "style"]
    assert "prefers-color-scheme: dark" in root[2].text
    width = float(root.get("width"))
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    words, marks = root.findall("{*}text"), root.findall("{*}rect")[1:]
    shown = [each.text for each in words if each.get("class") != "name"]
    assert "".join(shown) == 2 * "".join(whole.split()), "every character once for each label"
    word = f"topic{int(text['labels'][0].split()[1])}a"
    (spot,) = {each.get("x") for each in words if each.text == word}
    assert f"{float(spot) - 1:.1f}" in {
        each.get("x") for each in marks if each.get("class") == "for"
    }
    assert word in root[1].text
    for each in [*words, *marks]:
        size = float(each.get("width") or each.get("textLength") or 0)
        assert float(each.get("x")) + size <= width
        assert float(each.get("y")) < float(root.get("height"))
    assert max(float(each.get("fill-opacity")) for each in marks) == 0.7
    assert "--svg needs a file" in fails(
        "explain", linear[0], "--text", "x", "--svg", tmp_path / "no" / "why.svg"
    )
