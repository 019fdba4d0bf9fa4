from labelgrove.labels import LabelSpace
from labelgrove.labels.distinct import details, distinct_names


def test_names_are_told_apart_by_path_and_else_by_id():
    names = ["planets", "Mercury", "Mercury", "x\n y", "Mercury", "Mercury (2)", ""]
    parents = [[], [0], [], [], [], [], []]
    space = LabelSpace("0123456", [1] * 7, 7, names=names, parents=parents)
    assert distinct_names(space) == [
        "planets",
        "planets: Mercury",
        "Mercury (2)",
        "x y",
        "Mercury (4)",
        "Mercury (2) (5)",
        "6",
    ]


def test_concepts_that_are_no_labels_have_no_name_to_answer():
    space = LabelSpace("ab", [1], 1, names=["same", "same"])
    assert distinct_names(space) == ["same"]


def test_details_are_the_description_or_the_path():
    space = LabelSpace(
        "abc", [1] * 3, 3, names=["top", "tag", "last"], parents=[[], [0], [1]],
        descriptions=["", "what\nit is", ""],
    )  # fmt: skip
    assert [details(space, i) for i in range(3)] == ["", "what it is", "in top: tag"]
