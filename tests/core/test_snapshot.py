"""Reading a folder that another process replaces."""

from contextlib import nullcontext

import pytest

from labelgrove.core import folder_locks, snapshot
from labelgrove.core.errors import InputError, StorageError
from labelgrove.core.snapshot import read_unchanged


@pytest.fixture
def folder(tmp_path):
    return made(tmp_path / "model", "old")


@pytest.fixture
def no_paths(monkeypatch):
    """A system without paths of open folders."""
    monkeypatch.setattr(snapshot, "OPEN_FOLDERS", "/nowhere/{}")


def made(folder, text):
    folder.mkdir()
    (folder / "file").write_text(text)
    return folder


def replace(folder, text):
    folder.rename(folder.with_name(f"before {text}"))
    made(folder, text)


def text(place):
    return (place / "file").read_text()


def test_what_was_opened_is_read_though_it_has_been_replaced(folder):
    def read(place):
        assert place != folder
        replace(folder, "new")
        return text(place)

    assert read_unchanged(folder, read) == "old"


def test_without_paths_of_open_folders_it_is_read_by_its_name(folder, no_paths):
    readings = []

    def read(place):
        readings.append(text(place))
        if readings == ["old"]:
            replace(folder, "new")
        return place

    assert read_unchanged(folder, read) == folder
    assert readings == ["old", "new"]


def test_where_folders_cannot_be_opened_it_is_read_by_its_name(folder, monkeypatch):
    monkeypatch.setattr(snapshot, "open_folder", lambda _: nullcontext(None))
    assert read_unchanged(folder, lambda place: (place, text(place))) == (folder, "old")


def test_an_error_in_a_folder_that_was_replaced_is_not_told(folder):
    readings = []

    def read(place):
        readings.append(text(place))
        if readings == ["old"]:
            replace(folder, "new")
            raise ValueError("files are gone")
        return "read"

    assert read_unchanged(folder, read) == "read"
    assert readings == ["old", "new"]


def test_a_folder_that_is_replaced_at_each_of_twenty_readings_is_given_up(folder, no_paths):
    readings = []

    def read(place):
        readings.append(text(place))
        replace(folder, f"{len(readings)}")

    with pytest.raises(StorageError, match=r"model is replaced again and again.*try again later"):
        read_unchanged(folder, read)
    assert len(readings) == 20


def test_a_folder_that_is_removed_meanwhile_is_told(folder):
    def read(place):
        folder.rename(folder.with_name("moved"))
        raise ValueError("files are gone")

    with pytest.raises(InputError, match=r"no such folder: .*model$"):
        read_unchanged(folder, read)


def test_an_error_names_the_folder(folder):
    def read(place):
        raise ValueError(f"{place}/file is bad", 3)

    with pytest.raises(ValueError, match="is bad") as caught:
        read_unchanged(folder, read)
    assert caught.value.args == (f"{folder}/file is bad", 3)


def test_what_is_no_folder_is_told(folder, monkeypatch):
    with pytest.raises(InputError, match=r"no such folder: .*none$"):
        read_unchanged(folder / "none", text)
    with pytest.raises(InputError, match="file is a file, not a saved labelgrove folder"):
        read_unchanged(folder / "file", text)

    def forbidden(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(snapshot, "open_folder", forbidden)
    with pytest.raises(StorageError, match="model cannot be read: Permission denied"):
        read_unchanged(folder, text)


def test_several_may_read_a_folder_and_nobody_removes_it_meanwhile(folder):
    def read(place):
        with folder_locks.open_folder(folder) as other:
            alone = folder_locks.lock(other)
        with folder_locks.open_folder(folder) as other:
            return alone, folder_locks.lock(other, shared=True)

    assert read_unchanged(folder, read) == (False, True)
