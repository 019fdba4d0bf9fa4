"""Files as people have them: spreadsheets, encodings, no header; and a tagger remembers which."""

import json
import shutil

import openpyxl
import pytest

from command_line import called, fails
from labelgrove.corpus.remembered import check_reading
from labelgrove.tagger import Tagger, saving
from labelgrove.tagger.saving import read_reading

ROWS = [
    *[("Tuulivoima ja sähkö, määrä kasvaa", "energia"), ("Järvi ja metsä, yö", "luonto")] * 8,
    *[("Metsän tuulivoima", "energia; luonto")] * 4,
]
FIELDS = ("--text-field", "otsikko", "--labels-field", "asiasanat")
NUMBERS = ("--no-header", "--text-field", "1", "--labels-field", "2")


def written(path, rows, encoding="utf-8", delimiter=";"):
    lines = [delimiter.join(f'"{cell}"' for cell in row) for row in rows]
    path.write_bytes("".join(f"{line}\r\n" for line in lines).encode(encoding))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    named = [("otsikko", "asiasanat"), *ROWS]
    written(folder / "excel.csv", named, "windows-1252")
    written(folder / "unicode.txt", named, "utf-16", "\t")
    written(folder / "plain.csv", [("text", "labels"), *ROWS], delimiter=",")
    written(folder / "bare.csv", ROWS)
    workbook = openpyxl.Workbook()
    workbook.active.title = "Ohje"
    sheet = workbook.create_sheet("Aineisto")
    for row in named:
        sheet.append(row)
    workbook.save(folder / "book.xlsx")
    arguments = (
        "train",
        folder / "excel.csv",
        *FIELDS,
        "--model",
        "knn",
        "--out",
        folder / "tagger",
    )
    (folder / "said.txt").write_text(called(*arguments).stdout, encoding="utf-8")
    return folder


def documents(done):
    return len(done.stdout.splitlines())


def test_what_was_found_out_is_told(files):
    said = called("stats", files / "excel.csv", *FIELDS).stderr
    assert "excel.csv: it is not UTF-8; read as Windows-1252, by its letters" in said
    assert "excel.csv: its fields are separated by ';'" in said
    said = called("stats", files / "unicode.txt", *FIELDS).stderr
    assert "unicode.txt: it is UTF-16-LE, by its byte order mark" in said


def test_training_tells_what_it_remembers(files):
    said = (files / "said.txt").read_text(encoding="utf-8")
    assert " ".join([*FIELDS, "--encoding windows-1252"]) in said
    assert read_reading(files / "tagger") == {
        "text": "otsikko",
        "labels": "asiasanat",
        "encoding": "windows-1252",
    }


@pytest.mark.parametrize("name", ["excel.csv", "unicode.txt"])
def test_options_are_given_once(files, tmp_path, name):
    tagger, file = files / "tagger", files / name
    assert documents(called("tag", tagger, file)) == len(ROWS)
    assert "P " in called("evaluate", tagger, file).stdout
    again = tmp_path / "again"
    shutil.copytree(tagger, again)
    assert "P@1" in called("compare", tagger, again, "--test", file).stdout


def test_files_tagged_into_a_folder_are_read_as_the_training_was(files, tmp_path):
    called("tag", files / "tagger", files / "excel.csv", files / "unicode.txt", "--out", tmp_path)
    for part in ("part-00000.jsonl", "part-00001.jsonl"):
        assert len((tmp_path / part).read_text(encoding="utf-8").splitlines()) == len(ROWS)
    line = fails("tag", files / "tagger", files / "excel.csv", files / "unicode.txt",
                 "--out", tmp_path, "--encoding", "utf-16")  # fmt: skip
    assert "holds another run, with encoding by default instead of 'utf-16'" in line


def test_a_workbook_with_several_sheets(files):
    book = files / "book.xlsx"
    line = fails("evaluate", files / "tagger", book)
    assert "there is no field 'otsikko'" in line or "is empty" in line
    assert documents(called("tag", files / "tagger", book, "--sheet", "Aineisto")) == len(ROWS)
    done = called("stats", book, "--sheet", "Aineisto", *FIELDS, "--json", "-")
    assert json.loads(done.stdout)["n_train"] == len(ROWS)
    assert "the sheets are 'Ohje', 'Aineisto'" in fails("stats", book, "--sheet", "x", *FIELDS)


def test_a_file_of_another_layout_is_read_by_the_defaults(files):
    done = called("tag", files / "tagger", files / "plain.csv")
    assert documents(done) == len(ROWS)
    assert "plain.csv: it is not laid out as in the training (--text-field otsikko" in done.stderr
    assert "read with the defaults" in done.stderr
    line = fails("tag", files / "tagger", files / "bare.csv")
    assert "The tagger reads files as in its training" in line
    assert "the defaults do not fit either" in line


def test_options_win_over_what_is_remembered(files):
    done = called("tag", files / "tagger", files / "plain.csv", "--text-field", "text")
    assert documents(done) == len(ROWS)
    assert "not laid out" not in done.stderr
    line = fails("evaluate", files / "tagger", files / "excel.csv", "--text-field", "title")
    assert "there is no field 'title'" in line


def test_a_table_without_a_header(files, tmp_path):
    line = fails("train", files / "bare.csv", "--out", tmp_path / "out")
    assert "The first row looks like a document" in line
    assert " ".join(NUMBERS) in line
    line = fails("stats", files / "bare.csv", "--no-header")
    assert "columns of a table without a header are numbered: --text-field 1" in line
    out = tmp_path / "out"
    done = called("train", files / "bare.csv", *NUMBERS, "--model", "knn", "--out", out)
    assert "--text-field 1 --labels-field 2 --no-header" in done.stdout
    assert documents(called("tag", out, files / "bare.csv")) == len(ROWS)
    assert documents(called("tag", out, files / "plain.csv")) == len(ROWS)
    named = called("tag", out, files / "excel.csv", "--header", *FIELDS)
    assert documents(named) == len(ROWS)


def test_learn_and_retrain_read_as_the_training_did(files, tmp_path):
    file, out = files / "excel.csv", tmp_path / "more"
    done = called("learn", files / "tagger", file, "--out", out, "--test", files / "unicode.txt")
    assert f"learned {len(ROWS)} documents" in done.stdout
    assert read_reading(out) == read_reading(files / "tagger")
    said = tmp_path / "feedback.jsonl"
    said.write_text('{"text": "Tuuli", "labels": ["energia"]}\n')
    again = tmp_path / "again"
    called("retrain", out, file, "--feedback", said, "--test", file, "--out", again)
    assert read_reading(again) == read_reading(out)


def test_python_reads_as_the_training_did(files):
    tagger = Tagger.load(files / "tagger")
    assert tagger.evaluate(str(files / "unicode.txt"))["P@1"] > 0.5


def test_what_a_folder_holds_is_checked():
    assert check_reading({}) == {}
    assert check_reading({"text": ["a", "b"], "later": 1}) == {"text": ["a", "b"]}
    for wrong in ({"text": 3}, {"header": True}, {"format": "klingon"}, {"sheet": ""}, ["text"]):
        with pytest.raises((ValueError, TypeError)):
            check_reading(wrong)


def test_older_taggers_remember_nothing(files, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "READING", "of a later version")
    called("train", files / "plain.csv", "--model", "knn", "--out", tmp_path / "tagger")
    monkeypatch.undo()
    assert read_reading(tmp_path / "tagger") == {}
    assert Tagger.load(tmp_path / "tagger").learned_.reading == {}


def test_an_encoding_that_does_not_exist(files):
    assert "unknown encoding 'klingon'" in fails(
        "stats", files / "plain.csv", "--encoding", "klingon"
    )


def test_several_columns_are_one_text_and_are_remembered(files, tmp_path):
    rows = [("title", "abstract", "labels"), *[(a[:8], a, b) for a, b in ROWS]]
    table = written(tmp_path / "columns.csv", rows)
    said = called(
        *("train", table, "--text-field", "title, abstract", "--model", "knn"),
        *("--out", tmp_path / "tagger"),
    ).stdout
    assert "--text-field title,abstract" in said
    assert Tagger.load(tmp_path / "tagger").learned_.reading["text"] == ["title", "abstract"]
    assert documents(called("tag", tmp_path / "tagger", table)) == len(ROWS)
    one = [
        json.loads(line)
        for line in called("tag", tmp_path / "tagger", table).stdout.split("\n")
        if line
    ]
    text = "\n".join((ROWS[0][0][:8], ROWS[0][0]))
    alone = json.loads(called("tag", tmp_path / "tagger", "--text", text).stdout)
    assert alone["labels"] == one[0]["labels"]
