import errno
import io
import json
import os
import pickle
import platform
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove.core import exchange, manifest, replacing, storage
from labelgrove.core.errors import DamagedError, InputError, NewerFormatError, StorageError
from labelgrove.core.features import TokenSequences
from labelgrove.core.progress import Lines


def save(folder, values, **options):
    with storage.writing(folder, {"part": "test"}, **options) as temporary:
        storage.write_values(temporary, values)


@pytest.fixture
def saved(tmp_path):
    folder = tmp_path / "model"
    save(folder, {"weights": np.arange(1000.0), "name": "x"})
    return folder


def test_round_trip_of_every_kind(tmp_path):
    values = {
        "array": np.arange(6).reshape(2, 3),
        "empty": np.empty((0, 3), np.float32),
        "scalar": np.float32(0.5),
        "sparse": csr_array([[0, 2.0], [3.0, 0]]),
        "tokens": TokenSequences(np.array([1, 0, 2]), np.array([0, 2, 3]), 5),
        "strings": ["", "ä", "日本", "a\nb\x00", "\ud800"],
        "no_strings": [],
        "json": {"a": [1, None, True, 0.1], "b": "text"},
    }
    save(tmp_path / "m", values)
    read = storage.read_values(tmp_path / "m")
    assert np.array_equal(read["array"], values["array"])
    assert type(read["array"]) is np.ndarray, "kernels are slower to call with a subclass"
    assert isinstance(read["array"].base, np.memmap)
    assert not read["array"].flags.writeable
    assert read["empty"].shape == (0, 3)
    assert read["scalar"] == 0.5
    assert (read["sparse"] != values["sparse"]).nnz == 0
    assert read["tokens"].sequence(0).tolist() == [1, 0]
    assert read["tokens"].shape == (2, 5)
    assert read["strings"] == values["strings"]
    assert read["no_strings"] == []
    assert read["json"] == values["json"]
    for part in (read["sparse"].data, read["sparse"].indices, read["tokens"].tokens):
        assert not part.flags.writeable, "nothing is copied into memory"


@given(st.lists(st.text(st.characters()), min_size=1))
def test_any_strings_come_back(strings):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        storage.write_values(Path(folder), {"s": strings})
        assert storage.read_values(Path(folder))["s"] == strings


def test_objects_are_refused(tmp_path):
    with pytest.raises(StorageError, match="Python objects"):
        save(tmp_path / "m", {"bad": np.array([object()])})
    with pytest.raises(StorageError, match="cannot hold"):
        save(tmp_path / "m", {"bad": object()})
    assert list(tmp_path.iterdir()) == []


def test_manifest_says_what_is_inside(saved):
    said = storage.read_manifest(saved)
    assert said["format"] == manifest.FORMAT == 1, "another one needs a reader of this one"
    assert said["part"] == "test"
    assert set(said["files"]) == {"values.json", "weights.npy"}
    assert said["versions"]["numpy"] == np.__version__
    assert said["versions"]["python"] == platform.python_version()
    assert datetime.fromisoformat(said["created"]).tzinfo == UTC
    text = (saved / "manifest.json").read_text()
    assert text.endswith("}\n")


def test_the_order_of_names_in_a_manifest_means_nothing(saved):
    manifest = storage.read_manifest(saved)
    path = saved / "manifest.json"
    path.write_text(json.dumps(dict(reversed(manifest.items()))))
    assert storage.read_manifest(saved) == manifest


@pytest.mark.parametrize("name", ["weights.npy", "values.json"])
@pytest.mark.parametrize("harm", ["cut", "altered", "removed"])
def test_damage_is_refused(saved, name, harm):
    path = saved / name
    data = path.read_bytes()
    if harm == "cut":
        path.write_bytes(data[:-10])
    elif harm == "altered":
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    else:
        path.unlink()
    with pytest.raises(DamagedError, match=name):
        storage.read_manifest(saved)


def test_damage_to_the_manifest_is_refused(saved):
    path = saved / "manifest.json"
    text = path.read_text()
    path.write_text(text.replace('"part": "test"', '"part": "toast"'))
    with pytest.raises(DamagedError, match=r"manifest\.json was altered"):
        storage.read_manifest(saved)
    path.write_text(text[:50])
    with pytest.raises(DamagedError, match=r"manifest\.json is damaged"):
        storage.read_manifest(saved)
    path.write_text("[]")
    with pytest.raises(DamagedError, match="no format number"):
        storage.read_manifest(saved)


def test_unverified_reading_still_sees_a_cut(saved):
    path = saved / "weights.npy"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(DamagedError, match="cut short"):
        storage.read_manifest(saved, verify=False)


def test_a_newer_format_is_refused(saved):
    path = saved / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "format": 99, "labelgrove": "7.0"}))
    with pytest.raises(NewerFormatError, match=r"format 99.*7\.0.*pip install --upgrade"):
        storage.read_manifest(saved)


def test_a_manifest_of_another_program_is_refused(saved):
    """Also if it has a format and a checksum, as the manifest of another program may."""
    path = saved / "manifest.json"
    said = json.loads(path.read_text())
    del said["labelgrove"]
    path.write_text(json.dumps({**said, "checksum": manifest._own_checksum(said)}))
    with pytest.raises(DamagedError, match="it names no labelgrove"):
        storage.read_manifest(saved)


def test_what_is_not_a_saved_folder(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        storage.read_manifest(tmp_path / "none")
    with pytest.raises(InputError, match=r"no such folder: .*none$"):
        storage.read_folder(tmp_path / "none", lambda *_: None)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file is a file, not a saved labelgrove folder"):
        storage.read_folder(tmp_path / "file", lambda *_: None)
    with pytest.raises(InputError, match="not a saved labelgrove folder"):
        storage.read_manifest(tmp_path)


def test_an_existing_folder_is_kept_unless_told(saved):
    with pytest.raises(InputError, match="exists already"):
        save(saved, {"weights": np.zeros(1)})
    assert len(storage.read_values(saved)["weights"]) == 1000
    save(saved, {"weights": np.zeros(1)}, overwrite=True)
    assert len(storage.read_values(saved)["weights"]) == 1
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


def test_a_strange_folder_is_never_overwritten(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="nothing that labelgrove wrote"):
        save(tmp_path / "mine", {"a": 1}, overwrite=True)
    assert (tmp_path / "mine" / "thesis.txt").exists()


@pytest.mark.parametrize("able", [True, False], ids=["exchange", "two renames"])
def test_ctrl_c_while_a_folder_is_replaced_leaves_a_whole_one(saved, monkeypatch, able):
    rename, swap = Path.rename, exchange.exchange

    def interrupted(path, target):
        found = rename(path, target)
        os.kill(os.getpid(), signal.SIGINT)  # after each step, also between the two
        return found

    monkeypatch.setattr(Path, "rename", interrupted)
    monkeypatch.setattr(replacing, "exchange", lambda *paths: able and swap(*paths))
    with pytest.raises(KeyboardInterrupt):
        save(saved, {"weights": np.zeros(3)}, overwrite=True)
    storage.read_manifest(saved)
    assert len(storage.read_values(saved)["weights"]) == 3
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_failure_while_writing_leaves_the_old(saved):
    def crash(folder):
        storage.write_values(folder, {"weights": np.zeros(3)})
        raise RuntimeError("crash")

    with (
        pytest.raises(RuntimeError, match="crash"),
        storage.writing(saved, {}, overwrite=True) as temporary,
    ):
        crash(temporary)
    assert len(storage.read_values(saved)["weights"]) == 1000
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


def test_a_kill_while_writing_leaves_the_old(saved):
    script = (
        "import os, numpy as np\n"
        "from labelgrove.core import storage\n"
        f"with storage.writing({str(saved)!r}, {{}}, overwrite=True) as folder:\n"
        "    storage.write_values(folder, {'weights': np.zeros(3)})\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    storage.read_manifest(saved)
    assert len(storage.read_values(saved)["weights"]) == 1000


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")  # noqa: PTH110
def test_a_full_disk_is_told_and_nothing_is_left(saved):
    def fill(folder):
        (folder / "weights.npy").symlink_to("/dev/full")  # every write there fails
        storage.write_values(folder, {"weights": np.zeros(100_000)})

    with (
        pytest.raises(StorageError, match="no space left on the disk") as caught,
        storage.writing(saved, {}, overwrite=True) as temporary,
    ):
        fill(temporary)
    assert caught.value.__cause__.errno == errno.ENOSPC
    assert len(storage.read_values(saved)["weights"]) == 1000
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


def test_a_folder_that_appears_meanwhile_is_kept(tmp_path):
    def race(folder):
        with storage.writing(folder, {}) as temporary:
            storage.write_values(temporary, {"mine": 1})
            save(folder, {"theirs": 1})

    with pytest.raises(InputError, match="exists already"):
        race(tmp_path / "m")
    assert storage.read_values(tmp_path / "m") == {"theirs": 1}


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write"):
        save(tmp_path / "file" / "model", {"a": 1})


def test_a_place_is_refused_before_the_work(saved, tmp_path):
    for place, told in (
        (saved, "exists already; choose another folder, or allow overwriting"),
        (saved / "values.json", "lies in the saved folder"),
        (tmp_path / "file", "file exists and is nothing that labelgrove wrote"),
    ):
        (tmp_path / "file").touch()
        with pytest.raises(InputError, match=told):
            storage.check_free(place)
        with pytest.raises(InputError, match=told), storage.writing(place, {}):
            raise AssertionError("the work has begun")
    storage.check_free(saved, overwrite=True)
    with pytest.raises(InputError, match="file exists and is nothing that labelgrove wrote"):
        storage.check_free(tmp_path / "file", overwrite=True)
    with pytest.raises(StorageError, match=r"cannot write .*file/deep/m: Not a directory; nothing"):
        storage.check_free(tmp_path / "file" / "deep" / "m")


@pytest.mark.parametrize("overwrite", [True, False])
def test_an_empty_folder_is_a_free_place(tmp_path, overwrite):
    (tmp_path / "m").mkdir()
    storage.check_free(tmp_path / "m", overwrite=overwrite)
    save(tmp_path / "m", {"a": 1}, overwrite=overwrite)
    assert storage.read_values(tmp_path / "m") == {"a": 1}


def test_folders_above_a_place_are_made(tmp_path):
    storage.check_free(tmp_path / "a" / "b" / "m")
    assert list(tmp_path.iterdir()) == [], "not before anything is saved"
    save(tmp_path / "a" / "b" / "m", {"a": 1})
    assert storage.read_values(tmp_path / "a" / "b" / "m") == {"a": 1}


@pytest.mark.parametrize("moved_aside", [True, False])
def test_a_folder_that_was_brought_back_is_told(saved, moved_aside):
    if moved_aside:
        saved.rename(replacing._new_name(saved, saved.parent, old=True))
    told = io.StringIO()
    for _ in range(2):
        assert storage.read_manifest(saved, progress=Lines(told))["part"] == "test"
    assert told.getvalue().count("was moved aside by a process that was stopped") == moved_aside


def test_a_folder_is_read_with_its_checksums_unless_told_otherwise(saved):
    path = saved / "weights.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert storage.read_folder(saved, lambda *_: "read", verify=False) == "read"
    with pytest.raises(DamagedError, match="its checksum does not fit"):
        storage.read_folder(saved, lambda *_: "read")
    with pytest.raises(InputError, match="a signature covers the checksums, so they must be comp"):
        storage.read_folder(saved, lambda *_: "read", verify=False, signed_by="key.pub")


def test_one_json_value_is_read_without_the_others(saved):
    assert storage.read_json_value(saved, "name") == "x"
    assert storage.read_json_value(saved, "weights") is None, "an array"
    assert storage.read_json_value(saved, "none") is None


def test_the_size_of_a_folder_is_that_of_all_its_files(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a").write_bytes(b"123")
    (tmp_path / "b").write_bytes(b"4567")
    assert storage.size(tmp_path) == 7


@pytest.mark.parametrize(
    "described",
    [{"x": ["json", 1, 2]}, {"x": {"json": 1, "y": 2}}, {"x": ["json"]}, {"x": "js"}],
    ids=str,
)
def test_values_that_are_not_described_are_refused(tmp_path, described):
    (tmp_path / "values.json").write_text(json.dumps(described))
    with pytest.raises(DamagedError, match=r"values\.json does not tell what 'x' is"):
        storage.read_values(tmp_path)


def test_values_are_written_into_any_folder(tmp_path):
    for number in (1, 2):  # a new one, and one that is there
        storage.write_values(tmp_path / "a" / "b", {"number": number})
        assert storage.read_values(tmp_path / "a" / "b") == {"number": number}


def test_names_of_values_lead_nowhere_else(tmp_path):
    (tmp_path / "values.json").write_text(json.dumps({"../x": ["json", 1]}))
    with pytest.raises(DamagedError, match=r"'\.\./x' is no name of a value"):
        storage.read_values(tmp_path)


def test_values_of_a_kind_that_is_not_known_are_refused(tmp_path):
    (tmp_path / "values.json").write_text(json.dumps({"x": ["pickle", None]}))
    with pytest.raises(DamagedError, match="unknown kind of value 'pickle'"):
        storage.read_values(tmp_path)


@pytest.mark.parametrize(
    ("name", "array", "told"),
    [
        ("t.tokens", np.zeros(3, np.int64), r"t\.tokens is int64"),
        ("t.tokens", np.array([0, 1, 5], np.int32), r"t\.tokens must lie from 0 to 4"),
        ("t.offsets", np.array([0, 3], np.int32), r"t\.offsets is int32"),
        ("s.indices", np.zeros(3, np.int32), r"s\.indices is int32 of shape \(3,\)"),
        ("s.indices", np.zeros(2, np.uint32), r"s\.indices is uint32"),
        ("s.indices", np.array([0, 2], np.int32), r"s\.indices must lie from 0 to 1"),
        ("s.indptr", np.array([0, 1, 2, 2], np.int32), r"s\.indptr is int32 of shape \(4,\)"),
        ("s.indptr", np.array([0, 2, 1], np.int32), r"s\.indptr must rise from 0 to 2"),
    ],
)
def test_arrays_that_kernels_would_leave_are_refused(tmp_path, name, array, told):
    tokens = TokenSequences(np.array([1, 0, 2]), np.array([0, 2, 3]), 5)
    storage.write_values(tmp_path, {"t": tokens, "s": csr_array([[0, 2.0], [3.0, 0]])})
    np.save(tmp_path / f"{name}.npy", array)
    with pytest.raises(DamagedError, match=told):
        storage.read_values(tmp_path)


class Trap:
    """Touches a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_nothing_is_unpickled(saved, tmp_path):
    (saved / "weights.npy").write_bytes(pickle.dumps(Trap(tmp_path / "hacked")))
    with pytest.raises(DamagedError, match="model is damaged"):
        storage.read_values(saved)
    assert not (tmp_path / "hacked").exists()


# --- folders that a training holds ----------------------------------------------------------------


def test_a_folder_that_is_held_belongs_to_one_process(tmp_path):
    folder = tmp_path / "deep" / "run"
    with storage.locked(folder):
        assert folder.is_dir()
        told = "another process works in .*run: wait until it ends, or choose another folder"
        with pytest.raises(InputError, match=told), storage.locked(folder):
            raise AssertionError("two are in it")
        (folder / "part").touch()
    with storage.locked(folder):
        assert (folder / "part").exists(), "work stays, and is found again"
        (folder / "part").unlink()
    assert not folder.exists(), "without work in it it goes"
    with storage.locked(folder):
        shutil.rmtree(folder)


def test_a_folder_that_cannot_be_held_is_told(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(StorageError, match=r"cannot write .*file/run: Not a directory; nothing was"),
        storage.locked(tmp_path / "file" / "run"),
    ):
        pass


def test_a_lock_is_no_work(tmp_path):
    assert not storage.holds_work(tmp_path / "none")
    (tmp_path / "lock").touch()
    assert not storage.holds_work(tmp_path)
    (tmp_path / "part").touch()
    assert storage.holds_work(tmp_path)


def test_the_name_of_a_lock_is_on_the_disk(tmp_path, monkeypatch):
    flush, flushed = os.fsync, []

    def fsync(handle):
        flushed.append((os.fstat(handle).st_ino, [*(tmp_path / "run").iterdir()]))
        flush(handle)

    (tmp_path / "run").mkdir()
    monkeypatch.setattr(os, "fsync", fsync)
    with storage.locked(tmp_path / "run"):
        assert flushed == [((tmp_path / "run").stat().st_ino, [tmp_path / "run" / "lock"])]


def test_reading_a_large_folder_is_shown(tmp_path, monkeypatch):
    with storage.writing(tmp_path / "m", {}) as folder:
        storage.write_values(folder, {"x": np.zeros(400_000), "y": np.zeros(100_000)})
    for least, shown in ((10**9, False), (10**6, True)):
        monkeypatch.setattr(manifest, "LARGE", least)
        told = io.StringIO()
        storage.read_manifest(tmp_path / "m", progress=Lines(told))
        assert (f"loading {tmp_path / 'm'}: 4 MB in" in told.getvalue()) == shown


# --- files ----------------------------------------------------------------------------------------


def test_a_file_is_written_whole_where_a_link_leads(tmp_path):
    (tmp_path / "there").mkdir()
    file, link = tmp_path / "there" / "file", tmp_path / "link"
    link.symlink_to(file)
    for text in ("new\n", "ü\udc80\n"):
        storage.write_text(link, text)
        assert file.read_bytes().decode("utf-8", "surrogateescape") == text
        file.chmod(0o600)
    assert link.is_symlink()
    storage.write_text(link, "last")
    assert file.stat().st_mode & 0o777 == 0o600
    long = tmp_path / ("n" * 250)
    storage.write_text(long, "long")
    assert {path.name for path in tmp_path.rglob("*")} == {"there", "file", "link", long.name}


def test_what_is_no_file_is_written_to_and_stays(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        storage.write_text(pipe, "through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_file_that_cannot_be_written_is_told_with_the_reason(tmp_path):
    with pytest.raises(StorageError, match="no space left on the disk while writing /dev/full"):
        storage.write_text(Path("/dev/full"), "text")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match=r"cannot write .*folder: Is a directory"):
        storage.write_text(tmp_path / "folder", "text")
    with pytest.raises(StorageError, match=r"cannot write .*none.file: No such file"):
        storage.write_text(tmp_path / "none" / "file", "text")
    with pytest.raises(UnicodeEncodeError):
        storage.write_text(tmp_path / "file", "\ud800")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_file_is_complete_before_it_has_its_name(tmp_path, monkeypatch):
    replace, seen = os.replace, []

    def watched(temporary, target):
        seen.append(Path(temporary).read_text())
        replace(temporary, target)

    monkeypatch.setattr(os, "replace", watched)
    storage.write_text(tmp_path / "file", "whole")
    assert seen == ["whole"]


def test_a_disk_that_fails_after_the_renaming_is_told(tmp_path, monkeypatch):
    flush = os.fsync

    def broken(handle):
        if os.path.samestat(os.fstat(handle), tmp_path.stat()):
            raise OSError(errno.EIO, "Input/output error")
        flush(handle)

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(StorageError, match=r"cannot write .*file: Input/output error; nothing was"):
        storage.write_text(tmp_path / "file", "text")


def test_what_a_killed_writer_left_does_not_hinder_another(tmp_path):
    left = tmp_path / f".out.json-{os.getpid()}.part"  # ids of processes return
    left.write_text("half")
    storage.write_text(tmp_path / "out.json", "whole")
    assert (tmp_path / "out.json").read_text() == "whole"
    assert left.read_text() == "half"
