"""The search of sparse rows, against plain numpy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove.models.neighbours import kernels
from labelgrove.models.neighbours.memory import Postings, unit_rows
from labelgrove.text.vocabulary import read_only


def search(queries, documents, k, own, limit):
    columns = Postings.of(documents)
    found = np.empty((queries.shape[0], k), np.int32), np.empty((queries.shape[0], k), np.float32)
    read = [queries.indptr, queries.indices, queries.data]
    read += [documents.indptr, documents.indices, documents.data, *columns, own]
    read = list(map(read_only, read))  # so that nothing is compiled that a memory does not use
    part = 0, queries.shape[0]
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


def test_a_cosine_that_is_above_zero_by_rounding_alone_is_none():
    """The sum in single precision is 2^-26; the exact one is 0."""
    near, tiny = 2.0**-13, 2.0**-26
    query = csr_array(np.array([[-1, 1 + near, tiny]], np.float32))
    document = csr_array(np.array([[1, 1 - near, 1]], np.float32))
    found, cosines = search(query, document, 1, np.array([-1]), 1.0)
    assert found.tolist() == [[-1]]
    assert cosines.tolist() == [[0]]
