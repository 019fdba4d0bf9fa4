"""Broader labels are given too, or only the most specific ones."""

import numpy as np
import pytest

from labelgrove import Tagger
from labelgrove.core.errors import InputError
from labelgrove.core.ranking import Ranking
from labelgrove.labels import Concept, LabelSpace, Vocabulary
from labelgrove.tagger.given import given_labels
from labelgrove.tagger.scoring import evaluate_ranking
from labelgrove.tagger.state import FittedState
from stand_ins import Centroid

# poodle < dog < (pet, animal); animal < living, which no document has; living < thing
VOCABULARY = Vocabulary(
    {
        "animal": Concept("Animals", ("living",)),
        "car": Concept("Cars"),
        "dog": Concept("Dogs", ("pet", "animal")),
        "living": Concept("Living beings", ("thing",)),
        "pet": Concept("Pets"),
        "poodle": Concept("Poodles", ("dog",)),
        "thing": Concept("Things"),
    }
)
LABELS = ["animal", "car", "dog", "pet", "poodle", "thing"]
ANIMAL, CAR, DOG, PET, POODLE, THING = range(6)


class Labels:
    """What deciding needs of a fitted state: labels and thresholds."""

    def __new__(cls, vocabulary=VOCABULARY, by_label=None):
        space = LabelSpace.from_labels([LABELS], vocabulary)
        assert space.ids[:6] == LABELS
        return FittedState(space, {}, None, by_label=by_label)


def given(rows, k, threshold, hierarchy, learned=None):
    labels, scores = (np.array([row]) for row in zip(*rows, strict=True))
    ranking = Ranking(labels, scores)
    found = given_labels(learned or Labels(), ranking, k, threshold, hierarchy)
    return [(label, round(score, 3)) for label, score in found.row(0)]


def test_closed_gives_what_is_above_with_the_larger_score():
    rows = [(POODLE, 0.8), (CAR, 0.6), (PET, 0.3), (THING, 0.1)]
    found = given(rows, 5, 0.5, "closed")
    # living beings are a concept without documents: passed over, but what is above it is not
    assert found[0] == (POODLE, 0.8)  # of equal scores what was chosen comes first
    assert sorted(found) == [
        (ANIMAL, 0.8), (CAR, 0.6), (DOG, 0.8), (PET, 0.8), (POODLE, 0.8), (THING, 0.8),
    ]  # fmt: skip
    assert [score for _, score in found] == sorted((s for _, s in found), reverse=True)


def test_closed_keeps_a_broader_labels_own_score_where_it_is_larger():
    assert given([(PET, 0.9), (DOG, 0.6)], 5, 0.5, "closed")[0] == (PET, 0.9)
    # also of one that did not reach its own threshold
    own = np.array([0.9, 0.5, 0.5, 0.95, 0.5, 0.5], np.float32)
    found = given([(PET, 0.9), (DOG, 0.6)], 5, "per-label", "closed", Labels(by_label=own))
    assert (PET, 0.9) in found
    assert (ANIMAL, 0.6) in found


def test_threshold_and_k_choose_first():
    rows = [(CAR, 0.9), (POODLE, 0.8), (PET, 0.7)]
    assert given(rows, 1, 0.5, "closed") == [(CAR, 0.9)]
    assert len(given(rows, 2, 0.5, "closed")) == 6  # more than k
    assert given(rows, 2, 0.95, "closed") == []
    assert given(rows, 2, None, None) == [(CAR, 0.9), (POODLE, 0.8)]


def test_leaf_gives_the_most_specific_ones():
    rows = [(THING, 0.9), (CAR, 0.8), (PET, 0.7), (DOG, 0.6), (POODLE, 0.2)]
    # a thing is above a dog by a concept that is no label; the poodle does not reach the threshold
    assert given(rows, 5, 0.5, "leaf") == [(CAR, 0.8), (DOG, 0.6)]
    assert given(rows, 3, 0.5, "leaf") == [(THING, 0.9), (CAR, 0.8), (PET, 0.7)]
    assert given(rows, 5, None, "leaf") == [(CAR, 0.8), (POODLE, 0.2)]


def test_sets_are_scored_as_they_are_given():
    learned = Labels()
    ranking = Ranking(np.array([[POODLE, CAR]]), np.array([[0.8, 0.2]]))
    Y = learned.labels.encode([["poodle", "dog", "pet", "animal", "thing"]], unseen="append")
    plain = evaluate_ranking(learned, ranking, Y, threshold=0.5)
    assert plain["micro-recall"] == pytest.approx(1 / 5)
    assert plain["hierarchical-F1"] == 1.0
    whole = evaluate_ranking(learned, ranking, Y, threshold=0.5, hierarchy="closed")
    assert whole["micro-F1"] == whole["subset-accuracy"] == 1.0
    assert whole["P@1"] == plain["P@1"]
    assert "hierarchy" in whole.notes[1]
    flat = evaluate_ranking(Labels(None), ranking, Y[:, :6], threshold=0.5)
    assert "hierarchical-F1" not in flat


def test_errors_name_the_way_out():
    learned = Labels()
    for hierarchy, told in (
        ("open", "closed, leaf"),
        (True, "closed, leaf"),
        ("closed", "vocabulary=FILE"),
    ):
        space = Labels(None) if hierarchy == "closed" else learned
        with pytest.raises(InputError, match=told):
            given([(CAR, 0.9)], 1, None, hierarchy, space) if hierarchy == "closed" else (
                Tagger._tags(_fitted(learned), ["x"], 1, None, hierarchy)
            )
    with pytest.raises(InputError, match=r"promised.*give a number or auto"):
        Tagger._tags(_fitted(learned), ["x"], 1, "precision=0.9", "leaf")


def _fitted(learned):
    tagger = Tagger()
    tagger.learned_ = learned
    return tagger


@pytest.fixture(scope="module")
def tagger():
    texts = ["a poodle barks", "a dog barks", "a car drives", "an animal and a thing, a pet"] * 3
    labels = [["poodle"], ["dog"], ["car"], ["animal", "thing", "pet"]] * 3
    return Tagger(Centroid(), validation=0).fit(texts, labels, vocabulary=VOCABULARY)


def test_a_tagger_tags_predicts_and_streams_so(tagger):
    def tagged(**how):
        return {tag.label: tag.score for tag in tagger.tag("a poodle", k=1, **how)}

    alone, closed = tagged(), tagged(hierarchy="closed")
    assert alone.keys() == {"poodle"}
    assert closed.keys() == {"poodle", "dog", "pet", "animal", "thing"}
    assert min(closed.values()) == alone["poodle"]
    leaves = tagger.predict(["a poodle"], threshold=0.0, hierarchy="leaf")
    assert set(leaves[0]) == {"poodle", "car"}
    scores = tagger.evaluate(["a poodle"], [["poodle"]], hierarchy="leaf")
    assert scores["hierarchical-recall"] == 1.0
