"""What is saved outlives a power cut: it is on the disk before it has its name."""

import pytest

from flushes import flushes_of

SAVE = """
import numpy as np
from labelgrove.core import storage

with storage.writing(watched, {}, overwrite=True) as folder:
    storage.write_values(folder / "part", {"weights": np.arange(1000.0), "names": ["a", "b"]})
    storage.write_values(folder / "inner" / "part", {"weights": np.arange(3.0)})
"""


@pytest.mark.parametrize("times", [1, 2])  # a new folder, and one that replaces another
def test_all_of_a_folder_is_flushed_before_it_has_its_name(tmp_path, times):
    target = tmp_path / "model"
    for _ in range(times):
        flushes = flushes_of(SAVE, target)
    final = target.stat().st_ino
    before = {(each["inode"], each["bytes"]) for each in flushes if each["watched"] != final}
    saved = [target, *target.rglob("*")]
    assert len(saved) == 11, "the folder, three in it, and seven files"
    for path in saved:
        assert (path.stat().st_ino, path.stat().st_size) in before, path


@pytest.mark.parametrize("times", [1, 2])
def test_the_new_name_is_flushed_too(tmp_path, times):
    target = tmp_path / "model"
    for _ in range(times):
        flushes = flushes_of(SAVE, target)
    final, above = target.stat().st_ino, tmp_path.stat().st_ino
    assert any(each["inode"] == above and each["watched"] == final for each in flushes)
