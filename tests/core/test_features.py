import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove.core.features import TokenSequences, Views, as_bag

TEXTS = st.lists(st.lists(st.integers(0, 6), max_size=5), max_size=8)


def sequences(texts):
    offsets = np.cumsum([0, *(len(text) for text in texts)])
    return TokenSequences(np.array([t for text in texts for t in text], int), offsets, n_terms=7)


def as_lists(X):
    return [X.sequence(i).tolist() for i in range(len(X))]


@given(TEXTS)
def test_sequences_are_what_went_in(texts):
    X = sequences(texts)
    assert X.shape == (len(texts), 7)
    assert as_lists(X) == texts
    assert X.lengths.tolist() == [len(text) for text in texts]
    assert X.tokens.dtype == np.int32
    assert X.offsets.dtype == np.int64


@settings(max_examples=100)
@given(TEXTS, st.data())
def test_rows_by_index_mask_and_slice(texts, data):
    X, n = sequences(texts), len(texts)
    indices = data.draw(st.lists(st.integers(-n, n - 1), max_size=6) if n else st.just([]))
    chosen = X[np.array(indices, int)]
    assert as_lists(chosen) == [texts[i] for i in indices], "also repeated, negative, in any order"
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
    assert as_lists(X[mask]) == [text for text, kept in zip(texts, mask, strict=True) if kept]
    rows = data.draw(st.slices(n))
    assert as_lists(X[rows]) == texts[rows]
    assert chosen.n_terms == 7


@given(TEXTS)
def test_bag_counts_terms(texts):
    bag = sequences(texts).bag()
    assert bag.shape == (len(texts), 7)
    assert bag.dtype == np.float32
    assert bag.toarray().tolist() == [[text.count(term) for term in range(7)] for text in texts]


def test_bag_leaves_the_tokens_in_their_order():
    X = sequences([[3, 1, 3, 0]])
    X.bag()
    assert as_lists(X) == [[3, 1, 3, 0]]


def test_bag_of_read_only_arrays_as_a_saved_folder_gives_them():
    tokens, offsets = np.array([3, 1, 3], np.int32), np.array([0, 3])
    tokens.flags.writeable = offsets.flags.writeable = False
    assert TokenSequences(tokens, offsets, 4).bag().toarray().tolist() == [[0, 1, 0, 2]]


def test_as_bag():
    rows = csr_array(np.eye(2))
    assert as_bag(rows) is rows
    assert as_bag(sequences([[1, 1]])).toarray()[0, 1] == 2


def test_views_take_rows_together():
    views = Views({"words": csr_array(np.eye(3)), "tokens": sequences([[1], [2, 3], []])})
    assert views.shape == (3, 3 + 7)
    assert list(views) == ["words", "tokens"]
    assert len(views) == 2
    for rows in (np.array([2, 1]), slice(1, None)):
        part = views[rows]
        assert isinstance(part, Views)
        assert part.shape[0] == 2
    part = views[np.array([2, 1])]
    assert as_lists(part["tokens"]) == [[], [2, 3]]
    assert part["words"].toarray().tolist() == [[0, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("views", [{}, {"a": csr_array((2, 1)), "b": csr_array((3, 1))}])
def test_views_of_different_texts_are_refused(views):
    with pytest.raises(ValueError, match="same number of rows"):
        Views(views)


def test_an_unknown_view():
    with pytest.raises(KeyError, match="other"):
        Views({"a": csr_array((2, 1))})["other"]
