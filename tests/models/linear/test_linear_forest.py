"""Ranking by a forest against a plain computation over the whole tree."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove.labels import LabelTree
from labelgrove.models.linear import forest as forest_module
from labelgrove.models.linear import forest_builder, forest_kernels, tasks, training_kernels
from labelgrove.models.linear.node_training import TINY

N_FEATURES = 30
SHARPNESS = 1.5


def chunk_edges(n_children):
    """Return where a node's chunks begin, and its end: as many equal blocks each as fit."""
    n_blocks = -(-n_children // tasks.BLOCK)
    edges = [n_children * block // n_blocks for block in range(n_blocks + 1)]
    starts = [0]
    for block, end in pairwise(edges):
        if end - starts[-1] > forest_builder.CHUNK:
            starts.append(block)
    return [*starts, n_children]


def in_steps(dense):
    """Return the weights (features, children) of a node as a forest keeps them.

    The largest of each chunk is 32767 steps, the others are rounded.
    """
    kept = np.zeros_like(dense)
    for first, last in pairwise(chunk_edges(dense.shape[1])):
        part = dense[:, first:last]
        if part.any():
            step = np.abs(part).max() / np.float32(32767)
            kept[:, first:last] = np.rint(part / step) * step
            assert np.abs(kept[:, first:last] - part).max() <= 0.51 * step
    return kept


class Plain:
    """A tree with a dense classifier for every child of every node."""

    def __init__(self, rng, tree):
        self.tree = tree
        self.weights, self.bias = {}, {}
        for level in range(tree.depth):
            for node, size in enumerate(np.diff(tree.children(level)[0]).tolist()):
                dense = rng.standard_normal((N_FEATURES, size))
                dense *= rng.random(dense.shape) < 0.3
                self.weights[level, node] = dense.astype(np.float32)
                self.bias[level, node] = rng.standard_normal(size).astype(np.float32)

    def chunks(self, number):
        """Return what training would have found, as tasks and chunks."""
        for level in range(self.tree.depth):
            for task in tasks.tasks_of(number, self.tree, level):
                own = slice(task.first, task.last)
                weights = self.weights[level, task.node][:, own]
                bias = self.bias[level, task.node][own]
                every = np.arange(N_FEATURES, dtype=np.int32)
                rows = training_kernels.compress(
                    np.vstack([weights, bias]), len(bias), every, every, TINY
                )
                yield task, tasks.Chunk(*rows, bias, np.empty((len(bias), 0), np.float32))

    def children(self, level, node):
        offsets, nodes = self.tree.children(level)
        return nodes[offsets[node] : offsets[node + 1]].tolist()

    def probabilities(self, x, level, node):
        """Return the probability of each child given the node.

        An only child is certain, but for the root's: a document may have no label at all.
        """
        children = self.children(level, node)
        if len(children) == 1 and level:
            return dict.fromkeys(children, 1.0)
        scores = x @ in_steps(self.weights[level, node]).astype(float) + self.bias[level, node]
        return dict(zip(children, 1 / (1 + np.exp(-SHARPNESS * scores)), strict=True))

    def descend(self, x, beam, carry):
        """Return the scores of the labels that a beam search reaches.

        The path counts to the power ``carry`` beside a label's own probability; an only child
        has none, and its path counts in full.
        """
        here = {0: 1.0}
        for level in range(self.tree.depth):
            if level == self.tree.depth - 1:
                here = {
                    node: p if len(self.children(level, node)) == 1 else p**carry
                    for node, p in here.items()
                }
            below = {
                child: above * p
                for node, above in here.items()
                for child, p in self.probabilities(x, level, node).items()
            }
            here = below
            if level < self.tree.depth - 1:
                here = dict(sorted(below.items(), key=lambda pair: -pair[1])[:beam])
        return here


def build(plains):
    done = dict(pair for number, plain in enumerate(plains) for pair in plain.chunks(number))
    return forest_builder.build_forest([plain.tree for plain in plains], done, N_FEATURES)


def random_tree(rng, n_labels, depth):
    """A tree with wide nodes, narrow ones and only children."""
    levels, above = [], 1
    for _ in range(depth - 1):
        width = int(rng.integers(above, 3 * above + 1))
        levels.append(np.concatenate([np.arange(above), rng.integers(0, above, width - above)]))
        above = width
    last = np.concatenate([np.arange(above), rng.integers(0, above, n_labels - above)])
    return LabelTree([*map(rng.permutation, levels), rng.permutation(last)])


def documents(rng, n):
    X = rng.standard_normal((n, N_FEATURES)) * (rng.random((n, N_FEATURES)) < 0.3)
    X[n // 2] = 0  # an empty one
    return csr_array(X.astype(np.float32))


def plain_ranking(plains, x, k, beam, carry):
    """Return the k best (label, score), averaged over the trees."""
    total = {}
    for plain in plains:
        for label, p in plain.descend(x, beam, carry).items():
            total[label] = total.get(label, 0.0) + p / len(plains)
    return sorted(total.items(), key=lambda pair: -pair[1])[:k]


def check(ranking, plains, X, k, beam, carry=1.0):
    assert ranking.labels.shape == (X.shape[0], k)
    for i, x in enumerate(X.toarray().astype(float)):
        wanted = plain_ranking(plains, x, k, beam, carry)
        found = list(ranking.row(i))
        assert [label for label, _ in found] == [label for label, _ in wanted]
        np.testing.assert_allclose([p for _, p in found], [p for _, p in wanted], rtol=2e-5)
        assert (ranking.scores[i, len(found) :] == 0).all()


@pytest.fixture(params=["row by row", "in one batch"])
def way(request, monkeypatch):
    """Search for the features of a row in each chunk, or make tables for all rows together."""
    if request.param == "row by row":
        monkeypatch.setattr(forest_module, "FEW", -1)
        monkeypatch.setattr(forest_module, "CELLS", 1)
    else:
        monkeypatch.setattr(forest_module, "FEW", 10**6)


@pytest.fixture(autouse=True)
def narrow_blocks(monkeypatch):
    monkeypatch.setattr(tasks, "BLOCK", 4)  # several blocks a chunk, several chunks a node
    monkeypatch.setattr(forest_builder, "CHUNK", 10)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_wide_beam_finds_the_best_of_all_labels(depth):
    rng = np.random.default_rng(depth)
    plain = Plain(rng, random_tree(rng, 60, depth))
    X = documents(rng, 12)
    check(build([plain]).rank(X, 60, 60, SHARPNESS), [plain], X, 60, 60)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("k", [1, 4, 80])
def test_narrow_beam_and_padding(beam, k):
    rng = np.random.default_rng(10 * beam + k)
    plain = Plain(rng, random_tree(rng, 80, 3))
    X = documents(rng, 12)
    ranking = build([plain]).rank(X, k, beam, SHARPNESS)
    check(ranking, [plain], X, k, beam)
    if k == 80:
        assert (ranking.labels == -1).any(), "a narrow beam does not reach all labels"


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("carry", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_the_path_counts_as_much_as_is_carried(carry, depth):
    """Which nodes the beam keeps does not depend on it."""
    rng = np.random.default_rng(depth)
    plains = [Plain(rng, random_tree(rng, 60, depth)), Plain(rng, random_tree(rng, 60, 3))]
    X = documents(rng, 12)
    for some in (plains[:1], plains):
        ranking = build(some).rank(X, 60, 4, SHARPNESS, carry=carry)
        check(ranking, some, X, 60, 4, carry)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("beam", [1, 3, 50])
def test_several_trees_are_averaged(beam):
    """A label that one tree's beam misses has probability 0 there."""
    rng = np.random.default_rng(beam)
    plains = [Plain(rng, random_tree(rng, 50, depth)) for depth in (2, 3, 1)]
    X = documents(rng, 12)
    check(build(plains).rank(X, 50, beam, SHARPNESS), plains, X, 50, beam)
    check(build(plains).rank(X, 5, beam, SHARPNESS), plains, X, 5, beam)


@pytest.mark.usefixtures("way")
def test_the_mean_does_not_depend_on_k(monkeypatch):
    """With room for fewer labels than a tree has, too."""
    monkeypatch.setattr(forest_module, "NAMED", 10)
    rng = np.random.default_rng(0)
    forest = build([Plain(rng, random_tree(rng, 50, 2)) for _ in range(3)])
    X = documents(rng, 12)
    ten = forest.rank(X, 10, 20, SHARPNESS)
    for k in (1, 3):
        head = forest.rank(X, k, 20, SHARPNESS)
        np.testing.assert_array_equal(head.labels, ten.labels[:, :k])
        np.testing.assert_array_equal(head.scores, ten.scores[:, :k])


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_labels=st.integers(9, 40),  # random_tree asks for as many as its last level of clusters
    depth=st.integers(1, 3),
    n_trees=st.integers(1, 3),
    beam=st.integers(1, 12),
    k=st.integers(1, 50),
    carry=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_row_by_row_is_the_batch_bit_for_bit(seed, n_labels, depth, n_trees, beam, k, carry):
    rng = np.random.default_rng(seed)
    forest = build([Plain(rng, random_tree(rng, n_labels, depth)) for _ in range(n_trees)])
    X = documents(rng, 14)  # enough visits of the root for a table
    together = forest.rank(X, k, beam, SHARPNESS, threads=1, carry=carry)
    for i in range(14):
        alone = forest.rank(X[i : i + 1], k, beam, SHARPNESS, carry=carry)
        np.testing.assert_array_equal(alone.labels[0], together.labels[i])
        np.testing.assert_array_equal(alone.scores[0], together.scores[i])


@pytest.mark.parametrize("cells", [1, 100, 1000, 10**9])
def test_batches_and_threads_change_nothing(cells, monkeypatch):
    rng = np.random.default_rng(0)
    forest = build([Plain(rng, random_tree(rng, 60, 3)) for _ in range(2)])
    X = documents(rng, 150)
    whole = forest.rank(X, 7, 3, SHARPNESS, threads=1)
    batches = []
    original = forest_kernels.rank_rows
    monkeypatch.setattr(
        forest_kernels, "rank_rows", lambda *given: batches.append(given[4:6]) or original(*given)
    )
    monkeypatch.setattr(forest_module, "CELLS", cells)
    for threads in (1, 3):
        batches.clear()
        parts = forest.rank(X, 7, 3, SHARPNESS, threads)
        np.testing.assert_array_equal(parts.labels, whole.labels)
        np.testing.assert_array_equal(parts.scores, whole.scores)
        widest = np.diff(forest.tables.child_ptr).max()
        most = max(1, min(150 // threads, cells // (widest * 3 * threads)))
        assert {last - first for first, last in batches} <= {most, 150 % most or most}
        assert sum(last - first for first, last in batches) == 2 * 150, "each row in each tree"


def test_a_node_wider_than_a_chunk(monkeypatch):
    """At the true sizes: 700 children in 11 blocks, four of which fit into 256 children."""
    monkeypatch.setattr(tasks, "BLOCK", 64)
    monkeypatch.setattr(forest_builder, "CHUNK", 256)
    rng = np.random.default_rng(0)
    tree = LabelTree([np.array([0, 0]), np.arange(700) // 699])
    plain = Plain(rng, tree)
    forest = build([plain])
    assert forest.tables.chunk_ptr.tolist() == [0, 1, 4, 5]
    assert forest.tables.chunk_child.tolist() == [0, *chunk_edges(699)[:-1], 0]
    assert np.diff(chunk_edges(699)).tolist() == [254, 254, 191]
    assert forest.tables.entry_label.max() == 253
    X = documents(rng, 12)
    for rows in (X, X[:3]):
        check(forest.rank(rows, 700, 2, SHARPNESS), [plain], rows, 700, 2)
    every = np.arange(N_FEATURES)
    for label in (0, 253, 254, 255, 256, 508, 698):
        wanted = in_steps(plain.weights[1, 0])[:, label] + in_steps(plain.weights[0, 0])[:, 0]
        np.testing.assert_allclose(forest.path_weights(label, every), wanted, rtol=1e-5)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("n_trees", [1, 2])
def test_no_rows(n_trees):
    rng = np.random.default_rng(0)
    forest = build([Plain(rng, random_tree(rng, 20, 2)) for _ in range(n_trees)])
    ranking = forest.rank(csr_array((0, N_FEATURES), dtype=np.float32), 5, 3, SHARPNESS)
    assert ranking.labels.shape == (0, 5)


@pytest.mark.usefixtures("way")
def test_only_children_are_certain():
    """Label 0 hangs on a chain of only children; the root decides alone, by bias and feature 0."""
    tree = LabelTree([np.array([0, 0]), np.array([0, 1]), np.array([0, 1, 1])])
    plain = Plain(np.random.default_rng(0), tree)
    plain.weights[0, 0][:] = 0
    plain.weights[0, 0][0] = [2.0, -2.0]
    plain.bias[0, 0][:] = [0.5, -0.5]
    x = np.zeros((1, N_FEATURES), np.float32)
    x[0, 0] = 1.0
    ranking = build([plain]).rank(csr_array(x), 1, 5, SHARPNESS)
    assert ranking.labels.tolist() == [[0]]
    assert ranking.scores[0, 0] == pytest.approx(1 / (1 + np.exp(-SHARPNESS * 2.5)))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("carry", [0.0, 0.2, 1.0])
def test_an_only_child_is_as_likely_as_its_path(carry):
    """However little of the path is carried: else every only child would be nearly certain.

    The root gives node 0, which has label 0 alone, a probability of 0.05, and node 1 one of 0.8;
    label 1 has 0.6 there. To the power 0.2, 0.05 were 0.55 and second to none but label 1.
    """
    tree = LabelTree([np.array([0, 0]), np.array([0, 1, 1, 1])])
    plain = Plain(np.random.default_rng(0), tree)
    for node, probabilities in {(0, 0): [0.05, 0.8], (1, 1): [0.6, 0.3, 0.1]}.items():
        p = np.array(probabilities)
        plain.weights[node][:] = 0
        plain.bias[node][:] = np.log(p / (1 - p)) / SHARPNESS
    X = documents(np.random.default_rng(0), 12)
    ranking = build([plain]).rank(X, 4, 2, SHARPNESS, carry=carry)
    path = 0.8**carry
    assert ranking.labels.tolist() == [[1, 2, 3, 0]] * 12
    wanted = [path * 0.6, path * 0.3, path * 0.1, 0.05]
    np.testing.assert_allclose(ranking.scores, [wanted] * 12, rtol=1e-5)


@pytest.mark.usefixtures("way")
def test_a_single_label_is_as_likely_as_its_classifier_says():
    plains = [Plain(np.random.default_rng(0), LabelTree([np.array([0])]))]
    X = documents(np.random.default_rng(0), 4)
    ranking = build(plains).rank(X, 1, 1, SHARPNESS)
    assert ranking.labels.tolist() == [[0]] * 4
    assert len(set(ranking.scores.ravel().tolist())) == 4
    check(ranking, plains, X, 1, 1)


@pytest.mark.usefixtures("way")
def test_equal_labels_go_by_number():
    tree = LabelTree([np.array([0, 0]), np.array([1, 0, 1, 0, 1, 0])])
    plain = Plain(np.random.default_rng(0), tree)
    for node in plain.weights:
        plain.weights[node][:] = 0
        plain.bias[node][:] = 0
    X = documents(np.random.default_rng(0), 12)
    ranking = build([plain]).rank(X, 4, 2, SHARPNESS)
    assert ranking.labels.tolist() == [[0, 1, 2, 3]] * 12
    assert (ranking.scores == 0.25).all()


@pytest.mark.parametrize("depths", [(1,), (3,), (2, 1, 4)])
def test_path_weights_are_the_sums_of_the_dense_ones(depths):
    rng = np.random.default_rng(sum(depths))
    plains = [Plain(rng, random_tree(rng, 60, depth)) for depth in depths]
    forest = build(plains)
    features = np.sort(rng.choice(N_FEATURES, 20, replace=False)).astype(np.int32)
    for label in range(0, 60, 7):
        wanted = np.zeros(20)
        for plain in plains:
            for level in range(plain.tree.depth):
                node = int(plain.tree.ancestors(plain.tree.depth, level)[label])
                child = int(plain.tree.ancestors(plain.tree.depth, level + 1)[label])
                children = plain.children(level, node)
                if len(children) > 1 or level == 0:
                    column = in_steps(plain.weights[level, node])[:, children.index(child)]
                    wanted += column[features]
        np.testing.assert_allclose(forest.path_weights(label, features), wanted, atol=1e-6)
    assert forest.path_weights(0, np.empty(0, np.int32)).shape == (0,)


# --- storage ------------------------------------------------------------------------------------


def test_weights_are_whole_numbers_of_steps():
    """The children 0-7 are a chunk, whose largest weight is 2: a step is 2 / 32767."""
    tree = LabelTree([np.zeros(12, int)])
    plain = Plain(np.random.default_rng(0), tree)
    plain.weights[0, 0][:] = 0
    plain.weights[0, 0][[3, 3, 5], [0, 7, 1]] = [-2.0, 1.0, 0.01]
    plain.weights[0, 0][5, 9] = 0.25
    tables = build([plain]).tables
    assert tables.chunk_child.tolist() == [0, 8]
    np.testing.assert_allclose(tables.chunk_scale, [2 / 32767, 0.25 / 32767], rtol=1e-6)
    assert tables.row_feature.tolist() == [3, 5, 5]
    assert tables.chunk_rows.tolist() == [0, 2, 3]
    assert tables.row_ptr.tolist() == [0, 2, 3, 0, 1], "counted anew in each chunk"
    assert tables.chunk_entries.tolist() == [0, 3, 4]
    assert tables.entry_label.tolist() == [0, 7, 1, 1]
    assert tables.entry_value.tolist() == [-32767, 16384, 164, 32767]


@pytest.mark.parametrize("size", [1.3e-38, 1e-37, 1e-36, 1e-30, 1e30])
def test_weights_of_any_size_keep_their_sign(size):
    """A step below the smallest normal number is too coarse to count the largest weight in."""
    plain = Plain(np.random.default_rng(0), LabelTree([np.zeros(8, int)]))
    plain.weights[0, 0] = np.clip(plain.weights[0, 0], -1, 1) * np.float32(size)
    forest = build([plain])
    every = np.arange(N_FEATURES)
    for label in range(8):
        wanted = plain.weights[0, 0][:, label]
        step = np.abs(plain.weights[0, 0]).max() / 32767
        found = forest.path_weights(label, every).astype(float)
        near = max(0.51 * step, np.finfo(np.float32).tiny)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=near)


def test_an_entry_takes_three_bytes_and_a_row_eight():
    rng = np.random.default_rng(0)
    tables = build([Plain(rng, random_tree(rng, 60, 2))]).tables
    entries = sum(array.dtype.itemsize for array in (tables.entry_label, tables.entry_value))
    rows = sum(array.dtype.itemsize for array in (tables.row_feature, tables.row_ptr))
    assert (entries, rows) == (3, 8)
    assert len(tables.entry_label) == len(tables.entry_value) == tables.chunk_entries[-1]
    n_chunks = len(tables.chunk_scale)
    assert len(tables.row_feature) == len(tables.row_ptr) - n_chunks == tables.chunk_rows[-1]


def test_an_only_child_has_an_empty_chunk_and_a_bias_that_is_certain():
    tree = LabelTree([np.array([0, 0]), np.array([0, 1, 1])])
    tables = build([Plain(np.random.default_rng(0), tree)]).tables
    assert np.diff(tables.chunk_ptr).tolist() == [1, 1, 1]
    assert np.diff(tables.chunk_rows)[1] == np.diff(tables.chunk_entries)[1] == 0
    assert (tables.bias == 1e9).tolist() == [False, False, True, False, False]


@pytest.mark.parametrize("n_trees", [1, 2])
def test_state_makes_the_same_forest(n_trees):
    rng = np.random.default_rng(0)
    forest = build([Plain(rng, random_tree(rng, 20, 2)) for _ in range(n_trees)])
    state = forest.state()
    assert list(state) == forest_module.Forest.names()
    again = forest_module.Forest.from_state({**state, "n_labels_": 20})  # other names may be there
    assert again.n_features == N_FEATURES
    X = documents(rng, 12)
    before, after = (each.rank(X, 5, 2, SHARPNESS) for each in (forest, again))
    np.testing.assert_array_equal(before.labels, after.labels)
    np.testing.assert_array_equal(before.scores, after.scores)
