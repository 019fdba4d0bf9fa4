"""Ranking by a forest against a plain computation over the whole tree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove.labels import LabelTree
from labelgrove.models.linear import forest as forest_module
from labelgrove.models.linear import kernels, training

N_FEATURES = 30
SHARPNESS = 1.5


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
            for task in training._tasks(number, self.tree, level):
                own = slice(task.first, task.last)
                weights = self.weights[level, task.node][:, own]
                bias = self.bias[level, task.node][own]
                rows = kernels.compress(
                    np.vstack([weights, bias]), np.arange(N_FEATURES, dtype=np.int32), 1e-30
                )
                yield task, training.Chunk(*rows, bias)

    def children(self, level, node):
        offsets, nodes = self.tree.children(level)
        return nodes[offsets[node] : offsets[node + 1]].tolist()

    def probabilities(self, x, level, node):
        """Return the probability of each child given the node; an only child is certain."""
        children = self.children(level, node)
        if len(children) == 1:
            return dict.fromkeys(children, 1.0)
        scores = x @ self.weights[level, node].astype(float) + self.bias[level, node]
        return dict(zip(children, 1 / (1 + np.exp(-SHARPNESS * scores)), strict=True))

    def descend(self, x, beam, carry):
        """Return the scores of the labels that a beam search reaches."""
        here = {0: 1.0}
        for level in range(self.tree.depth):
            if level == self.tree.depth - 1:
                here = {node: p**carry for node, p in here.items()}
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
    return training._assemble([plain.tree for plain in plains], done, N_FEATURES)


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
        np.testing.assert_allclose([p for _, p in found], [p for _, p in wanted], rtol=1e-4)
        assert (ranking.scores[i, len(found) :] == 0).all()


@pytest.fixture(params=["one by one", "in batches"])
def way(request, monkeypatch):
    """Rank all rows by `rank_one`, or all by `score_chunk` and `select`."""
    monkeypatch.setattr(forest_module, "FEW", 10**6 if request.param == "one by one" else -1)


@pytest.fixture(autouse=True)
def narrow_blocks(monkeypatch):
    monkeypatch.setattr(training, "BLOCK", 4)  # several chunks a node


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
    n_labels=st.integers(1, 40),
    depth=st.integers(1, 3),
    n_trees=st.integers(1, 3),
    beam=st.integers(1, 12),
    k=st.integers(1, 50),
    carry=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_one_by_one_is_the_batch_bit_for_bit(seed, n_labels, depth, n_trees, beam, k, carry):
    rng = np.random.default_rng(seed)
    n_labels = max(n_labels, 9)  # random_tree asks for as many as its last level of clusters
    forest = build([Plain(rng, random_tree(rng, n_labels, depth)) for _ in range(n_trees)])
    X = documents(rng, 10)
    assert X.shape[0] > forest_module.FEW
    together = forest.rank(X, k, beam, SHARPNESS, carry=carry)
    for i in range(10):
        alone = forest.rank(X[i : i + 1], k, beam, SHARPNESS, carry=carry)
        np.testing.assert_array_equal(alone.labels[0], together.labels[i])
        np.testing.assert_array_equal(alone.scores[0], together.scores[i])


@pytest.mark.parametrize("cells", [1, 100, 1000])
def test_batches_and_threads_change_nothing(cells, monkeypatch):
    rng = np.random.default_rng(0)
    forest = build([Plain(rng, random_tree(rng, 60, 3)) for _ in range(2)])
    X = documents(rng, 150)
    whole = forest.rank(X, 7, 3, SHARPNESS, threads=1)
    monkeypatch.setattr(forest_module, "CELLS", cells)
    for threads in (1, 3):
        parts = forest.rank(X, 7, 3, SHARPNESS, threads)
        np.testing.assert_array_equal(parts.labels, whole.labels)
        np.testing.assert_array_equal(parts.scores, whole.scores)


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
def test_a_single_label_is_certain():
    tree = LabelTree([np.array([0])])
    X = documents(np.random.default_rng(0), 4)
    ranking = build([Plain(np.random.default_rng(0), tree)]).rank(X, 1, 1, SHARPNESS)
    assert ranking.labels.tolist() == [[0]] * 4
    assert ranking.scores.tolist() == [[1.0]] * 4


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
                if len(children) > 1:
                    column = plain.weights[level, node][:, children.index(child)]
                    wanted += column[features]
        np.testing.assert_allclose(forest.path_weights(label, features), wanted, atol=1e-5)
    assert forest.path_weights(0, np.empty(0, np.int32)).shape == (0,)


def test_arrays_and_names_make_the_same_forest():
    rng = np.random.default_rng(0)
    forest = build([Plain(rng, random_tree(rng, 20, 2))])
    again = forest_module.Forest(**forest.arrays())
    assert list(forest.arrays()) == forest_module.Forest.names()
    X = documents(rng, 12)
    before, after = (each.rank(X, 5, 2, SHARPNESS) for each in (forest, again))
    np.testing.assert_array_equal(before.scores, after.scores)
