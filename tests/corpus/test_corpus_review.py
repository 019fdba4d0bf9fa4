"""Files of suggestions that people judge."""

import gzip
import json

import pytest

from labelgrove.core.errors import BadRowError, InputError
from labelgrove.corpus import ReviewItem, Suggestion, read_corpus, read_review, write_review

WIND = ReviewItem(
    "Wind turbines\r\nalong the coast\u2028",
    ("energy", "finance"),
    (
        Suggestion("coast", "The coast", 0.9, "missing", ("the word 'coast'",)),
        Suggestion("finance", "finance", 0.75, "wrong"),
    ),
    "7",
)
NEW = ReviewItem("Ferries", (), (Suggestion("transport", "transport", 0.5, "proposed"),))


def test_what_is_written_is_read_back(tmp_path):
    file = tmp_path / "review.jsonl"
    write_review(file, [WIND, NEW])
    assert list(read_review(file)) == [WIND, NEW]
    packed = tmp_path / "review.jsonl.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert list(read_review(packed)) == [WIND, NEW]


def test_it_is_a_file_of_documents_too(tmp_path):
    write_review(tmp_path / "review.jsonl", [WIND])
    (document,) = read_corpus(tmp_path / "review.jsonl")
    assert document == (WIND.text, WIND.labels, "7")


def test_little_is_needed(tmp_path):
    file = tmp_path / "review.jsonl"
    file.write_text('\n{"text": "Sun", "suggestions": [{"label": 3, "kind": "proposed"}]}\n')
    assert list(read_review(file)) == [
        ReviewItem("Sun", (), (Suggestion("3", "3", 0.0, "proposed"),))
    ]


def line(**changed):
    suggestion = {"label": "b", "kind": "missing"} | changed.pop("suggestion", {})
    row = {"text": "Sun", "labels": ["a"], "suggestions": [suggestion], **changed}
    return json.dumps({name: value for name, value in row.items() if value is not ...})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (line(text=...), "there is no field 'text'"),
        (line(suggestions=...), "there is no field 'suggestions'"),
        (line(text=" "), "the text is empty"),
        (line(suggestions={}), "suggestions must be a list, got {}"),
        (line(suggestions=["b"]), 'a suggestion must be an object, got "b"'),
        (line(suggestion={"label": None}), "a label must be a string, got null"),
        (line(suggestion={"kind": "odd"}), 'one of missing, wrong, proposed, got "odd"'),
        (line(suggestion={"kind": "wrong"}), '"b" is suggested as wrong, but is not among'),
        (line(suggestion={"label": "a"}), '"a" is suggested as missing, but is among its labels'),
        (line(suggestion={"score": 1.5}), "a score is a number from 0 to 1, got 1.5"),
        (line(suggestion={"score": "high"}), 'a score is a number from 0 to 1, got "high"'),
        (line(suggestion={"reasons": "words"}), 'reasons must be a list of sentences, got "words"'),
        (line(suggestions=[{"label": "b", "kind": "missing"}] * 2), "suggested twice"),
        ("[1]", "each line must be an object"),
        ("{", "not JSON"),
    ],
)
def test_a_bad_line_is_named(tmp_path, wrong, message):
    file = tmp_path / "review.jsonl"
    file.write_text(f"{NEW.to_json()}\n{wrong}\n")
    with pytest.raises(BadRowError) as error:
        list(read_review(file))
    assert str(error.value).startswith(f"{file}, line 2: ")
    assert message in str(error.value)


def test_a_file_must_be_there(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        list(read_review(tmp_path / "none.jsonl"))
