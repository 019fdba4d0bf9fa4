"""A tagger that is given more documents without training, and what it shows of those it knows."""

import io

import numpy as np
import pytest

from labelgrove import Run, Tagger, read_corpus
from labelgrove.core.errors import InputError, NotFittedError
from labelgrove.core.progress import Lines
from labelgrove.evaluation import evaluate
from labelgrove.labels import Concept, Vocabulary
from labelgrove.models.contract import NOISE, known_answer
from labelgrove.tagger import SimilarDocument
from labelgrove.tagger.reading import BEGINNING, beginning
from labelgrove.text import Tfidf
from stand_ins import Centroid, Recalling

TEXTS, LABELS = known_answer(300)
TRAIN = TEXTS[:250], LABELS[:250]
TEST = TEXTS[250:], LABELS[250:]
MORE = [NOISE] * 12, [["a new label", "label 00"]] * 12


class Witness(Recalling):
    """Writes down how many texts it is fitted on, and whether each begins as its row says."""

    fits: list = []  # noqa: RUF012

    def _fit(self, X, Y, context):
        super()._fit(X, Y, context)
        if context.documents is None:
            self.fits.append(None)
            return
        again = context.featurizers["text"].transform(list(context.documents))
        self.fits.append((X.shape[0], abs(X - again).max() < 1e-6))

    def _remember(self, X, Y, context):
        again = context.featurizers["text"].transform(list(context.documents))
        self.fits.append((X.shape[0], abs(X - again).max() < 1e-6))
        return super()._remember(X, Y, context)


class Blind(Witness):
    remembers = False


@pytest.fixture(scope="module")
def tagger():
    return Tagger(Recalling()).fit(*TRAIN)


@pytest.fixture(scope="module")
def wiser(tagger):
    return tagger.learn(*MORE)


def test_a_new_label_is_found_by_its_documents(tagger, wiser):
    assert "a new label" not in {tag.label for tag in tagger.tag(NOISE, 100)}
    found = {tag.label: tag.score for tag in wiser.tag(NOISE, 2)}
    assert found.keys() == {"a new label", "label 00"}
    assert wiser.labels_.ids == [*tagger.labels_.ids, "a new label"]
    assert wiser.labels_.n_documents == 262
    assert wiser.labels_.counts[0] == tagger.labels_.counts[0] + 12
    assert wiser.evaluate(*TEST)["P@1"] > 0.9


def test_the_old_tagger_is_unchanged(tagger):
    before = tagger.rank(TEST[0], 12)
    space, documents = tagger.labels_, list(tagger.model_.documents_)
    tagger.learn(*MORE)
    after = tagger.rank(TEST[0], 12)
    assert np.array_equal(before.labels, after.labels)
    assert np.array_equal(before.scores, after.scores)
    assert tagger.labels_ is space
    assert tagger.labels_.n_documents == 250
    assert tagger.model_.documents_ == documents


def test_features_calibration_and_thresholds_stay(tagger, wiser):
    assert wiser.learned_.featurizers is tagger.learned_.featurizers
    assert wiser.learned_.calibration is tagger.learned_.calibration
    assert wiser.thresholds_ == tagger.thresholds_
    old, new = tagger.label_thresholds_, wiser.label_thresholds_
    assert new[: len(old)].tolist() == old.tolist()
    assert len(new) == wiser.labels_.n_labels > len(old)
    assert set(new[len(old) :].tolist()) == {np.float32(tagger.thresholds_["macro"])}
    assert tagger.scores_
    assert wiser.scores_ == {}, "what was scored is another model"
    assert wiser.learned_.held_out is None


def test_it_is_saved_loaded_and_learns_again(wiser, tmp_path, stand_ins_installed):
    wiser.save(tmp_path / "wiser")
    again = Tagger.load(tmp_path / "wiser")
    assert again.tag(NOISE, 5) == wiser.tag(NOISE, 5)
    assert again.labels_ == wiser.labels_
    third = again.learn(["topic1a noise7"], [["aaa first by id"]])
    assert third.labels_.ids[-2:] == ["a new label", "aaa first by id"]
    assert third.tag(NOISE, 5) == wiser.tag(NOISE, 5)


def test_it_tells_what_it_learned_and_what_it_left_out(tagger):
    told = io.StringIO()
    texts, labels = MORE
    wiser = tagger.learn([*texts, "bare"], [*labels, []], progress=Lines(told))
    assert "12 more documents to remember; 1 of their labels had no document before" in (
        told.getvalue()
    )
    assert "1 document has no label: left out" in told.getvalue()
    assert len(wiser.model_.documents_) == 262


def test_a_vocabulary_names_new_labels(tagger, tmp_path):
    vocabulary = Vocabulary({"a new label": Concept("Noise", ("top",)), "top": Concept("Top")})
    wiser = tagger.learn(*MORE, vocabulary=vocabulary)
    assert wiser.labels_.names[12] == "Noise"
    assert wiser.labels_.path(12) == (13, 12)
    (tmp_path / "labels.tsv").write_text("a new label\tNoise\ttop\ntop\tTop\t\n")
    assert tagger.learn(*MORE, vocabulary=tmp_path / "labels.tsv").labels_ == wiser.labels_


def test_a_concept_that_gets_documents_keeps_its_name(tmp_path):
    rows = [f"label {i:02d}\tName {i}\ttop" for i in range(12)]
    rows += ["a new label\tNoise\ttop", "top\tTop\t"]
    (tmp_path / "labels.tsv").write_text("\n".join(rows) + "\n")
    tagger = Tagger(Recalling(), validation=0).fit(*TRAIN, vocabulary=tmp_path / "labels.tsv")
    wiser = tagger.learn(*MORE)
    assert {tag.name for tag in wiser.tag(NOISE, 2)} == {"Noise", "Name 0"}
    assert [wiser.labels_.names[i] for i in wiser.labels_.path(3)] == ["Top", "Name 3"]


def test_before_and_after_are_weighed_alike(tagger, wiser):
    """PSP of both goes by the counts of the new tagger, so that they can be compared."""
    texts, labels = [*TEST[0], NOISE], [*TEST[1], ["a new label"]]
    own, by_new = tagger.evaluate(texts, labels), tagger.evaluate(texts, labels, labels_of=wiser)
    assert own["P@1"] == by_new["P@1"]
    assert own["PSP@1"] != by_new["PSP@1"]
    Y, weights = wiser.labels_.encode(labels), wiser.labels_.propensities()
    wanted = evaluate(Y, tagger.rank(texts, 12), ks=(1,), threshold=0.5, propensities=weights)
    assert by_new["PSP@1"] == pytest.approx(wanted["PSP@1"])
    assert own.notes == by_new.notes
    assert any("1 label (" in note for note in by_new.notes), "the new one is a miss of the old"
    assert wiser.evaluate(texts, labels)["R@3"] > own["R@3"]
    known = TEST  # without the new label: 12 labels are told in the one case, 13 in the other
    ratio = tagger.evaluate(*known)["hamming-loss"] / 13 * 12
    assert tagger.evaluate(*known, labels_of=wiser)["hamming-loss"] == pytest.approx(ratio)
    assert ratio > 0
    own = wiser.evaluate(texts, labels)
    assert wiser.evaluate(texts, labels, labels_of=tagger) == own, "it knows all labels of both"


# --- refusals -------------------------------------------------------------------------------------


def test_a_model_that_keeps_no_documents_is_refused_before_anything_is_read(tmp_path):
    tagger = Tagger(Centroid(), validation=0).fit(*TRAIN)
    with pytest.raises(
        InputError, match=r"centroid keeps no documents.*train it again, or use knn or treaderxml"
    ):
        tagger.learn(tmp_path / "no such file.jsonl")


def test_documents_must_have_labels(tagger):
    with pytest.raises(InputError, match="none of the 2 documents has a label"):
        tagger.learn(["one", "two"], [[], []])
    with pytest.raises(InputError, match="the texts have no labels: give labels="):
        tagger.learn(["one", "two"])


def test_features_and_texts_are_not_mixed(tagger, tmp_path):
    lines = [f"{i % 3} {i % 3}:1.0 {3 + i % 5}:0.5" for i in range(60)]
    (tmp_path / "data.svm").write_text("\n".join(["60 8 3", *lines]) + "\n")
    corpus = read_corpus(tmp_path / "data.svm", format="svmlight")
    with pytest.raises(InputError, match=r"data.svm holds features, but .* trained on texts"):
        tagger.learn(corpus)
    given = Tagger(Recalling(), validation=0).fit(corpus)
    with pytest.raises(InputError, match="holds texts, but this tagger was trained on features"):
        given.learn(*MORE)
    assert given.learn(corpus).labels_.n_documents == 120


def test_an_unfitted_tagger_cannot_learn_more():
    with pytest.raises(NotFittedError, match="call fit, or"):
        Tagger(Recalling()).learn(*MORE)


# --- how texts begin ------------------------------------------------------------------------------


def test_every_fit_is_told_how_its_own_texts_begin():
    """Part and whole of a corpus, held-out documents of one's own, and those learned later."""
    short = [pair for pair in zip(*TRAIN, strict=True) if len(pair[0]) < BEGINNING]
    texts, labels = map(list, zip(*short, strict=True))
    n = len(texts)
    Witness.fits.clear()
    tagger = Tagger(Witness(), validation=0.3).fit(texts, labels)
    part, whole = Witness.fits
    assert n / 2 < part[0] < n
    assert whole[0] == n > 100
    tagger.learn([*MORE[0], "bare", texts[0]], [*MORE[1], [], labels[0]])
    Tagger(Witness(), validation=0).fit(texts, labels)
    Tagger(Witness()).fit(texts, labels, validation=TEST)
    assert [size for size, _ in Witness.fits[2:]] == [13, n, n]
    assert all(alike for _, alike in Witness.fits)


def test_other_models_are_told_nothing():
    Witness.fits.clear()
    Tagger(Blind()).fit(*TRAIN)
    assert Witness.fits == [None, None]


def test_features_that_a_run_keeps_are_found_again_with_their_texts(tmp_path):
    """Going on with a run, texts are read anew only to see that they are the same."""

    class KeptTfidf(Tfidf):
        keeps_features = True

    for resume in (False, True):
        told = io.StringIO()
        run = Run(folder=tmp_path / "run", resume=resume, progress=Lines(told))
        tagger = Tagger(Recalling(), features=KeptTfidf(), validation=0).fit(*TRAIN, run=run)
        assert ("are there already" in told.getvalue()) == resume
        assert tagger.model_.documents_ == list(map(beginning, TRAIN[0]))


def test_a_beginning_is_one_line_cut_at_a_word():
    assert beginning(" A title\n\n\tand  more ") == "A title and more"
    assert beginning("") == beginning(" \n" * 5000) == ""
    long = beginning("Ein Wort " * 100)
    assert long.endswith("Wort …") or long.endswith("Ein …")
    assert BEGINNING - 10 < len(long) <= BEGINNING
    assert beginning("漢" * 500) == "漢" * (BEGINNING - 2) + " …"
    exact = "x" * BEGINNING
    assert beginning(exact) == exact


# --- explanations ---------------------------------------------------------------------------------


def test_explanations_show_similar_documents(wiser):
    why = wiser.explain(NOISE + " topic0a", "label 00")
    assert {found.text for found in why} == {*NOISE.split()}
    assert len(why.neighbours) == 10
    first = why.neighbours[0]
    assert isinstance(first, SimilarDocument)
    assert first.text == NOISE
    assert first.labels == ("label 00", "a new label")
    assert first.has_label
    assert 0.5 < first.similarity <= 1
    other = wiser.explain(NOISE, "label 03").neighbours
    assert not any(each.has_label for each in other)
    assert [each.text for each in other] == [NOISE] * 10


def test_models_without_memory_show_none():
    tagger = Tagger(Centroid(), validation=0).fit(*TRAIN)
    assert tagger.explain(TEXTS[0], LABELS[0][0]).neighbours == []
