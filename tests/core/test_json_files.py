"""JSON files of saved folders."""

import json
import os

import numpy as np
import pytest

from labelgrove.core.errors import DamagedError, StorageError
from labelgrove.core.json_files import as_json, read_json, write_json

LARGEST = 268_435_456


def test_what_is_written_is_read_again(tmp_path):
    value = {"ä": [1, None, True, 0.1, "\ud800"], "b": {}}
    write_json(tmp_path / "x.json", value)
    assert read_json(tmp_path / "x.json") == value


def test_lines_that_people_can_read():
    assert as_json({"name": "Bär", "n": 1}).splitlines() == ["{", ' "name": "Bär",', ' "n": 1', "}"]
    assert as_json([]).endswith("]\n")


def test_numbers_of_numpy_become_plain_ones():
    assert json.loads(as_json([np.float32(0.5), np.int64(3), np.bool_(True)])) == [0.5, 3, True]


@pytest.mark.parametrize(
    ("value", "told"), [(float("nan"), "nan"), (object, "type <class 'object'>"), ({1}, r"set \{1")]
)
def test_a_value_that_json_does_not_know_is_named(tmp_path, value, told):
    with pytest.raises(StorageError, match=rf"x\.json cannot hold this value: .*{told}"):
        write_json(tmp_path / "x.json", {"a": value})
    assert not (tmp_path / "x.json").exists()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"{", "Expecting property name"),
        (b"\xff", "can't decode byte"),
        (b"[" * 100_000, "it nests too deep"),
    ],
    ids=["cut", "no UTF-8", "deep"],
)
def test_a_damaged_file_is_refused(tmp_path, content, told):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(
        DamagedError, match=rf"x\.json is damaged: .*{told}.*; save the model again"
    ):
        read_json(tmp_path / "x.json")


def test_a_file_that_is_too_large_is_refused_unread(tmp_path):
    (tmp_path / "x.json").touch()
    os.truncate(tmp_path / "x.json", LARGEST + 1)  # it takes no room
    with pytest.raises(DamagedError, match="268,435,457 bytes, and such a file has at most 268,43"):
        read_json(tmp_path / "x.json")
