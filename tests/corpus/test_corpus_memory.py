import subprocess
import sys

import datasets
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from labelgrove import Tagger
from labelgrove.core.errors import BadRowError, InputError
from labelgrove.corpus import Corpus, Document, read_corpus

EXPECTED = [Document("Wind", ("a", "b")), Document("Sun")]


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series])
def test_lists(kind):
    labels = [["a", "b", "a"], []]
    assert list(Corpus.from_lists(kind(["Wind", "Sun"]), labels)) == EXPECTED
    assert list(read_corpus((kind(["Wind", "Sun"]), labels))) == EXPECTED
    assert type(next(iter(Corpus.from_lists(kind(["Wind"])))).text) is str


def test_kinds_of_labels():
    kinds = [("b", "a"), {"b", "a"}, np.array(["b", "a"]), pd.Series(["b", "a"]), [np.int64(2)]]
    found = Corpus.from_lists(["x"] * 5, kinds, ids=["i", 1, np.int64(2), None, "j"])
    assert [document.labels for document in found] == [
        ("b", "a"),
        ("a", "b"),
        ("b", "a"),
        ("b", "a"),
        ("2",),
    ]
    assert [document.id for document in found] == ["i", "1", "2", None, "j"]
    assert len(found) == 5


def test_texts_alone():
    assert list(Corpus.from_lists(["Wind"])) == [Document("Wind")]


@pytest.mark.parametrize(
    ("texts", "labels", "ids", "expected"),
    [
        (["x", "y"], [["a"], "b"], None, r'labels\[1\]: labels must be a list such as \["b"\]'),
        (["x", 3], [["a"], ["b"]], None, r"texts\[1\]: the text must be a string, got 3"),
        (["x"], [[None]], None, r"labels\[0\]: a label must be a string, got null"),
        (["x"], [["a"]], [1.5], r"ids\[0\]: an id must be"),
        (["x", "y"], [["a"]], None, "there are 2 texts, but 1 labels"),
        (["x"], [["a"]], [], "there are 1 texts, but 0 ids"),
        ("x", [["a"]], None, "texts must be a list, an array or a series, got a str"),
        (["x"], {"a": 1}, None, "labels must be a list, an array or a series, got a dict"),
        ((text for text in "x"), None, None, "texts must be a list.* got a generator"),
        (["x"], np.eye(1), None, "labels must have one entry for each text"),
        (["x"], csr_array([[1]]), None, "labels must have one entry for each text"),
        ([], [], None, "the list of texts is empty"),
    ],
)
def test_wrong_lists(texts, labels, ids, expected):
    with pytest.raises(InputError, match=expected):
        list(Corpus.from_lists(texts, labels, ids))


def test_frame():
    frame = pd.DataFrame({"text": ["Wind", "Sun"], "labels": [["a", "b"], []], 3: [0, 0]})
    corpus = read_corpus(frame)
    assert list(corpus) == list(corpus) == EXPECTED
    frame = pd.DataFrame({"t": ["Wind", "Sun"], "l": ["a|b", ""], "n": [7, 8]}, index=[5, 5])
    assert list(read_corpus(frame, text="t", labels="l", id="n")) == [
        Document("Wind", ("a", "b"), "7"),
        Document("Sun", (), "8"),
    ]
    assert list(read_corpus(frame, text="t", labels="none", labelled=False)) == [
        Document("Wind"),
        Document("Sun"),
    ]


def test_bad_frames():
    frame = pd.DataFrame({"text": ["Wind", None, "Sun"], "labels": ["a", "b", None]})
    with pytest.raises(BadRowError, match="the data frame, row 1: the text must be a string"):
        list(read_corpus(frame))
    corpus = read_corpus(frame, on_bad="skip")
    assert list(corpus) == [Document("Wind", ("a",))]
    assert corpus.skipped == 2
    with pytest.raises(BadRowError, match="row 2: labels are missing; write an empty list"):
        list(read_corpus(frame.iloc[[0, 0, 2]]))
    with pytest.raises(InputError, match="the data frame: there is no field 'labels'"):
        read_corpus(frame[["text"]])
    with pytest.raises(InputError, match="two fields 'text'"):
        read_corpus(frame[["text", "text", "labels"]])
    with pytest.raises(BadRowError, match="cannot tell what separates labels"):
        list(read_corpus(pd.DataFrame({"text": ["x"], "labels": ["a,b"]})))


def test_dataset():
    data = datasets.Dataset.from_dict(
        {"text": ["Wind", "Sun"], "labels": [["a", "b"], []], "other": [1, 2]}
    )
    corpus = read_corpus(data)
    assert list(corpus) == list(corpus) == EXPECTED
    assert list(read_corpus(data.with_format("numpy"))) == EXPECTED
    assert list(read_corpus(data.to_iterable_dataset())) == EXPECTED
    with pytest.raises(InputError, match="the dataset: there is no field 'title'"):
        read_corpus(data, text="title")
    with pytest.raises(InputError, match="has the parts 'train'; give one"):
        read_corpus(datasets.DatasetDict({"train": data}))


def test_dataset_with_named_numbers():
    names = datasets.ClassLabel(names=["a", "b"])
    features = datasets.Features({"text": datasets.Value("string"), "labels": [names]})
    rows = {"text": ["Wind", "Sun"], "labels": [[0, 1], []]}
    assert list(read_corpus(datasets.Dataset.from_dict(rows, features))) == EXPECTED
    features = datasets.Features({"text": datasets.Value("string"), "labels": names})
    rows = {"text": ["Wind", "Sun"], "labels": [1, None]}
    corpus = read_corpus(datasets.Dataset.from_dict(rows, features), on_bad="skip")
    assert list(corpus) == [Document("Wind", ("b",))]
    assert corpus.skipped == 1


def test_bad_lists_can_be_skipped():
    corpus = read_corpus((["Wind", 3], [["a", "b"], []]), on_bad="skip")
    assert list(corpus) == EXPECTED[:1]
    assert corpus.skipped == 1


def test_other_sources():
    corpus = Corpus.from_lists(["x"])
    assert read_corpus(corpus) is corpus
    with pytest.raises(InputError, match="cannot read a corpus from a int"):
        read_corpus(3)


def test_importing_stays_light():
    code = "import labelgrove.corpus, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"numba", "sklearn", "pandas", "pyarrow", "datasets", "zstandard", "torch"}
    assert not heavy & set(loaded.stdout.split())


def test_labels_of_a_pair_may_be_strings_with_a_separator():
    pair = (["Wind", "Sun"], ["a; b", ""])
    assert [each.labels for each in read_corpus(pair, separator=";")] == [("a", "b"), ()]
    way_out = (
        r"labels\[0\]: .* split it, .* or give read_corpus\(\(texts, labels\), separator=';'\)"
    )
    with pytest.raises(InputError, match=way_out):
        list(read_corpus(pair))
    tagger = Tagger("knn", validation=0).fit(read_corpus(pair, separator=";"))
    assert tagger.labels_.ids == ["a", "b"]
    with pytest.raises(InputError, match="give labels=, a list of labels for each text"):
        Tagger("knn").fit(["Wind"])
