"""Nothing that is not ours is removed, and a kill at any moment leaves a whole folder."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from labelgrove.core import exchange, manifest, replacing, storage, system
from labelgrove.core.errors import DamagedError, InputError
from processes import PATIENCE, no_locks

KILLED = -signal.SIGKILL
WRITE = """
import os, sys, time
from pathlib import Path
import numpy as np
from labelgrove.core import replacing, storage

folder, moment = Path(sys.argv[1]), sys.argv[2]

def die(*_):
    os.kill(os.getpid(), 9)

if "two renames" in moment:
    replacing.exchange = lambda *_: False
if "before the exchange" in moment:
    replacing.exchange = die
if "after the exchange" in moment or "after two renames" in moment:
    replacing.discard = die
if "between two renames" in moment:
    rename = Path.rename
    def renamed(path, target):
        if path == folder:
            rename(path, target)
            die()
        return rename(path, target)
    Path.rename = renamed
with storage.writing(folder, {"part": "test"}, overwrite=True) as place:
    storage.write_values(place, {"weights": np.zeros(3)})
    if moment == "while writing":
        die()
    if moment == "hold":
        print("at work", flush=True)
        sys.stdin.read()
"""


def save(folder, n, **options):
    with storage.writing(folder, {"part": "test"}, **options) as place:
        storage.write_values(place, {"weights": np.full(n, n)})
        storage.write_values(place / "below", {"weights": np.full(n, n)})


def length(folder):
    return len(storage.read_folder(folder, lambda place, _: storage.read_values(place)["weights"]))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def saved(tmp_path):
    folder = tmp_path / "shelf" / "model"
    save(folder, 1000)
    return folder


# --- what is not ours ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        {"name": "a web application", "icons": []},
        {"format": 1, "files": {"index.html": {"bytes": 1, "sha256": ""}}, "checksum": "0"},
        {"format": 1, "labelgrove": "0.1", "files": {"src/app.js": {}}, "checksum": "0"},
        [],
    ],
)
def test_a_folder_with_the_manifest_of_another_program_is_kept(tmp_path, said):
    app = tmp_path / "app"
    (app / "src").mkdir(parents=True)
    (app / "src" / "app.js").write_text("years of work")
    (app / "manifest.json").write_text(json.dumps(said))
    with pytest.raises(InputError, match=r"app exists.*not overwritten.*choose another folder"):
        save(app, 1, overwrite=True)
    assert (app / "src" / "app.js").read_text() == "years of work"
    assert names(tmp_path) == ["app"]


def test_what_is_not_listed_stops_a_replacement_and_is_named(saved):
    (saved / "below" / "notes.txt").write_text("mine")
    save(saved.parent / "other", 2)
    (saved.parent / "other").rename(saved / "nested")
    (saved / ".git").mkdir()
    (saved / "z").write_text("")
    (saved / "empty").symlink_to(saved.parent)
    told = r"also holds.*'\.git/', 'below/notes\.txt', 'empty/' and 2 more\. Nothing is overwritten"
    with pytest.raises(InputError, match=told):
        save(saved, 1, overwrite=True)
    assert (saved / "below" / "notes.txt").read_text() == "mine"
    assert length(saved / "nested") == 2
    assert len(storage.read_values(saved)["weights"]) == 1000


@pytest.mark.parametrize("able", [True, False], ids=["exchange", "two renames"])
def test_what_appears_at_the_last_moment_is_kept_in_its_place(saved, monkeypatch, able):
    swap = exchange.exchange

    def late(one, other):
        (saved / "feedback.jsonl").write_text("acknowledged")
        monkeypatch.setattr(replacing, "exchange", lambda *paths: able and swap(*paths))
        return replacing.exchange(one, other)

    monkeypatch.setattr(replacing, "exchange", late)
    with pytest.raises(InputError, match=r"also holds.*'feedback\.jsonl'"):
        save(saved, 1, overwrite=True)
    assert (saved / "feedback.jsonl").read_text() == "acknowledged"
    assert len(storage.read_values(saved)["weights"]) == 1000
    assert names(saved.parent) == ["model"]


def test_a_folder_is_not_saved_into_a_saved_one(saved):
    with pytest.raises(InputError, match=r"lies in the saved folder .*model, which would be dam"):
        save(saved / "deep" / "second", 1)
    assert length(saved) == 1000


def test_a_run_folder_of_somebody_else_is_not_worked_in(tmp_path):
    (tmp_path / "x.run").mkdir()
    (tmp_path / "x.run" / "thesis.txt").write_text("years of work")
    with (
        pytest.raises(
            InputError, match=r"x\.run holds 'thesis\.txt' and no training of labelgrove"
        ),
        storage.locked(tmp_path / "x.run"),
    ):
        pass
    assert names(tmp_path / "x.run") == ["thesis.txt"]


# --- files that the manifest omits --------------------------------------------------------------


def test_what_the_manifest_omits_is_refused_by_name(saved):
    (saved / "below" / "more.npy").write_bytes((saved / "below" / "weights.npy").read_bytes())
    for verify in (True, False):
        with pytest.raises(DamagedError, match=r"model holds.*does not list: 'below/more\.npy'"):
            storage.read_manifest(saved, verify=verify)
    (saved / "below" / "more.npy").unlink()
    (saved / ".DS_Store").write_bytes(b"a file manager was here")
    assert length(saved) == 1000


def rewritten(folder, files):
    path = folder / "manifest.json"
    said = {**json.loads(path.read_text()), "files": files}
    path.write_text(json.dumps({**said, "checksum": manifest._own_checksum(said)}))


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, "lists no files"),
        (["values.json"], "lists no files"),
        ({"../precious": {"bytes": 4, "sha256": ""}}, r"'\.\./precious' is no file in it"),
        ({"/etc/passwd": {"bytes": 4, "sha256": ""}}, "'/etc/passwd' is no file in it"),
        ({"values.json": {"bytes": "4", "sha256": ""}}, "size or checksum of 'values.json'"),
    ],
)
def test_a_list_of_files_that_is_none_is_refused(saved, files, told):
    precious = saved.parent / "precious"
    precious.write_text("mine")
    rewritten(saved, files)
    with pytest.raises(DamagedError, match=told):
        storage.read_manifest(saved)
    with pytest.raises(InputError, match="not overwritten"):
        save(saved, 1, overwrite=True)
    assert precious.read_text() == "mine"


# --- kills --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moment", "left"),
    [
        ("while writing", 1000),
        ("before the exchange", 1000),
        ("after the exchange", 3),
        ("between two renames", 1000),
        ("after two renames", 3),
    ],
)
def test_a_kill_leaves_a_whole_folder_and_the_next_save_no_other(saved, moment, left):
    done = subprocess.run([sys.executable, "-c", WRITE, saved, moment], check=False)
    assert done.returncode == KILLED
    assert len(names(saved.parent)) == 2
    assert length(saved) == left, "the next load brings back what was moved aside"
    save(saved, 7, overwrite=True)
    assert length(saved) == 7
    assert names(saved.parent) == ["model"]


def test_a_folder_that_was_moved_aside_is_there_for_the_next_save_too(saved):
    subprocess.run([sys.executable, "-c", WRITE, saved, "between two renames"], check=False)
    assert "model" not in names(saved.parent)
    with pytest.raises(InputError, match="exists already"):
        save(saved, 7)
    assert length(saved) == 1000


def test_at_no_moment_is_there_no_folder(saved):
    ended, missed, seen = threading.Event(), [], [0]

    def look():
        while not ended.is_set():
            seen[0] += 1
            if not (saved / "manifest.json").exists():
                missed.append(seen[0])

    with_eyes = threading.Thread(target=look)
    with_eyes.start()
    try:
        for n in range(20):
            save(saved, n + 1, overwrite=True)
    finally:
        ended.set()
        with_eyes.join(PATIENCE)
    assert seen[0] > 20
    assert not missed


def test_the_work_of_a_running_process_is_never_removed(saved):
    with subprocess.Popen(
        [sys.executable, "-c", WRITE, saved, "hold"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "at work\n"
        (leftover,) = replacing.leftovers(saved.parent)
        save(saved, 5, overwrite=True)
        assert not replacing.clear(leftover)
        assert leftover.path.is_dir()
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    assert length(saved) == 3, "who was at work could finish"
    assert names(saved.parent) == ["model"]


def test_what_another_machine_may_be_writing_is_left_for_a_day(saved):
    other = saved.parent / f".model.labelgrove-0therb00-{'a' * 16}"
    (other / "below").mkdir(parents=True)
    (other / "below" / "part").write_text("")
    save(saved, 5, overwrite=True)
    assert other.is_dir()
    for seconds, left in ((24 * 3600 - 60, True), (24 * 3600 + 60, False)):
        long_ago = time.time() - seconds
        for path in (other / "below" / "part", other / "below", other):
            os.utime(path, (long_ago, long_ago))
        save(saved, 6, overwrite=True)
        assert other.is_dir() == left
    assert names(saved.parent) == ["model"]


def test_leftovers_of_other_folders_and_strange_names_are_left_alone(saved):
    boot = replacing._boot()
    for name in (f".models.labelgrove-{boot}-{'a' * 16}", ".model-backup", ".model.labelgrove-x"):
        (saved.parent / name).mkdir()
    before = names(saved.parent)
    save(saved, 5, overwrite=True)
    assert names(saved.parent) == before


def test_names_of_any_length_are_saved_and_replaced(tmp_path):
    for name in ("n" * 255, "日本" * 40, "a\nb"):
        save(tmp_path / name, 1)
        save(tmp_path / name, 2, overwrite=True)
        assert length(tmp_path / name) == 2
    assert len(names(tmp_path)) == 3


# --- reading while a folder is replaced ---------------------------------------------------------


@pytest.fixture
def replaced_meanwhile(monkeypatch):
    """Replace a folder in another thread and return that once the new one is to be seen.

    Every thread ends within the test that began it, before what that test patched is put back.
    """
    threads = []

    def replace(folder, n):
        before = (folder / "manifest.json").stat().st_ino
        thread = threading.Thread(target=save, args=(folder, n), kwargs={"overwrite": True})
        threads.append(thread)
        thread.start()
        ends = time.monotonic() + PATIENCE
        while (folder / "manifest.json").stat().st_ino == before and time.monotonic() < ends:
            time.sleep(0.001)
        return thread

    yield replace
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_what_is_read_is_of_one_folder(saved, replaced_meanwhile):
    threads = []

    def read(place, said):
        first = storage.read_values(place)["weights"]
        threads.append(replaced_meanwhile(saved, 3))
        return first, storage.read_values(place / "below")["weights"]

    first, second = storage.read_folder(saved, read)
    for thread in threads:
        thread.join(PATIENCE)
    assert len(first) == len(second) == 1000
    assert first.sum() == second.sum() == 1_000_000, "also when the files are removed"
    assert length(saved) == 3
    assert names(saved.parent) == ["model"]


@pytest.mark.parametrize("way", ["no paths of open folders", "no locks"])
def test_what_cannot_be_read_to_its_end_is_read_again(saved, monkeypatch, replaced_meanwhile, way):
    if way == "no locks":
        monkeypatch.setattr(system.PosixSystem, "lock", no_locks)
    else:
        monkeypatch.setattr("labelgrove.core.snapshot.OPEN_FOLDERS", "/nowhere/{}")
    readings = []

    def read(place, said):
        first = storage.read_values(place)["weights"]
        if not readings:
            thread = replaced_meanwhile(saved, 3)
            if way == "no locks":
                thread.join(PATIENCE)  # nobody waits for us: the old one is removed
        readings.append(len(first))
        return len(first), len(storage.read_values(place / "below")["weights"])

    assert storage.read_folder(saved, read) == (3, 3)
    assert readings == [1000, 3]


def test_errors_name_the_folder_and_not_how_it_was_opened(saved):
    (saved / "below" / "weights.npy").unlink()
    with pytest.raises(DamagedError, match=rf"^{saved}/below/weights\.npy is missing") as caught:
        storage.read_manifest(saved)
    assert "/proc/" not in str(caught.value)


def test_a_folder_that_is_read_for_long_stays_for_the_next_save(saved, monkeypatch):
    monkeypatch.setattr(replacing, "PATIENCE", 0.05)

    def read(place, said):
        save(saved, 3, overwrite=True)
        return len(storage.read_values(place)["weights"])

    assert storage.read_folder(saved, read) == 1000
    assert len(names(saved.parent)) == 2
    save(saved, 4, overwrite=True)
    assert names(saved.parent) == ["model"]


def test_a_file_in_place_of_a_folder_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file is a file"):
        storage.read_manifest(Path(tmp_path / "file"))
