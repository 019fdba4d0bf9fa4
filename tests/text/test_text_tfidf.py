"""Tf-idf: equal to scikit-learn's on the same tokens, and sound where that one is not."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer

from labelgrove.core.errors import InputError, NotFittedError
from labelgrove.text import FEATURIZERS, Tfidf, create

WORDS = """solar wind power energy law court yö äiti öljy ääni größe straße élève œuvre naïve x1
2024 a I snake_case Müller PARIS éa bb ccc""".split()  # noqa: SIM905


def corpus(n=300, seed=0, longest=40):
    rng = np.random.default_rng(seed)
    chances = 1 / np.arange(1, len(WORDS) + 1)
    gaps = np.array([" ", " ", " ", ", ", "-", ". ", "\n", " (", "'"])
    texts = []
    for _ in range(n):
        size = int(rng.integers(0, longest))
        words = rng.choice(WORDS, size, p=chances / chances.sum())
        texts.append("".join(w + g for w, g in zip(words, rng.choice(gaps, size), strict=True)))
    return texts


def aligned(tfidf, X, vectorizer):
    """Our columns in scikit-learn's order."""
    terms = tfidf.terms()
    assert sorted(terms) == sorted(vectorizer.vocabulary_)
    return X[:, np.array([terms.index(t) for t in vectorizer.get_feature_names_out()])]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {}),
        ({"ngrams": [1, 2]}, {"ngram_range": (1, 2)}),
        ({"ngrams": (2, 3), "min_df": 3}, {"ngram_range": (2, 3), "min_df": 3}),
        ({"min_df": 0.1, "max_df": 0.5}, {"min_df": 0.1, "max_df": 0.5}),
        ({"max_df": 60}, {"max_df": 60}),
        ({"sublinear": False}, {"sublinear_tf": False}),
        ({"norm": None, "sublinear": False}, {"norm": None, "sublinear_tf": False}),
        ({"lowercase": False}, {"lowercase": False}),
        ({"min_length": 1}, {"token_pattern": r"(?u)\b\w+\b"}),
        ({"max_features": 5}, {"max_features": 5}),
    ],
)
def test_equal_to_scikit_learn(ours, theirs):
    texts, new = corpus(), corpus(80, seed=1)
    tfidf = Tfidf(**ours)
    vectorizer = TfidfVectorizer(**{"sublinear_tf": True, **theirs})
    X, S = tfidf.fit_transform(texts), vectorizer.fit_transform(texts)
    np.testing.assert_allclose(aligned(tfidf, X, vectorizer).toarray(), S.toarray(), rtol=1e-5)
    X, S = tfidf.transform([*new, "unheard"]), vectorizer.transform([*new, "unheard"])
    np.testing.assert_allclose(aligned(tfidf, X, vectorizer).toarray(), S.toarray(), rtol=1e-5)


def test_characters_equal_scikit_learn_where_words_stand_between_spaces():
    texts = [" ".join(text.replace("'", " ").split()) for text in corpus(60)]
    texts = ["".join(c if c.isalnum() or c in "_ " else " " for c in text) for text in texts]
    tfidf = Tfidf(analyzer="char:2-4", sublinear=False)
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4))
    X, S = tfidf.fit_transform(texts), vectorizer.fit_transform(texts)
    np.testing.assert_allclose(aligned(tfidf, X, vectorizer).toarray(), S.toarray(), rtol=1e-5)
    X, S = tfidf.transform(texts), vectorizer.transform(texts)
    np.testing.assert_allclose(aligned(tfidf, X, vectorizer).toarray(), S.toarray(), rtol=1e-5)


def test_worked_example():
    X = Tfidf(norm=None).fit_transform(["sun sun moon", "moon"])
    # df: moon 2, sun 1; idf = ln(3 / (1 + df)) + 1
    expected = [[1.0, (1 + np.log(2)) * (np.log(1.5) + 1)], [1.0, 0.0]]
    np.testing.assert_allclose(X.toarray(), expected, rtol=1e-6)


def test_form_of_the_result():
    X = Tfidf().fit_transform(corpus(50))
    assert isinstance(X, csr_array)
    assert X.dtype == np.float32
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert X.copy().has_sorted_indices
    assert csr_array((X.data, X.indices, X.indptr), shape=X.shape).has_canonical_format


def test_threads_batches_and_streams_do_not_matter():
    texts = corpus(9_000, longest=60)  # several batches
    assert sum(map(len, texts)) > 3 * 2**18
    alone = Tfidf(ngrams=(1, 2), threads=1)
    together = Tfidf(ngrams=(1, 2), threads=4)
    X, Z = alone.fit_transform(texts), together.fit_transform(text for text in texts)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(X, name), getattr(Z, name))
    assert alone.terms() == together.terms()
    fitted = Tfidf(ngrams=(1, 2), threads=3).fit(iter(texts))
    for rows in (slice(None), slice(7, 8)):
        difference = fitted.transform(text for text in texts[rows]) - X[rows]
        assert abs(difference).max() < 1e-6


def test_columns_go_by_document_frequency_then_first_appearance():
    tfidf = Tfidf().fit(["late once", "early common", "common other"])
    assert tfidf.terms() == ["common", "late", "once", "early", "other"]
    assert tfidf.terms([3, 0]) == ["early", "common"]
    assert tfidf.get_feature_names_out().tolist() == tfidf.terms()
    assert tfidf.n_documents_ == 3


def test_scripts_without_spaces_give_characters_and_pairs():
    tfidf = Tfidf().fit(["机器学习 in Python"])
    assert sorted(tfidf.terms()) == sorted(
        ["机", "机器", "器", "器学", "学", "学习", "习", "in", "python"]
    )
    found = {tfidf.terms([span.feature])[0] for span in tfidf.spans("学习机器")}
    assert found == {"学", "学习", "习", "机", "机器", "器"}
    assert "机器学" in Tfidf(ngrams=(1, 3)).fit(["机器学习"]).terms()
    assert Tfidf(ngrams=(2, 2)).fit(["机器学", "wind power"]).terms() == [
        "机器",
        "器学",
        "wind power",
    ]


def test_composed_and_decomposed_share_a_column():
    X = Tfidf().fit_transform(["äiti ja yö", unicodedata.normalize("NFD", "äiti ja yö")])
    assert X.shape == (2, 3)
    np.testing.assert_array_equal(X[[0]].toarray(), X[[1]].toarray())


def test_odd_texts():
    tfidf = Tfidf().fit(["sun moon"])
    texts = ["", "\x00", "\ud800sun\udfff", "sun\x00moon", "💚 SUN", "\u0301"]
    assert np.diff(tfidf.transform(texts).indptr).tolist() == [0, 0, 1, 2, 1, 0]
    assert tfidf.transform([]).shape == (0, 2)
    assert np.diff(Tfidf().fit_transform(["", "sun"]).indptr).tolist() == [0, 1]


def test_a_million_words():
    X = Tfidf(norm=None).fit_transform(["word " * 1_000_000, "another word"])
    np.testing.assert_allclose(X.toarray()[0], [1 + np.log(1e6), 0], rtol=1e-6)


def test_saved_and_loaded(tmp_path):
    texts = corpus(100)
    tfidf = Tfidf(ngrams=(1, 2), min_df=2)
    X = tfidf.fit_transform(texts)
    tfidf.save(tmp_path / "tfidf")
    loaded = Tfidf.load(tmp_path / "tfidf")
    again = FEATURIZERS.read(tmp_path / "tfidf")
    assert loaded.ngrams == [1, 2]
    assert loaded.terms() == tfidf.terms()
    assert not loaded.keys_.flags.writeable
    for other in (loaded, again):
        assert abs(other.transform(texts) - X).max() < 1e-6
        assert other.spans(texts[3]) == tfidf.spans(texts[3])
    loaded.save(tmp_path / "copy")
    assert abs(Tfidf.load(tmp_path / "copy").transform(texts) - X).max() < 1e-6


def test_clone_and_settings():
    tfidf = create("tf-idf", ngrams=(1, 2), analyzer="snowball:en")
    copy = clone(tfidf)
    assert copy.get_params() == tfidf.get_params()


# --- spans ------------------------------------------------------------------------------------


def test_spans_of_ngrams_go_from_first_to_last_word():
    tfidf = Tfidf(ngrams=(1, 2)).fit(["state of the union", "state union"])
    text = "The State, a Union!"
    found = {tfidf.terms([f])[0]: text[start:end] for f, start, end in tfidf.spans(text)}
    assert found == {
        "the": "The",
        "state": "State",
        "union": "Union",
        "state union": "State, a Union",
    }


def test_spans_where_folding_changes_the_length():
    tfidf = Tfidf().fit(["i̇zmir äiti yö"])
    text = "İİ İZMİR A\u0308ITI (Yö)"
    found = {tfidf.terms([f])[0]: text[start:end] for f, start, end in tfidf.spans(text)}
    assert found == {"äiti": "A\u0308ITI", "yö": "Yö"}  # i̇zmi̇r, with two dots, is unknown
    found = tfidf.spans("x İzmir")
    assert [(start, end) for _, start, end in found] == [(2, 7)]


def test_spans_of_characters_stay_inside_the_word():
    tfidf = Tfidf(analyzer="char:2-3").fit(["sun"])
    text = "a sun."
    found = {(tfidf.terms([f])[0], text[start:end]) for f, start, end in tfidf.spans(text)}
    assert found == {
        (" s", "s"),
        ("su", "su"),
        ("un", "un"),
        ("n ", "n"),
        (" su", "su"),
        ("sun", "sun"),
        ("un ", "un"),
    }


@settings(deadline=None)  # the first call compiles
@given(st.text("abÄİ.\u0308 東京e\u0301Å\u212bᄀ\u1161", max_size=30))
def test_spans_lead_to_their_terms(text):
    if not any(map(str.isalnum, text)):
        return
    tfidf = Tfidf(min_length=1, threads=1).fit([text])
    spans = tfidf.spans(text)
    assert {span.feature for span in spans} == set(range(len(tfidf.terms())))
    for feature, start, end in spans:
        assert (
            Tfidf(min_length=1, threads=1)
            .fit([text[start:end]])
            .terms()
            .count(tfidf.terms([feature])[0])
            == 1
        )


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "texts", "message"),
    [
        ({}, [], "no texts to learn from"),
        ({}, ["", "!"], "no words were found in 2 texts with analyzer='word' and min_length=2"),
        ({"min_df": 3}, ["sun", "sun"], "none of the 1 terms is left with min_df=3"),
        ({"max_df": 0.5}, ["sun", "sun"], "none of the 1 terms is left"),
        ({}, "one text", "got one string"),
        ({}, ["sun", None], r"text 2 must be a string, got None \(NoneType\)"),
        ({"analyzer": "wrd"}, ["sun"], "unknown analyzer 'wrd'; known: 'word', 'char:2-4'"),
        ({"analyzer": "char:4-2"}, ["sun"], "unknown analyzer 'char:4-2'"),
        ({"analyzer": "char:0-2"}, ["sun"], "unknown analyzer 'char:0-2'"),
        ({"analyzer": None}, ["sun"], "analyzer must be a string, got None"),
        ({"analyzer": ["word"]}, ["sun"], "analyzer must be a string"),
        ({"analyzer": "char:2-4", "ngrams": (1, 2)}, ["sun"], "leave ngrams at"),
        (
            {"ngrams": (2, 1)},
            ["sun"],
            r"ngrams must be two .* smaller first, such as \[1, 2\], got \(2, 1\)",
        ),
        ({"ngrams": 2}, ["sun"], "ngrams must be two whole numbers"),
        ({"ngrams": (1, 2.5)}, ["sun"], "ngrams must be two whole numbers"),
        ({"norm": "l3"}, ["sun"], "norm must be 'l2' or None, got 'l3'"),
        ({"min_df": 1.5}, ["sun"], "min_df must be a whole number of texts or a share"),
        ({"max_df": -1}, ["sun"], "max_df must be a whole number of texts or a share"),
        ({"max_features": 0}, ["sun"], "max_features must be a whole number from 1, or None"),
        ({"threads": 0}, ["sun"], "threads must be a whole number from 1, or None"),
    ],
)
def test_refused(settings, texts, message):
    with pytest.raises(InputError, match=message):
        Tfidf(**settings).fit(texts)
    with pytest.raises(InputError, match=message):
        Tfidf(**settings).fit_transform(texts)


def test_an_error_in_the_stream_of_texts_comes_through():
    def texts():
        yield from ["sun and moon " * 50_000] * 6
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        Tfidf(threads=2).fit(texts())


def test_not_fitted():
    for call in (Tfidf().transform, Tfidf().spans):
        with pytest.raises(NotFittedError, match="call fit first"):
            call("x")
