"""Tagging files into a folder, in one process."""

import csv
import gzip
import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from command_line import called
from labelgrove.core.errors import (
    ClusterError,
    DamagedError,
    FullDiskError,
    InputError,
    StorageError,
    UnknownNameError,
)
from labelgrove.core.folder_locks import lock, open_folder
from labelgrove.tagger import Tagger
from labelgrove.tagger.bulk import one_by_one, tag_files, writers


def files_in(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def manifest(folder):
    return json.loads((Path(folder) / "parts.json").read_text())


class Stopping:
    """Tags some parts and is then interrupted."""

    def __init__(self, after):
        self.after, self.asked = after, []

    def __call__(self, saved, tasks, report, progress):
        self.asked = [task.number for task in tasks]
        return nullcontext(self.results(saved, tasks, report, progress))

    def results(self, saved, tasks, *others):
        with one_by_one(saved, tasks[: self.after], *others) as tagged:
            yield from tagged
        if len(tasks) > self.after:
            raise KeyboardInterrupt


def test_parts_are_what_tag_prints_for_each_file(saved, inputs, tmp_path):
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(Path(inputs[0]).read_bytes()))
    out = tmp_path / "out"
    outcome = tag_files(saved, [*inputs, str(packed)], out, k=3)
    assert (outcome.parts, outcome.inputs, outcome.documents) == (4, 4, 17)
    for number, name in enumerate([*inputs, packed]):
        part = (out / f"part-{number:05}.jsonl").read_text(encoding="utf-8")
        assert part == called("tag", saved, name, "-k", "3").stdout
    assert files_in(out) == [*(f"part-{i:05}.jsonl" for i in range(4)), "parts.json"]
    listed = manifest(out)["parts"]
    assert [each["input"] for each in listed] == [*inputs, str(packed)]
    assert [each["documents"] for each in listed] == [5, 3, 4, 5]


def test_patterns_are_expanded_and_sorted(saved, inputs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tag_files(saved, ["documents-[12].jsonl", "documents-0.jsonl"], "out")
    names = [Path(each["input"]).name for each in manifest("out")["parts"]]
    assert names == ["documents-1.jsonl", "documents-2.jsonl", "documents-0.jsonl"]


def test_csv_has_a_row_for_each_label(saved, tmp_path):
    source = tmp_path / "d.csv"
    source.write_text('id,text\n"a;1",one\nb,two\n')
    tag_files(saved, [str(source)], tmp_path / "out", k=2, form="csv")
    with (tmp_path / "out/part-00000.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["id"], row["label"]) for row in rows] == [
        *(("a;1", "label 00"), ("a;1", "label 01")),
        *(("b", "label 00"), ("b", "label 01")),
    ]
    assert 0 < float(rows[0]["score"]) <= 1


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_document_without_labels_is_kept(saved, inputs, tmp_path, form):
    tag_files(saved, inputs[:1], tmp_path / "out", threshold=1.0, form=form)
    path = tmp_path / f"out/part-00000.{form}"
    if form == "csv":
        assert path.read_text().splitlines()[1] == "0-0,,,"
    else:
        from pyarrow import parquet

        assert parquet.read_table(path).to_pylist()[0] == {"id": "0-0", "labels": []}


def test_parquet_holds_what_the_lines_hold(saved, inputs, tmp_path, monkeypatch):
    from pyarrow import parquet

    monkeypatch.setattr(writers, "GROUP", 2)
    tag_files(saved, inputs, tmp_path / "out", form="parquet")
    tag_files(saved, inputs, tmp_path / "lines")
    rows = parquet.read_table(tmp_path / "out/part-00000.parquet").to_pylist()
    lines = (tmp_path / "lines/part-00000.jsonl").read_text().splitlines()
    assert rows == [json.loads(line) for line in lines]
    assert parquet.ParquetFile(tmp_path / "out/part-00000.parquet").num_row_groups == 3


def test_an_interrupted_run_goes_on_with_what_is_missing(saved, inputs, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        tag_files(saved, inputs, out, tag_parts=Stopping(2))
    first = (out / "part-00000.jsonl").stat().st_mtime_ns
    (out / ".part-00002.jsonl-0.part").write_text("half")  # as a killed process leaves it
    (out / "part-00001.jsonl").write_text("cut short\n")
    later = Stopping(3)
    outcome = tag_files(saved, inputs, out, tag_parts=later)
    assert later.asked == [1, 2]
    assert (outcome.parts, outcome.documents) == (3, 12)
    assert (out / "part-00000.jsonl").stat().st_mtime_ns == first
    assert files_in(out) == [*(f"part-{i:05}.jsonl" for i in range(3)), "parts.json"]
    assert tag_files(saved, inputs, out, tag_parts=Stopping(0)).documents == 12  # nothing to do


def test_a_part_without_its_note_is_not_taken_for_finished(saved, inputs, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        tag_files(saved, inputs, out, tag_parts=Stopping(2))
    (note,) = out.glob(".finished-*/00001.json")
    note.unlink()
    later = Stopping(3)
    tag_files(saved, inputs, out, tag_parts=later)
    assert later.asked == [1, 2]


def test_another_run_is_refused_and_replaced_if_asked(saved, inputs, tmp_path):
    out = tmp_path / "out"
    tag_files(saved, inputs, out)
    before = (out / "part-00000.jsonl").read_bytes()
    with pytest.raises(InputError, match=r"holds another run, with k 5 instead of 2; .*overwrite="):
        tag_files(saved, inputs, out, k=2)
    with pytest.raises(InputError, match=r"another run, with other inputs, such as .*s-2.jsonl"):
        tag_files(saved, inputs[:2], out)
    with pytest.raises(InputError, match="the inputs in another order"):
        tag_files(saved, inputs[::-1], out)
    with pytest.raises(InputError, match="with form 'jsonl' instead of 'csv'"):
        tag_files(saved, inputs, out, form="csv")
    with pytest.raises(InputError, match=r"with encoding by default instead of 'latin-1'"):
        tag_files(saved, inputs, out, reading={"encoding": "latin-1"})
    tag_files(saved, inputs, out)
    assert (out / "part-00000.jsonl").read_bytes() == before
    tag_files(saved, inputs[:1], out, form="csv", overwrite=True)
    assert files_in(out) == ["part-00000.csv", "parts.json"]


def test_another_tagger_is_refused(saved, inputs, tmp_path):
    out = tmp_path / "out"
    tag_files(saved, inputs, out)
    Tagger("most-frequent", validation=0).fit(["one text"], [["b"]]).save(tmp_path / "other")
    with pytest.raises(InputError, match="holds another run, with another tagger"):
        tag_files(tmp_path / "other", inputs, out)


def test_an_input_that_was_changed_after_it_was_tagged(saved, inputs, tmp_path):
    out = tmp_path / "out"
    tag_files(saved, inputs, out)
    Path(inputs[1]).write_text('{"text": "new"}\n')
    with pytest.raises(InputError, match=r"documents-1.jsonl was changed after it was tagged into"):
        tag_files(saved, inputs, out)


def test_unreadable_inputs_are_named_and_the_others_go_on(saved, inputs, tmp_path):
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress(Path(inputs[0]).read_bytes())[:40])
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": "good"}\n{"text": 7}\n')
    missing = tmp_path / "missing.jsonl"
    asked = [inputs[0], *map(str, (cut, bad, missing)), inputs[1]]
    out = tmp_path / "out"
    outcome = tag_files(saved, asked, out)
    assert (outcome.parts, outcome.documents) == (2, 8)
    assert list(outcome.problems) == [str(cut), str(bad), str(missing)]
    assert "cut short" in outcome.problems[str(cut)]
    assert "bad.jsonl, line 2: the text must be a string" in outcome.problems[str(bad)]
    assert f"there is no file {missing}" in outcome.problems[str(missing)]
    assert files_in(out) == ["part-00000.jsonl", "part-00004.jsonl", "parts.json"]
    for path in (cut, bad, missing):  # repaired
        Path(path).write_bytes(Path(inputs[2]).read_bytes())
    cut.write_bytes(gzip.compress(cut.read_bytes()))
    outcome = tag_files(saved, asked, out)
    assert (outcome.parts, outcome.documents, outcome.problems) == (5, 20, {})


def test_bad_rows_are_skipped_if_asked(saved, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": 7}\n{"text": "good"}\n')
    outcome = tag_files(saved, [str(bad)], tmp_path / "out", reading={"on_bad": "skip"})
    assert (outcome.documents, outcome.skipped, outcome.problems) == (1, 1, {})
    assert json.loads((tmp_path / "out/part-00000.jsonl").read_text())["id"] == "2"


def unready(*_):
    raise ClusterError("it does not answer")


def test_nothing_is_written_before_what_tags_is_ready(saved, inputs, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(ClusterError):
        tag_files(saved, inputs, out, tag_parts=unready)
    assert not out.exists()
    tag_files(saved, inputs, out)
    before = files_in(out)
    with pytest.raises(ClusterError):
        tag_files(saved, inputs[:1], out, overwrite=True, tag_parts=unready)
    assert files_in(out) == before


def test_a_folder_without_finished_parts_is_no_other_run(saved, inputs, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        tag_files(saved, inputs, out, tag_parts=Stopping(0))
    assert files_in(out) == ["parts.json"]
    assert tag_files(saved, inputs[:2], out, k=2).parts == 2


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_an_empty_input_has_an_empty_part(saved, inputs, tmp_path, form):
    empty = [tmp_path / "none.jsonl", tmp_path / "header.csv", tmp_path / "none.jsonl.gz"]
    for path, content in zip(empty, [b"", b"text,labels\n", gzip.compress(b"")], strict=True):
        path.write_bytes(content)
    outcome = tag_files(saved, [*map(str, empty), inputs[0]], tmp_path / "out", form=form)
    assert (outcome.parts, outcome.documents, outcome.problems) == (4, 5, {})
    assert [each["documents"] for each in manifest(tmp_path / "out")["parts"]] == [0, 0, 0, 5]
    if form == "jsonl":
        assert (tmp_path / "out/part-00000.jsonl").read_bytes() == b""


def test_damaged_inputs_are_left_out_if_asked(saved, inputs, tmp_path):
    """Also when the run has begun without that; what is missing is not left out."""
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress(Path(inputs[0]).read_bytes())[:40])
    asked, out = [inputs[0], str(cut), inputs[1]], tmp_path / "out"
    assert list(tag_files(saved, asked, out).problems) == [str(cut)]
    first = (out / "part-00000.jsonl").stat().st_mtime_ns
    done = called("tag", saved, *asked, "--out", out, "--skip-bad", "--quiet")
    assert done.stdout == f"8 documents in 2 parts, written to {out}\n"
    assert done.stderr.splitlines()[0].startswith(f"not tagged: {cut}")
    assert "1 of 3 inputs left out as --skip-bad asks" in done.stderr
    assert (out / "part-00000.jsonl").stat().st_mtime_ns == first
    Path(inputs[1]).unlink()
    outcome = tag_files(saved, asked, tmp_path / "others", reading={"on_bad": "skip"})
    assert list(outcome.left_out) == [str(cut)]
    assert list(outcome.problems) == [inputs[1]]
    called("tag", saved, cut, "--out", tmp_path / "nothing", "--skip-bad", "--quiet", check=1)


def test_what_a_killed_process_left_is_removed_at_the_end(saved, inputs, tmp_path):
    out = tmp_path / "out"

    def leaving(*arguments):
        with one_by_one(*arguments) as results:
            yield from results
        (out / ".part-00001.jsonl-0.part").write_text("half")

    tag_files(saved, inputs, out, tag_parts=lambda *given: nullcontext(leaving(*given)))
    assert files_in(out) == [*(f"part-{i:05}.jsonl" for i in range(3)), "parts.json"]


def test_inputs_that_make_no_sense(saved, inputs, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(InputError, match=r"no file matches .*x\*.jsonl"):
        tag_files(saved, [str(tmp_path / "x*.jsonl")], out)
    with pytest.raises(InputError, match=r"documents-0.jsonl is named twice"):
        tag_files(saved, [inputs[0], inputs[0]], out)
    with pytest.raises(InputError, match=r"there is no file .*none.jsonl"):
        tag_files(saved, [str(tmp_path / "none.jsonl")], out)
    with pytest.raises(InputError, match="there is no input"):
        tag_files(saved, [], out)
    with pytest.raises(UnknownNameError, match="unknown form of the output 'xml'"):
        tag_files(saved, inputs, out, form="xml")
    with pytest.raises(InputError, match="threshold must be"):
        tag_files(saved, inputs, out, threshold="high")
    assert not out.exists()


def test_folders_that_are_not_ours(saved, inputs, tmp_path):
    with pytest.raises(InputError, match=r"holds 'documents-0.jsonl' and no tagged parts"):
        tag_files(saved, inputs, tmp_path)
    with pytest.raises(InputError, match=r"holds 'documents-0.jsonl' and no tagged parts"):
        tag_files(saved, inputs, tmp_path, overwrite=True)
    with pytest.raises(InputError, match="is a file; the results need a folder"):
        tag_files(saved, inputs[1:], inputs[0])
    with pytest.raises(InputError, match="lies in the saved folder"):
        tag_files(saved, inputs, saved / "parts")
    out = tmp_path / "out"
    tag_files(saved, inputs, out)
    with open_folder(out) as handle:
        assert lock(handle)
        with pytest.raises(InputError, match="another process is writing to"):
            tag_files(saved, inputs, out)
    (out / "parts.json").write_text("{}")
    with pytest.raises(DamagedError, match=r"parts.json is damaged"):
        tag_files(saved, inputs, out)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_ends_the_run_and_leaves_no_half_part(saved, inputs, tmp_path, monkeypatch):
    out = tmp_path / "out"
    opened = writers._opened
    monkeypatch.setattr(writers, "_opened", lambda path: opened(linked_to_full(path)))
    with pytest.raises(FullDiskError, match=f"no space left on the disk while writing to {out}"):
        tag_files(saved, inputs, out)
    assert files_in(out) == ["parts.json"]
    monkeypatch.undo()
    assert tag_files(saved, inputs, out).documents == 12


def linked_to_full(path):
    path.symlink_to("/dev/full")
    return path


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(saved, inputs, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(StorageError, match="cannot write to"):
        tag_files(saved, inputs, tmp_path / "closed/out")
