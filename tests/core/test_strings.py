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


def test_a_saved_list_of_strings_is_packed(tmp_path):
    storage.write_values(tmp_path, {"names": ["ä", "", "\ud800"]})
    assert storage.read_values(tmp_path)["names"] == ["ä", "", "\ud800"]
    assert np.load(tmp_path / "names.ends.npy").tolist() == [2, 2, 5]
