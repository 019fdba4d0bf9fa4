import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.core import storage
from labelgrove.core.strings import PackedStrings

texts = st.lists(st.text(st.characters(), max_size=5), max_size=6)  # lone surrogates too


@given(texts)
def test_strings_come_back(strings):
    packed = PackedStrings.of(strings)
    assert packed.decode() == list(packed) == strings
    assert packed.decode(reversed(range(len(strings)))) == strings[::-1]
    assert packed[1:-1] == strings[1:-1]
    assert PackedStrings.of(packed) is packed


@given(texts, texts)
def test_joined_strings_follow_one_another(first, then):
    assert PackedStrings.of(first).joined(PackedStrings.of(then)).decode() == first + then


def test_numbers_out_of_range_are_refused():
    packed = PackedStrings.of(["a", "b"])
    assert packed[-1] == "b"
    for number in (2, -3):
        with pytest.raises(IndexError):
            packed[number]


def test_empty_strings():
    assert PackedStrings.empty(2).decode() == ["", ""]
    assert PackedStrings.empty(2).joined(PackedStrings.of(["x"])).decode() == ["", "", "x"]
    assert PackedStrings.of([]).decode() == []
    assert len(PackedStrings.empty(2).utf8) == 0


def test_a_saved_list_of_strings_is_packed(tmp_path):
    storage.write_values(tmp_path, {"names": ["ä", "", "\ud800"]})
    assert storage.read_values(tmp_path)["names"] == ["ä", "", "\ud800"]
    assert np.load(tmp_path / "names.ends.npy").tolist() == [2, 2, 5]


BROKEN = {
    "not UTF-8 at byte 1": (b"a\xffb", [3]),
    "not UTF-8 at byte 0": (b"\xa9\xc3", [2]),
    "cut a character": ("aéb".encode(), [2, 4]),
}


@pytest.mark.parametrize("problem", BROKEN)
def test_bytes_of_a_file_that_are_no_strings_are_refused(problem):
    data, ends = BROKEN[problem]
    with pytest.raises(ValueError, match=problem):
        PackedStrings.checked("texts", np.frombuffer(data, np.uint8), np.array(ends))


@pytest.mark.parametrize("strings", [[], [""], ["a"], ["", "é"], ["é", ""], ["a", "b", "a"]])
def test_strings_of_a_file_may_be_few_and_empty(strings):
    packed = PackedStrings.of(strings)
    assert PackedStrings.checked("texts", packed.utf8, packed.ends).decode() == strings


@pytest.mark.parametrize(
    ("data", "ends", "problem"),
    [
        (b"abc", [], r"texts\.ends must rise to 3, and does not"),
        (b"", [1], r"texts\.ends must rise to 0, and does not"),
        (b"abc", [1, 2], r"texts\.ends must rise to 3"),
        (b"abc", [3, 2, 3], r"texts\.ends must rise to 3"),
        (b"abc", [-1, 3], r"texts\.ends must rise to 3"),
        (b"abc", [[3]], r"texts\.ends is int64 of shape \(1, 1\)"),
        (b"abc", [3.0], r"texts\.ends is float64"),
    ],
)
def test_ends_that_do_not_fit_the_bytes_are_refused(data, ends, problem):
    found = np.array(ends, None if ends else np.int64)
    with pytest.raises(ValueError, match=problem):
        PackedStrings.checked("texts", np.frombuffer(data, np.uint8), found)


def test_bytes_of_another_type_are_refused():
    with pytest.raises(ValueError, match=r"texts\.bytes is int64 of shape \(1,\)"):
        PackedStrings.checked("texts", np.array([97]), np.array([1]))


def test_a_block_may_end_anywhere_in_a_character(monkeypatch):
    monkeypatch.setattr("labelgrove.core.strings.BLOCK", 5)
    for before in range(6):
        packed = PackedStrings.of(["x" * before + "😀é日" * 3])
        assert PackedStrings.checked("texts", packed.utf8, packed.ends)[0] == packed[0]


@pytest.mark.parametrize("block", [5, 6, 7, 1000])
def test_strings_are_checked_block_by_block(monkeypatch, block):
    monkeypatch.setattr("labelgrove.core.strings.BLOCK", block)
    packed = PackedStrings.of(["aé😀", "", "\ud800", "\udc00x", "日本語" * 5, ""])
    assert PackedStrings.checked("texts", packed.utf8, packed.ends).decode() == packed.decode()
    broken = packed.utf8.copy()
    broken[-1] = 0xFF
    with pytest.raises(ValueError, match=f"not UTF-8 at byte {len(broken) - 3}"):
        PackedStrings.checked("texts", broken, packed.ends)
