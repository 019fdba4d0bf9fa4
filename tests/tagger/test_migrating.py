"""A new version of a thesaurus is carried over to a tagger, without training."""

from dataclasses import replace

import numpy as np
import pytest

from labelgrove import Tagger
from labelgrove.core.errors import InputError
from labelgrove.labels import Concept, Vocabulary, read_vocabulary
from labelgrove.tagger.migrating import read_map
from stand_ins import Recalling

WORDS = {
    "car": "car engine", "lorry": "lorry cargo", "tram": "tram rails", "boat": "boat river",
    "bank": "bank money shore", "gone": "gramophone", "ship": "ship harbour",
}  # fmt: skip
IDS = sorted(WORDS)
TEXTS = [f"{WORDS[label]} {n}" for n in ("one", "two", "three") for label in IDS]
LABELS = [[label] for _ in range(3) for label in IDS]
OLD = Vocabulary({label: Concept(label.title()) for label in IDS})

NEW = """
@prefix : <http://v/> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix dct: <http://purl.org/dc/terms/> .
:car a skos:Concept ; skos:prefLabel "Automobiles"@en ; skos:broader :vehicle .
:vehicle a skos:Concept ; skos:prefLabel "Vehicles"@en .
:truck a skos:Concept ; skos:prefLabel "Trucks"@en ; skos:broader :vehicle .
:lorry a skos:Concept ; owl:deprecated true ; dct:isReplacedBy :van .
:van owl:deprecated true ; dct:isReplacedBy :truck .
:vessel a skos:Concept ; skos:prefLabel "Vessels"@en ; dct:replaces :boat, :ship .
:bank a skos:Concept ; owl:deprecated true ; dct:isReplacedBy :bank-money, :bank-river .
:bank-money a skos:Concept ; skos:prefLabel "Banks"@en .
:bank-river a skos:Concept ; skos:prefLabel "Shores"@en ; skos:broader :bank .
:streetcar a skos:Concept ; skos:prefLabel "Streetcars"@en ; skos:exactMatch :tram .
:gone a skos:Concept ; owl:deprecated "true" .
"""


def at(*labels):
    return [f"http://v/{label}" for label in labels]


@pytest.fixture(scope="module")
def newer(tmp_path_factory):
    pytest.importorskip("rdflib")
    path = tmp_path_factory.mktemp("new") / "new.ttl"
    path.write_text(NEW)
    return path


@pytest.fixture(scope="module")
def tagger():
    concepts = {f"http://v/{label}": each for label, each in OLD.concepts.items()}
    labels = [at(*each) for each in LABELS]
    tagger = Tagger(Recalling(), validation=0).fit(TEXTS, labels, vocabulary=Vocabulary(concepts))
    by_label = np.linspace(0.1, 0.7, len(IDS)).astype(np.float32)
    tagger.learned_ = replace(tagger.learned_, by_label=by_label)
    return tagger


@pytest.fixture(scope="module")
def migrated(tagger, newer):
    return tagger.migrate(newer)


def test_what_became_of_each_label_is_told(migrated):
    _, told = migrated
    assert told.renamed == (("http://v/car", "Car", "Automobiles"),)
    assert dict(told.renumbered) == {
        "http://v/lorry": "http://v/truck",  # by a concept that was replaced as well
        "http://v/tram": "http://v/streetcar",
    }
    assert told.merged == {"http://v/vessel": tuple(at("boat", "ship"))}
    assert told.split == {"http://v/bank": tuple(at("bank-money", "bank-river"))}
    assert told.removed == ("http://v/gone",)
    assert told.moved == tuple(at("car", "truck"))
    assert told.new == ("http://v/vehicle",)
    assert not told.unchanged
    assert not told.warning
    counts = told.record()["counts"]
    assert (counts["split"], counts["removed"], counts["new"]) == (1, 1, 1)
    assert ["removed", "1", "http://v/gone"] in told.rows()


def test_new_labels_have_the_scores_of_the_old_ones(tagger, migrated):
    after, _ = migrated

    def scores(tagger, text):
        return {tag.label.removeprefix("http://v/"): tag.score for tag in tagger.tag(text, k=9)}

    old, new = scores(tagger, "bank money"), scores(after, "bank money")
    assert new["bank-money"] == new["bank-river"] == old["bank"]
    old, new = scores(tagger, "boat harbour three"), scores(after, "boat harbour three")
    assert new["vessel"] == max(old["boat"], old["ship"])
    assert "gone" not in scores(after, "gramophone")
    assert tagger.tag("car engine", k=1)[0].name == "Car"  # the old tagger stays
    assert after.tag("car engine", k=1)[0].name == "Automobiles"


def test_thresholds_counts_and_hierarchy_are_carried_over(tagger, migrated):
    after, _ = migrated
    space = after.labels_
    own = dict(zip(space.ids, after.label_thresholds_, strict=False))
    old = dict(zip(tagger.labels_.ids, tagger.label_thresholds_, strict=False))
    assert own["http://v/vessel"] == min(old["http://v/boat"], old["http://v/ship"])
    assert own["http://v/bank-river"] == old["http://v/bank"]
    counts = dict(zip(space.ids, space.counts.tolist(), strict=False))
    assert (counts["http://v/vessel"], counts["http://v/bank-money"]) == (6, 3)
    assert "http://v/bank" not in space.ids  # deprecated, also where something is below it
    found = after.tag("car engine", k=1, hierarchy="closed")
    assert [tag.label for tag in found] == at("car")  # vehicle is a concept only


@pytest.mark.usefixtures("stand_ins_installed")
def test_the_result_is_a_tagger_like_any_other(migrated, tmp_path):
    after, _ = migrated
    after.save(tmp_path / "new")
    loaded = Tagger.load(tmp_path / "new")
    texts = TEXTS[:7]
    np.testing.assert_array_equal(loaded.rank(texts, 9).labels, after.rank(texts, 9).labels)
    assert loaded.learned_.model.name == "recalling"
    reasons = loaded.explain("boat river", "Vessels")
    assert reasons[0].text in ("boat", "river")
    assert reasons.neighbours[0].labels == ("Vessels",)
    scores = loaded.evaluate(["ship harbour", "tram rails"], [at("vessel"), at("streetcar")])
    assert scores["P@1"] == 1.0
    wiser = loaded.learn(["gramophone"], [at("airship", "vessel")])
    assert {tag.label for tag in wiser.tag("gramophone", k=2)} == set(at("airship", "vessel"))
    wiser.save(tmp_path / "wiser")
    again = Tagger.load(tmp_path / "wiser").tag("gramophone", k=2)
    assert again == wiser.tag("gramophone", k=2)
    fresh = loaded.retrain(["ship harbour", "tram rails"], [at("vessel"), at("streetcar")])
    assert type(fresh.model_).__name__ == "Recalling"
    assert fresh.tag("tram", k=1)[0].name == "Streetcars"


@pytest.mark.usefixtures("stand_ins_installed")
def test_a_migrated_tagger_is_combined_and_saved(tagger, migrated, tmp_path):
    after, _ = migrated
    both = Tagger.combine([after, tagger])
    both.save(tmp_path / "both")
    loaded = Tagger.load(tmp_path / "both")
    assert loaded.tag("boat river", k=2) == both.tag("boat river", k=2)
    assert {tag.label for tag in loaded.tag("boat river", k=2)} == set(at("vessel", "boat"))


def test_a_second_version_on_top_of_the_first(migrated):
    after, _ = migrated
    concepts = {"v": Concept("Vessels"), "http://v/car": Concept("Cars")}
    twice, told = after.migrate(Vocabulary(concepts), {"http://v/vessel": ["v"]})
    assert [tag.label for tag in twice.tag("ship harbour", k=1)] == ["v"]
    assert twice.model_.model_.name == "recalling"  # one translation, not two
    assert "covers only 2 of 6 labels (33%)" in told.warning


def test_new_names_alone_leave_the_model_as_it_is(tagger):
    concepts = {f"http://v/{label}": Concept(label.upper()) for label in IDS}
    after, told = tagger.migrate(Vocabulary(concepts))
    assert after.model_ is tagger.model_
    assert len(told.renamed) == len(IDS)


def test_columns_of_a_matrix_get_their_new_ids():
    Y = np.array([[1, 0, 1], [0, 1, 0]])
    tagger = Tagger(Recalling(), validation=0).fit(
        ["apple bread", "cheese date"], Y, label_names=["x", "y", "z"]
    )
    vocabulary = Vocabulary({each: Concept(each) for each in ("y", "w")})
    after, _ = tagger.migrate(vocabulary, {"x": ["w"], "z": ["w"]})
    assert list(after.classes_) == ["w", "y"]
    assert after.predict(["apple bread", "cheese date"], threshold=0.3).tolist() == [[1, 0], [0, 1]]


def test_errors_name_what_is_wrong(tagger, tmp_path):
    other = Vocabulary({"a": Concept("A")}, "other.tsv")
    with pytest.raises(InputError, match=r"other.tsv shares no label.*'http://v/bank'.*'a'"):
        tagger.migrate(other)
    with pytest.raises(InputError, match="unknown old id in the map 'http://v/cat'"):
        tagger.migrate(other, {"http://v/cat": ["a"]})
    with pytest.raises(InputError, match="unknown new id in the map 'b'"):
        tagger.migrate(other, {"http://v/car": ["b"]})
    table = tmp_path / "map.tsv"
    for text, told in (
        ("", "holds no pair of ids"),
        ("old\tnew\n", "holds no pair of ids"),
        ("a\t\na\tb\n", "line 2: 'a' is removed"),
        ("a\tb\tc\n", "line 1: expected"),
        ("\tb\n", "line 1"),
    ):
        table.write_text(text)
        with pytest.raises(InputError, match=told):
            read_map(table)


def test_a_map_splits_merges_and_removes(tmp_path):
    table = tmp_path / "map.tsv"
    table.write_text("old\tnew\na\tx\na\ty\n<b>\tx\nc\n\nd\t\n")
    assert read_map(table) == {"a": ["x", "y"], "b": ["x"], "c": [], "d": []}


def test_skos_says_what_was_retired(newer):
    vocabulary = read_vocabulary(newer)
    assert vocabulary.retired == set(at("lorry", "van", "bank", "gone"))
    assert vocabulary.successors["http://v/boat"] == ("http://v/vessel",)
    assert len(vocabulary.in_use()) == len(vocabulary) - 3  # nothing says that a van is a concept
