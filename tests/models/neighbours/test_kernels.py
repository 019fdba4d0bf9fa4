"""The search of sparse rows, against plain numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove.models.neighbours import kernels
from labelgrove.models.neighbours.memory import Postings, unit_rows
from labelgrove.text.vocabulary import read_only


def search(queries, documents, k, own, limit, first=0):
    """Return the documents and similarities of the queries from the first on."""
    columns = Postings.of(documents)
    shape = queries.shape[0] - first, k
    found = np.full(shape, 77, np.int32), np.full(shape, 77, np.float32)
    read = [queries.indptr, queries.indices, queries.data]
    read += [documents.indptr, documents.indices, documents.data, *columns, own]
    read = list(map(read_only, read))  # so that nothing is compiled that a memory does not use
    part = first, queries.shape[0]
    kernels.nearest_rows(*read[:3], *part, *read[3:], np.float32(limit), *found)
    return found


def plain(queries, documents, k, own, limit):
    """The same, by a dense product."""
    cosines = queries.toarray().astype(float) @ documents.toarray().astype(float).T
    cosines = np.minimum(cosines.astype(np.float32), 1)
    numbers = np.full((len(cosines), k), -1)
    values = np.zeros((len(cosines), k), np.float32)
    for i, row in enumerate(cosines):
        if own[i] >= 0:
            row[own[i]] = 0
            row[row > np.float32(limit)] = 0
        order = sorted(np.flatnonzero(row > 0), key=lambda d: (-row[d], d))[:k]
        numbers[i, : len(order)], values[i, : len(order)] = order, row[order]
    return numbers, values


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 300),
    width=st.integers(1, 40),
    k=st.integers(1, 12),
    limit=st.sampled_from([0.5, 0.95, 1.0]),
    signed=st.booleans(),
)
def test_the_search_is_that_of_a_dense_product(seed, n, width, k, limit, signed):
    random = np.random.default_rng(seed)
    dense = random.integers(-3 if signed else 0, 4, (n, width)) * (random.random((n, width)) < 0.3)
    rows = unit_rows(csr_array(dense.astype(np.float32)))
    own = np.where(random.random(n) < 0.8, np.arange(n), -1)
    documents, similarities = search(rows, rows, k, own, limit)
    expected, values = plain(rows, rows, k, own, limit)
    # the last bit of a cosine depends on the order of its sum, which may turn places or pass 0
    assert np.allclose(similarities, values, atol=1e-6)
    assert ((documents >= 0) == (similarities > 0)).all()
    clear = np.abs(np.diff(values, axis=1, prepend=2, append=-1)) > 1e-6
    clear = clear[:, 1:] & clear[:, :-1] & (values > 1e-6)
    assert np.array_equal(documents[clear], expected[clear])


def test_a_small_case_by_hand():
    documents = unit_rows(csr_array(np.array([[3, 4, 0], [1, 0, 0], [0, 0, 2], [3, 4, 0.0]])))
    queries = unit_rows(csr_array(np.array([[1, 0, 0], [0, 0, 0], [0, 5, 0.0]])))
    found, cosines = search(queries, documents, 3, np.full(3, -1), 1.0)
    assert found.tolist() == [[1, 0, 3], [-1, -1, -1], [0, 3, -1]]  # equal ones by number
    assert np.allclose(cosines, [[1, 0.6, 0.6], [0, 0, 0], [0.8, 0.8, 0]])


def test_of_a_document_itself_and_its_doubles_are_left_out():
    """Not of a query that is none of the documents: there is no limit for it."""
    rows = csr_array(np.array([[1, 0], [1, 0], [0.6, 0.8]], np.float32))
    found, _ = search(rows, rows, 3, np.array([0, 1, -1]), 0.7)
    assert found.tolist() == [[2, -1, -1], [2, -1, -1], [2, 0, 1]]


def test_a_cosine_that_is_above_zero_by_rounding_alone_is_none():
    """The sum in single precision is 2^-26; the exact one is 0."""
    near, tiny = 2.0**-13, 2.0**-26
    query = csr_array(np.array([[-1, 1 + near, tiny]], np.float32))
    document = csr_array(np.array([[1, 1 - near, 1]], np.float32))
    found, cosines = search(query, document, 1, np.array([-1]), 1.0)
    assert found.tolist() == [[-1]]
    assert cosines.tolist() == [[0]]


def exact_rows(random, n, width):
    """Unit rows of 0, 1, 4 or 16 numbers that are powers of two: all cosines are exact."""
    dense = np.zeros((n, width), np.float32)
    for row in dense:
        size = random.choice([0, 1, 4, 16])
        row[random.choice(width, size, replace=False)] = random.choice([-1, 1, 1], size)
        row /= max(1, np.sqrt(size))
    return csr_array(dense)


@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 257])
@pytest.mark.parametrize("limit", [0.25, 0.5, 1.0])
def test_exact_cosines_and_their_ties(n, limit):
    """Around the runs of 128 documents, with cosines that are just the limit."""
    for seed in range(3):
        random = np.random.default_rng(seed)
        documents = exact_rows(random, n, 20)
        for k in (1, 4, 20):
            first = int(random.integers(0, n))
            own = np.where(random.random(n) < 0.7, np.arange(n), -1)
            found = search(documents, documents, k, own, limit, first)
            for one, other in zip(found, plain(documents, documents, k, own, limit), strict=True):
                np.testing.assert_array_equal(one, other[first:])


def test_the_only_similar_document_is_found_wherever_it_is():
    query = csr_array(np.array([[1, 0]], np.float32))
    for n in (1, 2, 128, 129, 256, 257):
        for place in {0, n - 1, min(127, n - 1), min(128, n - 1)}:
            dense = np.tile(np.array([[0, 1]], np.float32), (n, 1))
            dense[place] = 0.6, 0.8
            found, cosines = search(query, csr_array(dense), 1, np.array([-1]), 1.0)
            assert (found.tolist(), cosines.tolist()) == ([[place]], [[np.float32(0.6)]])


def test_the_least_cosine_that_counts():
    document = csr_array(np.array([[1e-30, 1]], np.float32))
    query = csr_array(np.array([[1, 0]], np.float32))
    found, cosines = search(query, document, 1, np.array([-1]), 1.0)
    assert found.tolist() == [[0]]
    assert cosines.tolist() == [[np.float32(1e-30)]]


def test_no_cosine_is_above_one():
    """Though the length of a rounded row may be."""
    random = np.random.default_rng(0)
    rows = unit_rows(csr_array(random.random((50, 3)).astype(np.float32)))
    lengths = (rows.toarray().astype(float) ** 2).sum(axis=1).astype(np.float32)
    assert (lengths > 1).any()
    found, cosines = search(rows, rows, 1, np.full(50, -1), 1.0)
    assert found[:, 0].tolist() == list(range(50))
    assert (cosines[:, 0] == np.minimum(lengths, 1)).all()


@pytest.mark.parametrize("n", [0, 1, 5, 128, 129, 300])
@pytest.mark.parametrize("k", [1, 3, 12])
def test_the_edge_is_the_score_of_the_last_of_the_best(n, k):
    """Less twice what rounding adds; documents that may be above the limit do not count."""
    slack = np.float32(1e-5)
    limit = np.float32(0.75)
    values = [-0.5, 0, slack / 2, slack, 0.25, 0.5, limit - slack, limit - slack / 2, limit, 0.9]
    for seed in range(12):
        random = np.random.default_rng(seed)
        some = random.choice(len(values), 3 if seed % 2 else len(values), replace=False)
        scores = random.choice(np.array(values, np.float32)[some], n).astype(np.float32)
        own = int(random.integers(-1, max(n, 1)))
        counted = (scores >= slack) & (scores <= limit - slack) & (np.arange(n) != own)
        best = np.sort(scores[counted])[::-1]
        wanted = best[k - 1] - np.float32(2) * slack if len(best) >= k else np.float32(-1)
        scratch = np.empty(k, np.float32), np.empty(k, np.int32)
        whole = np.append(scores, np.zeros(-n % kernels.RUN, np.float32))
        assert kernels._edge(whole, own, limit, *scratch) == wanted


def test_the_edge_counts_the_last_document_of_a_run():
    scores = np.zeros(2 * kernels.RUN, np.float32)
    scores[kernels.RUN - 1], scores[-1] = 0.5, 0.25
    scratch = np.empty(2, np.float32), np.empty(2, np.int32)
    assert kernels._edge(scores, -1, np.float32(1), *scratch) == np.float32(0.25 - 2e-5)


def test_whether_any_score_is_great_enough():
    scores = np.array([0.5, 0.25, 0.75], np.float32)
    for first, last, least in ((0, 3, 0.75), (0, 2, 0.75), (0, 1, 0.5), (1, 3, 0.5), (2, 2, 0)):
        found = kernels._any_from(scores, first, last, np.float32(least))
        assert found == (scores[first:last] >= least).any()
