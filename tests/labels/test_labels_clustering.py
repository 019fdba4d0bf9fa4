"""Clustering: exact halves, quality on data with a known answer, agreement with numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array, random_array

from labelgrove.core.errors import InputError
from labelgrove.labels import k_means, kernels, two_means
from labelgrove.labels.clustering import arrays, check_vectors, halving


def random_vectors(n: int, d: int, density: float, seed: int) -> csr_array:
    rng = np.random.default_rng(seed)
    return csr_array(random_array((n, d), density=density, format="csr", rng=rng))


def groups(n_groups: int, size: int, seed: int) -> tuple[csr_array, NDArray[np.int64]]:
    """Vectors around well separated centres, shuffled, and the group of each."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.repeat(np.arange(n_groups), size))
    dense = 0.15 * rng.random((len(truth), 4 * n_groups))
    for i, group in enumerate(truth):
        dense[i, 4 * group : 4 * group + 4] += 0.5 + 0.2 * rng.random(4)
    return csr_array(dense), truth


def same_partition(a: NDArray[np.integer], b: NDArray[np.integer]) -> bool:
    return (
        len(set(zip(a.tolist(), b.tolist(), strict=True)))
        == len(set(a.tolist()))
        == len(set(b.tolist()))
    )


def mean_cosine(vectors: csr_array, clusters: NDArray[np.integer]) -> float:
    dense = check_vectors(vectors).toarray()
    return sum(
        float(np.linalg.norm(dense[clusters == c].sum(axis=0))) for c in np.unique(clusters)
    ) / len(clusters)


@given(st.integers(0, 60), st.floats(0, 0.6), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_halves_are_exact(n: int, density: float, seed: int) -> None:
    vectors = random_vectors(n, 8, density, seed)
    halves = two_means(vectors, seed)
    assert halves.shape == (n,)
    assert (halves == 0).sum() == (n + 1) // 2
    assert (halves == 1).sum() == n // 2
    assert np.array_equal(halves, two_means(vectors, seed))


@pytest.mark.parametrize("seed", range(5))
def test_two_clear_groups_are_found(seed: int) -> None:
    vectors, truth = groups(2, 30, seed)
    assert same_partition(two_means(vectors, seed), truth)


@pytest.mark.parametrize("seed", range(3))
def test_halving_twice_finds_four_clear_groups(seed: int) -> None:
    vectors, truth = groups(4, 20, seed)
    steps = halving(check_vectors(vectors), seed)
    first, second = next(steps), next(steps)
    assert same_partition(second, truth)
    assert np.array_equal(second // 2, first)


def test_halving_does_not_depend_on_threads_but_on_the_seed() -> None:
    vectors = check_vectors(random_vectors(300, 60, 0.1, 0))
    runs = []
    for seed, threads in ((0, 1), (0, 2), (0, 7), (1, 1)):
        steps = halving(vectors, seed, threads)
        runs.append([next(steps) for _ in range(5)])
    for level in range(5):
        assert np.array_equal(runs[0][level], runs[1][level])
        assert np.array_equal(runs[0][level], runs[2][level])
        sizes = np.bincount(runs[0][level], minlength=2 ** (level + 1))
        assert sizes.max() - sizes.min() <= 1
    assert not np.array_equal(runs[0][0], runs[3][0])


def test_halve_agrees_with_plain_numpy() -> None:
    vectors = check_vectors(random_vectors(41, 30, 0.2, 5))
    offsets, features, values, m = arrays(vectors)
    found = kernels.halve(offsets, features, values, m, 3, 8, 0, 4, 0.0)

    dense = vectors.toarray().astype(np.float64)
    weights = dense[3] - dense[8]
    for _ in range(4):
        left = np.zeros(41, bool)
        left[np.argsort(-(dense @ weights), kind="stable")[:21]] = True
        a, b = dense[left].sum(axis=0), dense[~left].sum(axis=0)
        weights = a / np.linalg.norm(a) - b / np.linalg.norm(b)
    assert found.tolist() == left.tolist()


def test_local_rows_are_the_rows_renumbered() -> None:
    vectors = random_vectors(20, 50, 0.1, 2).astype(np.float32)
    offsets, features, values, n_features = arrays(vectors)
    rows = np.array([3, 4, 11])
    places = np.full(n_features, -1, np.int32)
    local = kernels.local_rows(offsets, features, values, rows, places)
    assert (places == -1).all()
    used = np.unique(vectors[rows].indices)
    assert local[3] == len(used)
    here = csr_array((local[2], local[1], local[0]), shape=(3, local[3])).toarray()
    there = vectors[rows].toarray()
    assert sorted(map(tuple, here.T)) == sorted(map(tuple, there[:, used].T))


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_k_means_comes_close_to_the_known_groups(seed: int, balanced: bool) -> None:
    vectors, truth = groups(5, 12, seed)
    best = max(
        mean_cosine(vectors, k_means(vectors, 5, seed=s, balanced=balanced)) for s in range(8)
    )
    assert best == pytest.approx(mean_cosine(vectors, truth))


@given(st.integers(0, 40), st.integers(1, 12), st.floats(0, 0.5), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_k_means_fills_every_cluster(n: int, k: int, density: float, seed: int) -> None:
    vectors = random_vectors(n, 9, density, seed)
    for balanced in (False, True):
        found = k_means(vectors, k, seed=seed, balanced=balanced, threads=1)
        sizes = np.bincount(found, minlength=min(k, n))
        assert found.shape == (n,)
        assert len(sizes) == min(k, n)
        assert n == 0 or sizes.min() >= 1
        if balanced and n:
            assert sizes.max() - sizes.min() <= 1
        again = k_means(vectors, k, seed=seed, balanced=balanced, threads=3)
        assert np.array_equal(found, again)


def test_nearest_agrees_with_numpy() -> None:
    vectors = check_vectors(random_vectors(30, 12, 0.4, 1))
    offsets, features, values, m = arrays(vectors)
    rng = np.random.default_rng(0)
    sums = rng.random((m, 4)).astype(np.float32)
    scales = (1 / np.linalg.norm(sums, axis=0)).astype(np.float32)
    chosen = np.zeros(30, np.int32)
    best, second = np.empty((2, 30), np.float32)
    kernels.nearest(0, 30, offsets, features, values, sums, scales, chosen, best, second)
    cosines = vectors.toarray()[:, :m] @ (sums * scales)
    assert chosen.tolist() == cosines.argmax(axis=1).tolist()
    np.testing.assert_allclose(best, np.sort(cosines)[:, -1], rtol=1e-5)
    np.testing.assert_allclose(second, np.sort(cosines)[:, -2], rtol=1e-5)

    held = np.full(30, -1, np.int32)
    total = np.zeros((m, 4), np.float32)
    kernels.regroup(rng.integers(0, 4, 30).astype(np.int32), held, offsets, features, values, total)
    lengths = kernels.regroup(chosen, held, offsets, features, values, total)
    expected = np.stack([vectors.toarray()[chosen == c].sum(axis=0) for c in range(4)])
    np.testing.assert_allclose(lengths, np.linalg.norm(expected, axis=1), rtol=1e-4)
    assert held.tolist() == chosen.tolist()


def test_vectors_that_cannot_be_told_apart() -> None:
    for vectors in (csr_array((10, 4)), csr_array(np.ones((10, 4))), csr_array((10, 0))):
        assert np.bincount(two_means(vectors)).tolist() == [5, 5]
        assert np.bincount(k_means(vectors, 3, balanced=True)).tolist() in (
            [4, 3, 3],
            [3, 4, 3],
            [3, 3, 4],
        )
        assert len(np.unique(k_means(vectors, 3))) == 3
    assert k_means(csr_array((10, 4)), 1).tolist() == [0] * 10


def test_a_feature_in_two_entries_is_one() -> None:
    twice = csr_array((np.array([1.0, 1.0, 3.0]), [0, 0, 1], [0, 3]), shape=(1, 2))
    np.testing.assert_allclose(
        check_vectors(twice).toarray(), np.array([[2, 3]]) / 13**0.5, rtol=1e-6
    )
    assert twice.nnz == 3


def test_what_cannot_be_clustered_is_refused() -> None:
    with pytest.raises(InputError, match="k must be"):
        k_means(csr_array((3, 3)), 0)
    with pytest.raises(InputError, match="rounds"):
        k_means(csr_array((3, 3)), 2, rounds=0)
    with pytest.raises(InputError, match="threads"):
        k_means(csr_array((3, 3)), 2, threads=0)
    with pytest.raises(InputError, match="sparse"):
        two_means(np.ones((3, 3)))
    with pytest.raises(InputError, match="finite"):
        two_means(csr_array([[np.nan, 1.0]]))
