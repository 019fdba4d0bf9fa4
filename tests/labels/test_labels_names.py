import pytest

from labelgrove.labels import Concept, LabelMatcher, LabelSpace, Vocabulary
from labelgrove.labels.names import NameIndex

VOCABULARY = Vocabulary(
    {
        "e1": Concept("Energy policy", alternatives=("Power policy",)),
        "p1": Concept("Mercury"),
        "m1": Concept("Mercury"),
        "a1": Concept("Übung", alternatives=("March",)),
        "c1": Concept("march"),
        "Power policy": Concept("Something else"),
    },
    "labels.tsv",
)


@pytest.mark.parametrize(
    ("label", "meant"),
    [
        ("e1", "e1"),
        ("energy POLICY", "e1"),
        ("Energy  policy", "e1"),
        ("U\u0308BUNG", "a1"),  # decomposed, upper case
        ("March", "a1"),  # written alike, though another concept's own name differs only in case
        ("MARCH", "c1"),  # its own name comes before another name
        ("Power policy", "Power policy"),  # an id wins over a name
        ("<e1>", "<e1>"),  # an id in angle brackets stays as the data have it
        ("Mercury", "Mercury"),  # of two concepts
        ("unheard of", "unheard of"),
    ],
)
def test_a_label_is_taken_for_the_id_that_it_means(label, meant):
    assert LabelMatcher.of_vocabulary(VOCABULARY)((label,)) == (meant,)


def test_a_document_with_an_id_and_its_name_has_one_label():
    match = LabelMatcher.of_vocabulary(VOCABULARY)
    assert match(("Energy policy", "p1", "e1", "power POLICY")) == ("e1", "p1")


def test_what_became_of_names_is_said_in_one_line():
    match = LabelMatcher.of_vocabulary(VOCABULARY)
    for labels in [("e1", "energy policy"), ("Mercury", "foo"), ("foo", "bar"), ("energy policy",)]:
        match(labels)
    assert match.note() == (
        "1 label is a name in labels.tsv and taken for its id ('energy policy' for 'e1'); 1 is the "
        "name of several concepts and stays as it is ('Mercury' of 'p1', 'm1'): write the id; 2 "
        "are neither an id nor a name in labels.tsv and stay as they are ('foo', 'bar'): correct "
        "the spelling, or add the concept to it"
    )
    assert "foo" not in match.note(unmatched=False)


def test_ids_alone_need_no_word():
    match = LabelMatcher.of_vocabulary(VOCABULARY)
    assert match(("e1", "p1")) == ("e1", "p1")
    assert match.note() == ""


def test_without_a_vocabulary_labels_that_differ_in_case_are_different():
    space = LabelSpace.from_labels([["Wind"], ["sun"]])
    match = LabelMatcher.of_space(space)
    assert match(("wind", "Sun")) == ("wind", "Sun")
    assert match.note() == ""


def test_a_space_prefers_its_labels_to_other_concepts():
    space = LabelSpace.from_labels([["m1"], ["e1"]], VOCABULARY)
    assert LabelMatcher.of_space(space)(("Mercury",)) == ("m1",)


def test_a_name_may_differ_in_case_where_a_label_is_asked_for():
    space = LabelSpace.from_labels([["m1"], ["e1"]], VOCABULARY)
    assert space.ids[space.find("power policy")] == "e1"
    assert space.ids[space.find("Power policy")] == "Power policy"


@pytest.mark.parametrize(
    ("label", "meant"),
    [
        ("machine  LEARNING", "Machine Learning"),  # a label whose id is a name of two concepts
        ("Machine learning", "Machine learning"),  # is one of two ids that differ in case
        ("CS.lg", "cs.LG"),
        ("MERCURY", "MERCURY"),
    ],
)
def test_an_id_in_another_case_wins_over_a_name_of_several_concepts(label, meant):
    concepts = {
        "cs.LG": Concept("machine learning"),
        "stat.ML": Concept("machine learning"),
        "m1": Concept("Mercury"),
        "m2": Concept("Mercury"),
    }
    own = {"Machine Learning": Concept("Machine Learning")}
    if label == "Machine learning":
        own[label] = Concept(label)
    vocabulary = Vocabulary(concepts | own, "labels.tsv")
    assert LabelMatcher.of_vocabulary(vocabulary)((label,)) == (meant,)
    space = LabelSpace.from_labels([["Machine Learning"]], vocabulary)
    assert LabelMatcher.of_space(space)((label,)) == (meant,)


def test_an_index_of_names_finds_every_concept_with_a_name():
    index = NameIndex(["a", "A", "b"], [("x",), ("x",), ("X",)])
    assert index.lookup("a") == [0]
    assert index.lookup("A") == [1]
    assert index.lookup("x") == [0, 1]
    assert index.lookup("nothing") == []
