"""The labels of the nearest documents."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove import models
from labelgrove.core.errors import InputError
from labelgrove.core.features import TokenSequences
from labelgrove.core.types import FitContext
from labelgrove.models.contract import CHECKS, Case
from labelgrove.models.knn import Knn
from labelgrove.tagger import Tagger

X = csr_array(np.array([[3, 4, 0], [1, 0, 0], [0, 0, 2], [0, 0, 0]], np.float32))
Y = csr_array(np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0]], np.float32))


def test_a_ranking_by_hand():
    model = Knn(neighbours=2, power=2.0).fit(X, Y)
    ranking = model.rank(csr_array(np.array([[1.0, 0, 0]])), 3)
    assert ranking.labels.tolist() == [[0, 1, -1]]
    assert np.allclose(ranking.scores, [[1, 1 / 1.36, 0]])


def test_a_text_like_no_document_gets_the_most_frequent_labels():
    ranking = Knn().fit(X, Y).rank(X[3:], 2)
    assert ranking.labels.tolist() == [[0, 1]]
    assert np.allclose(ranking.scores, [[0.75, 0.25]])


def test_new_documents_and_labels_are_ranked_at_once():
    old = Knn(neighbours=2).fit(X, Y, context=FitContext(documents=["a", "b", "c", "d"]))
    more = csr_array(np.array([[0, 1, 0, 0, 1]], np.float32))
    new = old.remember(
        csr_array(np.array([[0, 1.0, 0]])), more, context=FitContext(documents=["e"])
    )
    given = csr_array(np.array([[0, 2.0, 0]]))
    assert new.rank(given, 9).labels.tolist() == [[1, 4, 0, -1, -1]]
    assert new.explain(given, 0, 4).neighbours[0].text == "e"
    assert old.rank(given, 9).labels.tolist() == [[0, -1, -1]]
    assert new.rank(X[3:], 5).scores[0].tolist() == pytest.approx([0.6, 0.4, 0.2, 0.2, 0])
    assert new.near_.n_documents == 5


def test_remembering_is_as_learning_from_all(tmp_path):
    case = Case(lambda folder: Knn(neighbours=7), tmp_path)
    X, Y = case.train
    whole = Knn(neighbours=7).fit(X, Y).rank(case.test[0], 5)
    grown = Knn(neighbours=7).fit(X[:150], Y[:150]).remember(X[150:], Y[150:])
    grown.save(tmp_path / "grown")
    for model in (grown, Knn.load(tmp_path / "grown")):
        ranking = model.rank(case.test[0], 5)
        assert np.array_equal(ranking.labels, whole.labels)
        assert np.array_equal(ranking.scores, whole.scores)


def test_an_explanation_by_hand():
    """Documents 0 and 1 are like the text, and 1 alone has the label."""
    model = Knn(neighbours=2).fit(X, Y, context=FitContext(documents=["a", "b", "c", "d"]))
    given = csr_array(np.array([[4, 3, 0]], np.float32))
    told = model.explain(given, 0, 1)
    assert told.ids.tolist() == [0, 1]
    assert np.allclose(told.weights, [0.8 * (1 - 0.6), 0.6 * (0 - 0.8)], atol=1e-6)
    assert [each.document for each in told.neighbours] == [0, 1]
    assert [each.text for each in told.neighbours] == ["a", "b"]
    assert np.allclose([each.similarity for each in told.neighbours], [0.96, 0.8])
    # all neighbours have label 0, so that all they share speaks for it
    assert (model.explain(given, 0, 0).weights > 0).all()
    assert model.explain(X, 3, 0).neighbours == ()
    for row, label in ((9, 0), (0, 3)):
        with pytest.raises(InputError, match=r"row 9|label 3"):
            model.explain(given, row, label)


@pytest.mark.parametrize("check", [*CHECKS])
def test_by_words_it_keeps_the_contract(check, tmp_path):
    CHECKS[check](Case(lambda folder: Knn(by="words", neighbours=10, power=4.0), tmp_path))


def test_texts_are_ranked_in_batches(monkeypatch, tmp_path):
    case = Case(lambda folder: Knn(threads=1), tmp_path)
    whole = case.fitted.rank(case.test[0], 5)
    monkeypatch.setattr("labelgrove.models.knn.BATCH", 7)
    again = case.fitted.rank(case.test[0], 5)
    assert np.array_equal(whole.labels, again.labels)
    assert np.array_equal(whole.scores, again.scores)
    assert np.array_equal(
        case.fitted.set_params(threads=2).rank(case.test[0], 5).scores, whole.scores
    )


def test_wrong_settings_are_told():
    for settings, told in (
        ({"neighbours": 0}, "neighbours must be a whole number from 1, got 0"),
        ({"power": -1.0}, "power must be a number from 0"),
        ({"by": "bm25"}, "by must be 'tf-idf' or 'words' or 'encoder', got 'bm25'"),
        ({"length": 0}, "length must be a whole number from 1"),
    ):
        with pytest.raises(InputError, match=told):
            models.create("knn", **settings)
    with pytest.raises(InputError, match="there is no such file"):
        models.create("knn", by="words", vectors="nowhere.txt").check_needs()
    with pytest.raises(InputError, match="not TokenSequences"):
        Knn().fit(TokenSequences(np.array([1]), np.array([0, 1]), 3), Y[:1])


def test_a_tagger_by_neighbours():
    texts = ["red apples", "green apples", "blue whales", "grey whales"] * 3
    tagger = Tagger("knn", validation=0).fit(texts, [["fruit"], ["fruit"], ["sea"], ["sea"]] * 3)
    assert tagger.tag("whales sing")[0].label == "sea"
    assert tagger.explain("ripe apples", "fruit")[0].text == "apples"


@pytest.mark.parametrize("setting", [{"vectors": "glove.txt"}, {"encoder": "minilm"}])
def test_a_setting_of_another_kind_of_neighbours_is_refused(setting):
    with pytest.raises(InputError, match="or leave"):
        models.create("knn", **setting)
