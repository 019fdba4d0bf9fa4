from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove.core import storage
from labelgrove.core.errors import DamagedError, InputError, UnknownNameError
from labelgrove.labels import Concept, LabelCollector, LabelSpace, Vocabulary, propensities

LABEL_LISTS = st.lists(
    st.lists(st.text("abcdé漢", min_size=1, max_size=3), max_size=6), max_size=12
)


@pytest.fixture
def space() -> LabelSpace:
    vocabulary = Vocabulary(
        {
            "use": Concept("use"),
            "use::chat": Concept("chatting", ("use",), alternatives=("talk",)),
            "use::mail": Concept("mail", ("use",), "Reading and writing mail."),
            "net": Concept("network"),
            "net::mail": Concept("mail", ("net",)),
            "zzz": Concept("never used", ("net",)),
        }
    )
    collector = LabelCollector()
    for labels in [["use::mail", "net::mail"], ["use::chat", "use::mail", "own"], []]:
        collector.add(labels)
    return collector.finish(vocabulary)[0]


def test_labels_come_first_by_id_and_concepts_behind(space: LabelSpace) -> None:
    assert space.ids == ["net::mail", "own", "use::chat", "use::mail", "net", "use", "zzz"]
    assert space.n_labels == 4
    assert len(space) == 7
    assert space.counts.tolist() == [1, 1, 1, 2]
    assert space.counts.dtype == np.int64
    assert space.n_documents == 3
    assert space.names == ["mail", "own", "chatting", "mail", "network", "use", "never used"]
    assert list(space.parents) == [(4,), (), (5,), (5,), (), (), (4,)]
    assert repr(space) == "<LabelSpace: 4 labels, 3 other concepts>"


def test_concepts_become_labels(space: LabelSpace) -> None:
    wide = space.with_concepts_as_labels()
    assert (wide.n_labels, len(wide)) == (7, 7)
    assert wide.counts.tolist() == [1, 1, 1, 2, 0, 0, 0]
    assert wide.encode([["zzz", "own"]]).indices.tolist() == [1, 6]
    for what in ("ids", "names", "descriptions", "alternatives", "parents", "n_documents"):
        assert getattr(wide, what) == getattr(space, what)
    assert space.n_labels == 4


def test_order_of_documents_does_not_matter() -> None:
    documents = [["b", "a"], ["c"], ["a"]]
    one = LabelSpace.from_labels(documents)
    assert one == LabelSpace.from_labels(documents[::-1])
    assert one.ids == ["a", "b", "c"]
    assert one != LabelSpace.from_labels(documents[:2])


def test_hierarchy_and_descriptions(space: LabelSpace) -> None:
    assert space.children(4) == (0, 6)
    assert space.children(0) == ()
    assert space.ancestors(0) == (4,)
    assert space.path(2) == (5, 2)
    assert space.description(0) == "network: mail"
    assert space.description(1) == "own"
    assert space.description(3) == "Reading and writing mail."


def test_ancestors_are_nearest_first_and_once_each() -> None:
    #  0 -> 1 -> 3, 0 -> 2 -> 3 -> 4
    space = LabelSpace(list("abcde"), [1], 1, parents=[(1, 2), (3,), (3,), (4,), ()])
    assert space.ancestors(0) == (1, 2, 3, 4)
    assert space.path(0) == (4, 3, 1, 0)
    assert space.children(3) == (1, 2)


@pytest.mark.parametrize(
    ("parents", "circle"),
    [
        ([(0,), (), ()], "a > a"),
        ([(1,), (2,), (0,)], "c > b > a > c|a > c > b > a|b > a > c > b"),
        ([(1,), (2,), (1,)], "b > c > b|c > b > c"),
    ],
)
def test_a_hierarchy_that_goes_in_a_circle_is_refused(
    parents: list[tuple[int, ...]], circle: str
) -> None:
    with pytest.raises(InputError) as caught:
        LabelSpace(["a", "b", "c"], [1, 1, 1], 1, parents=parents)
    assert any(shown in str(caught.value) for shown in circle.split("|"))


def test_a_long_circle_is_shortened() -> None:
    ids = [f"c{i}" for i in range(100)]
    with pytest.raises(InputError, match=r"> \.\.\. >") as caught:
        LabelSpace(ids, [1] * 100, 1, parents=[((i + 1) % 100,) for i in range(100)])
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"names": ["x"]}, "1 names for 2 ids"),
        ({"parents": [(7,), ()]}, "numbers from 0 to 1"),
        ({"descriptions": []}, "0 descriptions for 2 ids"),
    ],
)
def test_pieces_that_do_not_fit_are_refused(more: dict[str, list[str]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LabelSpace(["a", "b"], [1, 1], 1, **more)  # type: ignore[arg-type]


def test_duplicate_ids_are_refused() -> None:
    with pytest.raises(InputError, match="'a' occurs twice"):
        LabelSpace(["a", "b", "a"], [1], 1)
    with pytest.raises(InputError, match="2 counts for 1 ids"):
        LabelSpace(["a"], [1, 1], 1)


def test_finding(space: LabelSpace) -> None:
    assert space.index("use::mail") == 3
    assert space.find("use::chat") == 2
    assert space.find("chatting") == 2
    assert space.find("talk") == 2
    assert space.find("use") == 5
    assert "own" in space
    assert "nobody" not in space
    with pytest.raises(InputError, match=r"several labels.*'net::mail', 'use::mail'"):
        space.find("mail")
    with pytest.raises(UnknownNameError, match=r"'chatin'; did you mean 'chatting'"):
        space.find("chatin")
    with pytest.raises(UnknownNameError, match="use::mail"):
        space.index("use::mai")


def test_a_name_shared_with_an_unused_concept_means_the_label() -> None:
    space = LabelSpace(["x", "y"], [1], 1, names=["bank", "bank"])
    assert space.find("bank") == 0


def test_encode_errors_and_skips(space: LabelSpace) -> None:
    Y = space.encode([["use::mail", "own", "own"], []])
    assert Y.shape == (2, 4)
    assert Y.dtype == np.float32
    assert Y.toarray().tolist() == [[0, 1, 0, 1], [0, 0, 0, 0]]
    with pytest.raises(UnknownNameError, match=r"document 2 'use::mial'.*'use::mail'"):
        space.encode([["own"], ["own", "use::mial"]])
    with pytest.raises(UnknownNameError, match="'zzz'"):  # a concept is not a label
        space.encode([["zzz"]])
    skipped = space.encode([["zzz", "own", "?"], ["?"]], unseen="skip")
    assert skipped.toarray().tolist() == [[0, 1, 0, 0], [0, 0, 0, 0]]
    with pytest.raises(UnknownNameError, match="append"):
        space.encode([], unseen="apend")  # type: ignore[arg-type]


def test_encode_appends_the_unseen_in_sorted_order(space: LabelSpace) -> None:
    Y = space.encode([["y!", "own", "zzz"], ["a!", "y!"]], unseen="append")
    assert Y.shape == (2, 9)
    assert Y.has_sorted_indices
    assert [row.indices.tolist() for row in (Y[[0]], Y[[1]])] == [[1, 6, 8], [7, 8]]


def test_no_documents_and_no_labels() -> None:
    space, Y = LabelCollector().finish()
    assert Y.shape == (0, 0)
    assert len(space) == 0
    assert space.encode([[]]).shape == (1, 0)
    assert space.propensities().shape == (0,)


@pytest.mark.parametrize("labels", ["cat", ["cat", 3], [None]])
def test_labels_that_are_no_lists_of_strings_are_refused(labels: list[str]) -> None:
    collector = LabelCollector()
    collector.add(["fine"])
    with pytest.raises(InputError, match="document 2"):
        collector.add(labels)


@given(LABEL_LISTS)
def test_encode_and_decode_are_inverse(label_lists: list[list[str]]) -> None:
    collector = LabelCollector()
    for labels in label_lists:
        collector.add(labels)
    space, Y = collector.finish()
    as_sets = [tuple(sorted(set(labels))) for labels in label_lists]
    assert space.decode(Y) == as_sets
    assert space.decode(space.encode(label_lists)) == as_sets
    assert (space.encode(label_lists, unseen="append") != Y).nnz == 0
    assert space.counts.tolist() == [sum(x in labels for labels in as_sets) for x in space.ids]


def test_decode_refuses_numbers_without_an_id(space: LabelSpace) -> None:
    Y = space.encode([["?"]], unseen="append")
    with pytest.raises(InputError, match="number 7"):
        space.decode(Y)
    assert space.decode(csr_array((2, 99))) == [(), ()]


def test_write_and_read(space: LabelSpace, tmp_path: Path) -> None:
    with storage.writing(tmp_path / "space", {}) as folder:
        space.write(folder)
    storage.read_manifest(tmp_path / "space")
    again = LabelSpace.read(tmp_path / "space")
    assert again == space
    assert again.alternatives[2] == ("talk",)
    assert again.descriptions[3] == "Reading and writing mail."


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    storage.write_values(tmp_path, {"ids": ["a"]})
    with pytest.raises(DamagedError, match="comes without counts"):
        LabelSpace.read(tmp_path)


def test_write_and_read_an_empty_and_a_plain_space(tmp_path: Path) -> None:
    for number, lists in enumerate([[], [["a", "漢"]]]):
        space = LabelSpace.from_labels(lists)
        space.write(tmp_path / str(number))
        assert LabelSpace.read(tmp_path / str(number)) == space


def test_propensities_by_hand(space: LabelSpace) -> None:
    # N = 1000, A = 0.5, B = 1: C = (6.907755 - 1) * 2^0.5 = 8.354828
    # count 3: 1 / (1 + C / 4^0.5) = 1 / 5.177414; count 0: 1 / (1 + C)
    found = propensities([3, 0], 1000, A=0.5, B=1.0)
    np.testing.assert_allclose(found, [1 / 5.177414, 1 / 9.354828], rtol=1e-6)
    wide = propensities([3], 1000, A=0.5, B=1.0, n_columns=3)
    np.testing.assert_allclose(wide, [1 / 5.177414, 1 / 9.354828, 1 / 9.354828], rtol=1e-6)
    assert space.propensities(n_columns=9).shape == (9,)
    with pytest.raises(InputError, match="less than the 4 labels"):
        space.propensities(n_columns=3)
    with pytest.raises(InputError, match="B=0"):
        space.propensities(B=0)


@given(st.integers(0, 10), st.lists(st.integers(0, 10), max_size=4))
def test_propensities_are_probabilities_for_tiny_corpora(n: int, counts: list[int]) -> None:
    found = propensities(counts, n)
    assert ((found > 0) & (found <= 1)).all()
    if n <= 2:
        assert (found == 1).all()


# --- more documents -------------------------------------------------------------------------------


def test_new_labels_come_behind_the_known_ones_and_before_the_concepts(space: LabelSpace) -> None:
    more, Y = space.with_more([["zzz", "own"], ["aaa", "own", "use", "own"]])
    # before: net::mail, own, use::chat, use::mail | net, use, zzz
    assert more.ids == [
        *("net::mail", "own", "use::chat", "use::mail"),
        *("aaa", "use", "zzz"),
        "net",
    ]
    assert more.n_labels == 7
    assert more.counts.tolist() == [1, 3, 1, 2, 1, 1, 1]
    assert more.n_documents == 5
    assert more.names[4:] == ["aaa", "use", "never used", "network"]
    assert list(more.parents) == [(7,), (), (5,), (5,), (), (), (7,), ()]
    assert more.alternatives[2] == ("talk",)
    assert more.description(0) == "network: mail"
    assert Y.toarray().tolist() == [[0, 1, 0, 0, 0, 0, 1], [0, 1, 0, 0, 1, 1, 0]]
    assert Y.has_sorted_indices
    assert Y.dtype == np.float32
    assert space.n_labels == 4, "the old one is as it was"
    assert space.counts.tolist() == [1, 1, 1, 2]


def test_more_documents_of_known_labels_change_only_the_counts(space: LabelSpace) -> None:
    more, Y = space.with_more([["own"], []])
    assert more.counts.tolist() == [1, 2, 1, 2]
    assert (more.ids, more.parents, more.n_labels) == (space.ids, space.parents, 4)
    assert more.n_documents == 5
    assert Y.shape == (2, 4)
    assert space.with_more([])[0] == space


def test_a_vocabulary_tells_of_what_is_new_and_nothing_else(space: LabelSpace) -> None:
    later = Vocabulary(
        {
            "net": Concept("The Net", ("new",)),  # known already: stays
            "new": Concept("New things"),
            "new::fax": Concept("fax", ("new", "net"), "Old now.", ("telefax",)),
        }
    )
    more, Y = space.with_more([["new::fax"], ["own"]], later)
    assert more.ids[4:] == ["new::fax", "net", "use", "zzz", "new"]
    assert more.names[4:6] == ["fax", "network"]
    assert more.parents[4] == (8, 5)
    assert more.parents[5] == ()
    assert more.descriptions[4] == "Old now."
    assert more.alternatives[4] == ("telefax",)
    assert Y.toarray().tolist() == [[0, 0, 0, 0, 1], [0, 1, 0, 0, 0]]


def test_a_new_label_in_angle_brackets_is_the_concept_without(space: LabelSpace) -> None:
    more, _ = space.with_more([["<zzz>", "<own>"]])
    assert more.ids[4:6] == ["<own>", "<zzz>"]
    assert more.names[4:6] == ["<own>", "never used"]
    assert more.parents[5] == (more.index("net"),)
    again = Vocabulary({"<zzz>": Concept("no"), "own": Concept("no")})
    assert more.with_more([["own"]], again)[0] == more.with_more([["own"]])[0]


@given(LABEL_LISTS, LABEL_LISTS, st.randoms(use_true_random=False))
def test_more_documents_keep_all_that_was_known(first, second, random) -> None:  # type: ignore[no-untyped-def]
    letters = [*"abcdé漢"]
    random.shuffle(letters)
    concepts = {
        letter: Concept(f"name of {letter}", tuple(letters[: i // 2][-1:]), alternatives=(letter,))
        for i, letter in enumerate(letters)
    }
    known = {label for labels in first for label in labels}
    vocabulary = Vocabulary(concepts) if known & {*letters} else None
    space = LabelSpace.from_labels(first, vocabulary)
    more, Y = space.with_more(second)
    L = space.n_labels
    assert more.ids[:L] == space.ids[:L]
    assert more.ids[L : more.n_labels] == sorted({x for xs in second for x in xs} - known)
    assert [*map(set, more.decode(Y))] == [*map(set, second)]
    assert (more.encode(second) != Y).nnz == 0
    for labels in (first, second):
        assert [*map(set, more.decode(more.encode(labels)))] == [*map(set, labels)]
    assert set(space.ids) <= set(more.ids)
    for old, label in enumerate(space.ids):
        new = more.index(label)
        assert more.names[new] == space.names[old]
        assert more.alternatives[new] == space.alternatives[old]
        assert [more.ids[i] for i in more.parents[new]] == [
            space.ids[i] for i in space.parents[old]
        ]
    both = LabelSpace.from_labels([*first, *second], vocabulary)
    assert dict(zip(more.ids, more.counts.tolist(), strict=False)) == dict(
        zip(both.ids, both.counts.tolist(), strict=False)
    )
    assert more.n_documents == both.n_documents


def test_labels_under_other_numbers(space: LabelSpace) -> None:
    other = space.with_labels([3, 0])
    assert other.ids == ["use::mail", "net::mail", "own", "use::chat", "net", "use", "zzz"]
    assert other.counts.tolist() == [2, 1]
    assert list(other.parents) == [(5,), (4,), (), (5,), (), (), (4,)]
    assert other.n_documents == 3
