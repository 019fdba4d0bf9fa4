"""Kernels of dense columns against plain numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgrove.models.linear import dense_kernels as kernels
from labelgrove.models.linear.product_kernels import add_product

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
    add_product(left, right, out)
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-3)


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
    add_product(left, right, out)
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-5)


def test_add_product_takes_a_transposed_matrix():
    rng = np.random.default_rng(0)
    left, right, out = numbers(rng, 3, 21), numbers(rng, 3, 16), numbers(rng, 21, 16)
    wanted = out + left.T @ right
    add_product(left.T, right, out)
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-5)


@quick
@given(seeds)
def test_a_block_scores_and_moves_as_row_after_row_would(seed):
    """Rows that are not due are left out; some of the others move the weights."""
    rng = np.random.default_rng(seed)
    n, d, width = 30, int(rng.integers(1, 20)), 16
    vectors, weights = numbers(rng, n, d), numbers(rng, d, width)
    documents, order = (rng.permutation(n).astype(np.int32) for _ in range(2))
    due = rng.integers(0, 3, n).astype(np.int32)
    k = int(rng.integers(0, n))
    order = np.append(order, order[due[order] <= 1][:1])[:n]  # in memory a row follows that is due
    block = np.zeros((kernels.BLOCK, d), np.float32)
    moved, changes, scores = (
        np.full((kernels.BLOCK, size), np.nan, np.float32) for size in (d, width, width)
    )
    size = kernels.score_block(order, k, due, 1, vectors, documents, weights, block, scores)
    rows = [i for i in order[k:] if due[i] <= 1][: kernels.BLOCK]
    assert size == len(rows)
    plain, n_moved = weights.astype(float), 0
    for at, i in enumerate(rows):
        score = np.ones(width, np.float32)
        kernels.add_block_scores(block, scores, at, moved, changes, n_moved, score)
        vector = vectors[documents[i]].astype(float)
        np.testing.assert_allclose(score, 1 + vector @ plain, rtol=1e-3, atol=1e-2)
        if rng.random() < 0.6:
            change = 0.1 * numbers(rng, width)
            kernels.note_change(block, at, change, moved, changes, n_moved)
            n_moved += 1
            plain += np.outer(vector, change)
    kernels.move_weights(moved, changes, n_moved, weights)
    np.testing.assert_allclose(weights, plain, rtol=1e-3, atol=1e-3)


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
