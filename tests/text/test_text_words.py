import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from labelgrove.core.errors import InputError, NotFittedError
from labelgrove.core.features import TokenSequences
from labelgrove.text import FEATURIZERS, PAD, UNK, Words, tokenize

TEXTS = ["b a a", "c b, a!", "b d", "", "東京 d"]


def test_vocabulary_by_document_frequency_then_alphabet():
    words = Words().fit(TEXTS)
    assert words.vocabulary == ["<pad>", "<unk>", "b", "a", "d", "c", "京", "東"]
    assert words.n_words == 8
    assert Words(max_words=3).fit(TEXTS).vocabulary[2:] == ["b", "a", "d"]
    assert Words(max_words=2).fit(TEXTS).vocabulary[2:] == ["b", "a"]
    assert Words(min_df=3).fit(TEXTS).vocabulary[2:] == ["b"]
    assert Words(min_df=0.4).fit(TEXTS).vocabulary[2:] == ["b", "a", "d"]


def test_sequences_are_cut_and_never_empty():
    words = Words(length=2, max_words=2)
    X = words.fit_transform(iter(TEXTS))
    assert isinstance(X, TokenSequences)
    assert X.shape == (5, 4)
    expected = [[2, 3], [UNK, 2], [2, UNK], [UNK], [UNK, UNK]]
    assert [X.sequence(i).tolist() for i in range(5)] == expected
    Z = words.transform(iter(TEXTS))
    assert [Z.sequence(i).tolist() for i in range(5)] == expected
    assert Z.tokens.dtype == np.int32
    assert PAD not in Z.tokens
    assert words.transform([]).shape == (0, 4)


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.text("ab cD東.", max_size=12), max_size=8), st.integers(1, 5))
def test_fit_transform_is_fit_then_transform(texts, length):
    texts = ["word", *texts]
    words = Words(length=length, max_words=3, threads=1)
    X = words.fit_transform(texts)
    Z = Words(length=length, max_words=3, threads=2).fit(texts).transform(texts)
    assert X.tokens.tolist() == Z.tokens.tolist()
    assert X.offsets.tolist() == Z.offsets.tolist()
    vocabulary = words.vocabulary
    for i, text in enumerate(texts):
        known = [w if w in vocabulary else "<unk>" for w in tokenize(text)] or ["<unk>"]
        assert [vocabulary[t] for t in X.sequence(i)] == known[:length]


def test_spans_stand_beside_the_tokens():
    words = Words(length=3).fit(["sun moon"])
    text = "The SUN, İ and more"
    spans = words.spans(text)
    assert spans == [(UNK, 0, 3), (3, 4, 7), (UNK, 9, 10)]  # 2 is moon
    assert [span.feature for span in spans] == words.transform([text]).tokens.tolist()
    assert [text[a:b] for _, a, b in spans] == ["The", "SUN", "İ"]
    assert words.spans(" ") == [(UNK, 0, 0)]


def test_saved_loaded_cloned(tmp_path):
    words = Words(length=4).fit(TEXTS)
    words.save(tmp_path / "words")
    for loaded in (Words.load(tmp_path / "words"), FEATURIZERS.read(tmp_path / "words")):
        assert loaded.vocabulary == words.vocabulary
        assert loaded.transform(TEXTS).tokens.tolist() == words.transform(TEXTS).tokens.tolist()
    assert clone(words).get_params() == words.get_params()


def test_a_million_words():
    X = Words(length=500).fit_transform(["word " * 1_000_000])
    assert X.lengths.tolist() == [500]


@pytest.mark.parametrize(
    ("settings", "texts", "message"),
    [
        ({}, [], "no texts to learn from"),
        ({}, ["", "."], "none of the 0 words in 2 texts"),
        ({"min_df": 2}, ["sun"], "none of the 1 words in 1 texts is in min_df=2"),
        ({"length": 0}, ["sun"], "length must be a whole number from 1, got 0"),
        ({"max_words": 0}, ["sun"], "max_words must be a whole number from 1, got 0"),
        ({"analyzer": "letters"}, ["sun"], "unknown analyzer 'letters'"),
    ],
)
def test_refused(settings, texts, message):
    with pytest.raises(InputError, match=message):
        Words(**settings).fit(texts)


def test_not_fitted():
    with pytest.raises(NotFittedError, match="words has not learned yet"):
        _ = Words().vocabulary
