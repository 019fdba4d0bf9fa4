"""What a label has learned, and documents of a file that are like a text, from the command line."""

import json
import re

import numpy as np
import pytest

from command_line import called, fails
from labelgrove import Tagger, read_corpus
from labelgrove.core.errors import InputError

LABELS = ("label 01", "label 02")


@pytest.fixture(scope="module")
def linear(data):
    called("train", data / "train.jsonl", "--model", "bonsai", "--out", data / "linear", "-q")
    return data / "linear"


@pytest.fixture(scope="module")
def text(data):
    """A text of the training documents."""
    return json.loads((data / "train.jsonl").read_text().splitlines()[7])


def test_the_words_of_a_label_need_no_text(linear, data, tmp_path):
    done = called(
        *("explain", linear, "--label", LABELS[0], "--label", LABELS[1].upper()),
        *("--html", tmp_path / "words.html"),
    )
    count = sum(LABELS[0] in d.labels for d in read_corpus(data / "train.jsonl"))
    assert f"{LABELS[0]}: {count} training documents have it" in done.stdout
    first = re.search(r"^(topic\S+) +\+\d", done.stdout, re.M).group(1)
    assert first.startswith("topic1")
    record = json.loads(called("explain", linear, "--label", LABELS[0], "--json", "-").stdout)
    (label,) = record["labels"]
    assert label["training_documents"] == count
    assert label["words"][0]["text"] == first
    weights = [word["weight"] for word in label["words"]]
    assert weights == sorted(weights, reverse=True)
    assert len(weights) == 20
    page = (tmp_path / "words.html").read_text()
    assert '<h2 id="label-02">label 02</h2>' in page
    assert first in page


def test_similar_documents_come_from_a_file(linear, data, text):
    plain = called("explain", linear, "--text", text["text"], "-k", "1")
    assert "most similar documents" not in plain.stdout
    done = called(
        *("explain", linear, "--text", text["text"], "--label", text["labels"][0]),
        *("--neighbours", data / "train.jsonl"),
    )
    assert re.search(r"\d+ of the 30 most similar documents have it", done.stdout)
    best = re.search(r"^1\.00 +yes ", done.stdout, re.M)
    assert best, "the text itself is in the file"


def test_the_file_of_similar_documents_may_have_other_columns(linear, tmp_path):
    (tmp_path / "near.csv").write_text(
        "title,subjects\ntopic1a topic1b,label 01\nnothing,label 02\n"
    )
    call = ("explain", linear, "--text", "topic1a", "--label", LABELS[0])
    done = called(
        *(*call, "--neighbours", tmp_path / "near.csv"),
        *("--text-field", "title", "--labels-field", "subjects"),
    )
    assert "1 of the 1 most similar documents have it" in done.stdout
    none = called(
        *("explain", linear, "--text", "unheard of", "-k", "1"),
        *("--neighbours", tmp_path / "near.csv", "--text-field", "title"),
        *("--labels-field", "subjects"),
    )
    assert "shares a word with the text" in none.stderr
    assert "there is no field 'text'" in fails(*call, "--neighbours", tmp_path / "near.csv")


def test_a_page_says_what_colours_and_weights_mean(linear, text, tmp_path):
    page = tmp_path / "why.html"
    called("explain", linear, "--text", text["text"], "--label", text["labels"][0], "--html", page)
    written = page.read_text()
    assert re.search(r'<mark class="for"[^>]*>Green words</mark> spoke for a label', written)
    assert re.search(r"\d+ training documents have it</p>", written)
    assert "The heaviest words" in written
    assert re.search(r'topic\d+a</th><td class="number">\+0\.\d{3}</td>', written)


def test_what_cannot_be_explained(linear, data, tmp_path):
    assert "give --text with a text to explain, or --label" in fails("explain", linear)
    assert "give --text" in fails("explain", linear, "--label", "label 01", "--svg", tmp_path / "a")
    called("train", data / "train.jsonl", "--model", "knn", "--out", tmp_path / "knn", "-q")
    said = fails("explain", tmp_path / "knn", "--label", "label 01")
    assert "knn has no weights of words for a label: explain a text, or ask a linear" in said


def test_in_python_too(linear, data, text):
    tagger = Tagger.load(linear)
    told = tagger.explain_label("LABEL 01", k=5)
    assert (told.label, len(told.words)) == ("label 01", 5)
    with pytest.raises(InputError, match="k must be"):
        tagger.explain_label("label 01", k=0)
    label = text["labels"][0]
    reasons = tagger.explain(text["text"], label, neighbours=data / "train.jsonl")
    assert list(reasons) == list(tagger.explain(text["text"], label))
    near = reasons.neighbours[0]
    assert near.similarity == pytest.approx(1)
    assert near.labels == tuple(text["labels"])
    assert near.has_label
    cosines = [each.similarity for each in reasons.neighbours]
    assert cosines == sorted(cosines, reverse=True)


def test_similar_documents_are_those_of_all_pairs(linear, data, text):
    tagger = Tagger.load(linear)
    documents = list(read_corpus(data / "train.jsonl"))
    rows = tagger.learned_.featurizers["text"].transform([d.text for d in documents])
    query = tagger.learned_.featurizers["text"].transform([text["text"]])
    expected = np.sort((rows @ query.T).toarray().ravel())[::-1][:30]
    reasons = tagger.explain(text["text"], "label 01", neighbours=documents_of(documents))
    assert np.allclose([each.similarity for each in reasons.neighbours], expected)


def documents_of(documents):
    return read_corpus(([d.text for d in documents], [d.labels for d in documents]))
