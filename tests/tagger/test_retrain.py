"""A tagger that is trained anew: what stays, what changes, and how both are compared."""

import numpy as np
import pytest

from labelgrove import Tagger
from labelgrove.core.errors import InputError
from labelgrove.corpus import read_corpus
from labelgrove.evaluation import evaluate
from labelgrove.labels import Concept, LabelSpace, Vocabulary, vocabulary_of
from labelgrove.models.consensus import Consensus
from labelgrove.models.contract import NOISE, known_answer
from labelgrove.tagger.combining import beside
from labelgrove.text import Tfidf
from stand_ins import Centroid, Demanding, Recalling

TEXTS, LABELS = known_answer(300)
TRAIN = TEXTS[:250], LABELS[:250]
TEST = TEXTS[250:], LABELS[250:]
MORE = [*TRAIN[0], *[NOISE] * 12], [*TRAIN[1], *[["a new label", "label 00"]] * 12]
VOCABULARY = Vocabulary(
    {f"label {i:02d}": Concept(f"Name {i}", ("top",), f"about {i}", (f"N{i}",)) for i in range(12)}
    | {"top": Concept("Top"), "a new label": Concept("Noise", ("top",)), "unused": Concept("U")}
)


@pytest.fixture(scope="module")
def tagger():
    features = {"text": Tfidf(min_df=2)}
    tagger = Tagger(Centroid(power=2), features=features, validation=0.2, seed=3)
    return tagger.fit(*TRAIN, vocabulary=VOCABULARY)


def test_settings_and_labels_stay_through_a_saved_folder(tagger, tmp_path, stand_ins_installed):
    tagger.save(tmp_path / "old")
    loaded = Tagger.load(tmp_path / "old")
    again = loaded.retrain(*TRAIN)
    assert again.labels_ == tagger.labels_
    assert again.thresholds_ == tagger.thresholds_
    assert again.scores_ == tagger.scores_
    found, wanted = again.rank(TEST[0], 12), tagger.rank(TEST[0], 12)
    assert np.array_equal(found.labels, wanted.labels)
    assert np.array_equal(found.scores, wanted.scores)
    assert again.model_.power == 2
    assert again.learned_.featurizers["text"].min_df == 2
    assert (again.validation, again.seed) == (0.2, 3)
    assert loaded.tag(TEST[0], 5) == tagger.tag(TEST[0], 5), "the old one stays as it is"


def test_a_concept_becomes_a_label_and_an_unknown_one_is_called_by_its_id(tagger):
    texts, labels = MORE
    better = tagger.retrain([*texts, NOISE], [*labels, ["zzz"]])
    space = better.labels_
    assert space.ids == [
        *("a new label", *(f"label {i:02d}" for i in range(12)), "zzz"),
        *("top", "unused"),
    ]
    assert space.names[0] == "Noise"
    assert space.names[13] == "zzz"
    assert space.description(1) == "about 0"
    assert space.alternatives[1] == ("N0",)
    assert space.path(0) == (14, 0)
    assert [tag.name for tag in better.tag(NOISE, 1)] == ["Noise"]
    assert tagger.labels_.n_labels == 12


def test_a_label_without_documents_becomes_a_concept(tagger):
    kept = [i for i, labels in enumerate(TRAIN[1]) if "label 03" not in labels]
    better = tagger.retrain([TRAIN[0][i] for i in kept], [TRAIN[1][i] for i in kept])
    assert better.labels_.n_labels == 11
    assert better.labels_.names[better.labels_.index("label 03")] == "Name 3"
    assert better.labels_.path(better.labels_.index("label 03"))


def test_a_space_and_its_vocabulary_say_the_same(tagger):
    space = tagger.labels_
    plain = LabelSpace(space.ids[:12], space.counts, space.n_documents)
    assert plain.with_vocabulary(vocabulary_of(space)) == space


def test_other_models_too():
    named = Vocabulary({f"label {i:02d}": Concept(f"topic{i}a") for i in range(14)})
    for model in (Recalling(), Demanding(), "label-match"):
        tagger = Tagger(model).fit(*TRAIN, vocabulary=named)
        better = tagger.retrain(*MORE)
        assert better.model_.name == tagger.model_.name
        assert better.labels_.n_documents == 262
        assert better.labels_.names[better.labels_.index("label 13")] == "topic13a"
        assert "a new label" in better.labels_


def test_a_consensus_is_retrained_if_it_was_trained(tmp_path):
    features = {"text": {"min_df": 2}}
    parts = [Tagger(model, features=features).fit(*TRAIN) for model in ("bonsai", "knn")]
    Tagger.combine(parts).save(tmp_path / "combined")
    with pytest.raises(InputError, match="retrain each of them, then combine them anew"):
        Tagger.load(tmp_path / "combined").retrain(*MORE)
    Tagger(Consensus(partners=["bonsai", "knn"])).fit(*TRAIN).save(tmp_path / "trained")
    better = Tagger.load(tmp_path / "trained").retrain(*MORE)
    assert better.evaluate(*TEST)["P@1"] > 0.9
    assert better.labels_.n_labels == 13


def test_features_and_texts_are_not_mixed_up(tagger, tmp_path):
    path = tmp_path / "train.svm"
    path.write_text("2 3 2\n0 1:0.5\n1 2:0.5\n")
    with pytest.raises(InputError, match="holds features, but this tagger was trained on texts"):
        tagger.retrain(read_corpus(path))
    given = Tagger("one-vs-rest", validation=0).fit(read_corpus(path))
    assert given.retrain(read_corpus(path)).labels_ == given.labels_
    with pytest.raises(InputError, match="holds texts, but this tagger was trained on features"):
        given.retrain(*TRAIN)


def test_a_corpus_of_other_labels_is_refused(tagger):
    with pytest.raises(InputError, match="the tagger has none of the corpus' labels"):
        tagger.retrain([NOISE, NOISE], [["one"], ["two"]])


def test_threads_are_those_of_the_training_too(tagger, tmp_path, stand_ins_installed):
    tagger.save(tmp_path / "old")
    loaded = Tagger.load(tmp_path / "old")
    loaded.set_threads(1)
    better = loaded.retrain(*TRAIN)
    assert better.model_.threads == better.learned_.featurizers["text"].threads == 1
    assert better.threads == 1


def test_both_are_scored_over_the_same_labels(tagger):
    """Labels that only one knows have other numbers in each, and the same part in all metrics."""
    kept = [i for i, labels in enumerate(MORE[1]) if "label 03" not in labels]
    better = tagger.retrain([MORE[0][i] for i in kept], [MORE[1][i] for i in kept])
    texts, labels = [*TEST[0], NOISE], [*TEST[1], ["a new label", "nobody knows"]]
    old = tagger.evaluate(texts, labels, labels_of=better)
    new = better.evaluate(texts, labels, labels_of=tagger)
    ids = sorted({f"label {i:02d}" for i in range(12)} | {"a new label"})
    counts = [
        max((s.counts[s.index(x)] if s.index(x) < s.n_labels else 0)
            for s in (tagger.labels_, better.labels_))
        for x in ids
    ]  # fmt: skip
    both = LabelSpace(ids, counts, max(tagger.labels_.n_documents, better.labels_.n_documents))
    Y = both.encode(labels, unseen="append")
    for one, found in ((tagger, old), (better, new)):
        ranking = one.rank(texts, 100)
        numbers = np.array([*map(both.index, one.labels_.ids[: one.labels_.n_labels]), -1])
        wanted = evaluate(
            Y,
            ranking.__class__(numbers[ranking.labels].astype(np.int32), ranking.scores),
            threshold=one.decision("auto"),
            propensities=both.propensities(n_columns=Y.shape[1]),
            n_labels=14,
        )
        assert {name: found[name] for name in wanted} == pytest.approx(wanted)
    assert any("2 labels (" in note for note in old.notes)
    assert any("2 labels (" in note for note in new.notes), "the lost one and the unknown one"


def test_own_labels_come_first(tagger):
    other = LabelSpace.from_labels([["label 05", "aaa"], ["zzz"]])
    found = beside(tagger.labels_, other)
    assert found.ids[:12] == tagger.labels_.ids[:12]
    assert found.ids[12:14] == ["aaa", "zzz"]
    assert found.n_labels == 14
    assert found.names[5] == "Name 5"
    assert [found.names[i] for i in found.path(5)] == ["Top", "Name 5"]
    assert set(found.ids[14:]) == {"a new label", "top", "unused"}
