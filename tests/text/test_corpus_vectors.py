"""Word vectors trained on the texts themselves."""

import numpy as np
import pytest

from labelgrove.core.features import TokenSequences
from labelgrove.core.progress import Lines
from labelgrove.text import corpus_vectors as module
from labelgrove.text.corpus_vectors import corpus_vectors

N_TOPICS, N_WORDS = 4, 30  # words of a topic


def topics(n=400, seed=0, n_more=1):
    """Texts of words of one topic each; the last ``n_more`` terms never occur."""
    random = np.random.default_rng(seed)
    first = 2 + N_WORDS * random.integers(0, N_TOPICS, n)
    tokens = (first[:, None] + random.integers(0, N_WORDS, (n, 12))).ravel()
    return TokenSequences(tokens, 12 * np.arange(n + 1), 2 + N_TOPICS * N_WORDS + n_more)


def cosines(vectors):
    words = vectors[2 : 2 + N_TOPICS * N_WORDS]
    words = words / np.linalg.norm(words, axis=1, keepdims=True)
    return words @ words.T


def test_words_of_one_topic_are_alike():
    found = cosines(corpus_vectors(topics(), 16))
    own = np.arange(N_TOPICS * N_WORDS) // N_WORDS
    same = own[:, None] == own
    assert found[same].mean() > found[~same].mean() + 0.3


def test_spread_padding_and_words_that_never_occur():
    vectors = corpus_vectors(topics(n_more=500), 16)
    assert vectors.shape == (2 + N_TOPICS * N_WORDS + 500, 16)
    assert vectors.dtype == np.float32
    assert (vectors[0] == 0).all(), "padding"
    known, others = vectors[2 : 2 + N_TOPICS * N_WORDS], vectors[-500:]
    assert known.std() == pytest.approx(0.5, rel=0.05), "as of GloVe"
    assert others.std() == pytest.approx(3**-0.5, rel=0.05), "uniform(-1, 1)"
    assert np.abs(others).max() <= 1


def test_the_same_seed_gives_the_same_vectors():
    X = topics()
    np.testing.assert_array_equal(corpus_vectors(X, 16, seed=3), corpus_vectors(X, 16, seed=3))
    assert not np.array_equal(corpus_vectors(X, 16, seed=3), corpus_vectors(X, 16, seed=4))


@pytest.mark.parametrize(
    "texts", [[], [[]], [[2]], [[1, 1, 0]], [[2], [3]], [[2, 2]], [[2, 3]], [[2, 3, 4]]]
)
def test_texts_from_which_little_can_be_learned(texts):
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    X = TokenSequences(
        np.array([word for text in texts for word in text], np.int32), offsets.astype(np.int64), 5
    )
    vectors = corpus_vectors(X, 8)
    assert vectors.shape == (5, 8)
    assert np.isfinite(vectors).all()


def test_counts_do_not_depend_on_blocks(monkeypatch):
    X = topics(50)
    words = np.arange(2, 2 + N_TOPICS * N_WORDS)

    def counts():
        return module._counted(X, words, np.random.default_rng(0), Lines()).toarray()

    whole = counts()
    monkeypatch.setattr(module, "BLOCK", 40)
    np.testing.assert_allclose(counts(), whole, rtol=1e-5)
    by_hand = np.zeros_like(whole)
    for i in range(len(X)):
        text = X.sequence(i) - 2
        for a in range(len(text)):
            for b in range(max(a - module.WINDOW, 0), min(a + module.WINDOW + 1, len(text))):
                if a != b:
                    by_hand[text[a], text[b]] += 1 / abs(a - b)
    np.testing.assert_allclose(whole, by_hand, rtol=1e-5)


def test_work_is_bounded(monkeypatch, capsys):
    monkeypatch.setattr(module, "MOST_TOKENS", 240)
    monkeypatch.setattr(module, "MOST_WORDS", 50)
    vectors = corpus_vectors(topics(), 16, progress=Lines())
    assert "counting neighbours of words: 20 documents" in capsys.readouterr().err
    lengths = np.linalg.norm(vectors, axis=1)
    assert (np.abs(lengths - 0.5 * 16**0.5) < 1e-3).sum() <= 50
