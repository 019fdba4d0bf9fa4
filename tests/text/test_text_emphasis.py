"""Words count by where they stand: in the first line, and the later the less."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgrove.core.errors import InputError
from labelgrove.text import Tfidf, tokenize

TEXTS = st.lists(
    st.lists(st.sampled_from(["sun", "wind", "rain", "\n", "東京", "."]), max_size=12).map(
        " ".join
    ),
    min_size=1,
    max_size=6,
)


def by_hand(text, first_line, fade_after, sublinear):
    """The weight of each word in a text, before rarity and length."""
    line, end, _ = text.partition("\n")
    n_first = len(tokenize(line)) if end else 0
    places, counts = {}, {}
    for place, word in enumerate(tokenize(text)):
        places.setdefault(word, place)
        counts[word] = counts.get(word, 0) + (first_line if place < n_first else 1)
    weights = {word: 1 + math.log(count) if sublinear else count for word, count in counts.items()}
    if fade_after:
        weights = {w: v / (1 + math.log(1 + places[w] / fade_after)) for w, v in weights.items()}
    return weights


@given(TEXTS, st.sampled_from([1, 2, 5]), st.sampled_from([None, 0.5, 30.0]), st.booleans())
@settings(deadline=None)
def test_weights_are_those_of_hand(texts, first_line, fade_after, sublinear):
    texts = [*texts, "sun wind rain 東京"]
    tfidf = Tfidf(
        first_line=first_line, fade_after=fade_after, sublinear=sublinear, norm=None, min_length=1
    )
    X = tfidf.fit_transform(texts)
    np.testing.assert_array_equal(X.toarray(), tfidf.transform(texts).toarray())
    terms, rows = tfidf.terms(), (X / tfidf.idf_[None, :]).toarray()
    for text, row in zip(texts, rows, strict=True):
        wanted = by_hand(text, first_line, fade_after, sublinear)
        found = {term: row[i] for i, term in enumerate(terms) if len(term) != 2}
        # pairs of characters have places of their own
        assert {t: v for t, v in found.items() if v} == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("analyzer", ["word", "char:3", "snowball:en"])
def test_the_first_line_counts_more_whatever_a_term_is(analyzer):
    plain, more = (
        Tfidf(analyzer=analyzer, first_line=n, norm=None).fit_transform(["wind\nrain", "rain"])
        for n in (1, 3)
    )
    rain, first = plain[[1]].indices, np.setdiff1d(plain[[0]].indices, plain[[1]].indices)
    assert (more[[0]][:, first].toarray() > 1.5 * plain[[0]][:, first].toarray()).all()
    assert (more[:, rain] != plain[:, rain]).nnz == 0


def test_neighbouring_words_have_the_place_of_the_first():
    tfidf = Tfidf(ngrams=(1, 2), fade_after=1.0, norm=None)
    X = tfidf.fit_transform(["sun wind rain"])
    values = dict(zip(tfidf.terms(), X.toarray()[0], strict=True))
    assert values["wind rain"] == values["wind"] < values["sun wind"] == values["sun"]
    assert values["sun"] == tfidf.idf_[0]


def test_a_text_of_one_line_and_an_empty_first_line_are_as_without():
    texts = ["wind and rain", "\nwind and rain", ""]
    same = Tfidf(first_line=4).fit_transform(texts).toarray()
    np.testing.assert_allclose(same, Tfidf().fit_transform(texts).toarray(), rtol=1e-6)


def test_what_cannot_be_is_refused():
    with pytest.raises(InputError, match="fade_after"):
        Tfidf(fade_after=0).fit(["a"])
    with pytest.raises(InputError, match="first_line"):
        Tfidf(first_line=0).fit(["a"])
