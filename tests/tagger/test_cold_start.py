"""Taggers that begin with names of labels and no documents, or next to none."""

import pytest

from grove_corpora import Said, named
from labelgrove import Run, Tagger
from labelgrove.core.errors import InputError
from labelgrove.models.grove import Grove

TEXTS, LABELS, VOCABULARY = named(20)


def fitted(model, n, vocabulary=VOCABULARY, run=None, **settings):
    tagger = Tagger(model, **settings)
    return tagger.fit(TEXTS[:n], LABELS[:n], vocabulary=vocabulary, run=run)


@pytest.mark.parametrize("model", ["grove", "label-match"])
def test_names_are_enough(model, tmp_path):
    tagger = fitted(model, 0)
    assert tagger.labels_.n_labels == 90
    (tag,) = tagger.tag("on plant7 leaf7", k=1)
    assert tag.label == "c007"
    assert 0 < tag.score < 1
    assert tagger.tag(["", "nothing of that"], k=3) == [[], []]
    assert [word.text for word in tagger.explain("plant7 leaf7", "c007")] == ["plant7", "leaf7"]
    scores = tagger.evaluate(TEXTS, LABELS)
    assert scores["P@1"] == 1
    tagger.save(tmp_path / "tagger")
    assert Tagger.load(tmp_path / "tagger").tag("on plant7 leaf7", k=1) == [tag]


def test_a_grove_says_what_it_rests_on():
    said = Said()
    tagger = fitted("grove", 0, run=Run(progress=said))
    assert [maker.kind for maker in tagger.model_.makers_] == ["names"]
    assert any("this tagger rests on names, with fixed weights" in line for line in said.lines)
    notes = " ".join(tagger.evaluate(TEXTS, LABELS, threshold="auto").notes)
    assert "train again with documents that have labels" in notes
    assert "validation=" not in notes


@pytest.mark.parametrize("n", [1, 3, 5, 20])
@pytest.mark.parametrize("validation", [0, 0.1])
def test_a_few_documents(n, validation):
    tagger = fitted(Grove(threads=1), n, validation=validation)
    assert tagger.tag("on plant7 leaf7", k=1)[0].label == "c007"  # a name that no document has
    scores = tagger.evaluate(TEXTS, LABELS)
    assert scores["P@1"] >= 0.9


@pytest.mark.parametrize("n", [1, 3, 5, 20])
def test_a_few_documents_without_names(n):
    texts, labels = ["red apple", "blue whale", "green apple", "grey whale"] * 5, ["p1", "p2"] * 10
    tagger = Tagger(Grove(threads=1)).fit(texts[:n], [[label] for label in labels[:n]])
    assert tagger.tag("my apple", k=1)[0].label == "p1"
    if n > 1:
        assert tagger.tag("my whale", k=1)[0].label == "p2"


@pytest.mark.parametrize("model", ["grove", "label-match", "bonsai", "knn"])
def test_neither_documents_nor_names_are_refused(model):
    with pytest.raises(InputError, match="texts is empty: there is no document to read"):
        fitted(model, 0, vocabulary=None)


@pytest.mark.parametrize("model", ["bonsai", "knn", "most-frequent"])
def test_names_are_not_enough_for_a_model_that_does_not_read_them(model):
    with pytest.raises(InputError, match="texts is empty: there is no document to read"):
        fitted(model, 0)


def test_documents_without_labels_are_no_documents_to_learn_from():
    tagger = Tagger(Grove(threads=1)).fit(TEXTS[:10], [[]] * 10, vocabulary=VOCABULARY)
    assert tagger.tag("on plant7 leaf7", k=1)[0].label == "c007"
    with pytest.raises(InputError, match="none of the 10 documents has a label"):
        Tagger("grove").fit(TEXTS[:10], [[]] * 10)
