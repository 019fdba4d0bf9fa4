"""Hierarchical precision, recall and F1, by hand and against plain sets."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import Decision, hierarchical_counts, hierarchical_scores
from labelgrove.evaluation import hierarchical as room
from labelgrove.labels.hierarchy import IntLists, above, ancestors

# 0 poodle, 1 dog, 2 cat, 3 pet, 4 animal, 5 car; a dog is a pet and an animal
PARENTS = IntLists.of([(1,), (3, 4), (3,), (4,), (), ()])


def ranked(*rows):
    width = max(map(len, rows))
    labels = np.array([[*row, *[-1] * (width - len(row))] for row in rows], np.int32)
    return Ranking(labels, np.where(labels >= 0, 0.9, 0.0))


def true(*rows, width=6):
    Y = np.zeros((len(rows), width), np.float32)
    for i, row in enumerate(rows):
        Y[i, list(row)] = 1
    return csr_array(Y)


def test_sets_are_joined_by_their_ancestors():
    # given {poodle, dog, pet, animal} and {car}; true {cat, pet, animal} and {car}
    scores = hierarchical_scores(true([2], [5]), ranked([0], [5]), PARENTS)
    assert scores == {
        "hierarchical-precision": 3 / 5,  # {pet, animal} and {car} of 4 + 1
        "hierarchical-recall": 3 / 4,
        "hierarchical-F1": 6 / 9,
    }


def test_each_ancestor_counts_once_and_only_what_is_given_counts():
    ranking = Ranking(np.array([[0, 2, 5]]), np.array([[0.9, 0.8, 0.2]]))
    counts = hierarchical_counts(true([0, 1, 4]), ranking, PARENTS, threshold=0.5)
    # given {poodle, dog, cat, pet, animal}, true {poodle, dog, pet, animal}
    assert [int(part[0]) for part in (counts.correct, counts.given, counts.true)] == [4, 5, 4]


def test_nothing_given_and_unknown_labels():
    counts = hierarchical_counts(true([7], [1], width=8), ranked([5], []), PARENTS)
    assert counts.correct.tolist() == [0, 0]
    assert counts.given.tolist() == [1, 0]
    assert counts.true.tolist() == [1, 3]  # a label that only the test has, has no parents


def test_the_root_says_nothing():
    parents = IntLists.of([(2,), (2,), ()])
    counts = hierarchical_counts(true([1], width=3), ranked([0]), parents)
    assert [int(part[0]) for part in (counts.correct, counts.given, counts.true)] == [0, 1, 1]


@pytest.mark.parametrize("block", [3, 4096])
def test_as_plain_sets(monkeypatch, block):
    monkeypatch.setattr(room, "BLOCK", block)
    rng = np.random.default_rng(0)
    parents = IntLists.of(
        [rng.choice(np.arange(i + 1, 40), 2, replace=False).tolist() for i in range(38)] + [(), ()]
    )
    given = [rng.choice(30, 4, replace=False).tolist() for _ in range(10)]
    wanted = [rng.choice(30, 3, replace=False).tolist() for _ in range(10)]

    def joined(row):
        return {each for i in row for each in (i, *ancestors(parents, i))}

    both = sum(len(joined(a) & joined(b)) for a, b in zip(given, wanted, strict=True))
    n_given, n_true = (sum(len(joined(row)) for row in rows) for rows in (given, wanted))
    scores = hierarchical_scores(true(*wanted, width=40), ranked(*given), parents, Decision(top=4))
    assert scores["hierarchical-precision"] == pytest.approx(both / n_given)
    assert scores["hierarchical-recall"] == pytest.approx(both / n_true)
    assert scores["hierarchical-F1"] == pytest.approx(2 * both / (n_given + n_true))


def test_an_ancestor_has_the_best_score_below_it():
    rows, concepts, scores = above(
        PARENTS, np.array([0, 0, 1]), np.array([0, 2, 5]), np.array([0.25, 0.5, 0.9])
    )
    found = list(zip(rows.tolist(), concepts.tolist(), scores.tolist(), strict=True))
    assert found == [(0, 1, 0.25), (0, 3, 0.5), (0, 4, 0.5)]


def test_many_ways_up_take_no_time():
    # 40 layers of two concepts, each below both of the next layer: 2 ** 40 ways to the top
    parents = IntLists.of([(i - i % 2 + 2, i - i % 2 + 3) for i in range(80)] + [(), ()])
    _, concepts, _ = above(parents, np.array([0]), np.array([0]), np.array([1.0]))
    assert concepts.tolist() == list(range(2, 82))
