"""Each kernel against plain numpy or Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove.models.linear import forest_kernels, training_kernels
from labelgrove.models.linear.forest import NO_DENSE
from labelgrove.models.linear.forest_tables import Tables

seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=50, deadline=None)


def numbers(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


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
    indptr, indices, data, features = training_kernels.gather(
        X.indptr, X.indices, X.data, rows, place
    )
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
    parent = rng.integers(0, n_nodes, rng.integers(1, 15)).astype(np.int32)
    place = np.empty_like(parent)
    for each in range(n_nodes):  # in any order: a child too many would move the others
        place[parent == each] = rng.permutation(np.sum(parent == each))
    below = csr_array((rng.random((n, len(parent))) < 0.4).astype(np.float32))
    rows = np.flatnonzero(rng.random(n) < 0.7).astype(np.int32)
    node = int(rng.integers(0, n_nodes))
    first, last = sorted(rng.integers(0, 8, 2).tolist())
    ptr, found = training_kernels.truth(
        below.indptr, below.indices, rows, parent, place, node, first, last
    )
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
    """Rows come in any order; the last one, and columns beyond the labels, do not count."""
    rng = np.random.default_rng(seed)
    n_labels = int(rng.integers(1, 6))
    shape = (rng.integers(1, 10), n_labels + rng.integers(0, 3))
    weights = rng.integers(-4, 5, shape).astype(np.float32) / 4
    features = rng.choice(50, len(weights) - 1, replace=False).astype(np.int32)
    order = np.argsort(features)
    kept, ptr, labels, values = training_kernels.compress(
        weights, n_labels, features, order, threshold
    )
    own = weights[order, :n_labels]
    wanted = np.where(np.abs(own) >= threshold, own, 0)
    assert kept.tolist() == features[order][wanted.any(axis=1)].tolist()
    rows = csr_array((values, labels.astype(np.int32), ptr), shape=(len(kept), n_labels))
    np.testing.assert_array_equal(rows.toarray(), wanted[wanted.any(axis=1)])
    assert (values != 0).all()
    assert (labels.dtype, values.dtype) == (np.uint8, np.float32)


@quick
@given(seeds, st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_join_is_the_blocks_side_by_side(seed, widths):
    """Features that only some of the blocks have, that all have, and that none has."""
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(0, 9))
    dense = sparse(rng, n_features, sum(widths), rng.choice([0.0, 0.2, 0.7])).toarray()
    numbers = np.sort(rng.choice(40, n_features, replace=False)).astype(np.int32)
    features, starts, ends, labels, values = [], [], [], [], []
    for first, width in zip(np.cumsum([0, *widths]), widths, strict=False):
        block = np.vstack([dense[:, first : first + width], np.ones((1, width), np.float32)])
        kept, ptr, own_labels, own_values = training_kernels.compress(
            block, width, numbers, np.arange(n_features), 1e-30
        )
        features += kept.tolist()
        starts += (ptr[:-1] + len(values)).tolist()
        ends += (ptr[1:] + len(values)).tolist()
        labels += (own_labels + first).tolist()
        values += own_values.tolist()
    features = np.array(features, np.int32)
    kept, ptr, joined, joined_values = training_kernels.join(
        *(features, np.array(starts, np.int64), np.array(ends, np.int64)),
        *(np.argsort(features, kind="stable"), np.array(labels, np.uint8)),
        np.array(values, np.float32),
    )
    used = dense.any(axis=1)
    assert kept.tolist() == numbers[used].tolist()
    assert (joined.dtype, joined_values.dtype, len(ptr)) == (np.uint8, np.float32, len(kept) + 1)
    rows = csr_array((joined_values, joined.astype(np.int32), ptr), shape=(len(kept), sum(widths)))
    np.testing.assert_array_equal(rows.toarray(), dense[used])


# --- ranking ------------------------------------------------------------------------------------


ONLY, WIDE = 0, 1  # nodes: one with an only child, one with seven children in two chunks; a third
STEPS = np.array([1.0, 0.5, 0.125, 1.0], np.float32)  # of the four chunks: weights are exact


def tables(rng, n_features, density):
    """Weights (n_features, 7) and biases (7,) of `WIDE`, and the arrays of a forest with them."""
    steps = rng.integers(-300, 301, (n_features, 7)) * (rng.random((n_features, 7)) < density)
    bias = rng.standard_normal(7).astype(np.float32)
    chunks = []
    for first, last in ((0, 4), (4, 7)):
        own = csr_array(steps[:, first:last])
        used = np.flatnonzero(np.diff(own.indptr))
        chunks.append((used, np.unique(own.indptr), own.indices, own.data))
    features, pointers, labels, values = map(np.concatenate, zip(*chunks, strict=True))
    rows = [len(used) for used, *_ in chunks]
    entries = [len(own) for *_, own in chunks]
    found = Tables(
        child_ptr=np.array([0, 1, 8, 10]),
        child=np.arange(10, dtype=np.int32),
        bias=np.concatenate([[1e9], bias, [70, 80]]).astype(np.float32),
        chunk_ptr=np.array([0, 1, 3, 4]),
        chunk_child=np.array([0, 0, 4, 0], np.int32),
        chunk_rows=np.cumsum([0, 0, *rows, 0]),
        chunk_entries=np.cumsum([0, 0, *entries, 0]),
        chunk_scale=STEPS,
        row_feature=features.astype(np.int32),
        row_ptr=np.concatenate([[0], pointers, [0]]).astype(np.uint32),
        entry_label=labels.astype(np.uint8),
        entry_value=values.astype(np.int16),
        n_features=n_features,
        **NO_DENSE,
    )
    return steps * np.repeat(STEPS[1:3], [4, 3]), bias, found


def score(X, visits, rows, arrays, node, chunk, place=None, vectors=None):
    """Return the cells (visits, 7) of all visits after one chunk; those not written are 9."""
    out = np.full((len(rows), 7), 9.0, np.float32)
    out_ptr = np.arange(len(rows), dtype=np.int64) * 7
    place = np.empty(0, np.int32) if place is None else place
    place = forest_kernels.score_chunk(
        *(X.indptr, X.indices, X.data, vectors, rows, visits, out_ptr, out.ravel()),
        *(node, chunk, arrays, place),
    )
    assert (place == -1).all(), "the scratch must be left as it was"
    return out, place


@quick
@given(seeds, st.sampled_from([1, 2]), st.sampled_from([0.0, 0.1, 0.6]))
def test_score_chunk_adds_products_by_table_and_by_search(seed, chunk, density):
    rng = np.random.default_rng(seed)
    X = sparse(rng, 9, 60)
    dense, bias, arrays = tables(rng, 60, density)
    rows = rng.integers(0, 9, 20)
    visits = np.sort(rng.choice(20, 12, replace=False))
    columns = slice(0, 4) if chunk == 1 else slice(4, 7)
    wanted = np.full((20, 7), 9.0)
    wanted[visits, columns] = (X.toarray().astype(float) @ dense + bias)[rows[visits], columns]
    # twelve visits are more than an eighth of 60 features: a table; one visit is a search
    together, place = score(X, visits, rows, arrays, WIDE, chunk)
    np.testing.assert_allclose(together, wanted, rtol=1e-5, atol=1e-4)
    again, _ = score(X, visits, rows, arrays, WIDE, chunk, place)
    np.testing.assert_array_equal(again, together)
    for visit in visits[:3]:
        alone, _ = score(X, np.array([visit]), rows, arrays, WIDE, chunk)
        np.testing.assert_array_equal(alone[visit], together[visit])
        assert (np.delete(alone, visit, axis=0) == 9).all(), "only the visit's own cells change"


@pytest.mark.parametrize("chunk", [1, 2])
@pytest.mark.parametrize("n_visits", [1, 12])
def test_score_chunk_adds_dense_columns(n_visits, chunk):
    """Ten children in all; each chunk keeps its dense weights column by column."""
    rng = np.random.default_rng(0)
    X, rows, visits = sparse(rng, 9, 60), rng.integers(0, 9, 20), np.arange(n_visits)
    dense, bias, arrays = tables(rng, 60, 0.3)
    vectors, steps = numbers(rng, 9, 5), rng.integers(-127, 128, (5, 10)).astype(np.int8)
    scale = rng.random(10).astype(np.float32)
    edges = [(0, 1), (1, 5), (5, 8), (8, 10)]
    kept = np.concatenate([steps[:, first:last].ravel() for first, last in edges])
    arrays = arrays._replace(dense_value=kept, dense_scale=scale, n_dense=5)
    every = X.toarray() @ dense + vectors @ (steps * scale)[:, 1:8] + bias
    columns = slice(0, 4) if chunk == 1 else slice(4, 7)
    wanted = np.full((20, 7), 9.0)
    wanted[visits, columns] = every[rows[visits], columns]
    found, _ = score(X, visits, rows, arrays, WIDE, chunk, vectors=vectors)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-3)


def test_both_ways_of_score_chunk_are_reached():
    """The test above stands on this: full chunks of 60 rows, 1 * 8 < 60 < 12 * 8."""
    rng = np.random.default_rng(0)
    _, _, arrays = tables(rng, 60, 0.9)
    assert (np.diff(arrays.chunk_rows)[1:3] > 55).all()
    X, rows = sparse(rng, 9, 60), np.arange(12) % 9
    assert score(X, np.arange(12), rows, arrays, WIDE, 1)[1].shape == (60,), "a table"
    assert score(X, np.arange(1), rows, arrays, WIDE, 1)[1].shape == (0,), "no table"


def test_an_only_child_has_nothing_but_its_bias():
    rng = np.random.default_rng(0)
    _, _, arrays = tables(rng, 60, 0.6)
    out, _ = score(sparse(rng, 9, 60), np.arange(12), np.arange(12) % 9, arrays, ONLY, 0)
    assert (out[:, 0] == np.float32(1e9)).all()
    assert (out[:, 1:] == 9).all()


def log_probability(score, sharpness):
    return -np.logaddexp(0.0, -float(sharpness) * float(score))


def keep_best(visits, k, sharpness=2.0):
    """Let nodes compete one after another, each [children], log probability and [scores]."""
    nodes = np.full(k, -1, np.int32)
    logps = np.full(k, -np.inf, np.float32)
    found = 0
    for children, reached, scores in visits:
        found = forest_kernels.keep_best(
            *(np.array(children, np.int32), np.float32(reached), np.array(scores, np.float32)),
            *(np.float32(sharpness), found, nodes, logps),
        )
    assert (nodes[:found] >= 0).all()
    assert (nodes[found:] == -1).all()
    return nodes, logps


few_scores = st.sampled_from([-12.0, -1.5, -0.5, 0.0, 2.0, 11.0])
any_scores = st.floats(-40, 40, width=32)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, -0.25, -3.0, -17.0]),
            st.lists(st.one_of(few_scores, any_scores), min_size=1, max_size=8),
        ),
        max_size=6,
    ),
    st.sampled_from([0.5, 2.0, 4.0]),
    st.integers(1, 12),
    st.randoms(use_true_random=False),
)
def test_keep_best_is_a_sort_of_all(given_visits, sharpness, k, random):
    """No label is lost to the bound, also among equal ones, which go by number.

    Bit for bit against all of the log probabilities, sorted.
    """
    numbers = list(range(sum(len(scores) for _, scores in given_visits)))
    random.shuffle(numbers)
    visits, every = [], []
    for reached, scores in given_visits:
        children = [numbers.pop() for _ in scores]
        visits.append((children, reached, scores))
        for child, value in zip(children, scores, strict=True):
            own = forest_kernels._log_probability(np.float32(value), np.float32(sharpness))
            assert own == pytest.approx(log_probability(value, sharpness), rel=1e-5, abs=1e-8)
            every.append((-(np.float32(reached) + np.float32(own)), child))
    wanted = sorted(every)[:k]
    padding = k - len(wanted)
    nodes, logps = keep_best(visits, k, sharpness)
    assert nodes.tolist() == [child for _, child in wanted] + [-1] * padding
    assert logps.tolist() == [-value for value, _ in wanted] + [-np.inf] * padding


def test_the_bound_is_above_the_log_probability_of_every_score():
    """Rounded as it is: else, of two equal labels, the second could be lost by the last bit."""
    ends = np.array([0.01, 20.5], np.float32).view(np.int32)
    scores = np.arange(*ends, 4999, dtype=np.int32).view(np.float32)  # evenly over all floats
    assert len(scores) > 10_000
    best, logp, one = np.empty(1, np.int32), np.empty(1, np.float32), np.float32(1)
    for score in np.concatenate([-scores, scores])[:, None]:
        for found, child in enumerate([9, 3]):  # the same score twice, the better number last
            children = np.array([child], np.int32)
            forest_kernels.keep_best(children, np.float32(0), score, one, found, best, logp)
        assert best[0] == 3, f"lost with a score of {score[0]}"


def test_equal_scores_go_by_number():
    nodes, _ = keep_best([([7, 3, 9, 1], 0.0, [1, 1, 1, 1])], k=3)
    assert nodes.tolist() == [1, 3, 7]


@pytest.mark.parametrize("extreme", [1e9, 3e38, np.inf])
def test_log_probabilities_do_not_overflow(extreme):
    scores = [-extreme, extreme, 0.0, 30.0, -30.0]
    nodes, logps = keep_best([([0, 1, 2, 3, 4], 0.0, scores)], k=5)
    assert nodes.tolist() == [1, 3, 2, 4, 0]
    assert logps[:2].tolist() == [0.0, 0.0], "both are certain, and go by number"
    assert logps[2] == pytest.approx(np.log(0.5))
    assert logps[3] == -60.0, "far below what a probability could show"
    assert logps[4] == (-2e9 if extreme == 1e9 else -np.inf)


def test_log_probability_has_no_step():
    """The formula changes at a = 20 and -20; nothing jumps there."""
    scores = np.array([9.999, 10.001, -9.999, -10.001])
    _, logps = keep_best([([0, 1, 2, 3], 0.0, scores)], k=4)
    wanted = sorted((log_probability(s, 2.0) for s in scores), reverse=True)
    np.testing.assert_allclose(logps, wanted, atol=1e-6)


def test_a_label_that_is_nearly_certain_is_certain():
    """From 20 on, the logarithm is 0 and equal labels go by number; at 20 it still is one."""
    sharpness = np.float32(2.0)
    last = forest_kernels._log_probability(np.float32(10.0), sharpness)
    assert last == pytest.approx(-np.exp(-20), rel=1e-3)
    assert forest_kernels._log_probability(np.float32(10.5), sharpness) == 0


@quick
@given(st.lists(st.integers(0, 6)))
def test_visits_in_the_order_of_their_nodes(nodes):
    order = forest_kernels._by_node(np.array(nodes, np.int64), 7)
    assert order.tolist() == np.argsort(nodes, kind="stable").tolist()


@quick
@given(seeds, st.integers(1, 4), st.integers(1, 12))
def test_average_is_that_of_plain_python(seed, n_rankings, k):
    """Few different scores, so that many means are equal; labels that some rankings lack."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 5)), int(rng.integers(1, 8))
    labels = np.full((n_rankings, n, m), -1, np.int32)
    scores = np.zeros(labels.shape, np.float32)
    for row in np.ndindex(n_rankings, n):
        named = rng.choice(9, rng.integers(0, m + 1), replace=False)
        labels[row][: len(named)] = named
        scores[row][: len(named)] = np.sort(rng.choice([0.0, 0.25, 0.5, 1.0], len(named)))[::-1]
    mean_labels = np.full((n, k), 77, np.int32)
    mean_scores = np.full((n, k), 77, np.float32)
    before = labels.copy(), scores.copy()
    forest_kernels.average(labels, scores, mean_labels, mean_scores)
    for i in range(n):
        total = {}
        for label, score in zip(labels[:, i].ravel(), scores[:, i].ravel(), strict=True):
            if label >= 0:
                total[int(label)] = total.get(int(label), 0.0) + float(score)
        means = {label: np.float32(t) / np.float32(n_rankings) for label, t in total.items()}
        wanted = sorted(means.items(), key=lambda pair: (-pair[1], pair[0]))[:k]
        padding = k - len(wanted)
        assert mean_labels[i].tolist() == [label for label, _ in wanted] + [-1] * padding
        assert mean_scores[i].tolist() == [mean for _, mean in wanted] + [0.0] * padding
    np.testing.assert_array_equal(labels, before[0])
    np.testing.assert_array_equal(scores, before[1])


def test_average_worked_by_hand():
    """Labels 5 and 2 tie at 0.25, and 2 comes first; 8 is known to one ranking only."""
    labels = np.array([[[5, 2, -1]], [[8, 2, 5]]], np.int32)
    scores = np.array([[[0.5, 0.25, 0.0]], [[0.75, 0.25, 0.0]]], np.float32)
    found, means = np.empty((1, 4), np.int32), np.empty((1, 4), np.float32)
    forest_kernels.average(labels, scores, found, means)
    assert found.tolist() == [[8, 2, 5, -1]]
    assert means.tolist() == [[0.375, 0.25, 0.25, 0.0]]
