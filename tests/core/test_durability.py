"""What is flushed to the disk, and in which order."""

import errno
import os
from pathlib import Path

import pytest

from labelgrove.core.durability import flush, flush_tree, make_folders, put_in_place


@pytest.fixture
def flushed(monkeypatch):
    """The numbers of files and folders that were flushed, in order."""
    real, numbers = os.fsync, []

    def fsync(handle):
        numbers.append(os.fstat(handle).st_ino)
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    return numbers


def number(path):
    return path.stat().st_ino


def open_files():
    """Return how many files this process has open, or nothing where the system does not tell."""
    told = Path("/proc/self/fd")
    return len(list(told.iterdir())) if told.exists() else None


def test_a_file_and_the_names_of_a_folder_are_flushed(tmp_path, flushed):
    (tmp_path / "file").write_text("")
    before = open_files()
    flush(tmp_path / "file")
    flush(tmp_path)
    assert flushed == [number(tmp_path / "file"), number(tmp_path)]
    assert open_files() == before, "nothing stays open"


@pytest.mark.parametrize("code", [errno.EACCES, errno.EINVAL, errno.ENOTSUP, errno.EIO])
def test_only_folders_need_not_be_flushed_where_the_system_cannot(tmp_path, monkeypatch, code):
    (tmp_path / "file").write_text("")

    def unable(handle):
        raise OSError(code, "unable")

    monkeypatch.setattr(os, "fsync", unable)
    with pytest.raises(OSError, match="unable"):
        flush(tmp_path / "file")
    if code == errno.EIO:  # the disk is broken
        with pytest.raises(OSError, match="unable"):
            flush(tmp_path)
    else:
        flush(tmp_path)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        flush(tmp_path / "none")


def test_a_tree_is_flushed_with_all_that_is_in_it(tmp_path, flushed):
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    (tmp_path / "deep" / "deeper" / "file").write_text("")
    flush_tree(tmp_path)
    assert sorted(flushed) == sorted(map(number, [tmp_path, *tmp_path.rglob("*")]))
    assert len(flushed) == 4


def test_names_of_new_folders_are_flushed_from_above(tmp_path, flushed):
    folder = tmp_path / "a" / "b"
    make_folders(folder)
    assert folder.is_dir()
    assert flushed == [number(tmp_path), number(tmp_path / "a")]
    flushed.clear()
    make_folders(folder)
    assert flushed == [], "it was there"


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_takes_its_place_is_on_the_disk_before(tmp_path, flushed, monkeypatch, kind):
    temporary, target = tmp_path / "temporary", tmp_path / "target"
    if kind == "folder":
        temporary.mkdir()
        (temporary / "file").write_text("new")
    else:
        temporary.write_text("new")
        target.write_text("old")
    within = {number(path) for path in (temporary, *temporary.rglob("*"))}
    replace = os.replace

    def watched(*paths):
        assert {*flushed} == within
        replace(*paths)

    monkeypatch.setattr(os, "replace", watched)
    put_in_place(temporary, target)
    assert not temporary.exists()
    assert (target / "file" if kind == "folder" else target).read_text() == "new"
    assert flushed[-1] == number(tmp_path)
    assert len(flushed) == len(within) + 1
