"""One label space out of several."""

from labelgrove.labels import LabelSpace
from labelgrove.tagger.combining import together


def test_labels_concepts_and_parents_are_those_of_all():
    one = LabelSpace(["b", "c", "top"], [3, 1], 5, names=["Bee", "Sea", "Top"],
                     parents=[[2], [2], []])  # fmt: skip
    two = LabelSpace(["a", "b", "over", "top"], [2, 4], 7, parents=[[3], [2], [], [2]])
    both = together([one, two])
    assert both.ids == ["a", "b", "c", "over", "top"]
    assert both.counts.tolist() == [2, 4, 1]
    assert both.n_documents == 7
    assert both.names == ["a", "Bee", "Sea", "over", "Top"]
    # b and top are told by the first space, which knows nothing above top
    assert list(both.parents) == [(4,), (4,), (4,), (), ()]


def test_a_concept_of_one_that_is_a_label_of_another_is_a_label():
    one = LabelSpace(["a", "top"], [1], 1, parents=[[1], []])
    two = LabelSpace(["top"], [9], 9, names=["The top"])
    both = together([one, two])
    assert (both.ids, both.n_labels, both.counts.tolist()) == (["a", "top"], 2, [1, 9])
    assert list(both.parents) == [(1,), ()]
