"""Texts as vectors of three kinds, and the documents remembered by them."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove import text
from labelgrove.core import storage
from labelgrove.core.errors import DamagedError, InputError, NotFittedError
from labelgrove.core.features import TokenSequences, Views
from labelgrove.core.types import FitContext
from labelgrove.models.contract import known_answer
from labelgrove.models.neighbours import Nearest, Neighbourhood
from labelgrove.models.neighbours.neighbourhood import middle_of, weights_of, word_means
from labelgrove.text import Tfidf, Words
from tokenizer_folders import minilm

NOTHING = FitContext()


def labels(*rows, width=3):
    found = np.zeros((len(rows), width), np.float32)
    for i, row in enumerate(rows):
        found[i, list(row)] = 1
    return csr_array(found)


def tokens(*rows, n_terms=6):
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return TokenSequences(np.concatenate([np.array(row, int) for row in rows]), offsets, n_terms)


X = csr_array(np.array([[3, 4, 0], [1, 0, 0], [0, 0, 2], [0, 0, 0]], np.float32))
Y = labels([0], [0, 1], [2], [1])


def test_votes_by_hand():
    near = Neighbourhood("tf-idf").fit(X, Y, NOTHING)
    nearest = near.nearest(csr_array(np.array([[1.0, 0, 0], [0, 0, 0]])), 2)
    assert nearest.documents.tolist() == [[1, 0], [-1, -1]]
    assert np.allclose(nearest.similarities, [[1, 0.6], [0, 0]])
    votes = near.votes(nearest, 1.0)
    assert np.allclose(votes.toarray(), [[1, 1 / 1.6, 0], [0, 0, 0]])
    assert np.allclose(near.votes(nearest, 2.0).toarray()[0], [1, 1 / 1.36, 0])
    assert np.allclose(near.votes(nearest, 0.0).toarray()[0], [1, 1 / 2, 0])
    assert votes.dtype == np.float32


def test_tiny_cosines_to_a_high_power_still_vote():
    given = np.array([[2e-3, 1e-3, 0]], np.float32)
    nearest = Nearest(np.array([[0, 1, -1]], np.int32), given)
    assert np.allclose(weights_of(nearest, 200.0), [[1, 0, 0]])
    assert np.allclose(weights_of(nearest, 1.0), [[2 / 3, 1 / 3, 0]])


def test_words_are_counted_from_the_middle_by_hand():
    table = np.array([[0, 0], [50, 50], [3, 0], [0, 6], [0, 0], [0, 0]], np.float32)
    # padding and unknown words do not count; a document without others has no vector
    texts = tokens([2, 0, 1], [2, 3], [1, 1], [3])
    assert word_means(texts, table).tolist() == [[3, 0], [1.5, 3], [0, 0], [0, 6]]
    middle = np.array([4.5, 9]) / 13
    assert np.allclose(middle_of(word_means(texts, table)), middle)
    near = Neighbourhood("words").fit(texts, labels([0], [1], [2], [2]), NOTHING, table=table)
    expected = np.array([[3, 0], [1.5, 3], [0, 0], [0, 6]]) - [middle, middle, [0, 0], middle]
    lengths = np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1e-9)
    assert np.allclose(near.memory.vectors, expected / lengths)
    assert near.nearest(tokens([3, 3], [1]), 1).documents.tolist() == [[3], [-1]]


def test_the_words_of_a_text_speak_for_what_it_is_like():
    table = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    texts = tokens([2, 3], [3, 4], [4, 5, 2])
    near = Neighbourhood("words").fit(texts, labels([0], [1], [2]), NOTHING, table=table)
    given = tokens([1, 2, 4, 4])
    ids, weights = near.spoke(given, 0, np.array([0, 2]), np.array([2.0, -1.0]))
    assert ids.tolist() == [1, 2, 3]
    nearest = near.nearest(given, 3)
    cosine = dict(zip(nearest.documents[0].tolist(), nearest.similarities[0], strict=True))
    vectors = near.memory.vectors
    own = table[[2, 4, 4]].mean(axis=0) - near.middle
    cosines = vectors @ own / np.linalg.norm(own)
    assert all(np.isclose(cosines[d], c, atol=1e-6) for d, c in cosine.items() if d >= 0)
    assert np.isclose(weights.sum(), 2 * cosines[0] - cosines[2], atol=1e-6)
    assert weights[1] == weights[2]
    assert near.spoke(tokens([1]), 0, np.array([0]), np.array([1.0]))[0].tolist() == []


def test_the_features_of_a_text_speak_for_what_it_is_like():
    near = Neighbourhood("tf-idf").fit(X, Y, NOTHING)
    given = csr_array(np.array([[0, 0, 1], [4, 3, 0]], np.float32))
    ids, weights = near.spoke(given, 1, np.array([0, 1]), np.array([1.0, 0.5]))
    assert ids.tolist() == [0, 1]
    assert np.allclose(weights, [0.8 * (0.6 + 0.5), 0.6 * 0.8])


def test_neighbours_have_labels_and_beginnings():
    context = FitContext(documents=["one", "two", "three", ""])
    near = Neighbourhood("tf-idf").fit(X, Y, context)
    found = near.neighbours(near.nearest(X, 3), 1)
    assert [each.document for each in found] == [1, 0]
    assert found[0] == (1, 1.0, (0, 1), "two")
    assert np.isclose(found[1].similarity, 0.6)
    assert near.neighbours(near.nearest(X, 3), 3) == ()
    silent = Neighbourhood("tf-idf").fit(X, Y, NOTHING)
    assert silent.neighbours(silent.nearest(X, 1), 1)[0].text == ""


@pytest.mark.parametrize("by", ["tf-idf", "words"])
def test_no_training_document_sees_itself_or_a_copy(by):
    """A third of the documents are copies, with another word at their end."""
    texts = known_answer(120)[0]
    texts += [f"{text} noise1" for text in texts[:60]]
    featurizer = Tfidf() if by == "tf-idf" else Words()
    features = featurizer.fit_transform(texts)
    near = Neighbourhood(by, copies=0.9).fit(features, csr_array((180, 1)), NOTHING)
    # asked like any texts, documents find themselves, and most of them their twins
    blind = near.nearest(features, 2).documents
    assert (blind[:, 0] == np.arange(180)).mean() > 0.9
    assert (blind[:60] == np.arange(120, 180)[:, None]).any(axis=1).mean() > 0.9
    found = near.of_training(5)
    assert not (found.documents == np.arange(180)[:, None]).any()
    assert found.similarities.max() <= 0.9
    vectors = near.memory.vectors
    dense = vectors.toarray() if by == "tf-idf" else vectors
    twins = dense @ dense.T > 0.9 + 1e-6
    assert twins[np.arange(60), np.arange(120, 180)].mean() > 0.9
    rows, places = np.nonzero(found.documents >= 0)
    assert len(rows) > 800
    assert not twins[rows, found.documents[rows, places]].any()


@pytest.mark.parametrize("by", ["tf-idf", "words"])
def test_remembering_is_as_fitting_on_all(by):
    texts = known_answer(80)[0]
    featurizer = Tfidf() if by == "tf-idf" else Words()
    features = featurizer.fit_transform(texts)
    Y = csr_array(np.random.default_rng(0).integers(0, 2, (80, 4)).astype(np.float32))
    first = Neighbourhood(by).fit(
        features[:50], Y[:50][:, :3].tocsr(), FitContext(documents=texts[:50])
    )
    both = first.remember(features[50:], Y[50:], FitContext(documents=texts[50:]))
    whole = Neighbourhood(by)
    if by == "words":  # the middle stays that of the first documents
        whole.fit(features, Y, NOTHING, table=first.table)
        whole.middle = first.middle
        whole.memory.vectors = whole._vectors(features)
    else:
        whole.fit(features, Y, NOTHING)
    one, other = both.nearest(features, 5), whole.nearest(features, 5)
    assert np.array_equal(one.documents, other.documents)
    assert np.allclose(one.similarities, other.similarities, atol=1e-6)
    assert both.Y.shape == (80, 4)
    assert both.Y[:50, [3]].nnz == 0
    assert both.memory.texts[79] == texts[79]
    assert (first.n_documents, first.Y.shape) == (50, (50, 3))
    assert first.nearest(features, 5).documents.max() < 50


def test_a_view_is_picked_and_its_words_looked_up(tmp_path):
    (tmp_path / "glove.txt").write_text("sun 1 0\nmoon 0 1\n")
    words = Words().fit(["sun moon", "moon"])
    texts = words.transform(["sun", "moon", "moon moon"])
    near = Neighbourhood("words", view="own", vectors=str(tmp_path / "glove.txt"))
    near.check_needs()
    assert near.spec().featurizer == "words"
    views = Views({"own": texts, "text": X[:3]})
    near.fit(views, labels([0], [1], [2]), FitContext(featurizers={"own": words, "text": Tfidf()}))
    assert near.table.shape == (4, 2)
    found = near.nearest(views, 2).documents
    assert found[0, 0] == 0
    assert np.sort(found[1:], axis=1).tolist() == [[1, 2], [1, 2]]  # both are moon alone
    with pytest.raises(InputError, match="views text, and 'own' is missing"):
        near.nearest(Views({"text": texts}), 1)


@pytest.mark.parametrize("by", ["tf-idf", "words", "encoder"])
def test_saved_and_read_again_it_is_the_same(by, tmp_path):
    texts = [*known_answer(12)[0], ""]
    settings = {}
    if by == "encoder":
        from labelgrove.models.neural.examples import small_bert

        settings = {"encoder": small_bert(tmp_path), "length": 16}
    near = Neighbourhood(by, seed=3, threads=1, **settings)
    near.check_needs()
    spec = near.spec()
    features = text.create(spec.featurizer, **spec.settings).fit(texts).transform(texts)
    near.fit(features, labels(*[[i % 3] for i in range(13)]), FitContext(documents=texts))
    near.write(tmp_path / "saved")
    loaded = Neighbourhood.read(tmp_path / "saved")
    for name in ("by", "seed", "threads", "copies", "encoder", "length"):
        assert getattr(loaded, name) == getattr(near, name)
    one, other = near.nearest(features, 4), loaded.nearest(features, 4)
    assert np.array_equal(one.documents, other.documents)
    assert np.array_equal(one.similarities, other.similarities)
    assert (one.documents[:12, 0] == np.arange(12)).all()
    assert (one.documents[12] == -1).all()
    one, other = near.of_training(4), loaded.of_training(4)
    assert np.array_equal(one.documents, other.documents)
    assert loaded.neighbours(other, 0)[0].text in texts


@pytest.mark.parametrize("prefix", ["", "static:"])
def test_dense_vectors_know_what_is_meant(prefix, request):
    """No word is shared between the first text and the one that is like it."""
    folder = request.getfixturevalue("shared") / "potion-base-8m" if prefix else minilm()
    texts = ["a cat sleeps", "the stock market fell", "kittens napping"]
    near = Neighbourhood("encoder", encoder=f"{prefix}{folder}", length=16, threads=1)
    near.check_needs()
    spec = near.spec()
    assert (spec.featurizer, spec.settings["length"]) == ("static" if prefix else "encoder", 16)
    features = text.create(spec.featurizer, **spec.settings).fit([]).transform(texts)
    near.fit(features, labels([0], [1], [2]), NOTHING)
    assert near.of_training(1).documents[0].tolist() == [2]
    ids, weights = near.spoke(features, 0, np.array([2]), np.array([1.0]))
    assert len(ids) == len(weights) == 0
    with pytest.raises(InputError, match=r"by encoder read dense rows.*not TokenSequences"):
        near.fit(tokens([2], [3]), labels([0], [1]), NOTHING)
    with pytest.raises(InputError, match="not finite"):
        near.fit(np.full((1, 2), np.nan, np.float32), labels([0]), NOTHING)


def test_wrong_settings_and_features_are_told(tmp_path):
    with pytest.raises(
        InputError, match="unknown kind of neighbours 'tfidf'; did you mean 'tf-idf'"
    ):
        Neighbourhood("tfidf")
    with pytest.raises(InputError, match="copies must be a cosine above 0, up to 1, got 2"):
        Neighbourhood("tf-idf", copies=2)
    with pytest.raises(InputError, match="there is no such file"):
        Neighbourhood("words", vectors=str(tmp_path / "none")).check_needs()
    with pytest.raises(InputError, match="give encoder="):
        Neighbourhood("encoder").check_needs()
    with pytest.raises(InputError, match="no such folder"):
        Neighbourhood("encoder", encoder=str(tmp_path / "none")).check_needs()
    with pytest.raises(InputError, match="holds a transformer, not static vectors: leave out"):
        Neighbourhood("encoder", encoder=f"static:{minilm()}").check_needs()
    near = Neighbourhood("tf-idf")
    with pytest.raises(NotFittedError, match="call fit first"):
        near.nearest(X, 1)
    with pytest.raises(InputError, match=r"by tf-idf read sparse features.*not TokenSequences"):
        near.fit(tokens([2]), Y[:1], NOTHING)
    with pytest.raises(InputError, match=r"by words read 'words'.*not csr_array"):
        Neighbourhood("words").fit(X, Y, NOTHING)
    with pytest.raises(InputError, match="not finite"):
        near.fit(csr_array(np.array([[np.nan]])), Y[:1], NOTHING)
    with pytest.raises(InputError, match="X has 2 features, but 3 are known"):
        near.fit(X, Y, NOTHING).nearest(X[:, :2].tocsr(), 1)
    with pytest.raises(InputError, match="vectors of 2 words, X has 6"):
        Neighbourhood("words").fit(tokens([2]), Y[:1], NOTHING, table=np.zeros((2, 3)))
    storage.write_values(tmp_path, {"by": "tf-idf"})
    with pytest.raises(DamagedError, match="train it again"):
        Neighbourhood.read(tmp_path)
    (tmp_path / "encoder").mkdir()  # which neighbours had when they read texts themselves
    with pytest.raises(DamagedError, match="of labelgrove wrote it: train it again"):
        Neighbourhood.read(tmp_path)
