"""The manifest of a saved folder: what it lists, what it refuses, what is removed by it."""

import json
from contextlib import contextmanager

import pytest

from labelgrove.core import manifest
from labelgrove.core.errors import DamagedError, InputError, NewerFormatError
from labelgrove.core.progress import Progress, Silent

OLD = {  # as version 0.1 wrote it
    "format": 1,
    "labelgrove": "0.1.0",
    "name": "Bären \ud800",
    "files": {"x": {"bytes": 1, "sha256": "00"}},
    "checksum": "825195ba775687395720bb7e4776e11de34316603fd6f2dadd3090d7711fdaf9",
}


@pytest.fixture
def saved(tmp_path):
    folder = tmp_path / "model"
    (folder / "deep" / "deeper").mkdir(parents=True)
    (folder / "deep" / "deeper" / "a").write_bytes(b"a" * 19)
    (folder / "values").write_bytes(b"b" * 16)
    manifest.write_manifest(folder, {"name": "x"})
    return folder


def said(folder):
    return json.loads((folder / "manifest.json").read_text())


def rewrite(folder, **changed):
    """Change what a manifest says so that its own checksum fits."""
    new = {**said(folder), **changed}
    new = {name: value for name, value in new.items() if value is not None}
    text = json.dumps({**new, "checksum": manifest._own_checksum(new)})
    (folder / "manifest.json").write_text(text)


# --- what it says -------------------------------------------------------------------------------


def test_it_lists_every_file_with_its_size(saved):
    parsed = manifest.parse_manifest(saved)
    assert {name: facts["bytes"] for name, facts in parsed["files"].items()} == {
        "deep/deeper/a": 19,
        "values": 16,
    }
    assert parsed["format"] == manifest.FORMAT == 1
    assert parsed["name"] == "x"


def test_manifests_of_older_versions_are_read(tmp_path):
    """The checksum that they hold must stay the one that is computed."""
    (tmp_path / "manifest.json").write_text(json.dumps(OLD))
    assert manifest.parse_manifest(tmp_path) == OLD


def test_the_first_three_names_are_shown():
    assert manifest.named(["a", "b", "c"]) == "'a', 'b', 'c'"
    assert manifest.named(["a", "b", "c", "d"]) == "'a', 'b', 'c' and 1 more"


# --- what is no manifest ------------------------------------------------------------------------


def test_a_folder_without_one_is_no_saved_folder(tmp_path):
    told = "is not a saved labelgrove folder: it has no manifest.json"
    with pytest.raises(InputError, match=told):
        manifest.parse_manifest(tmp_path)
    (tmp_path / "manifest.json").mkdir()
    with pytest.raises(InputError, match=told):
        manifest.parse_manifest(tmp_path)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"format": "1"}, "no format number; save the model again"),
        ({"format": True}, "no format number"),
        ({"format": None}, "no format number"),
        ({"labelgrove": None}, "of another program: it names no labelgrove"),
        ({"files": None}, "lists no files; save the model again"),
        ({"files": {}}, "lists no files"),
        ({"files": ["values"]}, "lists no files"),
    ],
    ids=str,
)
def test_a_manifest_that_lacks_something_is_refused(saved, changed, told):
    rewrite(saved, **changed)
    with pytest.raises(DamagedError, match=told):
        manifest.parse_manifest(saved)
    assert not manifest.is_ours(saved)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/../x", "/x", "a//x", "./x", "a\\x", "a\0x", "manifest.json"]
)
def test_a_name_that_is_no_file_of_the_folder_is_refused(saved, name):
    rewrite(saved, files={"values": {"bytes": 1, "sha256": ""}, name: {"bytes": 1, "sha256": ""}})
    with pytest.raises(DamagedError, match="is no file in it; save the model again"):
        manifest.parse_manifest(saved)


@pytest.mark.parametrize(
    "facts",
    [
        "x",
        {},
        {"bytes": 1},
        {"sha256": ""},
        {"bytes": True, "sha256": ""},
        {"bytes": 1, "sha256": None},
    ],
    ids=str,
)
def test_a_file_without_size_or_checksum_is_refused(saved, facts):
    rewrite(saved, files={"values": facts})
    with pytest.raises(DamagedError, match="size or checksum of 'values' is missing"):
        manifest.parse_manifest(saved)


def test_a_manifest_that_was_altered_is_refused(saved):
    (saved / "manifest.json").write_text(json.dumps({**said(saved), "name": "y"}))
    with pytest.raises(
        DamagedError, match=r"manifest\.json was altered: its checksum does not fit"
    ):
        manifest.parse_manifest(saved)


def test_a_newer_format_is_told_with_both_versions(saved):
    rewrite(saved, format=2, labelgrove="7.0")
    with pytest.raises(NewerFormatError, match=r"has format 2, written by labelgrove 7\.0; this"):
        manifest.parse_manifest(saved)
    assert manifest.is_ours(saved), "it is not to be damaged either"


def test_a_path_may_lie_in_a_saved_folder(saved, tmp_path):
    assert manifest.is_ours(saved)
    assert not manifest.is_ours(tmp_path)
    assert not manifest.is_ours(tmp_path / "none")
    assert manifest.saved_folder_around(saved / "deep" / "new") == saved
    assert manifest.saved_folder_around(saved) is None, "it does not lie in itself"


# --- files that are not listed ------------------------------------------------------------------


def foreign(folder):
    return manifest.foreign_files(folder, manifest.parse_manifest(folder))


def test_what_is_not_listed_is_named(saved):
    assert foreign(saved) == []
    (saved / "deep" / "notes").write_text("")
    (saved / "new" / "inner").mkdir(parents=True)
    (saved / "new" / "file").write_text("")
    (saved / "deep" / "empty").mkdir()
    (saved / "link").symlink_to(saved / "values")
    assert foreign(saved) == ["deep/empty/", "deep/notes", "link", "new/"]


def test_a_link_in_place_of_a_folder_is_foreign(saved, tmp_path):
    (saved / "deep" / "deeper").rename(tmp_path / "elsewhere")
    (saved / "deep" / "deeper").symlink_to(tmp_path / "elsewhere")
    assert foreign(saved) == ["deep/deeper/"]


def test_only_a_file_is_a_signature(saved):
    signature = saved / "manifest.sig"
    signature.write_bytes(b"x")
    assert foreign(saved) == []
    signature.unlink()
    signature.symlink_to(saved / "values")
    assert foreign(saved) == ["manifest.sig"]
    signature.unlink()
    signature.mkdir()
    assert foreign(saved) == ["manifest.sig/"]


# --- removing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("signed", [True, False])
def test_a_saved_folder_is_removed_with_all_that_it_lists(saved, tmp_path, signed):
    if signed:
        (saved / "manifest.sig").write_bytes(b"x")
    parsed = manifest.parse_manifest(saved)
    manifest.remove_listed(saved, parsed)
    assert list(tmp_path.iterdir()) == []
    manifest.remove_listed(saved, parsed)  # no error: another process may have been faster


def test_nothing_is_removed_beside_what_is_not_listed(saved):
    (saved / "deep" / "notes").write_text("mine")
    manifest.remove_listed(saved, manifest.parse_manifest(saved))
    manifest.check_files(saved, {"files": {**said(saved)["files"], "deep/notes": {"bytes": 4}}})


# --- checking -----------------------------------------------------------------------------------


def check(folder):
    manifest.check_files(folder, manifest.parse_manifest(folder))


def test_files_are_checked_by_name_and_size(saved):
    check(saved)
    (saved / "values").write_bytes(b"b" * 17)
    with pytest.raises(DamagedError, match="values has 17 bytes instead of 16: it was cut short"):
        check(saved)
    (saved / "values").unlink()
    for folder in (False, True):
        if folder:
            (saved / "values").mkdir()
        with pytest.raises(DamagedError, match="values is missing; save the model again"):
            check(saved)


def test_what_is_not_listed_is_refused_unless_a_file_manager_put_it_there(saved):
    (saved / "deep" / "Thumbs.db").write_text("")
    check(saved)
    (saved / "deep" / "more.npy").write_text("")
    with pytest.raises(DamagedError, match=r"does not list: 'deep/more\.npy'\. .*move it out"):
        check(saved)


class Shown(Progress):
    """Keeps what is shown."""

    def __init__(self):
        self.tasks, self.steps = [], []

    @contextmanager
    def task(self, title, total=None, unit="documents", done=0):
        self.tasks.append((title, total, unit))
        yield self

    def advance(self, steps=1, **facts):
        self.steps.append(steps)

    def say(self, message):
        raise AssertionError(message)


def test_reading_is_shown_from_250_megabytes_on():
    assert manifest.LARGE == 250_000_000


@pytest.mark.parametrize(("large", "shown"), [(35, True), (36, False)])
def test_steps_of_a_large_folder_are_whole_megabytes(saved, monkeypatch, large, shown):
    monkeypatch.setattr(manifest, "LARGE", large)
    monkeypatch.setattr(manifest, "MEGABYTE", 10)
    progress = Shown()
    manifest.check_sums(saved, manifest.parse_manifest(saved), "loading x", progress)
    assert progress.tasks == ([("loading x", 3, "MB")] if shown else [])
    assert progress.steps == ([1, 2] if shown else []), "19 bytes, then 16"


def test_a_checksum_that_does_not_fit_is_refused(saved):
    manifest.check_sums(saved, said(saved), "", Silent())
    for name in ("values", "deep/deeper/a"):
        before = (saved / name).read_bytes()
        (saved / name).write_bytes(b"c" * len(before))
        with pytest.raises(DamagedError, match=rf"{name} was altered: its checksum does not fit"):
            manifest.check_sums(saved, said(saved), "", Silent())
        (saved / name).write_bytes(before)
