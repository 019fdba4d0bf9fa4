"""The model of benchmarks/speed/scaling.py, by numbers that can be worked out by hand."""

import numpy as np
import pytest
from scaling_model import Level, Nodes, Tagging, fitted, tree_shape
from scipy.sparse import csr_array

from labelgrove.models import create


def test_a_law_is_found_again():
    law = fitted([(n, m, 3e-4 * n**0.9 * m**0.5) for n in (10, 100, 1000) for m in (5, 70)])
    assert (law.factor, law.a, law.b) == pytest.approx((3e-4, 0.9, 0.5))
    assert law(1e6, 1e4) == pytest.approx(3e-4 * 1e6**0.9 * 1e2)


@pytest.mark.parametrize("labels", [300, 2_000, 10_000])
def test_the_shape_is_that_of_a_tree_with_even_clusters(labels):
    shape = tree_shape(labels)
    # labels lie on a grid of as many groups as the tree has clusters, so that these are even
    groups = shape[-1][0]
    Y = csr_array((np.ones(labels, np.float32), (np.arange(labels) % groups, np.arange(labels))))
    X = csr_array(np.eye(groups, dtype=np.float32))
    tree = create("bonsai", trees=1).fit(X, Y).forest_
    assert tree.depths.tolist() == [len(shape)]
    assert len(tree.tables.child_ptr) - 1 == sum(nodes for nodes, _ in shape)


@pytest.mark.parametrize(
    ("workers", "seconds"),
    [
        (1, 100),
        (2, 50 + 10 / 2 / 2),  # of the largest task, half is left to one of two
        (10, 10 + 2.5 / 2 * 0.9),  # a quarter of a worker's share is less than the longest task
        (1000, 10),  # the longest task does not divide
    ],
)
def test_a_level_takes_no_less_than_its_longest_task(workers, seconds):
    assert Level(100.0, 10.0).on(workers) == pytest.approx(seconds)


def test_files_are_tagged_in_rounds_and_a_drive_is_shared():
    nodes = Nodes(2, cpus=4, drive=1e6)
    made = Tagging(each=1e-3, loading=5.0, disk=3e6, own=2e6)
    found = made.seconds(80_000, 10, nodes)  # 8 workers: a round of 8 files and one of 2
    assert found == pytest.approx({"start": 0, "tagger": 5 + 2 * 3, "work": 2 * 8_000 * 1e-3})
    assert made.memory(nodes) == 3e6 + 4 * 2e6


@pytest.mark.parametrize(
    ("name", "more"), [("drive", {"bytes": 1e4}), ("driver", {"driver": 20.0})]
)
def test_the_slowest_part_bounds_tagging(name, more):
    made = Tagging(each=1e-3, loading=0.0, disk=0.0, own=0.0, **more)
    seconds = {"drive": 80_000 * 1e4 / 1e6, "driver": 10 * 20.0}[name]
    assert made.seconds(80_000, 10, Nodes(2, cpus=4, drive=1e6))[name] == pytest.approx(seconds)
