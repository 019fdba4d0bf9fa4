"""What label trees of neural models are grown from: tf-idf of whole texts, only while learning."""

import numpy as np
import pytest

from labelgrove import Tagger, models
from labelgrove.core.errors import InputError
from labelgrove.core.features import Views
from labelgrove.core.types import FitContext, Run, ViewSpec
from labelgrove.labels import LabelTree, label_vectors
from labelgrove.models.consensus import Consensus
from labelgrove.models.first_stage import FirstStage
from labelgrove.models.neural.examples import small_bert
from labelgrove.text import Tfidf, Words

READ = 6  # words that networks read: noise in front of what tells the label
SMALL = {"units": 4, "vector_size": 4, "length": READ, "batch": 16, "epochs": 1, "device": "cpu",
         "threads": 1, "max_leaf": 4}  # fmt: skip
SETTINGS = {
    "attentionxml": {**SMALL, "layers": [4], "tree": "always", "levels": 1},
    "lightattention": {**SMALL, "layers": [4], "candidates": 6, "first": "none"},
    "lightxml": {**SMALL, "encoder": "words", "together": 0, "bottleneck": 4, "candidates": 6},
}


def documents(n=64, seed=0):
    """Return texts of eight labels: even ones are about the sea, odd ones about mountains."""
    rng = np.random.default_rng(seed)
    topics = ("wave harbour sail tide", "summit glacier ridge valley")
    texts, labels = [], []
    for number in range(n):
        label = number % 8
        noise = " ".join(f"noise{word}" for word in rng.integers(0, 12, READ))
        texts.append(f"{noise} {topics[label % 2]} own{label}")
        labels.append([f"label {label}"])
    return texts, labels


TEXTS, LABELS = documents()
TOPICS = {frozenset({0, 2, 4, 6}), frozenset({1, 3, 5, 7})}


def clusters(tree):
    """Return the labels of each cluster of a tree with one level of clusters."""
    return {frozenset(np.flatnonzero(tree.levels[-1] == node).tolist()) for node in range(2)}


def data():
    words, tfidf = Words().fit(TEXTS), Tfidf().fit(TEXTS)
    Y = Tagger("bonsai", validation=0).fit(TEXTS, LABELS).labels_.encode(LABELS)
    return words.transform(TEXTS), tfidf.transform(TEXTS), Y


@pytest.mark.parametrize("name", [*SETTINGS])
def test_labels_are_clustered_by_whole_texts(name, tmp_path):
    """What the network reads tells nothing; what stands behind it parts the labels."""
    tagger = Tagger(models.create(name, **SETTINGS[name]), validation=0.2).fit(TEXTS, LABELS)
    (tree,) = tagger.model_.candidates_.trees
    assert clusters(tree) == TOPICS
    assert [*tagger.learned_.featurizers] == ["text"], "tagging needs nothing more"
    tagger.save(tmp_path / "t")
    loaded = Tagger.load(tmp_path / "t")
    assert loaded.model_.views().keys() == {"text"}
    assert loaded.tag(TEXTS[0]) == tagger.tag(TEXTS[0])
    assert clusters(loaded.retrain(TEXTS, LABELS).model_.candidates_.trees[0]) == TOPICS


def test_the_tree_is_that_of_the_labels_tfidf_vectors():
    words, tfidf, Y = data()
    model = models.create("attentionxml", **SETTINGS["attentionxml"], seed=3)
    model.fit(Views({"text": words, "tree": tfidf}), Y)
    wanted = LabelTree.balanced(label_vectors(tfidf, Y), 4, seed=3).compress(8, 1)
    for found, own in zip(model.candidates_.trees[0].levels, wanted.levels, strict=True):
        np.testing.assert_array_equal(found, own)


def test_xr_transformer_clusters_by_the_tfidf_of_its_linear_half(tmp_path):
    model = models.create(
        "xr-transformer", encoder=small_bert(tmp_path), length=READ, epochs=1, batch=16,
        max_leaf=4, device="cpu", threads=1,
    )  # fmt: skip
    assert model.views().keys() == {"text", "linear"}
    fitted = Tagger(model, validation=0).fit(TEXTS, LABELS).model_
    assert clusters(fitted.candidates_.trees[0]) == TOPICS


def test_a_model_asks_for_the_view_only_where_it_may_grow_a_tree():
    tree = ViewSpec("tf-idf")
    for name in SETTINGS:
        assert models.create(name).views()["tree"] == tree
        assert models.create(name, first="none").views().keys() == {"text", "tree"}
        assert models.create(name, first="bonsai").views().keys() == {"text", "first-text"}
    without = [("attentionxml", {"tree": "never"}), ("attentionxml", {"sampler": "uniform"}),
               ("lightattention", {"sampler": "uniform"}), ("lightattention", {"sampler": "all"}),
               ("xml-rnn", {})]  # fmt: skip
    for name, settings in without:
        assert models.create(name, first="none", **settings).views().keys() == {"text"}


def test_one_featurizer_is_that_of_what_is_read():
    model = models.create("attentionxml", **SETTINGS["attentionxml"])
    for features in ("words", Words(max_words=40)):
        tagger = Tagger(model, features=features, validation=0).fit(TEXTS, LABELS)
        assert clusters(tagger.model_.candidates_.trees[0]) == TOPICS
    with pytest.raises(InputError, match=r"reads the text in several ways \(text, first-text\)"):
        Tagger(models.create("attentionxml", first="bonsai"), features="words").fit(TEXTS, LABELS)


@pytest.mark.parametrize("given", ["tokens", "views"])
def test_without_the_view_all_tokens_that_are_given_count(given):
    words, _, Y = data()
    X = words if given == "tokens" else Views({"text": words})
    model = models.create("attentionxml", **SETTINGS["attentionxml"]).fit(X, Y)
    assert clusters(model.candidates_.trees[0]) == TOPICS


def test_a_dense_view_is_refused():
    words, tfidf, Y = data()
    X = Views({"text": words, "tree": tfidf.toarray()})
    with pytest.raises(InputError, match="the view 'tree' must be sparse, such as tf-idf, not nd"):
        models.create("attentionxml", **SETTINGS["attentionxml"]).fit(X, Y)


def test_a_resumed_training_has_the_same_tree_or_is_refused(tmp_path):
    model = models.create("attentionxml", **SETTINGS["attentionxml"])
    run = Run(folder=tmp_path, resume=True)
    first = Tagger(model, validation=0.2).fit(TEXTS, LABELS, run=run)
    again = Tagger(model, validation=0.2).fit(TEXTS, LABELS, run=run)
    for own, other in zip(
        first.model_.candidates_.trees[0].levels, again.model_.candidates_.trees[0].levels,
        strict=True,
    ):  # fmt: skip
        np.testing.assert_array_equal(own, other)
    assert again.tag(TEXTS[0]) == first.tag(TEXTS[0])
    few = Tagger(model, validation=0.2, features={"tree": {"max_df": 31}})  # no topic is left
    with pytest.raises(InputError, match="checksum of the label trees was"):
        few.fit(TEXTS, LABELS, run=run)


def test_a_first_stage_with_a_tree_is_asked_without_it():
    words, tfidf, Y = data()
    first = FirstStage(models.create("attentionxml", **SETTINGS["attentionxml"]))
    X = Views({"text": words, "first-text": words, "first-tree": tfidf})
    assert first.specs().keys() == {"first-text", "first-tree"}
    first.fit(X, Y, FitContext())
    assert first.specs().keys() == {"first-text"}
    few = Views({"text": words, "first-text": words})
    assert first.rank(few, 3).labels.shape == (64, 3)
    assert first.out_of_fold(X, Y, 3, 2, 0, FitContext()).labels.shape == (64, 3)


class Partners(Consensus):
    """A consensus of partners that learn in no time."""

    def _new(self):
        rnn = models.create("xml-rnn", units=4, vector_size=4, epochs=1, device="cpu", threads=1)
        return [rnn, models.create("attentionxml", **SETTINGS["attentionxml"])]


def test_a_fitted_consensus_does_not_ask_for_the_view_of_a_partners_tree():
    assert {spec.featurizer for spec in Partners().views().values()} == {"tf-idf", "words"}
    tagger = Tagger(Partners(), validation=0).fit(TEXTS, LABELS)
    assert clusters(tagger.model_.partners_[1].model.candidates_.trees[0]) == TOPICS
    assert {part.name for part in tagger.learned_.featurizers.values()} == {"words"}
    assert tagger.tag(TEXTS[0])
