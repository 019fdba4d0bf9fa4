"""Each kernel against plain numpy or Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove.models.linear import kernels

seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=50, deadline=None)


def sparse(rng, n, width, density=0.3):
    """A csr array of small random numbers; some rows are empty."""
    dense = rng.standard_normal((n, width)) * (rng.random((n, width)) < density)
    return csr_array(dense.astype(np.float32))


# --- training -----------------------------------------------------------------------------------


@quick
@given(seeds)
def test_gather_copies_rows_and_numbers_their_features_anew(seed):
    rng = np.random.default_rng(seed)
    X = sparse(rng, rng.integers(1, 12), rng.integers(1, 20), rng.choice([0.0, 0.1, 0.5]))
    rows = np.flatnonzero(rng.random(X.shape[0]) < 0.5).astype(np.int32)
    place = np.full(X.shape[1], -1, np.int32)
    indptr, indices, data, features = kernels.gather(X.indptr, X.indices, X.data, rows, place)
    used = np.flatnonzero((X.toarray()[rows] != 0).any(axis=0))
    assert features.tolist() == used.tolist()
    copy = csr_array((data, indices, indptr), shape=(len(rows), len(features)))
    np.testing.assert_array_equal(copy.toarray(), X.toarray()[rows][:, used])
    assert (place == -1).all(), "the scratch must be left as it was"


@quick
@given(seeds)
def test_truth_lists_the_true_children_of_a_node(seed):
    rng = np.random.default_rng(seed)
    n, n_nodes = rng.integers(1, 10), rng.integers(1, 4)
    parent = np.sort(rng.integers(0, n_nodes, rng.integers(1, 15))).astype(np.int32)
    place = np.array([np.sum(parent[:c] == parent[c]) for c in range(len(parent))], np.int32)
    below = csr_array((rng.random((n, len(parent))) < 0.4).astype(np.float32))
    rows = np.flatnonzero(rng.random(n) < 0.7).astype(np.int32)
    node = int(rng.integers(0, n_nodes))
    first, last = sorted(rng.integers(0, 8, 2).tolist())
    ptr, found = kernels.truth(below.indptr, below.indices, rows, parent, place, node, first, last)
    for i, row in enumerate(rows):
        wanted = [
            place[c] - first
            for c in np.flatnonzero(below.toarray()[row])
            if parent[c] == node and first <= place[c] < last
        ]
        assert found[ptr[i] : ptr[i + 1]].tolist() == wanted
    assert ptr[-1] == len(found)


@quick
@given(seeds, st.sampled_from([0.25, 0.5, 1.0, 9.0]))
def test_compress_keeps_what_reaches_the_threshold(seed, threshold):
    rng = np.random.default_rng(seed)
    weights = rng.integers(-4, 5, (rng.integers(1, 10), rng.integers(1, 6))).astype(np.float32) / 4
    features = np.sort(rng.choice(50, len(weights) - 1, replace=False)).astype(np.int32)
    kept, ptr, labels, values = kernels.compress(weights, features, threshold)
    wanted = np.where(np.abs(weights[:-1]) >= threshold, weights[:-1], 0)
    assert kept.tolist() == features[wanted.any(axis=1)].tolist()
    rows = csr_array((values, labels.astype(np.int32), ptr), shape=(len(kept), weights.shape[1]))
    np.testing.assert_array_equal(rows.toarray(), wanted[wanted.any(axis=1)])
    assert (values != 0).all()
    assert labels.dtype == np.uint16


# --- ranking ------------------------------------------------------------------------------------


def two_chunks(rng, n_features, density):
    """Weights (n_features, 7) as chunks of children 0-3 and 4-6, in the arrays of a forest."""
    dense = (rng.standard_normal((n_features, 7)) * (rng.random((n_features, 7)) < density)).astype(
        np.float32
    )
    parts = []
    for columns in (slice(0, 4), slice(4, 7)):
        weights = np.vstack([dense[:, columns], np.zeros((1, 4 if columns.start == 0 else 3))])
        numbers = np.arange(n_features, dtype=np.int32)
        parts.append(kernels.compress(weights.astype(np.float32), numbers, 1e-30))
    (kept0, ptr0, labels0, values0), (kept1, ptr1, labels1, values1) = parts
    chunk_rows = np.array([0, len(kept0), len(kept0) + len(kept1)])
    arrays = (
        *(np.array([0, 4], np.int32), chunk_rows, np.concatenate([kept0, kept1])),
        *(np.concatenate([ptr0, ptr1[1:] + ptr0[-1]]), np.concatenate([labels0, labels1])),
        np.concatenate([values0, values1]),
    )
    return dense, arrays


def score(X, pairs, pair_row, arrays, chunk, n_cells):
    out = np.zeros(n_cells, np.float32)
    pair_out = np.arange(len(pair_row) + 1, dtype=np.int64) * 7
    place = np.full(X.shape[1], -1, np.int64)
    kernels.score_chunk(
        X.indptr, X.indices, X.data, pairs, pair_row, pair_out, out, chunk, *arrays, place
    )
    assert (place == -1).all(), "the scratch must be left as it was"
    return out.reshape(-1, 7)


@quick
@given(seeds, st.sampled_from([0, 1]), st.sampled_from([0.0, 0.1, 0.6]))
def test_score_chunk_adds_products_by_table_and_by_search(seed, chunk, density):
    rng = np.random.default_rng(seed)
    X = sparse(rng, 9, 60)
    dense, arrays = two_chunks(rng, 60, density)
    pair_row = rng.integers(0, 9, 20)
    visits = np.sort(rng.choice(20, 12, replace=False))
    columns = slice(0, 4) if chunk == 0 else slice(4, 7)
    wanted = np.zeros((20, 7))
    wanted[visits, columns] = (X.toarray().astype(float) @ dense)[pair_row[visits], columns]
    # twelve visits are more than an eighth of 60 features: a table; one visit is a search
    together = score(X, visits, pair_row, arrays, chunk, 140)
    np.testing.assert_allclose(together, wanted, atol=1e-5)
    for visit in visits[:3]:
        alone = score(X, np.array([visit]), pair_row, arrays, chunk, 140)
        np.testing.assert_array_equal(alone[visit], together[visit])
        assert not np.delete(alone, visit, axis=0).any(), "only the visit's own cells change"


def test_both_ways_of_score_chunk_are_reached():
    """The test above stands on this: full chunks of 60 rows, 1 * 8 < 60 < 12 * 8."""
    _, arrays = two_chunks(np.random.default_rng(0), 60, 1.0)
    assert np.diff(arrays[1]).tolist() == [60, 60]


def log_probability(score, sharpness):
    return -np.logaddexp(0.0, -float(sharpness) * float(score))


def run_select(pairs_of_rows, scores, child_ptr, child, k, sharpness=2.0):
    """Select with visits given as [(node, logp), ...] for each row, scores in that order."""
    visits = [visit for row in pairs_of_rows for visit in row]
    pair_ptr = np.cumsum([0, *map(len, pairs_of_rows)])
    sizes = [child_ptr[node + 1] - child_ptr[node] for node, _ in visits]
    nodes = np.full((len(pairs_of_rows), k), -1, np.int32)
    logps = np.full(nodes.shape, -np.inf, np.float32)
    kernels.select(
        *(pair_ptr, np.array([node for node, _ in visits], np.int32)),
        *(np.array([logp for _, logp in visits], np.float32), np.cumsum([0, *sizes])),
        *(np.asarray(scores, np.float32), np.asarray(child_ptr, np.int64)),
        *(np.asarray(child, np.int32), np.float32(sharpness), nodes, logps),
    )
    return nodes, logps


@quick
@given(seeds, st.integers(1, 12))
def test_select_is_a_sort(seed, k):
    """Few different scores, so that many are equal: those go by number."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 4)
    child_ptr = np.concatenate([[0], np.cumsum(sizes)])
    child = rng.permutation(int(child_ptr[-1]))
    rows = [
        [(int(node), float(rng.choice([0.0, -0.25, -3.0]))) for node in np.flatnonzero(mask)]
        for mask in rng.random((5, 4)) < 0.6
    ]
    n_cells = sum(int(sizes[node]) for row in rows for node, _ in row)
    scores = rng.choice([-1.5, -0.5, 0.0, 2.0], n_cells)
    nodes, logps = run_select(rows, scores, child_ptr, child, k)
    cell = 0
    for i, row in enumerate(rows):
        candidates = []
        for node, logp in row:
            for c in range(child_ptr[node], child_ptr[node + 1]):
                value = logp + log_probability(scores[cell], 2.0)
                candidates.append((-round(value, 4), int(child[c])))
                cell += 1
        wanted = sorted(candidates)[:k]
        padding = k - len(wanted)
        assert nodes[i].tolist() == [number for _, number in wanted] + [-1] * padding
        np.testing.assert_allclose(
            logps[i], [-value for value, _ in wanted] + [-np.inf] * padding, atol=1e-4
        )


def test_select_with_equal_scores_goes_by_number():
    nodes, _ = run_select([[(0, 0.0)]], [1, 1, 1, 1], [0, 4], [7, 3, 9, 1], k=3)
    assert nodes.tolist() == [[1, 3, 7]]


@pytest.mark.parametrize("extreme", [1e9, 3e38, np.inf])
def test_select_does_not_overflow(extreme):
    scores = [-extreme, extreme, 0.0, 30.0, -30.0]
    nodes, logps = run_select([[(0, 0.0)]], scores, [0, 5], [0, 1, 2, 3, 4], k=5)
    assert nodes.tolist() == [[1, 3, 2, 4, 0]]
    assert logps[0, :2].tolist() == [0.0, 0.0], "both are certain, and go by number"
    assert logps[0, 2] == pytest.approx(np.log(0.5))
    assert logps[0, 3] == -60.0, "far below what a probability could show"
    assert logps[0, 4] == (-2e9 if extreme == 1e9 else -np.inf)


def test_select_probability_has_no_step():
    """The formula changes at a = 20 and -20; nothing jumps there."""
    scores = np.array([9.999, 10.001, -9.999, -10.001])
    _, logps = run_select([[(0, 0.0)]], scores, [0, 4], [0, 1, 2, 3], k=4)
    wanted = sorted((log_probability(s, 2.0) for s in scores), reverse=True)
    np.testing.assert_allclose(logps[0], wanted, atol=1e-6)
