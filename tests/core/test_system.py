"""What differs between systems: both ways do the same, also the one for Windows, run here.

Windows locks bytes of a file for one handle. So do locks of open file descriptions on Linux, with
which its way is run here; that processes cannot remove what others have open is not tried.
"""

import contextlib
import os
import struct
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from labelgrove.core import served_folders, storage, system
from labelgrove.core.durability import flush, put_in_place
from labelgrove.core.errors import InputError
from labelgrove.service.feedback import FeedbackFile
from labelgrove.service.versions import Version, Versions

fcntl = pytest.importorskip("fcntl")
WAITS = 20  # seconds until a lock counts as never free


def locking(handle, how, size):
    """Lock bytes from the place of a handle on, as ``msvcrt.locking`` does."""
    assert how == system.TRY_LOCK
    whence, start = os.SEEK_SET, os.lseek(handle, 0, os.SEEK_CUR)
    writes = fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    kind = fcntl.F_WRLCK if writes else fcntl.F_RDLCK  # Windows does not ask
    wanted = struct.pack("hhqqi4x", kind, whence, start, size, 0)
    fcntl.fcntl(handle, fcntl.F_OFD_SETLK, wanted)


@pytest.fixture(params=["posix", "windows"])
def here(request, monkeypatch):
    """Each system in turn; on the second nothing locks or opens folders."""
    if request.param == "windows" and not hasattr(fcntl, "F_OFD_SETLK"):
        pytest.skip("no locks of open file descriptions")
    chosen = system.PosixSystem() if request.param == "posix" else system.WindowsSystem(locking)
    monkeypatch.setattr(system, "HERE", chosen)
    return chosen


def test_a_lock_is_held_until_its_file_is_closed(here, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"content")
    with path.open("r+b") as mine, path.open("r+b") as other:
        mine.seek(3)
        assert here.lock(mine.fileno())
        assert mine.tell() == 3
        assert not here.lock(other.fileno())
        assert other.read() == b"content", "what is locked can be read"
        other.seek(0, os.SEEK_END)
        other.write(b", more")
        other.flush()
        mine.close()
        assert here.lock(other.fileno())
    assert path.read_bytes() == b"content, more"


def test_a_lock_can_be_waited_for(here, tmp_path):
    path = tmp_path / "file"
    path.touch()
    with path.open("r+b") as other:
        mine = path.open("r+b")
        assert here.lock(mine.fileno())
        waits = threading.Thread(target=here.lock, args=(other.fileno(),), kwargs={"wait": True})
        waits.start()
        waits.join(0.1)
        assert waits.is_alive()
        mine.close()
        waits.join(WAITS)
        assert not waits.is_alive()
        with path.open("r+b") as third:
            assert not here.lock(third.fileno())


def test_files_and_empty_folders_are_replaced(here, tmp_path):
    for name in ("old", "new"):
        (tmp_path / name).write_text(name)
        (tmp_path / f"{name}-folder").mkdir()
    (tmp_path / "new-folder" / "file").touch()
    here.replace(tmp_path / "new", tmp_path / "old")
    here.replace(tmp_path / "new-folder", tmp_path / "old-folder")
    assert (tmp_path / "old").read_text() == "new"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "old", "old-folder"]
    (tmp_path / "another").mkdir()
    with pytest.raises(OSError, match="not empty"):
        here.replace(tmp_path / "another", tmp_path / "old-folder")


def test_windows_waits_for_a_file_that_another_program_has_open(tmp_path, monkeypatch):
    windows, rename, tries = system.WindowsSystem(locking), os.replace, []
    for name in ("new", "old"):
        (tmp_path / name).write_text(name)

    def busy_at_first(source, target):
        tries.append(source)
        if len(tries) < 3:
            raise PermissionError(13, "Access is denied", str(target))
        rename(source, target)

    monkeypatch.setattr(os, "replace", busy_at_first)
    windows.replace(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old").read_text() == "new"
    assert len(tries) == 3
    monkeypatch.setattr(system, "PATIENCE", 0.05)
    tries[:] = []
    monkeypatch.setattr(time, "sleep", lambda _: tries.clear())  # it stays busy
    with pytest.raises(PermissionError):
        windows.replace(tmp_path / "old", tmp_path / "other")
    assert (tmp_path / "old").exists()


def test_files_and_folders_are_flushed(here, tmp_path):
    (tmp_path / "file").write_text("content")
    flush(tmp_path / "file")
    flush(tmp_path)
    assert (tmp_path / "file").read_text() == "content"
    with pytest.raises(FileNotFoundError):
        flush(tmp_path / "none")


def test_a_process_apart_is_ended(here):
    told = system.PosixSystem().apart() if os.name == "posix" else here.apart()
    process = subprocess.Popen(
        [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"],
        stdout=subprocess.PIPE,
        **told,
    )
    with process:
        process.stdout.readline()
        here.kill(process)
        assert process.wait(WAITS) != 0


def test_both_ways_keep_ctrl_c_from_a_process():
    assert system.PosixSystem().apart() == {"start_new_session": True}
    assert system.WindowsSystem(locking).apart() == {"creationflags": 0x200}


# --- what stands on it -----------------------------------------------------------------------


def saved(folder, length, **options):
    with storage.writing(folder, {"part": "test"}, **options) as place:
        storage.write_values(place, {"weights": np.ones(length)})


def length(folder):
    return len(storage.read_folder(folder, lambda place, _: storage.read_values(place))["weights"])


def test_folders_are_saved_replaced_and_read(here, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    for number, overwrite in ((1, False), (2, True), (3, True)):
        saved(folder, number, overwrite=overwrite)
        assert length(folder) == number
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_file_is_replaced_whole(here, tmp_path):
    for text in ("one", "two"):
        storage.write_text(tmp_path / "file", text)
        assert (tmp_path / "file").read_text() == text
    (tmp_path / "temporary").write_text("three")
    put_in_place(tmp_path / "temporary", tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_one_training_at_a_time_works_in_a_folder(here, tmp_path):
    with (
        storage.locked(tmp_path / "run"),
        pytest.raises(InputError, match="another process works in"),
        storage.locked(tmp_path / "run"),
    ):
        pass
    with storage.locked(tmp_path / "run"):
        pass


def test_a_service_folder_in_use_is_no_leftover(here, tmp_path):
    with served_folders.served_folder(tmp_path) as place:
        assert served_folders.left_folders(tmp_path) == []
        left = tmp_path / f"{served_folders.PREFIX}left"
        left.mkdir()
        (left / served_folders.LOCK).write_bytes(served_folders.MARK)
        served_folders.remove_left(tmp_path)
        assert list(tmp_path.iterdir()) == [place]
    assert list(tmp_path.iterdir()) == []


def test_feedback_is_kept_once_though_another_process_holds_the_file(here, tmp_path, monkeypatch):
    monkeypatch.setattr("labelgrove.service.feedback.PATIENCE", 0.02)
    file = FeedbackFile(tmp_path / "f.jsonl")
    file.append([{"text": "a"}])
    with contextlib.ExitStack() as stack:
        held = stack.enter_context(file.path.open("ab"))
        assert here.lock(held.fileno())
        file.append([{"text": "b"}])
        assert len(list(tmp_path.iterdir())) == 2
    (tmp_path / "f.jsonl.aside-4194305").write_text('{"text": "c"}\n')
    file.append([{"text": "d"}])
    file.collect()
    assert sorted(file.path.read_text().split()[1::2]) == ['"a"}', '"b"}', '"c"}', '"d"}']
    assert [path.name for path in tmp_path.iterdir()] == ["f.jsonl"]


def test_versions_are_written_and_read(here, tmp_path):
    versions = Versions(tmp_path)
    versions.begin("x", Version("a", "1"))
    assert versions.publish("x", Version("b", "2"), keep=False) == Version("a", "1")
    assert Versions(tmp_path).get("x").current == Version("b", "2")
