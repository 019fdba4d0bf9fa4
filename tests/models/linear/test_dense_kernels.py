"""Kernels of dense columns against plain numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from labelgrove.models.linear import dense_kernels as kernels
from labelgrove.models.linear import plain_products, product_kernels
from labelgrove.models.linear.plain_products import WHOLE_VECTORS
from labelgrove.models.linear.product_kernels import add_product, dots_tile

quick = settings(max_examples=50, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def numbers(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


@quick
@given(seeds, st.integers(0, 19), st.integers(1, 9), st.integers(0, 150), st.booleans())
def test_add_product_is_a_matrix_product(seed, m, k, n, whole):
    rng = np.random.default_rng(seed)
    left, out = numbers(rng, m, k), numbers(rng, m, n)
    right = rng.integers(-127, 128, (k, n)).astype(np.int8) if whole else numbers(rng, k, n)
    wanted = out + left.astype(float) @ right.astype(float)
    for products in (product_kernels, plain_products):
        found = out.copy()
        products.add_product(left, right, found)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("kind", [np.float32, np.int8])
def test_add_product_of_every_size_of_tiles(kind):
    """Small whole numbers, so that it is exact; rows before and behind are left as they are."""
    rng = np.random.default_rng(0)
    for m in (1, 2, 7, 8, 9, 16, 17):
        for n in (1, 3, 4, 5, 8, 15, 16, 17, 20, 21, 32, 63, 64, 65, 85, 128, 149):
            k = int(rng.integers(1, 6))
            left = rng.integers(-9, 10, (m, k)).astype(np.float32)
            right = rng.integers(-9, 10, (k, n)).astype(kind)
            out = rng.integers(-9, 10, (m + 2, n)).astype(np.float32)
            wanted = out.copy()
            wanted[1:-1] += left @ right.astype(np.float32)
            add_product(left, right, out[1:-1])
            np.testing.assert_array_equal(out, wanted)


@quick
@given(seeds, st.integers(1, 20), st.integers(1, 150))
def test_a_row_has_the_same_product_alone_and_among_others(seed, m, n):
    """Bit for bit: a text is ranked alike, whoever asks at the same time."""
    rng = np.random.default_rng(seed)
    left, right = numbers(rng, m, 37), rng.integers(-127, 128, (37, n)).astype(np.int8)
    together, alone = np.zeros((m, n), np.float32), np.zeros((m, n), np.float32)
    add_product(left, right, together)
    for row in range(m):
        add_product(left[row : row + 1], right, alone[row : row + 1])
    np.testing.assert_array_equal(together, alone)


def test_further_rows_of_both_matrices_are_not_read():
    rng = np.random.default_rng(0)
    left, right, out = numbers(rng, 13, 5), numbers(rng, 9, 21), numbers(rng, 11, 21)
    left[11:], right[5:] = np.nan, np.nan
    wanted = out + left[:11] @ right[:5]
    for products in (product_kernels, plain_products):
        found = out.copy()
        products.add_product(left, right, found)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@quick
@given(seeds, st.integers(1, 4), st.integers(1, 6), st.integers(1, 5))
def test_write_dots_multiplies_rows_with_rows(seed, fours_left, fours_right, vectors):
    """Whatever was there before, and no more columns than there are rows."""
    rng = np.random.default_rng(seed)
    left = numbers(rng, 4 * fours_left, WHOLE_VECTORS * vectors)
    right = numbers(rng, 4 * fours_right, WHOLE_VECTORS * vectors)
    for products in (product_kernels, plain_products):
        out = np.full((len(left), len(right) + 3), np.nan, np.float32)
        products.write_dots(left, right, out)
        np.testing.assert_allclose(out[:, :-3], left @ right.T, rtol=1e-4, atol=1e-4)
        assert np.isnan(out[:, -3:]).all()


@pytest.mark.parametrize("lanes", [8, 16])
def test_tiles_of_dot_products_for_every_width_of_registers(lanes):
    """Small whole numbers, so that it is exact; cells beside the tile are left as they are."""
    write_tile, n_columns = dots_tile(lanes), lanes // 4

    @njit
    def write(left, right, out):
        write_tile(left, right, out, 1, 2)

    rng = np.random.default_rng(0)
    left, right = (rng.integers(-9, 10, (7, 48)).astype(np.float32) for _ in range(2))
    out = np.full((7, 8), 0.5, np.float32)
    wanted = out.copy()
    wanted[1:5, 2 : 2 + n_columns] = left[1:5] @ right[2 : 2 + n_columns].T
    write(left, right, out)
    np.testing.assert_array_equal(out, wanted)


def test_weights_begin_with_a_line_of_the_cache():
    every = [kernels.zero_weights(n, d) for n, d in ((1, 1), (5, 17), (64, 256))]
    assert [weights.shape for weights in every] == [(4, 16), (8, 32), (64, 256)]
    assert all(weights.ctypes.data % 64 == 0 and not weights.any() for weights in every)


@quick
@given(seeds)
def test_a_block_scores_and_moves_as_row_after_row_would(seed):
    """Some of the rows move the weights of some labels; a second block follows the first."""
    rng = np.random.default_rng(seed)
    n, d, n_labels = 30, int(rng.integers(1, 20)), int(rng.integers(1, 12))
    vectors, documents = numbers(rng, n, d), rng.permutation(n).astype(np.int32)
    weights = kernels.zero_weights(n_labels, d)
    weights[:n_labels, :d] = numbers(rng, n_labels, d)
    plain = weights[:n_labels, :d].astype(float)
    rows = rng.permutation(n)[: rng.integers(1, 2 * kernels.BLOCK + 1)].astype(np.int32)
    block = np.zeros((kernels.BLOCK, weights.shape[1]), np.float32)
    products, scores = (np.empty((kernels.BLOCK, size), np.float32) for size in (8, len(weights)))
    for k, i in enumerate(rows):
        at = k % kernels.BLOCK
        if at == 0:
            kernels.score_block(rows[k:], vectors, documents, weights, block, products, scores)
        vector = vectors[documents[i]].astype(float)
        np.testing.assert_allclose(scores[at, :n_labels], plain @ vector, rtol=1e-3, atol=1e-2)
        labels = np.flatnonzero(rng.random(n_labels) < 0.3).astype(np.int32)
        steps = 0.1 * numbers(rng, n_labels)  # as many as there are labels: the first ones count
        kernels.move_labels(at, labels, steps, block, products, scores, weights)
        plain[labels] += np.outer(steps[: len(labels)], vector)
    np.testing.assert_allclose(weights[:n_labels, :d], plain, rtol=1e-3, atol=1e-3)
    assert not weights[n_labels:].any()
    assert not weights[:, d:].any()


@quick
@given(seeds, st.integers(1, 20), st.integers(1, 40))
def test_scores_of_visits_go_to_their_places(seed, n_visits, s):
    rng = np.random.default_rng(seed)
    dense, values = numbers(rng, 6, 5), rng.integers(-127, 128, (5, s)).astype(np.int8)
    bias, scale = numbers(rng, s), rng.random(s).astype(np.float32)
    rows = rng.integers(0, 6, n_visits)
    every = rng.permutation(n_visits)  # in memory, those that are not asked for follow
    visits = every[: rng.integers(1, n_visits + 1)]
    out = np.full((n_visits, s + 3), 9, np.float32)
    out_ptr = np.arange(n_visits) * (s + 3)
    kernels.write_scores(dense, rows, visits, out_ptr, out.reshape(-1), 2, bias, values, scale)
    wanted = np.full((n_visits, s + 3), 9.0)
    wanted[visits, 2 : 2 + s] = (bias + dense @ (values * scale.astype(float)))[rows[visits]]
    np.testing.assert_allclose(out, wanted, rtol=1e-3, atol=1e-2)
