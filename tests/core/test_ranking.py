import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array

from labelgrove.core.ranking import Ranking, ndcg, true_pairs


def sorted_in_python(scores, k):
    """The k best (label, score) of one row, equal scores by label number."""
    return sorted(enumerate(scores), key=lambda pair: (-pair[1], pair[0]))[:k]


@st.composite
def rankings(draw, n=None):
    """A padded ranking of n documents over up to 6 labels, and the truth beside it."""
    n = draw(st.integers(0, 6)) if n is None else n
    width = draw(st.integers(1, 6))
    entries = st.integers(0, 4)
    listed = draw(hnp.arrays(np.int64, (n, width), elements=entries))
    truth = draw(hnp.arrays(np.int64, (n, width + draw(st.integers(0, 2))), elements=entries))
    ranking = Ranking.from_csr(csr_array(listed / 4), draw(st.integers(1, 7)))
    return ranking, csr_array((truth > 2).astype(np.float32))


def test_types_and_shapes():
    ranking = Ranking([[1, 0]], [[0.5, 0.25]])
    assert ranking.labels.dtype == np.int32
    assert ranking.scores.dtype == np.float32
    assert (len(ranking), ranking.k) == (1, 2)


@pytest.mark.parametrize(
    ("labels", "scores"), [([0, 1], [0.5, 0.4]), ([[0, 1]], [[0.5]]), ([[[0]]], [[[0.5]]])]
)
def test_wrong_shapes(labels, scores):
    with pytest.raises(ValueError, match="two \\(n, k\\) arrays"):
        Ranking(np.array(labels), np.array(scores))


@settings(max_examples=100, deadline=None)
@given(
    hnp.arrays(
        np.float32,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=7),
        elements=st.sampled_from([0.0, 0.125, 0.25, 0.5, 1.0]),  # few values, so many ties
    ),
    st.integers(1, 9),
)
def test_from_dense_is_a_sort(scores, k):
    ranking = Ranking.from_dense(scores, k)
    assert ranking.k == min(k, scores.shape[1])
    for i, row in enumerate(scores.tolist()):
        assert list(ranking.row(i)) == sorted_in_python(row, k)


@settings(max_examples=100, deadline=None)
@given(
    hnp.arrays(
        np.float32,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=7),
        elements=st.sampled_from([0.0, 0.25, 0.5]),
    ),
    st.integers(1, 9),
)
def test_from_csr_lists_what_is_stored(scores, k):
    ranking = Ranking.from_csr(csr_array(scores), k)
    assert ranking.k == k
    for i, row in enumerate(scores.tolist()):
        stored = [pair for pair in sorted_in_python(row, None) if pair[1] > 0][:k]
        assert list(ranking.row(i)) == stored
    assert (ranking.scores[ranking.labels < 0] == 0).all()


def test_from_pairs_takes_any_order_and_leaves_rows_empty():
    ranking = Ranking.from_pairs(
        np.array([2, 0, 2, 2]), np.array([1, 3, 0, 2]), np.array([0.5, 0.875, 0.5, 0.75]), n=3, k=2
    )
    assert ranking.labels.tolist() == [[3, -1], [-1, -1], [2, 0]]
    assert ranking.scores.tolist() == [[0.875, 0], [0, 0], [0.75, 0.5]]


@settings(max_examples=60, deadline=None)
@given(rankings(), st.integers(0, 9))
def test_to_csr_and_back(case, more):
    ranking, Y = case
    scores = ranking.to_csr(Y.shape[1] + more)
    assert scores.shape == (len(ranking), Y.shape[1] + more)
    again = Ranking.from_csr(scores, ranking.k)
    assert again.labels.tolist() == ranking.labels.tolist()
    assert again.scores.tolist() == ranking.scores.tolist()


@settings(max_examples=100, deadline=None)
@given(rankings())
def test_hits_against_a_lookup(case):
    ranking, Y = case
    truth = Y.toarray() != 0
    expected = [
        [label >= 0 and bool(truth[i, label]) for label in row]
        for i, row in enumerate(ranking.labels.tolist())
    ]
    found = ranking.hits(Y)
    assert found.dtype == np.bool_
    assert found.shape == ranking.labels.shape
    assert found.tolist() == expected


def test_hits_when_y_knows_fewer_or_more_labels():
    ranking = Ranking(np.array([[4, 0], [0, 4]]), np.array([[0.9, 0.1], [0.9, 0.1]]))
    narrow = csr_array(np.array([[1, 0], [0, 1]]))
    assert ranking.hits(narrow).tolist() == [[False, True], [False, False]]
    wide = csr_array(([1, 1], ([0, 1], [90, 4])), shape=(2, 100))
    assert ranking.hits(wide).tolist() == [[False, False], [False, True]]


def test_padding_is_not_mistaken_for_the_last_label_of_the_row_before():
    ranking = Ranking(np.array([[0], [-1]]), np.array([[0.9], [0.0]]))
    assert ranking.hits(csr_array(np.array([[0, 1], [1, 0]]))).tolist() == [[False], [False]]


def test_hits_ignore_stored_zeros():
    Y = csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    ranking = Ranking(np.array([[0, 1]]), np.array([[0.9, 0.8]]))
    assert ranking.hits(Y).tolist() == [[False, True]]


def test_hits_of_label_numbers_beyond_32_bits_of_cells():
    # 3,000 documents x 2,000,000 labels: positions pass 2**32
    Y = csr_array(([1.0], ([2999], [1_999_999])), shape=(3000, 2_000_000))
    ranking = Ranking(np.full((3000, 1), 1_999_999), np.ones((3000, 1)))
    assert np.flatnonzero(ranking.hits(Y)).tolist() == [2999]


def test_hits_of_other_documents_are_refused():
    with pytest.raises(ValueError, match="1 documents, Y has 2"):
        Ranking.empty(1, 1).hits(csr_array((2, 1)))


def test_top_pad_and_rows():
    ranking = Ranking(np.array([[2, 0], [1, -1]]), np.array([[0.75, 0.5], [0.25, 0.0]]))
    assert ranking.top(1).labels.tolist() == [[2], [1]]
    assert ranking.top(9).labels.tolist() == ranking.labels.tolist()
    assert ranking.pad(2) is ranking
    wide = ranking.pad(3)
    assert wide.labels.tolist() == [[2, 0, -1], [1, -1, -1]]
    assert wide.scores.tolist() == [[0.75, 0.5, 0], [0.25, 0, 0]]
    assert list(ranking.row(1)) == [(1, 0.25)]
    for rows in (slice(1, 2), np.array([1]), np.array([False, True])):
        assert ranking[rows].labels.tolist() == [[1, -1]]


def test_concatenate_pads_and_keeps_order():
    first = Ranking(np.array([[2, 0]]), np.array([[0.75, 0.5]]))
    second = Ranking(np.array([[1]]), np.array([[0.25]]))
    joined = Ranking.concatenate([first, second])
    assert joined.labels.tolist() == [[2, 0], [1, -1]]
    assert joined.scores.tolist() == [[0.75, 0.5], [0.25, 0]]
    assert Ranking.concatenate([]).labels.shape == (0, 0)


def test_with_scores_leaves_padding_at_zero():
    ranking = Ranking(np.array([[2, -1]]), np.array([[0.75, 0.0]]))
    assert ranking.with_scores(np.array([[0.5, 0.5]])).scores.tolist() == [[0.5, 0.0]]
    assert ranking.scores.tolist() == [[0.75, 0.0]]


def test_ndcg_by_hand():
    # doc 0: hits at places 1 and 3 of 3, two labels true; doc 1: none true; doc 2: hit at place 2
    Y = csr_array(np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]]))
    ranking = Ranking(
        np.array([[0, 1, 2], [0, 1, 2], [2, 1, -1]]), np.array([[3, 2, 1], [3, 2, 1], [2, 1, 0]])
    )
    second = 1 / np.log2(3)
    assert ndcg(ranking, Y, 1) == pytest.approx([1, 0, 0])
    assert ndcg(ranking, Y, 3) == pytest.approx([1.5 / (1 + second), 0, second])
    assert ndcg(ranking, Y, 10) == pytest.approx(ndcg(ranking, Y, 3))


@settings(max_examples=60, deadline=None)
@given(rankings(n=4), st.integers(1, 9))
def test_ndcg_is_a_fraction_and_one_for_the_truth_itself(case, k):
    ranking, Y = case
    values = ndcg(ranking, Y, k)
    assert values.shape == (4,)
    assert ((values >= 0) & (values <= 1 + 1e-12)).all()
    best = ndcg(Ranking.from_csr(Y, k), Y, k)
    assert best == pytest.approx((np.diff(Y.indptr) > 0).astype(float))


def test_true_pairs_are_told():
    Y = csr_array(np.array([[0, 1, 0], [1, 0, 1]], np.float32))
    told = true_pairs(Y, np.array([0, 0, 1, 1, 0]), np.array([1, 0, 2, 1, 2]))
    assert told.tolist() == [True, False, True, False, False]
