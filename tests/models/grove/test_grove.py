"""A grove through the tagger, on corpora of which it is known what helps."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from contract_cases import FEW, Few
from grove_corpora import Said, named, squares
from labelgrove import Run, Tagger, models
from labelgrove.core.errors import InputError
from labelgrove.labels import Concept, Vocabulary
from labelgrove.models.contract import CHECKS, Case, known_answer
from labelgrove.models.examples import small_static
from labelgrove.models.grove import Grove
from labelgrove.models.grove import grove as grove_module
from labelgrove.models.grove.ranker import Ranker
from labelgrove.text import Tfidf


def fitted(texts, labels, vocabulary=None, run=None, **settings):
    settings = {"threads": 1} | settings
    tagger = Tagger(Grove(**settings), validation=0)
    return tagger.fit(texts, labels, vocabulary=vocabulary, run=run)


@pytest.fixture(scope="module")
def by_names():
    """A grove of tree and names."""
    return fitted(*named(200))


@pytest.fixture(scope="module")
def by_neighbours():
    """A grove of tree and neighbours."""
    return fitted(*squares(300))


def kinds(tagger):
    return [maker.kind for maker in tagger.model_.makers_]


def best(tagger, text):
    return tagger.tag(text, k=1)[0].label


def same_tags(one, other, texts):
    one, other = one.rank(texts, 5), other.rank(texts, 5)
    assert np.array_equal(one.labels, other.labels)
    assert np.array_equal(one.scores, other.scores)


# --- what is kept ---------------------------------------------------------------------------------


def test_makers_that_help_are_kept(by_names, by_neighbours):
    assert kinds(by_names) == ["tree", "names"]
    assert kinds(by_neighbours) == ["tree", "neighbours"]
    for tagger, gain in ((by_names, 0.1), (by_neighbours, 0.3)):
        held_out = tagger.model_.held_out_
        assert held_out["grove"] > held_out["tree"] + gain


def test_views_of_dropped_makers_are_not_needed(by_names, by_neighbours):
    assert by_names.learned_.featurizers.keys() == {"text", "words"}
    assert by_neighbours.learned_.featurizers.keys() == {"text"}
    assert by_neighbours.model_.views().keys() == {"text"}
    assert by_neighbours.model_.fresh().views().keys() == {"text", "words"}
    assert best(by_neighbours, "row1 column1 row1 column1") == "sum2"


def test_documents_that_were_not_learned_are_ranked_as_well_as_was_told(by_neighbours):
    """Copies count once in what is told, so texts that the grove knows may be ranked better."""
    texts, labels = squares(200, seed=1)
    scores = by_neighbours.evaluate(texts, labels)
    assert scores["nDCG@5"] > by_neighbours.model_.held_out_["grove"] - 0.05
    assert by_neighbours.model_.held_out_["grove"] > 0.85


def test_the_tree_alone_where_no_maker_adds_to_it():
    texts = [f"{what} number{i}" for i in range(40) for what in ("red apple", "blue whale")]
    said = Said()
    tagger = fitted(texts, [["fruit"], ["sea"]] * 40, run=Run(progress=said))
    assert kinds(tagger) == ["tree"]
    assert tagger.model_.ranker_ is None
    assert any("no maker adds to the tree, which is used alone" in line for line in said.lines)
    assert best(tagger, "an apple") == "fruit"
    told = tagger.explain("an apple", "fruit")
    assert told[0].text == "apple"


def test_copies_of_one_document_teach_no_ranker():
    said = Said()
    tagger = fitted(["red apple", "blue whale"] * 40, [["fruit"], ["sea"]] * 40,
                    run=Run(progress=said))  # fmt: skip
    assert any("2 different documents with labels are too few" in line for line in said.lines)
    (tag, *_) = tagger.tag("an apple", k=1)
    assert tag.label == "fruit"
    assert 0.5 < tag.score < 1


def test_makers_may_be_left_out_by_hand():
    tagger = fitted(*squares(150), makers=["tree"])
    assert kinds(tagger) == ["tree"]
    assert tagger.model_.held_out_ == {}
    for wrong in (["neighbours"], ["tree", "oracle"], "tree"):
        with pytest.raises(InputError, match="makers must be a list of tree, neighbours"):
            Grove(makers=wrong).check_settings()


def test_refusals():
    with pytest.raises(InputError, match="dense='static:' names no model"):
        Grove(dense="static:").check_needs()
    with pytest.raises(InputError, match="dense='Static:potion': write 'static:' in small letters"):
        Grove(dense="Static:potion").check_needs()
    with pytest.raises(InputError, match="no such folder: /nowhere"):
        Tagger(Grove(dense="static:/nowhere")).fit(*squares(50))


# --- the same again -------------------------------------------------------------------------------


def test_saved_and_loaded(by_names, by_neighbours, tmp_path):
    texts = [*named(30, seed=2)[0], *squares(30, seed=2)[0], ""]
    for name, tagger in (("names", by_names), ("neighbours", by_neighbours)):
        tagger.save(tmp_path / name)
        loaded = Tagger.load(tmp_path / name)
        same_tags(loaded, tagger, texts)
        assert loaded.model_.held_out_ == tagger.model_.held_out_
        label = tagger.labels_.ids[0]
        again, told = loaded.explain(texts[0], label), tagger.explain(texts[0], label)
        assert again == told
        assert again.parts == told.parts


def test_a_tagger_that_was_loaded_can_be_saved_and_fitted_again(by_names, tmp_path):
    by_names.save(tmp_path / "one")
    loaded = Tagger.load(tmp_path / "one")
    loaded.save(tmp_path / "two")
    texts = named(30, seed=2)[0]
    same_tags(Tagger.load(tmp_path / "two"), by_names, texts)
    corpus = named(200)
    same_tags(Tagger(loaded.model_.fresh(), validation=0).fit(
        corpus[0], corpus[1], vocabulary=corpus[2]), by_names, texts)  # fmt: skip


@pytest.mark.parametrize("settings", [{}, {"threads": 2}])
def test_fitted_twice_whatever_the_threads(by_neighbours, settings):
    again = fitted(*squares(300), **settings)
    same_tags(again, by_neighbours, squares(50, seed=3)[0])


def test_ranked_whatever_the_batches(by_neighbours, monkeypatch):
    texts = squares(50, seed=3)[0]
    whole = by_neighbours.rank(texts, 5)
    monkeypatch.setattr("labelgrove.models.grove.grove.BATCH", 7)
    parts = by_neighbours.rank(texts, 5)
    assert np.array_equal(whole.labels, parts.labels)
    assert np.array_equal(whole.scores, parts.scores)


def test_without_lightgbm_it_ranks_by_logistic_regression(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    tagger = fitted(*squares(300))
    assert kinds(tagger) == ["tree", "neighbours"]
    assert tagger.model_.ranker_.trees is None
    assert best(tagger, "row1 column1 row1 column1") == "sum2"


# --- odd texts and labels -------------------------------------------------------------------------


def test_a_label_without_documents_wins_by_its_name(by_names):
    tag = by_names.tag("filler1 plant85 leaf85 filler2", k=1)[0]
    assert tag.label == "c085"
    assert tag.score > 0.5
    assert not by_names.labels_.counts[85]
    told = by_names.explain("filler1 plant85 leaf85", "c085")
    assert [word.text for word in told] == ["plant85", "leaf85"]
    assert dict(told.parts)["names"] > dict(told.parts)["tree"]


@pytest.mark.parametrize("text", ["", " ", "words nobody ever saw", "filler1"])
def test_texts_that_say_nothing_are_ranked_low(by_names, by_neighbours, text):
    for tagger in (by_names, by_neighbours):
        tags = tagger.tag(text, k=3)
        assert len(tags) == 3
        assert all(0 <= tag.score <= 1 for tag in tags)
    assert all(tag.score < 0.1 for tag in by_names.tag(text, k=3))


def test_no_texts(by_names, by_neighbours):
    for tagger in (by_names, by_neighbours):
        nothing = tagger.model_.rank(tagger.learned_.features(["", ""])[:0], 3)
        assert nothing.labels.shape == (0, 3)


def test_k_above_the_number_of_candidates(by_names):
    tags = by_names.tag("plant3 leaf3", k=90)
    assert 30 < len(tags) < 90  # those that a maker names
    assert len({tag.label for tag in tags}) == len(tags)


def test_one_label_only():
    texts = ["red apple", "blue whale", "green apple", "grey whale"] * 10
    tagger = fitted(texts, [["fruit"], [], ["fruit"], []] * 10)
    fruit, sea = tagger.tag("an apple", k=5), tagger.tag("a whale", k=5)
    assert [tag.label for tag in fruit] == ["fruit"]
    assert fruit[0].score > 0.5
    assert not sea or sea[0].score < 0.5


def test_documents_without_labels_count_as_having_none():
    texts, labels = squares(300)
    bare = [f"nothing{i % 9} here{i % 7}" for i in range(150)]
    tagger = fitted(texts + bare, labels + [[]] * 150)
    assert best(tagger, "row1 column1 row1 column1") == "sum2"
    assert tagger.tag("nothing3 here4", k=1)[0].score < 0.2


def test_kin_of_a_hierarchy_are_seen():
    texts, labels, vocabulary = named(200)
    concepts = {
        label: Concept(concept.name, parents=(f"group{int(label[1:]) % 4}",))
        for label, concept in vocabulary.concepts.items()
    }
    groups = {f"group{i}": Concept(f"garden {i}") for i in range(4)}
    tagger = fitted(texts, labels, Vocabulary({**concepts, **groups}))
    evidence = tagger.model_._evidence(tagger.learned_.features(["plant3 leaf3"]))
    assert evidence.table[:, evidence.columns.index("kin")].any()
    assert best(tagger, "plant3 leaf3") == "c003"


# --- explaining -----------------------------------------------------------------------------------


def test_parts_name_the_makers_and_sum_to_the_log_odds(by_neighbours):
    model, text = by_neighbours.model_, "row1 column1 row1 column1"
    told = by_neighbours.explain(text, "sum2")
    assert [name for name, _ in told.parts] == ["tree", "neighbours", "the label itself"]
    assert dict(told.parts)["neighbours"] > 1
    assert {word.text for word in told} == {"row1", "column1"}
    ranker, evidence = model.ranker_, model._evidence(by_neighbours.learned_.features([text]))
    here = evidence.labels == by_neighbours.labels_.find("sum2")
    rest = ranker.weights[-1]
    if ranker.trees is not None:
        rest += ranker.trees.value[ranker.trees.roots].sum()
    odds = np.log(ranker.chances(evidence)[here]) - np.log1p(-ranker.chances(evidence)[here])
    assert sum(weight for _, weight in told.parts) + rest == pytest.approx(odds[0], abs=1e-3)


def test_words_are_those_of_the_maker_with_the_most_to_say(by_names):
    text = "filler1 plant3 leaf3 filler2"
    X = by_names.learned_.features([text])
    told = by_names.model_.explain(X, 0, by_names.labels_.find("c003"))
    assert told.view == "words"
    assert told.ids.tolist() == [1, 2]
    assert told.weights.min() > 0


def test_similar_documents_have_the_labels_of_the_grove():
    # neighbours do not know the concept without documents, so they number later labels otherwise
    concepts = {f"sum{i}": Concept(f"sum {i}") for i in range(5)} | {"z": Concept("zeppelin")}
    tagger = fitted(*squares(300), Vocabulary(concepts))
    more = tagger.learn([f"row1 row1 row1 filler{i % 6}" for i in range(12)], [["alone"]] * 12)
    assert more.labels_.ids[5:] == ["z", "alone"]
    nearest = more.explain("row1 row1", "alone").neighbours[0]
    assert nearest.labels == ("alone",)
    assert nearest.has_label


def test_a_label_that_no_maker_names_is_explained_by_nothing(by_names):
    told = by_names.explain("filler1", "c085")
    assert list(told) == []


# --- learning more --------------------------------------------------------------------------------


def test_a_new_label_is_learned_through_neighbours(by_neighbours, tmp_path):
    texts = [f"row1 row1 row1 filler{i % 6}" for i in range(12)]
    more = by_neighbours.learn(texts, [["alone"]] * 12)
    assert more.labels_.n_labels == 6
    assert "alone" in [tag.label for tag in more.tag("row1 row1", k=2)]
    assert best(more, "row3 column3 row3 column3") == "sum1"
    assert more.explain("row1 row1", "alone").neighbours[0].labels == ("alone",)
    more.save(tmp_path / "more")
    same_tags(Tagger.load(tmp_path / "more"), more, ["row1", "row3 column3", ""])
    old, new = (tagger.model_.facts_.counts.tolist() for tagger in (by_neighbours, more))
    assert new == [*old, 12]  # new labels come behind the known ones
    assert by_neighbours.labels_.n_labels == by_neighbours.model_.n_labels_ == 5


def test_a_grove_without_neighbours_refuses_to_learn(by_names):
    with pytest.raises(InputError, match=r"rests on tree, names and keeps no documents.*keep=\["):
        by_names.learn(["plant1"], [["c001"]])


def test_labels_that_are_learned_later_are_as_probable_as_neighbours_say():
    tagger = fitted(*known_answer(300), keep=["neighbours"])
    text = "topic1a topic7b noise1"  # the tree knows two labels of it
    more = tagger.learn([text] * 5, [["sea"]] * 5)
    scores = {tag.label: tag.score for tag in more.tag(text, k=3)}
    assert [*scores] == ["label 07", "label 01", "sea"]
    assert scores["sea"] > 0.3  # the ranker alone, which saw no such label, says 0.08
    again = more.learn([text], [["salt"]])
    assert {"sea", "salt"} <= {tag.label for tag in again.tag(text, k=4)}
    assert again.labels_.n_labels == tagger.labels_.n_labels + 2


def test_makers_that_cannot_be_kept_are_refused():
    with pytest.raises(InputError, match="'similar-meaning', which needs vectors: give dense"):
        Grove(keep=["similar-meaning"]).check_settings()
    with pytest.raises(InputError, match="'neighbours', which is not among makers"):
        Grove(makers=["tree"], keep=["neighbours"]).check_settings()
    with pytest.raises(InputError, match="makers has 'similar-meaning', which needs vectors"):
        Grove(makers=["tree", "similar-meaning"]).check_settings()


# --- without a tagger -----------------------------------------------------------------------------


def test_without_names_of_labels_the_makers_of_names_are_left_out():
    texts, labels = squares(300)
    X = Tfidf().fit(texts).transform(texts)
    numbers = [int(own[0][-1]) for own in labels]
    Y = csr_array((np.ones(300), numbers, np.arange(301)), shape=(300, 5))
    model = Grove(makers=["tree", "neighbours"], threads=1).fit(X, Y)
    assert model.score(X, Y) > 0.95


# --- dense vectors --------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 3, 60])
def test_names_are_found_by_words_and_by_meaning(n, tmp_path):
    texts, labels = known_answer(n)
    concepts = {f"label {i:02d}": Concept(f"topic{i}a") for i in range(12)}
    tagger = fitted(texts, labels, Vocabulary(concepts), dense=small_static(tmp_path))
    assert best(tagger, "noise1 topic11a") == "label 11"
    assert best(tagger, "noise1 topic11c") == "label 11"  # a word that is no name
    kept = kinds(tagger)
    assert {"names", "names-by-meaning"} <= {*kept} or n == 60
    if n == 0:
        assert kept == ["names", "names-by-meaning"]
        assert tagger.learned_.featurizers.keys() == {"words", "dense"}
    silent = tagger.explain("topic4a", "label 11")  # no word of it speaks for the label
    assert all(np.isfinite(weight) for _, weight in silent.parts)
    told = tagger.explain("topic11a", "label 11")
    assert [name for name, _ in told.parts] == [*kept, "the label itself"]
    tagger.save(tmp_path / "tagger")
    same_tags(Tagger.load(tmp_path / "tagger"), tagger, ["topic11c", "topic3a topic4b", ""])


# --- the contract with dense vectors --------------------------------------------------------------


def make(folder):
    return Grove(dense=small_static(folder))


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return {kind: kind(make, tmp_path_factory.mktemp("case")) for kind in (Case, Few)}


@pytest.mark.parametrize("check", CHECKS)
def test_with_dense_vectors_it_keeps_the_contract(cases, check):
    CHECKS[check](cases[Few if check in FEW else Case])


# --- few texts, many copies -----------------------------------------------------------------------

FOUR = ["a red apple", "a green car", "apple pie", "a fast car"]
THEIRS = [["fruit", "colour"], ["vehicle", "colour"], ["fruit"], ["vehicle"]]


@pytest.mark.parametrize("times", [2, 5, 25])
def test_copies_of_few_texts_do_not_turn_the_ranking_around(times):
    """A text whose copies are all left out is ranked by its opposites alone."""
    tagger = fitted(FOUR * times, THEIRS * times)
    for text, labels in zip(FOUR, THEIRS, strict=True):
        assert {tag.label for tag in tagger.tag(text, k=len(labels))} == {*labels}


@pytest.mark.parametrize(("fixed", "kept"), [(0.4, ["tree"]), (0.6, ["tree", "names"])])
def test_a_ranker_that_is_worse_where_makers_know_more_is_given_up(monkeypatch, fixed, kept):
    """What held-out documents rank better takes its place: the tree, or fixed weights."""
    said = Said()
    learn = Ranker.learn.__func__

    def turned(cls, *arguments):
        right = learn(cls, *arguments)
        return replace(right, weights=-right.weights)

    texts, labels, vocabulary = named(120)
    monkeypatch.setattr(grove_module, "choose_makers", lambda *_: (["tree", "names"], 0.9, 0.5))
    monkeypatch.setattr(grove_module, "fixed_score", lambda *_: fixed)
    monkeypatch.setattr(Ranker, "learn", classmethod(turned))
    monkeypatch.setattr(Ranker, "boosted", lambda self, *_: self)
    tagger = fitted(texts, labels, vocabulary, run=Run(progress=said))
    assert any("the ranker does not hold" in line for line in said.lines)
    assert kinds(tagger) == kept
    assert tagger.model_.held_out_["grove"] == max(fixed, 0.5)
    if fixed < 0.5:
        assert tagger.model_.ranker_ is None
        return
    assert not tagger.model_.ranker_.is_learned
    assert tagger.evaluate(texts, labels)["P@1"] > 0.8, "and not turned around"


def test_a_maker_that_finds_nothing_is_left_out():
    """Of 20 documents that mention no label, folds are too small for label-match to refuse."""
    said = Said()
    texts = [f"word{number % 7} word{number % 5}" for number in range(20)]
    labels = [[f"label{number % 5}"] for number in range(20)]
    tagger = fitted(texts, labels, run=Run(progress=said))
    assert "without names: it finds no label in any document" in said.lines
    assert "names" not in kinds(tagger)


@pytest.mark.parametrize(("unseen", "kept"), [(1, False), (5, True)])
def test_names_are_kept_for_many_labels_without_a_document(unseen, kept, monkeypatch):
    """With a tenth held out some label always loses its only document: that is not enough."""
    asked = []
    choose = grove_module.choose_makers
    monkeypatch.setattr(
        grove_module, "choose_makers", lambda *given: asked.append(given[-1]) or choose(*given)
    )
    names = {f"sum{i}": Concept(f"filler{i}") for i in range(5)}
    names |= {f"new{i}": Concept(f"unheard{i}") for i in range(unseen)}
    fitted(*squares(100), Vocabulary(names))
    assert asked == [["names"] if kept else []]


def test_without_documents_numbers_are_no_names():
    numbers = Vocabulary({str(number): Concept(str(number)) for number in range(1000, 1010)})
    with pytest.raises(InputError, match="nothing to learn from"):
        fitted([], [], numbers)


def test_a_weight_of_vectors_needs_vectors():
    for name in ("grove", "bonsai"):
        with pytest.raises(InputError, match=r"dense_weight=0\.7 has no effect without vectors"):
            models.create(name, dense_weight=0.7).check_settings()
        models.create(name, dense_weight=0.7, dense="static:somewhere").check_settings()
