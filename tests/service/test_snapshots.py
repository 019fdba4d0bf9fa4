"""Snapshots: links or copies, which are gone when nobody needs them."""

import errno
import json
import os
import resource
import shutil
import tempfile
from pathlib import Path

import pytest

from labelgrove.core import manifest
from labelgrove.core.errors import DamagedError, InputError, StorageError
from labelgrove.core.served_folders import PREFIX
from labelgrove.service import snapshots
from labelgrove.service.snapshots import drop, places, take
from services import made

SHARED = Path("/dev/shm")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("served") / "own"
    made(place)
    return place


def files(folder):
    return {each.relative_to(folder): each for each in folder.rglob("*") if each.is_file()}


@pytest.mark.parametrize("copy", [True, False])
def test_a_snapshot_has_all_files(folder, tmp_path, copy):
    (folder / "manifest.sig").write_text("signed")  # beside the manifest, which cannot list it
    with places([str(folder)], str(tmp_path) if copy else "") as (place,):
        assert Path(place).parent == (tmp_path if copy else folder.parent)
        snapshot = Path(take(str(folder), place, copy=copy))
        assert snapshot.parent == Path(place)
        assert snapshot.name.startswith("own-")
        taken, own = files(snapshot), files(folder)
        assert taken.keys() == own.keys()
        for name, file in taken.items():
            assert file.read_bytes() == own[name].read_bytes()
            assert file.samefile(own[name]) != copy
        drop(str(snapshot), place)
        assert not snapshot.exists()
        drop(str(folder), place)
        drop(str(folder), "")
        assert folder.exists()
    (folder / "manifest.sig").unlink()
    assert not Path(place).exists()


def test_taggers_of_one_folder_share_a_place(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    given = [tmp_path / "one" / "a", tmp_path / "one" / "b", tmp_path / "two" / "c"]
    with places(list(map(str, given)), "") as found:
        assert found[0] == found[1] != found[2]
        assert [Path(each).parent for each in found] == [each.parent for each in given]
        assert all(Path(each).name.startswith(PREFIX) for each in found)
    assert [list(each.iterdir()) for each in tmp_path.iterdir()] == [[], []]
    with places(list(map(str, given)), str(tmp_path)) as found:
        assert len(set(found)) == 1


def test_a_place_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with places(["/proc/own"], "") as found:
        assert found == ("",), "links are not needed"
    with (
        pytest.raises(InputError, match=r"cannot take copies of taggers.*--copy-to"),
        places(["/proc/own"], str(tmp_path / "file")),
    ):
        pass


def test_without_a_place_the_folder_itself_is_served(folder, tmp_path):
    assert take(str(folder), "", copy=False) == str(folder)
    with pytest.raises(InputError, match="no such folder"):
        take(str(tmp_path / "none"), "", copy=False)


def test_a_copy_that_does_not_fit_is_told_and_removed(folder, tmp_path):
    kept = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, kept[1]))
    try:
        with pytest.raises(StorageError, match=r"could not be copied to .*--copy-to"):
            take(str(folder), str(tmp_path), copy=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_linked_is_served_as_it_lies_there(folder, caplog):
    if not os.access(SHARED, os.W_OK) or SHARED.stat().st_dev == folder.stat().st_dev:
        pytest.skip("no other file system")
    place = Path(tempfile.mkdtemp(dir=SHARED))
    try:
        with caplog.at_level("INFO", "labelgrove.service"):
            assert take(str(folder), str(place), copy=False) == str(folder)
        assert f"{folder} is served as it lies there: " in caplog.text
        assert list(place.iterdir()) == []
    finally:
        shutil.rmtree(place)


def test_what_cannot_be_linked_at_all_is_served_as_it_lies_there(folder, tmp_path, monkeypatch):
    def link(source, target):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", link)
    assert take(str(folder), str(tmp_path), copy=False) == str(folder)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("replaced", [0, 4, 5])
def test_a_folder_that_is_replaced_meanwhile_is_tried_five_times(
    folder, tmp_path, monkeypatch, replaced
):
    manifests = iter([b"old", b"new"] * replaced + [b"same"] * 10)
    monkeypatch.setattr(snapshots, "_manifest", lambda _: next(manifests))
    if replaced < 5:
        taken = take(str(folder), str(tmp_path), copy=False)
        assert [str(each) for each in tmp_path.iterdir()] == [taken]
    else:
        with pytest.raises(StorageError, match="is replaced again and again"):
            take(str(folder), str(tmp_path), copy=False)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", [errno.ENOENT, errno.ENOSPC])
def test_a_snapshot_that_somebody_removes_is_no_error(folder, tmp_path, monkeypatch, code):
    add, failed = snapshots._add, []

    def fails_once(source, target, *, copy):
        if not failed:
            failed.extend(tmp_path.iterdir())
            shutil.rmtree(failed[0])
            raise OSError(code, "it failed")
        add(source, target, copy=copy)

    monkeypatch.setattr(snapshots, "_add", fails_once)
    taken = take(str(folder), str(tmp_path), copy=False)
    assert (taken == str(folder)) == (code == errno.ENOSPC)


def test_a_snapshot_may_be_dropped_twice_and_a_folder_never(folder, tmp_path, monkeypatch):
    taken = take(str(folder), str(tmp_path), copy=False)
    for _ in range(2):
        drop(taken, str(tmp_path))
        assert list(tmp_path.iterdir()) == []
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path)
    drop("own", "")
    assert (tmp_path / "own").exists()


def test_checksums_are_compared_by_the_trial_and_not_twice(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "own")
    path = tmp_path / "own" / "manifest.json"
    said = json.loads(path.read_text())
    for facts in said["files"].values():
        facts["sha256"] = "0" * 64
    path.write_text(json.dumps({**said, "checksum": manifest._own_checksum(said)}))
    (tmp_path / "place").mkdir()
    assert take(str(tmp_path / "own"), "", copy=False) == str(tmp_path / "own")
    assert take(str(tmp_path / "own"), str(tmp_path / "place"), copy=False) != str(tmp_path / "own")


def test_long_names_and_deep_files_have_room(folder, tmp_path):
    long = tmp_path / ("n" * 200)
    shutil.copytree(folder, long)
    (tmp_path / "place").mkdir()
    taken = Path(take(str(long), str(tmp_path / "place"), copy=False))
    assert taken.name.startswith("n" * 50 + "-")
    (tmp_path / "file").write_text("deep")
    for copy in (True, False):
        deep = tmp_path / str(copy) / "b" / "c" / "file"
        snapshots._add(tmp_path / "file", deep, copy=copy)
        assert deep.read_text() == "deep"


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../b"])
def test_files_outside_of_a_tagger_are_not_taken(folder, name):
    with pytest.raises(DamagedError, match="lists a file outside of it"):
        snapshots._names(folder, ["manifest.json", name])
