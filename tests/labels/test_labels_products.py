"""Co-occurrence and label vectors, against dense numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from labelgrove.core.errors import InputError
from labelgrove.core.features import TokenSequences
from labelgrove.labels import conditional, cooccurrence, label_vectors
from labelgrove.labels.blocks import product_blocks
from labelgrove.labels.kernels import heaviest_entries, largest, scale_rows


def random_csr(shape: tuple[int, int], density: float, seed: int) -> csr_array:
    rng = np.random.default_rng(seed)
    return csr_array(random_array(shape, density=density, format="csr", rng=rng, dtype=np.float32))


def test_cooccurrence_by_hand() -> None:
    Y = csr_array(np.array([[1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 0]], np.float32))
    counts = cooccurrence(Y)
    assert counts.toarray().tolist() == [[3, 2, 1, 0], [2, 2, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0]]
    assert cooccurrence(Y, top=1).toarray().tolist() == [
        [3, 2, 0, 0],
        [2, 2, 0, 0],
        [1, 0, 1, 0],  # labels 0 and 1 are equally strong: the lower number stays
        [0, 0, 0, 0],
    ]
    assert cooccurrence(Y, top=0).toarray().tolist() == np.diag([3, 2, 1, 0]).tolist()
    expected = [[1, 2 / 3, 1 / 3, 0], [1, 1, 0.5, 0], [1, 1, 1, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(conditional(counts).toarray(), expected, rtol=1e-6)
    with pytest.raises(InputError, match="top"):
        cooccurrence(Y, top=-1)


def test_blocks_do_not_change_the_product() -> None:
    A, B = random_csr((40, 30), 0.2, 0), random_csr((30, 20), 0.3, 1)
    for limit in (1, 50, 10**6):
        starts, rows = [], []
        for start, block in product_blocks(A, B, limit):
            starts.append(start)
            rows.append(block.toarray())
        np.testing.assert_allclose(np.concatenate(rows), (A @ B).toarray(), rtol=1e-5)
        assert (limit == 1) == (len(starts) == 40)
        assert (limit == 10**6) == (starts == [0])


@given(st.integers(0, 10**6), st.integers(0, 4))
def test_cooccurrence_is_the_product(seed: int, top: int) -> None:
    Y = random_csr((12, 7), 0.4, seed)
    dense = (Y.toarray() > 0).astype(int)
    full = dense.T @ dense
    assert cooccurrence(Y).toarray().tolist() == full.tolist()
    kept = cooccurrence(Y, top=top).toarray()
    for label, row in enumerate(full):
        others = [c for c in np.argsort(-row, kind="stable") if c != label and row[c]][:top]
        expected = np.zeros_like(row)
        expected[[label, *others]] = row[[label, *others]]
        assert kept[label].tolist() == expected.tolist()


def test_label_vectors_by_hand() -> None:
    # normalised rows: (0.6, 0.8, 0), (0, 0, 1), (0, 1, 0)
    X = csr_array(np.array([[3, 4, 0], [0, 0, 2], [0, 5, 0]], np.float64))
    Y = csr_array(np.array([[1, 1, 0], [0, 1, 0], [1, 0, 0]], np.float32))
    found = label_vectors(X, Y)
    assert found.dtype == np.float32
    first = np.array([0.6, 1.8, 0]) / np.hypot(0.6, 1.8)
    second = np.array([0.6, 0.8, 1]) / np.sqrt(2)
    np.testing.assert_allclose(found.toarray(), [first, second, [0, 0, 0]], rtol=1e-6)
    two = label_vectors(X, Y, heaviest=2).toarray()
    np.testing.assert_allclose(two[1], np.array([0, 0.8, 1]) / np.hypot(0.8, 1), rtol=1e-6)
    assert X.toarray().tolist() == [[3, 4, 0], [0, 0, 2], [0, 5, 0]]  # not changed


def test_label_vectors_of_tokens_and_of_bad_input() -> None:
    X = TokenSequences(np.array([0, 0, 1]), np.array([0, 3, 3]), n_terms=2)
    found = label_vectors(X, csr_array(np.array([[1, 0], [0, 1]])))
    np.testing.assert_allclose(found.toarray(), [[2 / 5**0.5, 1 / 5**0.5], [0, 0]], rtol=1e-6)
    with pytest.raises(InputError, match="X has 2 rows, Y has 1"):
        label_vectors(X, csr_array((1, 3)))
    with pytest.raises(InputError, match="heaviest"):
        label_vectors(X, csr_array((2, 3)), heaviest=0)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30), st.data())
def test_largest_agrees_with_a_stable_sort(values: list[int], data: st.DataObject) -> None:
    m = data.draw(st.integers(1, len(values)))
    array = np.array(values, np.float32)
    expected = np.zeros(len(values), bool)
    expected[np.argsort(-array, kind="stable")[:m]] = True
    assert largest(array, m).tolist() == expected.tolist()


def test_largest_of_many() -> None:
    rng = np.random.default_rng(0)
    for array in (rng.random(5000), np.arange(5000.0), -np.arange(5000.0), np.zeros(5000)):
        array = array.astype(np.float32)
        expected = np.sort(np.argsort(-array, kind="stable")[:2500])
        assert np.array_equal(np.flatnonzero(largest(array, 2500)), expected)


def test_row_kernels_agree_with_numpy() -> None:
    X = random_csr((20, 15), 0.5, 3)
    X.data[::2] *= -1
    offsets = X.indptr.astype(np.int64)
    kept = heaviest_entries(offsets, X.data, 4)
    for i in range(20):
        row = slice(offsets[i], offsets[i + 1])
        expected = np.sort(np.argsort(-np.abs(X.data[row]), kind="stable")[:4])
        assert np.flatnonzero(kept[row]).tolist() == expected.tolist()
    scaled = X.data.copy()
    scale_rows(offsets, scaled)
    dense = X.toarray()
    lengths = np.linalg.norm(dense, axis=1, keepdims=True)
    np.testing.assert_allclose(
        csr_array((scaled, X.indices, X.indptr), shape=X.shape).toarray(),
        dense / np.where(lengths > 0, lengths, 1),
        rtol=1e-5,
    )
