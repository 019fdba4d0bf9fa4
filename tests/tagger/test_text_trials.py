"""Word stems and weights of words are chosen by a part of the training documents."""

import pytest

from labelgrove import Tagger
from labelgrove.core.progress import Silent
from labelgrove.core.random import text_fraction
from labelgrove.core.types import Run, ViewSpec
from labelgrove.corpus import Corpus, read_corpus
from labelgrove.models import MODELS
from labelgrove.tagger.text_trials import settings_left_open
from labelgrove.text import Tfidf
from text_corpora import finnish, titled


class Heard(Silent):
    """A progress that keeps what is said."""

    def __init__(self):
        self.lines = []

    def say(self, message):
        self.lines.append(message)


def fitted(texts, labels, model="bonsai", **settings):
    heard = Heard()
    tagger = Tagger(model, threads=1, **settings).fit(texts, labels, run=Run(progress=heard))
    return tagger, "\n".join(heard.lines)


def test_stems_are_taken_where_they_help(tmp_path):
    texts, labels = finnish()
    tagger, said = fitted(texts, labels)
    assert "Finnish: word stems instead of words: held-out nDCG@5" in said
    tagger.save(tmp_path / "tagger")
    again = Tagger.load(tmp_path / "tagger")
    assert again.learned_.featurizers["text"].analyzer == "snowball:fi"
    new, truth = finnish(60, seed=1)
    plain, said = fitted(texts, labels, features={"text": {"analyzer": "word"}})
    assert "stems" not in said
    assert plain.learned_.featurizers["text"].analyzer == "word"
    assert again.score(new, truth) > plain.score(new, truth) + 0.05


def test_the_language_is_named_where_stems_are_no_better():
    texts = [f"Der Wind weht über das Meer und das Land {i}" for i in range(300)]
    labels = [["gerade" if i % 2 else "ungerade"] for i in range(300)]
    tagger, said = fitted(texts, labels)
    assert (
        "German: words as they are, since word stems do not rank labels clearly better: held-out"
        in said
    )
    assert tagger.learned_.featurizers["text"].analyzer == "word"


def test_texts_in_several_languages_are_told_so():
    german, finnish_ones = "Der Wind weht über das Meer", "Tuuli puhaltaa meren yli maalle"
    texts = [f"{german if i % 2 else finnish_ones} {i}" for i in range(300)]
    said = fitted(texts, [["a"], ["b"]] * 150)[1]
    assert "most texts are in no one language that is recognised (" in said
    assert "de 5" in said or "fi 5" in said


def test_a_grove_reads_names_by_the_same_stems():
    tagger = fitted(*finnish(), "grove")[0]
    analyzers = {part.analyzer for part in tagger.learned_.featurizers.values()}
    assert analyzers == {"snowball:fi"}


def test_the_first_line_counts_more_where_that_helps():
    tagger, said = fitted(*titled())
    assert "words of the first line count" in said
    assert tagger.learned_.featurizers["text"].first_line > 1
    assert fitted(*titled())[0].learned_.featurizers["text"].get_params() == (
        tagger.learned_.featurizers["text"].get_params()
    )


@pytest.mark.parametrize("settings", [{"validation": 0}, {"features": Tfidf()}])
def test_nothing_is_tried_unless_documents_are_held_out_and_settings_are_open(settings):
    assert fitted(*finnish(), **settings)[0].learned_.featurizers["text"].analyzer == "word"


def test_few_documents_cannot_tell():
    tagger, said = fitted(*finnish(150))
    assert "stems" not in said
    assert tagger.learned_.featurizers["text"].analyzer == "word"


def test_copies_of_a_few_texts_can_neither():
    tagger, said = fitted(["the same text"] * 300, [["a"], ["b"]] * 150)
    assert tagger.tag("text", k=2)
    assert "held-out nDCG" not in said


def test_documents_that_are_held_out_have_no_part_in_it():
    texts, labels = finnish(400)
    others = [
        ["other"] if text_fraction(text) < 0.1 else own
        for text, own in zip(texts, labels, strict=True)
    ]
    assert ["other"] in others
    said = [fitted(texts, each)[1].split("\n") for each in (labels, others)]
    told = [[line for line in lines if "stems" in line] for lines in said]
    assert told[0] == told[1] != []


def open_settings(views, given=None, corpus=None):
    return settings_left_open(views, given, corpus or Corpus.from_lists(["a"]))


def test_settings_of_users_and_of_networks_are_left_alone(tmp_path):
    tfidf, names = ViewSpec("tf-idf"), ViewSpec("words", reads_names=True)
    views = {"text": tfidf, "words": names}
    every = ["analyzer", "first_line", "fade_after"]
    assert open_settings(views) == {"text": every, "words": ["analyzer"]}
    assert open_settings(views, {"text": {"first_line": 2}})["text"] == ["analyzer", "fade_after"]
    assert open_settings({"text": tfidf}, "words") == {}
    assert open_settings(views, {"text": {"featurizer": "given"}}) == {"words": ["analyzer"]}
    tree = ViewSpec("tf-idf", learning_only=True, ranks=False)
    assert open_settings({"text": ViewSpec("words"), "tree": tree}) == {}
    assert open_settings(MODELS.create("grove").views()) == {"text": every, "words": ["analyzer"]}
    features = tmp_path / "given.svm"
    features.write_text("1 2 1\n0 0:1\n")
    assert open_settings({"text": tfidf}, corpus=read_corpus(features)) == {}


@pytest.mark.parametrize("first", ["auto", "bonsai"])
def test_a_first_stage_reads_texts_as_the_same_model_alone(first):
    pytest.importorskip("torch")
    views = MODELS.create("leam", first=first).views()
    every = ["analyzer", "first_line", "fade_after"]
    assert open_settings(views) == {view: every for view in views if view != "text"}
