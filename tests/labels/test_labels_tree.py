"""Trees: Algorithm 1 by hand and literally, given hierarchies, and what every tree must hold."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from labelgrove.core import storage
from labelgrove.core.errors import DamagedError, InputError
from labelgrove.labels import LabelSpace, LabelTree


def as_lists(tree: LabelTree) -> list[list[int]]:
    return [level.tolist() for level in tree.levels]


def random_vectors(n: int, density: float, seed: int) -> csr_array:
    rng = np.random.default_rng(seed)
    return csr_array(random_array((n, 12), density=density, format="csr", rng=rng))


def check_tree(tree: LabelTree, n_labels: int) -> None:
    """Every label is under exactly one node of every level, and every node has a label."""
    assert tree.n_labels == n_labels
    assert tree.n_nodes(0) == 1
    for level in range(tree.depth + 1):
        under = [tree.labels_of(level, node).tolist() for node in range(tree.n_nodes(level))]
        assert all(under)
        assert sorted(label for labels in under for label in labels) == list(range(n_labels))
        if level < tree.depth:
            offsets, nodes = tree.children(level)
            assert sorted(nodes.tolist()) == list(range(tree.n_nodes(level + 1)))
            for node in range(tree.n_nodes(level)):
                children = nodes[offsets[node] : offsets[node + 1]]
                assert (tree.levels[level][children] == node).all()
    assert all(level.dtype == np.int32 for level in tree.levels)


BINARY = LabelTree(  # 16 labels, two under each of 8 clusters, halved three times
    [
        np.array([0, 0]),
        np.array([0, 0, 1, 1]),
        np.array([0, 0, 1, 1, 2, 2, 3, 3]),
        np.arange(16) // 2,
    ]
)
EIGHT = [i // 2 for i in range(16)]


@pytest.mark.parametrize(
    ("K", "H", "levels"),
    [
        (2, 1, [[0] * 8, EIGHT]),
        (2, 2, [[0] * 4, [0, 0, 1, 1, 2, 2, 3, 3], EIGHT]),
        (2, 3, [[0] * 2, [0, 0, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3], EIGHT]),
        (2, 9, [[0] * 2, [0, 0, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3], EIGHT]),
        (4, 2, [[0] * 2, [0, 0, 0, 0, 1, 1, 1, 1], EIGHT]),
        (4, 3, [[0] * 2, [0, 0, 0, 0, 1, 1, 1, 1], EIGHT]),
        (8, 2, [[0] * 8, EIGHT]),
    ],
)
def test_algorithm_1_by_hand(K: int, H: int, levels: list[list[int]]) -> None:
    assert as_lists(BINARY.compress(K, H)) == levels


def literal_algorithm_1(tree: LabelTree, c: int, H: int) -> list[set[tuple[int, int]]]:
    """S_0 to S_H of the paper, with nodes as (level, number) and one parent pointer each."""
    parent = {
        (level, node): (level - 1, int(above))
        for level, parents in enumerate(tree.levels, 1)
        for node, above in enumerate(parents)
    }

    def ancestor(node: tuple[int, int]) -> tuple[int, int]:
        for _ in range(c):
            node = parent.get(node, node)
        return node

    leaves = [(tree.depth, label) for label in range(tree.n_labels)]
    sets = [{parent[leaf] for leaf in leaves}]
    for level in range(1, H + 1):
        sets.append({ancestor(n) for n in sets[-1]} if level < H else {(0, 0)})
    return sets


@given(st.integers(1, 60), st.integers(1, 4), st.integers(1, 3), st.integers(1, 4))
@settings(deadline=None, max_examples=40)
def test_algorithm_1_literally(n: int, max_leaf: int, c: int, H: int) -> None:
    tree = LabelTree.balanced(random_vectors(n, 0.3, n), max_leaf)
    compressed = tree.compress(2**c, H)
    check_tree(compressed, n)
    sets = literal_algorithm_1(tree, c, H)[::-1]  # from the root down
    kept = [nodes for nodes in sets if nodes != {(0, 0)}]
    assert [compressed.n_nodes(level) for level in range(1, compressed.depth)] == [*map(len, kept)]
    for level, nodes in enumerate(kept, 1):
        before = {tuple(tree.labels_of(*node).tolist()) for node in nodes}
        numbers = range(compressed.n_nodes(level))
        assert {tuple(compressed.labels_of(level, v).tolist()) for v in numbers} == before


def test_compress_refuses_nonsense() -> None:
    for K in (0, 1, 3, 6):
        with pytest.raises(InputError, match="power of two"):
            BINARY.compress(K, 2)
    with pytest.raises(InputError, match="H must be"):
        BINARY.compress(2, 0)


def test_kept_depths() -> None:
    assert as_lists(BINARY.keep_depths([3, 1])) == [[0, 0], [0] * 4 + [1] * 4, EIGHT]
    assert as_lists(BINARY.keep_depths([])) == [[0] * 16]
    assert BINARY.keep_depths([1, 2, 3]) == BINARY
    for depth in (0, 4, -1):
        with pytest.raises(InputError, match="levels go from 1 to 3"):
            BINARY.keep_depths([depth])


def test_looking_around() -> None:
    assert BINARY.depth == 4
    assert repr(BINARY) == "<LabelTree: 1 > 2 > 4 > 8 > 16>"
    assert BINARY.labels_of(2, 3).tolist() == [12, 13, 14, 15]
    assert BINARY.labels_of(0, 0).tolist() == list(range(16))
    assert BINARY.ancestors(3, 1).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    Y = csr_array((np.ones(4, np.float32), [0, 1, 15, 4], [0, 3, 4]), shape=(2, 16))
    assert (Y @ BINARY.membership(1)).toarray().tolist() == [[2, 1], [1, 0]]
    assert BINARY.indicators(Y, 2).toarray().tolist() == [[1, 0, 0, 1], [0, 1, 0, 0]]
    with pytest.raises(InputError, match="no children"):
        BINARY.children(4)
    with pytest.raises(InputError, match="depth 4"):
        BINARY.ancestors(5, 1)


def test_levels_that_are_no_tree_are_refused() -> None:
    with pytest.raises(InputError, match="at least one level"):
        LabelTree([])
    with pytest.raises(InputError, match="level 1"):
        LabelTree([np.array([0, 1])])
    with pytest.raises(InputError, match="level 2"):  # node 1 has no child
        LabelTree([np.array([0, 0]), np.array([0, 0])])


@given(st.integers(1, 70), st.integers(1, 12), st.floats(0, 0.6), st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_balanced_trees(n: int, max_leaf: int, density: float, seed: int) -> None:
    vectors = random_vectors(n, density, seed)
    tree = LabelTree.balanced(vectors, max_leaf, seed=seed, threads=1)
    check_tree(tree, n)
    for level in range(1, tree.depth):
        sizes = np.bincount(tree.ancestors(tree.depth, level))
        assert sizes.max() - sizes.min() <= 1
        assert np.bincount(tree.levels[level - 1]).max() <= 2
    assert np.bincount(tree.levels[-1]).max() <= max_leaf
    assert tree == LabelTree.balanced(vectors, max_leaf, seed=seed, threads=3)


@given(
    st.integers(1, 70),
    st.integers(2, 6),
    st.integers(1, 12),
    st.floats(0, 0.6),
    st.booleans(),
    st.none() | st.integers(1, 3),
)
@settings(deadline=None, max_examples=60)
def test_k_means_trees(
    n: int, branching: int, max_leaf: int, density: float, balanced: bool, max_depth: int | None
) -> None:
    vectors = random_vectors(n, density, n)
    given_depth = {"max_depth": max_depth, "balanced": balanced}
    tree = LabelTree.kmeans(vectors, branching, max_leaf, threads=1, **given_depth)  # type: ignore[arg-type]
    check_tree(tree, n)
    for parents in tree.levels[:-1]:
        assert np.bincount(parents).max() <= branching
    if max_depth is None:
        assert np.bincount(tree.levels[-1]).max() <= max_leaf
    else:
        assert tree.depth <= max_depth + 1
    again = LabelTree.kmeans(vectors, branching, max_leaf, threads=2, **given_depth)  # type: ignore[arg-type]
    assert tree == again


def test_a_k_means_tree_over_a_thousand_equal_labels_ends() -> None:
    for vectors in (csr_array((1000, 5)), csr_array(np.ones((1000, 5)))):
        tree = LabelTree.kmeans(vectors, branching=4, max_leaf=5)
        assert tree.depth < 12
        assert np.bincount(tree.levels[-1]).max() <= 5


def test_other_seeds_give_other_trees() -> None:
    vectors = random_vectors(80, 0.4, 0)
    assert LabelTree.balanced(vectors, 10, seed=0) != LabelTree.balanced(vectors, 10, seed=1)
    assert LabelTree.kmeans(vectors, 4, 10, seed=0) != LabelTree.kmeans(vectors, 4, 10, seed=1)


def test_few_labels() -> None:
    assert as_lists(LabelTree.balanced(csr_array((1, 3)))) == [[0]]
    assert as_lists(LabelTree.balanced(csr_array((7, 3)))) == [[0] * 7]
    assert as_lists(LabelTree.kmeans(csr_array((7, 3)))) == [[0] * 7]
    five = LabelTree.balanced(csr_array(np.eye(5)), max_leaf=1)
    assert [five.n_nodes(level) for level in range(five.depth + 1)] == [1, 2, 4, 5, 5]
    assert as_lists(LabelTree.balanced(csr_array((1, 3)), 1).compress(2, 3)) == [[0]]
    with pytest.raises(InputError, match="at least one label"):
        LabelTree.balanced(csr_array((0, 3)))
    for wrong in ({"max_leaf": 0}, {"branching": 1}, {"max_depth": 0}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            LabelTree.kmeans(csr_array((3, 3)), **wrong)  # type: ignore[arg-type]


def test_a_given_hierarchy() -> None:
    # labels: 0 cs.AI, 1 cs.LG, 2 math (has math.CO below it), 3 math.CO, 4 alone
    # concepts: 5 cs, 6 stat (above no label)
    space = LabelSpace(
        ["cs.AI", "cs.LG", "math", "math.CO", "alone", "cs", "stat"],
        [1] * 5,
        5,
        parents=[(5,), (5, 6), (), (2,), (), (), ()],
    )
    tree = LabelTree.from_parents(space.parents, space.n_labels)
    check_tree(tree, 5)
    # clusters by number: none (for "alone"), math, cs
    assert as_lists(tree) == [[0, 0, 0], [2, 2, 1, 1, 0]]


def test_a_hierarchy_of_uneven_depth_is_filled_up() -> None:
    # labels 0 and 1 two levels below concept 4, label 2 right below it, label 3 has children
    #   4 > 5 > 0, 1;  4 > 2;  3 > 3 (itself);  6 > 3
    parents = [(5,), (5,), (4,), (6,), (), (4,), ()]
    tree = LabelTree.from_parents(parents, 4)
    check_tree(tree, 4)
    # level 1: 4, 6; level 2: 4's own, 5, 6's own
    assert as_lists(tree) == [[0, 0], [0, 0, 1], [1, 1, 0, 2]]


def test_a_label_above_labels_has_its_leaf_beside_their_cluster() -> None:
    # 0 > 1 > 2, all labels: 0 and 1 are leaves under themselves
    tree = LabelTree.from_parents([(), (0,), (1,)], 3)
    check_tree(tree, 3)
    # level 1: 0; level 2: 0's own, 1; then label 0 | labels 1 and 2
    assert as_lists(tree) == [[0], [0, 0], [0, 1, 1]]


def test_hierarchies_without_parents_or_with_a_circle() -> None:
    assert as_lists(LabelTree.from_parents([(), ()], 2)) == [[0, 0]]
    with pytest.raises(InputError, match="circle"):
        LabelTree.from_parents([(1,), (0,)], 2)
    with pytest.raises(InputError, match="at least one label"):
        LabelTree.from_parents([], 0)


@given(st.data(), st.integers(1, 12), st.integers(0, 6))
@settings(deadline=None)
def test_any_hierarchy_makes_a_tree(data: st.DataObject, n_labels: int, n_others: int) -> None:
    n = n_labels + n_others
    order = data.draw(st.permutations(range(n)))
    above = [data.draw(st.integers(-1, place - 1)) for place in range(n)]
    parents: list[tuple[int, ...]] = [()] * n
    for place, concept in enumerate(order):
        parents[concept] = (order[above[place]],) if above[place] >= 0 else ()
    tree = LabelTree.from_parents(parents, n_labels)
    check_tree(tree, n_labels)
    above_something = {number for numbers in parents for number in numbers}
    plain = [label for label in range(n_labels) if label not in above_something]
    for a in plain:
        for b in plain:
            if parents[a] == parents[b]:  # plain siblings stay together
                assert tree.levels[-1][a] == tree.levels[-1][b]


def test_write_and_read(tmp_path: Path) -> None:
    with storage.writing(tmp_path / "tree", {}) as folder:
        BINARY.write(folder)
    assert LabelTree.read(tmp_path / "tree") == BINARY
    storage.write_values(tmp_path / "other", {"depth": 2, "level1": np.zeros(2, np.int32)})
    with pytest.raises(DamagedError, match="comes without level2"):
        LabelTree.read(tmp_path / "other")
    for levels, said in (
        ({"level1": np.array([0, 9], np.int32)}, "level 1 must lie from 0 to 0"),
        ({"level1": np.array([0.0, 0.0])}, "level 1 is float64"),
    ):
        storage.write_values(tmp_path / "other", {"depth": 1, **levels})
        with pytest.raises(DamagedError, match=said):
            LabelTree.read(tmp_path / "other")
