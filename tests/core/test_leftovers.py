"""Temporary folders beside a saved one: their names, their locks, and how one is brought back."""

import fcntl
import hashlib
import os
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from labelgrove.core import folder_locks, replacing, storage, system
from labelgrove.core.errors import InputError
from processes import no_locks

OTHER_BOOT = "0therb00"
NOW, DAY = 1_700_000_000.0, 24 * 3600


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self, at_sleep=lambda: None):
        self.slept, self._at_sleep = 0.0, at_sleep

    def monotonic(self):
        return 1000.0 + self.slept

    def time(self):
        return NOW

    def sleep(self, seconds):
        assert self.slept < 60, "it never ends"
        self.slept += seconds
        self._at_sleep()


def save(folder, n, **options):
    with storage.writing(folder, {}, **options) as place:
        storage.write_values(place / "below", {"n": n})


def number(folder):
    return storage.read_values(folder / "below")["n"]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@contextmanager
def at_work_in(folder):
    """Hold the lock of a folder as a running process does."""
    with folder_locks.open_folder(folder) as handle:
        assert folder_locks.lock(handle)
        yield


@pytest.fixture
def shelf(tmp_path):
    (tmp_path / "shelf").mkdir()
    return tmp_path / "shelf"


@pytest.fixture
def aside(shelf):
    """A saved folder that was moved aside by a process that was killed then."""
    return moved_aside(shelf, 1)


def moved_aside(shelf, n, name="model"):
    save(shelf / "fresh", n)
    return (shelf / "fresh").rename(replacing._new_name(shelf / name, shelf, old=True))


# --- names --------------------------------------------------------------------------------------


def test_names_of_temporary_folders_stay_the_same_in_later_versions(shelf):
    """These must find what older ones left."""
    with replacing.temporary_folder(shelf / "model") as path:
        assert path.name.startswith(".model.labelgrove-")
        assert names(shelf) == [path.name]
        assert replacing.leftovers(shelf) == [replacing.Leftover(path, "model", old=False)]
    assert names(shelf) == []
    for length in (150, 151):
        name = "n" * length
        short = name
        if length > 150:
            short = f"{name[:75]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
        with replacing.temporary_folder(shelf / name) as path:
            assert path.name.startswith(f".{short}.labelgrove-")
            assert replacing.leftovers(shelf, name) == [replacing.Leftover(path, short, old=False)]


def test_a_temporary_folder_may_be_elsewhere(shelf, tmp_path):
    with replacing.temporary_folder(tmp_path / "none" / "model", shelf) as path:
        assert path.parent == shelf


def test_only_folders_with_such_names_are_leftovers(shelf, aside):
    other = moved_aside(shelf, 2, "other")
    end = f"labelgrove-{OTHER_BOOT}-{'a' * 16}"
    (shelf / f".file.{end}").write_text("")
    (shelf / f".link.{end}").symlink_to(aside)
    (shelf / ".model.labelgrove-x").mkdir()
    assert replacing.leftovers(shelf) == [
        replacing.Leftover(aside, "model", old=True),
        replacing.Leftover(other, "other", old=True),
    ]
    assert [each.path for each in replacing.leftovers(shelf, "other")] == [other]
    assert replacing.leftovers(shelf / "none") == []


# --- locks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", ["locked by another", "removed by another"])
def test_a_folder_that_was_taken_for_a_leftover_is_made_again(shelf, monkeypatch, problem):
    lock, tried = replacing.lock, []

    def late(handle):
        tried.extend(shelf.iterdir())
        if len(tried) > 1:
            return lock(handle)
        if problem == "locked by another":
            return False
        tried[0].rmdir()
        return True

    monkeypatch.setattr(replacing, "lock", late)
    with replacing.temporary_folder(shelf / "model") as path:
        assert names(shelf) == [path.name]
        assert tried == [tried[0], path]
        assert path != tried[0]


def test_where_folders_cannot_be_opened_they_are_not_locked(shelf, monkeypatch):
    monkeypatch.setattr(replacing, "open_folder", lambda _: nullcontext(None))
    with replacing.temporary_folder(shelf / "model") as path:
        assert path.is_dir()


def leftover_of(shelf, boot=None):
    path = shelf / f".model.labelgrove-{boot or replacing._boot()}-{'a' * 16}"
    (path / "below").mkdir(parents=True)
    (path / "below" / "file").write_text("")
    return replacing.Leftover(path, "model", old=False)


def changed(path, when):
    os.utime(path, (when, when))


def test_what_a_process_works_in_is_not_removed(shelf):
    leftover = leftover_of(shelf)
    with at_work_in(leftover.path):
        assert not replacing.clear(leftover)
        assert (leftover.path / "below" / "file").exists()
    assert replacing.clear(leftover)
    assert names(shelf) == []
    with leftover.held() as free:
        assert not free, "it is gone"


def test_a_lock_of_a_folder_that_was_replaced_meanwhile_is_none(shelf, monkeypatch):
    leftover, lock = leftover_of(shelf), replacing.lock

    def late(handle):
        leftover.path.rename(shelf / "moved")
        leftover.path.mkdir()
        return lock(handle)

    monkeypatch.setattr(replacing, "lock", late)
    with leftover.held() as free:
        assert not free


def test_of_a_complete_folder_only_what_it_lists_is_removed(shelf, aside):
    (aside / "notes").write_text("mine")
    (leftover,) = replacing.leftovers(shelf)
    assert not replacing.clear(leftover)
    assert (aside / "notes").exists()
    assert (aside / "manifest.json").exists()
    (aside / "notes").unlink()
    assert replacing.clear(leftover)
    assert not aside.exists()


@pytest.mark.parametrize("boot", [OTHER_BOOT, replacing.UNKNOWN])
def test_of_another_machine_what_has_not_changed_for_a_day_is_old(shelf, monkeypatch, boot):
    if boot == replacing.UNKNOWN:  # and this machine has no number either
        monkeypatch.setattr(replacing, "_boot", lambda: boot)
    monkeypatch.setattr(replacing, "time", Clock())
    leftover = leftover_of(shelf, boot)
    paths = [leftover.path / "below" / "file", leftover.path / "below", leftover.path]
    for last in paths:
        for path in paths:
            changed(path, NOW - 10 * DAY)
        changed(last, NOW - DAY)
        assert not leftover.is_old_enough(), last
        changed(last, NOW - DAY - 0.5)
        assert leftover.is_old_enough(), last


def test_what_was_made_since_this_machine_started_need_not_be_old(shelf):
    assert leftover_of(shelf).is_old_enough()
    assert not leftover_of(shelf, OTHER_BOOT).is_old_enough()


# --- putting a folder in its place --------------------------------------------------------------


def test_a_folder_that_appeared_is_only_replaced_if_that_was_asked_for(shelf):
    save(shelf / "model", 1)
    save(shelf / "new", 2)
    with pytest.raises(OSError, match="not empty"):
        replacing.put(shelf / "new", shelf / "model", overwrite=False)
    assert number(shelf / "model") == 1
    old = replacing.put(shelf / "new", shelf / "model", overwrite=True)
    assert number(shelf / "model") == 2
    assert number(old) == 1
    assert [each.path for each in replacing.leftovers(shelf, "model") if each.old] == [old]


@pytest.mark.parametrize("overwrite", [True, False])
@pytest.mark.parametrize("empty", [True, False])
def test_an_empty_folder_is_no_hindrance(shelf, overwrite, empty):
    save(shelf / "new", 2)
    if empty:
        (shelf / "model").mkdir()
    assert replacing.put(shelf / "new", shelf / "model", overwrite=overwrite) is None
    assert names(shelf) == ["model"]


def test_between_two_renames_nobody_brings_the_old_folder_back(shelf, monkeypatch):
    """Not even when a reader, whose lock kept it, has finished."""
    save(shelf / "model", 1)
    save(shelf / "new", 2)
    monkeypatch.setattr(replacing, "exchange", lambda *_: False)
    rename, free = Path.rename, []

    with folder_locks.open_folder(shelf / "model") as reader:
        folder_locks.lock(reader, shared=True)

        def watched(path, target):
            moved = rename(path, target)
            if path == shelf / "model":
                fcntl.flock(reader, fcntl.LOCK_UN)
                (leftover,) = replacing.leftovers(shelf, "model")
                with leftover.held() as is_free:
                    free.append(is_free)
            return moved

        monkeypatch.setattr(Path, "rename", watched)
        replacing.put(shelf / "new", shelf / "model", overwrite=True)
    assert free == [False]
    assert number(shelf / "model") == 2


def test_what_labelgrove_did_not_write_is_not_replaced(shelf):
    (shelf / "app").mkdir()
    with pytest.raises(InputError, match=r"shown exists and is nothing that labelgrove wrote, so"):
        replacing.check_replaceable(shelf / "app", Path("shown"))
    (shelf / "app" / "manifest.json").write_text("{}")
    told = r"shown exists, and its .*\(shown/manifest.json is damaged.*remove this one yourself"
    with pytest.raises(InputError, match=told):
        replacing.check_replaceable(shelf / "app", Path("shown"))


def test_readers_of_a_replaced_folder_have_ten_seconds(shelf, monkeypatch):
    save(shelf / "model", 1)
    clock = Clock()
    monkeypatch.setattr(folder_locks, "time", clock)
    with at_work_in(shelf / "model"):
        replacing.discard(shelf / "model")
        assert (shelf / "model" / "manifest.json").exists()
    assert clock.slept == pytest.approx(10, abs=0.1)
    replacing.discard(shelf / "model")
    assert names(shelf) == []


def test_where_folders_have_no_locks_a_replaced_one_is_removed_at_once(shelf, monkeypatch):
    save(shelf / "model", 1)
    monkeypatch.setattr(system.PosixSystem, "lock", no_locks)
    replacing.discard(shelf / "model")
    assert names(shelf) == []


# --- bringing back ------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(replacing, "time", clock)
    return clock


def test_a_folder_that_was_moved_aside_is_brought_back_at_once(shelf, aside, clock):
    assert replacing.bring_back(shelf / "model")
    assert names(shelf) == ["model"]
    assert clock.slept == 0
    assert not replacing.bring_back(shelf / "model"), "there is one now"
    assert not replacing.bring_back(shelf / "other"), "none was moved aside"


def test_the_newest_folder_is_brought_back(shelf, aside, clock):
    newer = moved_aside(shelf, 2)
    for path in (aside, *aside.rglob("*"), newer, *newer.rglob("*")):
        changed(path, NOW - 100)
    changed(newer / "below" / "values.json", NOW)
    assert replacing.bring_back(shelf / "model")
    assert number(shelf / "model") == 2
    assert names(shelf) == [aside.name, "model"]


def test_a_damaged_folder_is_not_brought_back(shelf, aside, clock):
    (aside / "below" / "values.json").unlink()
    assert not replacing.bring_back(shelf / "model")
    assert names(shelf) == [aside.name]
    older = moved_aside(shelf, 2)
    for path in (older, *older.rglob("*")):
        changed(path, NOW - 10**9)
    assert replacing.bring_back(shelf / "model"), "another one is whole"
    assert number(shelf / "model") == 2


def test_what_is_not_complete_is_not_brought_back(shelf, clock):
    save(shelf / "model", 1)
    (shelf / "model").rename(replacing._new_name(shelf / "model", shelf))
    assert not replacing.bring_back(shelf / "model")


def test_a_process_between_two_renames_gets_five_seconds(shelf, aside, clock):
    with at_work_in(aside):
        assert replacing.bring_back(shelf / "model")
    assert clock.slept == pytest.approx(5, abs=0.1)


@pytest.mark.parametrize("end", ["the new folder is there", "the old folder is gone"])
def test_a_process_that_finishes_is_not_waited_for_any_longer(shelf, aside, monkeypatch, end):
    def finish():
        if end == "the old folder is gone":
            aside.rename(shelf / "gone")
        else:
            save(shelf / "elsewhere", 2)
            (shelf / "elsewhere").rename(shelf / "model")

    clock = Clock(finish)
    monkeypatch.setattr(replacing, "time", clock)
    with at_work_in(aside):
        assert not replacing.bring_back(shelf / "model")
    assert clock.slept < 0.1
