"""Hidden folders of services: which are in use, which were left, and which are not ours."""

import shutil

import pytest

from labelgrove.core import served_folders
from labelgrove.core.served_folders import LOCK, MARK, left_folders, remove_left, served_folder


@pytest.fixture
def left(tmp_path):
    """What a killed service left: a lock that nobody holds, and a snapshot."""
    place = tmp_path / ".serving.left"
    (place / "model-abc").mkdir(parents=True)
    (place / "model-abc" / "file").write_text("")
    (place / LOCK).write_bytes(MARK)
    return place


def test_a_folder_is_held_while_it_is_used_and_then_goes(tmp_path):
    with served_folder(tmp_path) as place:
        (place / "model-abc").mkdir()
        assert place.name.startswith(".serving.")
        assert (place / LOCK).read_bytes() == MARK, "a kill would leave it so"
        assert left_folders(tmp_path) == []
        remove_left(tmp_path)
        assert place.is_dir()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone_already_is_no_error(tmp_path):
    with served_folder(tmp_path) as place:
        shutil.rmtree(place)


def test_what_killed_services_left_is_removed(tmp_path, left):
    shutil.copytree(left, other := tmp_path / ".serving.also")
    (tmp_path / "model").mkdir()
    assert left_folders(tmp_path) == [other, left]
    remove_left(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_what_another_service_removes_meanwhile_is_no_error(tmp_path, left, monkeypatch):
    monkeypatch.setattr(served_folders, "left_folders", lambda _: [tmp_path / "gone", left])
    remove_left(tmp_path)
    assert not left.exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda left: (left / "notes.txt").write_text("mine"),
        lambda left: (left / "notes").symlink_to(left.parent),
        lambda left: (left / LOCK).unlink(),
        lambda left: (left / LOCK).write_bytes(b"mine"),
        lambda left: (left / LOCK).write_bytes(MARK + b"\n"),
    ],
    ids=["another file", "a link to a folder", "no lock", "another lock", "a longer lock"],
)
def test_a_folder_that_is_not_as_a_service_makes_it_stays(tmp_path, left, change):
    change(left)
    assert left_folders(tmp_path) == []
    remove_left(tmp_path)
    assert left.is_dir()


def test_a_link_or_a_file_of_such_a_name_stays(tmp_path, left):
    left.rename(tmp_path / "elsewhere")
    left.symlink_to(tmp_path / "elsewhere")
    (tmp_path / ".serving.file").write_text("")
    assert left_folders(tmp_path) == []
