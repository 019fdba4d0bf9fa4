"""Teacher knowledge: Algorithm 1 on a hierarchy made by hand."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.labels import LabelSpace
from labelgrove.models.neural.teacher import Teacher, new_teacher
from labelgrove.text import PAD, Words

TEXTS = [
    "the cat chases the mouse",
    "the cat sleeps and purrs",
    "the dog barks",
    "a dog and a cat",
    "stone and sand",
    "sand",
]
LABELS = [["cat"], ["cat"], ["dog"], ["cat", "dog"], ["rock"], ["rock"]]


@pytest.fixture
def words():
    return Words().fit([*TEXTS, "an animal with fur"])


def hierarchy(words):
    """Return cat and dog below animal, rock below nothing."""
    space = LabelSpace(
        ["cat", "dog", "rock", "animal"],
        [3, 2, 2],
        6,
        names=["the cat", "dog", "?!", "animal with fur and tail"],
        parents=[(3,), (3,), (), ()],
    )
    return space, words.transform(TEXTS), space.encode(LABELS)


def made(words, *, labels=None, reader=None, **settings):
    space, X, Y = hierarchy(words)
    given = {"length": 3, "hierarchy": True, "max_leaf": 2, "seed": 0, "threads": 1}
    return new_teacher(X, Y, labels or space, reader or words, **{**given, **settings})


def spelled(words, rows):
    return [[words.vocabulary[i] for i in row if i != PAD] for row in rows]


def test_labels_are_told_by_their_names_or_by_the_heaviest_words_of_their_documents(words):
    found = spelled(words, made(words).words)
    assert found[0] == ["the", "cat"]
    assert found[1] == ["dog"]
    assert found[2][0] == "sand"  # the name of rock has no word; sand is in both of its texts
    assert found[3] == ["animal", "with", "fur"]  # cut after three


def test_a_text_is_told_the_labels_of_its_neighbours_and_their_parents_once(words):
    votes = csr_array([[0.4, 0.1, 0.0], [0.0, 0.0, 0.9], [0.3, 0.0, 0.3], [0.0, 0.0, 0.0]])
    found = made(words).lessons(votes).toarray()
    third = 1 / 3
    wanted = [
        [third, third, 0, third],  # the parent of both counts once
        [0, 0, 1, 0],  # a label without a parent is told too
        [third, 0, third, third],
        [0, 0, 0, 0],  # no neighbours, nothing to tell
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_labels_may_be_told_in_the_measure_of_their_votes(words):
    votes = csr_array([[0.4, 0.1, 0.5]])
    found = made(words).lessons(votes, weighted=True).toarray()
    np.testing.assert_allclose(found, [[0.4 / 1.5, 0.1 / 1.5, 0.5 / 1.5, 0.5 / 1.5]], rtol=1e-6)


def test_a_parent_that_is_a_label_itself_is_told_once(words):
    space = LabelSpace(["cat", "dog", "rock"], [3, 2, 2], 6, parents=[(1,), (), ()])
    teacher = made(words, labels=space)
    found = teacher.lessons(csr_array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])).toarray()
    np.testing.assert_allclose(found, [[0.5, 0.5, 0], [0.5, 0.5, 0]])


def test_without_the_hierarchy_labels_alone_are_told(words):
    teacher = made(words, hierarchy=False)
    found = teacher.lessons(csr_array([[0.4, 0.1, 0.0]])).toarray()
    np.testing.assert_allclose(found, [[0.5, 0.5, 0]])


def test_without_a_given_hierarchy_parents_are_clusters_of_labels(words):
    space = LabelSpace(["cat", "dog", "rock"], [3, 2, 2], 6)
    teacher = made(words, labels=space)
    assert teacher.above.shape == (3, 5)
    assert (teacher.above.sum(axis=1) == 1).all()
    assert teacher.above.tocsc()[:, [0, 1, 2]].nnz == 0
    inside = teacher.above.toarray()[:, 3:]
    cluster = int(np.flatnonzero(inside[2])[0])
    assert inside[:, cluster].sum() == 1  # rock alone: its heaviest word is the cluster's
    assert spelled(words, teacher.words)[3 + cluster][0] == "sand"


def test_no_names_and_no_reader_are_no_hindrance(words):
    _, X, Y = hierarchy(words)
    teacher = new_teacher(X, Y, None, None, length=2, hierarchy=True, max_leaf=4, seed=0, threads=1)
    found = spelled(words, teacher.words)
    assert found[0][0] == "cat"
    assert found[1][0] == "dog"


def test_labels_that_come_later_are_told_too(words):
    space, _, _ = hierarchy(words)
    teacher = made(words)
    grown = LabelSpace(
        ["cat", "dog", "rock", "mouse", "animal"],
        [3, 2, 2, 1],
        7,
        names=["the cat", "dog", "?!", "mouse", "animal with fur and tail"],
        parents=[(4,), (4,), (), (4,), ()],
    )
    more = words.transform(["the mouse sleeps"])
    found = teacher.with_more(more, grown.encode([["mouse"]]), grown, words)
    assert spelled(words, found.words) == [
        *spelled(words, teacher.words)[:3],
        ["mouse"],
        ["animal", "with", "fur"],
    ]
    assert found.above.toarray().tolist() == [
        [0, 0, 0, 0, 1],
        [0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1],
    ]
    same = teacher.with_more(more, space.encode([["cat"]]), space, words)
    assert np.array_equal(same.words, teacher.words)
    assert (same.above != teacher.above).nnz == 0
    flat = made(words, hierarchy=False)
    later = flat.with_more(more, grown.encode([["mouse"]]), grown, words)
    assert later.words.shape == (4, 3)
    assert not later.above.nnz


def test_clusters_stay_behind_labels_that_come_later(words):
    space = LabelSpace(["cat", "dog", "rock"], [3, 2, 2], 6)
    teacher = made(words, labels=space)
    more = csr_array([[0.0, 0.0, 0.0, 1.0]])
    found = teacher.with_more(words.transform(["sand purrs"]), more, None, None)
    assert spelled(words, found.words[3:4]) == [["purrs", "sand"]]
    assert found.above.toarray()[:3, 4:].tolist() == teacher.above.toarray()[:, 3:].tolist()
    assert not found.above[[3]].nnz


def test_parents_of_known_labels_stay_whatever_a_later_label_space_says(words):
    more, new = words.transform(["the mouse sleeps"]), csr_array([[0.0, 0.0, 0.0, 1.0]])
    ids = ["cat", "dog", "rock", "mouse", "rodent"]
    only_new = LabelSpace(ids, [3, 2, 2, 1], 7, parents=[(), (), (), (4,), ()])
    clustered = made(words, labels=LabelSpace(ids[:3], [3, 2, 2], 6))
    found = clustered.with_more(more, new, only_new, words)
    assert found.above.toarray()[:3, 4:].tolist() == clustered.above.toarray()[:, 3:].tolist()
    assert not found.above[[3]].nnz
    given = made(words)
    found = given.with_more(more, new, only_new, words)
    assert found.above.toarray()[:, 4].tolist() == [1, 1, 0, 0]
    assert spelled(words, found.words[3:]) == [["mouse"], ["animal", "with", "fur"]]


def test_a_known_label_is_described_when_it_gets_its_first_document(words):
    texts, labels = TEXTS[:4], LABELS[:4]
    space = LabelSpace(["cat", "dog", "rock"], [3, 2, 0], 4, names=["cat", "dog", "?!"])
    teacher = new_teacher(
        words.transform(texts), space.encode(labels), space, words,
        length=3, hierarchy=False, max_leaf=4, seed=0, threads=1,
    )  # fmt: skip
    assert spelled(words, teacher.words)[2] == []
    found = teacher.with_more(words.transform(["sand"]), space.encode([["rock"]]), space, words)
    assert spelled(words, found.words)[2] == ["sand"]


def test_it_is_written_and_read(words, tmp_path):
    teacher = made(words)
    (tmp_path / "teacher").mkdir()
    teacher.write(tmp_path / "teacher")
    again = Teacher.read(tmp_path / "teacher")
    votes = csr_array([[0.4, 0.1, 0.0]])
    assert np.array_equal(again.words, teacher.words)
    assert (again.lessons(votes) != teacher.lessons(votes)).nnz == 0
