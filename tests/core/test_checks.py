"""What a saved folder holds is checked when it is read."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove.core import checks, storage
from labelgrove.core.errors import DamagedError, MissingExtraError
from labelgrove.core.features import TokenSequences

NUMBERS = csr_array(np.array([[0, 1, 2], [3, 0, 0]], np.float32))
TOKENS = TokenSequences(np.array([2, 0, 1]), np.array([0, 2, 3]), n_terms=3)


def altered(folder, name, array):
    np.save(folder / f"{name}.npy", array)


@pytest.mark.parametrize(
    ("name", "array", "said"),
    [
        ("x.indices", np.array([1, 2, 7], np.int32), r"x\.indices must lie from 0 to 2"),
        ("x.indices", np.array([1, -2, 0], np.int32), r"x\.indices must lie from 0 to 2"),
        ("x.indices", np.array([1.0, 2, 0]), r"x\.indices is float64"),
        ("x.indptr", np.array([0, 5, 3], np.int32), r"x\.indptr must rise from 0 to 3"),
        ("x.indptr", np.array([0, 3], np.int32), r"x\.indptr is int32 of shape \(2,\)"),
        ("x.data", np.ones((3, 1), np.float32), r"x\.data is float32 of shape \(3, 1\)"),
        ("x.data", np.array(["a", "b", "c"]), "not numbers"),
        ("t.tokens", np.array([2, 0, 3], np.int32), r"t\.tokens must lie from 0 to 2"),
        ("t.offsets", np.array([0, 9, 3]), r"t\.offsets must rise from 0 to 3"),
        ("s.ends", np.array([2, 1]), r"s\.ends must rise to 2"),
        ("s.ends", np.array([-3, 2]), r"s\.ends must rise to 2"),
        ("s.bytes", np.array([97, 98], np.int64), r"s\.bytes is int64"),
    ],
)
def test_arrays_that_do_not_fit_are_named_with_their_folder(tmp_path, name, array, said):
    storage.write_values(tmp_path, {"x": NUMBERS, "t": TOKENS, "s": ["a", "b"]})
    assert (storage.read_values(tmp_path)["x"] != NUMBERS).nnz == 0
    altered(tmp_path, name, array)
    with pytest.raises(DamagedError, match=said) as told:
        storage.read_values(tmp_path)
    assert str(tmp_path) in str(told.value)
    assert "save the model again" in str(told.value)


@pytest.mark.parametrize(
    "described",
    [
        ["a"],
        {"x": 3},
        {"x": ["csr", [2]]},
        {"x": ["csr", [2, "3"]]},
        {"x": ["csr", [2, -3]]},
        {"x": ["csr", [10**15, 3]]},
        {"t": ["tokens", None]},
        {"../x": ["array", None]},
        {"x": ["pickle", None]},
    ],
)
def test_a_wrong_description_of_values_is_refused(tmp_path, described):
    storage.write_values(tmp_path / "inner", {"x": NUMBERS, "t": TOKENS})
    (tmp_path / "inner" / storage.VALUES).write_text(json.dumps(described))
    with pytest.raises(DamagedError, match="inner is damaged"):
        storage.read_values(tmp_path / "inner")


@given(st.lists(st.integers(-3, 3), max_size=12), st.integers(1, 4))
def test_falls_are_counted_across_blocks(numbers, block):
    whole, checks.BLOCK = checks.BLOCK, block
    try:
        found = checks.falls(np.array(numbers, np.int64))
    finally:
        checks.BLOCK = whole
    assert found == sum(b < a for a, b in pairwise(numbers))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(value):
    checks.finite("x", np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="x holds numbers that are not finite"):
        checks.finite("x", np.array([1.0, value, 2.0]))


def test_what_goes_wrong_while_reading_names_the_folder(tmp_path):
    for error, said in (
        (KeyError("words"), "comes without words"),
        (MemoryError(), "asks for more memory than there is"),
        (RecursionError("too deep"), "is damaged: too deep"),
    ):
        with pytest.raises(DamagedError, match=said), checks.reading(tmp_path):
            raise error
    # what else the user can do something about stays as it is
    with pytest.raises(MissingExtraError, match="install it"), checks.reading(tmp_path):
        raise MissingExtraError("install it")


def test_settings_of_a_folder_are_checked(tmp_path):
    from labelgrove.models.most_frequent import MostFrequent

    MostFrequent().fit(NUMBERS, csr_array(np.ones((2, 2)))).save(tmp_path / "m")
    path = tmp_path / "m" / storage.VALUES
    for settings in ({"seed": "x"}, {"threads": 0}, [3]):
        values = json.loads(path.read_text())
        values["settings"] = ["json", settings]
        path.write_text(json.dumps(values))
        with pytest.raises(DamagedError, match=r"is damaged: .*(seed|threads|settings) must be"):
            MostFrequent.read(tmp_path / "m")
