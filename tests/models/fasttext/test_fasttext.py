"""The mean of word vectors and a linear output."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove import models
from labelgrove.core.errors import DamagedError, InputError
from labelgrove.core.features import TokenSequences
from labelgrove.core.ranking import ndcg
from labelgrove.models.contract import Case
from labelgrove.models.fasttext.fasttext import FastText, epochs_for
from labelgrove.tagger import Tagger

LOSSES = ("one-vs-all", "softmax", "hierarchical")


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    return Case(lambda folder: small(), tmp_path_factory.mktemp("case"))


def small(**settings):
    return models.create("fasttext", **{**FastText.example_settings(None), **settings})


@pytest.mark.parametrize("loss", LOSSES)
def test_each_loss_learns_and_is_saved(loss, case, tmp_path):
    model = small(loss=loss, epochs=60).fit(*case.train)
    ranking = model.rank(case.test[0], 5)
    assert ndcg(ranking, case.test[1], 5).mean() > 0.85
    if loss != "one-vs-all":
        assert np.allclose(model.rank(case.test[0], 12).scores.sum(axis=1), 1, atol=1e-4)
    model.save(tmp_path / "saved")
    again = FastText.load(tmp_path / "saved").rank(case.test[0], 5)
    assert np.array_equal(again.labels, ranking.labels)
    assert np.array_equal(again.scores, ranking.scores)


def test_threads_change_nothing(case):
    one, two = (small(threads=threads).fit(*case.train) for threads in (1, 2))
    assert np.array_equal(one.inputs_, two.inputs_)
    assert np.array_equal(one.outputs_, two.outputs_)


def test_another_seed_gives_another_model(case):
    one, two = (small(seed=seed).fit(*case.train) for seed in (0, 1))
    assert not np.array_equal(one.outputs_, two.outputs_)


def test_auto_takes_the_tree_where_pairs_are_many(case, monkeypatch):
    X, Y = case.train
    assert small().fit(X, Y).loss_ == "one-vs-all"
    monkeypatch.setattr("labelgrove.models.fasttext.fasttext.PAIRS", 100)
    assert small().fit(X, Y).loss_ == "hierarchical"


def test_the_number_of_epochs_follows_that_of_documents(case):
    assert small(epochs=None).fit(*case.train).epochs_ == epochs_for(400)


def test_characters_read_misspelled_words():
    texts = ["photovoltaic cells", "wheat harvest"] * 30
    labels = [["energy"], ["farming"]] * 30
    settings = {"dimension": 20, "epochs": 30, "buckets": 100}
    tagger = Tagger(models.create("fasttext", characters="3-5", **settings)).fit(texts, labels)
    assert [tag.label for tag in tagger.tag("fotovoltaics", k=1)] == ["energy"]
    reasons = tagger.explain("fotovoltaics cells", "energy")
    assert [reason.text for reason in reasons] == ["cells"]
    assert dict(reasons.parts)["characters"] > 0


@pytest.mark.parametrize("loss", LOSSES)
def test_the_words_of_a_label_speak_for_it(loss, case):
    model = small(loss=loss, epochs=60).fit(*case.train)
    X, Y = case.test
    vocabulary = case.featurizers["text"].vocabulary
    for i in range(10):
        label = int(Y.indices[Y.indptr[i]])
        found = model.explain(X, i, label)
        words = [vocabulary[token] for token in X.sequence(i)[found.ids]]
        assert words[int(np.argmax(found.weights))].startswith(f"topic{label}")


def test_explained_parts_sum_to_the_log_odds(case):
    model = small(prior="none").fit(*case.train)
    X = case.test[0]
    ranking = model.rank(X, 12)
    i, place = np.argwhere((ranking.scores < 0.9) & (ranking.scores > 0.1))[0]
    odds = np.log(ranking.scores[i, place] / (1 - ranking.scores[i, place]))
    found = model.explain(X, int(i), int(ranking.labels[i, place]))
    assert found.weights.sum() == pytest.approx(odds, abs=1e-3)


def test_sure_labels_keep_an_order(case):
    model = small(loss="one-vs-all", epochs=300, learning_rate=20.0).fit(*case.train)
    scores = model.rank(case.test[0], 3).scores
    assert scores.max() > 0.99
    assert scores.max() < 1
    assert (np.diff(scores[:, :2]) < 0).all()


def test_a_text_without_known_words_gets_the_most_frequent_labels(case):
    X, Y = case.train
    model = small().fit(X, Y)
    nothing = model.rank(case.features([""]), 12)
    shares = np.bincount(Y.indices) / Y.shape[0]
    assert np.argmax(shares) == nothing.labels[0, 0]
    assert nothing.scores[0, 0] == pytest.approx(shares.max(), abs=0.01)


@pytest.mark.parametrize("characters", ["3", "6-3", "0-2", "a-b"])
def test_lengths_that_make_no_sense_are_refused(characters, case):
    with pytest.raises(InputError, match="two lengths such as '3-6'"):
        small(characters=characters).fit(*case.train)


def test_other_features_than_words_are_refused():
    X = csr_array(np.eye(4, dtype=np.float32))
    with pytest.raises(InputError, match="fasttext reads numbers of words, not csr_array"):
        small().fit(X, X)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_highest_rate_does_not_diverge(loss):
    X = TokenSequences(np.array([2, 3] * 50), np.arange(101), n_terms=4)
    Y = csr_array(np.tile(np.eye(2, dtype=np.float32), (50, 1)))
    model = small(loss=loss, learning_rate=1000.0).fit(X, Y)
    assert np.isfinite(model.inputs_).all()
    assert model.rank(X[:2], 1).labels.ravel().tolist() == [0, 1]


ALTERED = {
    "one-vs-all": {"bias_": np.zeros(3, np.float32), "outputs_": np.zeros((3, 16), np.float32)},
    "softmax": {"inputs_": np.zeros((4, 16), np.float32), "loss_": "hinge"},
    "hierarchical": {
        "children_": np.zeros((11, 2), np.int32),
        "rows_": {"n_words": 10, "ngrams": 2, "buckets": 0, "n_characters": 0},
    },
}


@pytest.mark.parametrize(
    ("loss", "name"), [(loss, name) for loss, own in ALTERED.items() for name in own]
)
def test_an_altered_model_is_refused(loss, name, case, tmp_path):
    model = small(loss=loss, epochs=1).fit(*case.train)
    setattr(model, name, ALTERED[loss][name])
    model.save(tmp_path / "altered")
    with pytest.raises(DamagedError, match="is damaged"):
        FastText.load(tmp_path / "altered")


def test_a_tree_that_leads_in_a_circle_is_refused(case, tmp_path):
    model = small(loss="hierarchical", epochs=1).fit(*case.train)
    children = model.children_.copy()
    low, high = np.argwhere(children == 12)[0], np.argwhere(children == 21)[0]
    children[tuple(low)], children[tuple(high)] = 21, 12
    model.children_ = children
    model.save(tmp_path / "circle")
    with pytest.raises(DamagedError, match="children_ must come before their parents"):
        FastText.load(tmp_path / "circle")
