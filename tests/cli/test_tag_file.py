"""`labelgrove tag --out FILE`: the user's file again, with the labels behind its columns."""

import csv
import gzip
import json

import openpyxl
import pandas
import pytest
from pyarrow import parquet

from command_line import called, fails

TRAINING = [
    *[("Tuulivoima ja sähkö, määrä kasvaa", "energia")] * 8,
    *[("Järvi ja metsä, yö", "luonto; vesi")] * 8,
]
HEAD = ["nro", "otsikko", 'Huom; "ä"']
ROWS = [
    ["007", "Tuulivoima ja sähkö", "=1+1"],
    ["8", 'Järvi;\n"metsä"', "-5"],
    ["9", "", "žluťoučký"[1:1]],
]
LIKE = ("--text-field", "otsikko", "--id-field", "nro")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tag-file")
    table(folder / "train.csv", ["otsikko", "asiasanat"], TRAINING, ",", "utf-8")
    (folder / "names.tsv").write_text(
        "energia\t=Energia\nluonto\tLuonto\nvesi\tVesi ž\n", encoding="utf-8"
    )
    columns = ("--text-field", "otsikko", "--labels-field", "asiasanat", "--model", "knn")
    plain = ("train", folder / "train.csv", *columns)
    called(*plain, "--separator", ";", "--out", folder / "tagger")
    named = (*plain, "--separator", ";", "--labels", folder / "names.tsv")
    called(*named, "--out", folder / "named")
    table(folder / "docs.csv", HEAD, ROWS, ";", "cp1252")
    return folder


def table(path, head, rows, delimiter, encoding):
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([head, *rows])


def read(path, delimiter=";", encoding="cp1252"):
    with path.open(encoding=encoding, newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


def tagged(folder, name, *more, tagger="tagger", docs="docs.csv"):
    out = folder / name
    done = called("tag", folder / tagger, folder / docs, *LIKE, "--overwrite", "--out", out, *more)
    return out, done


def test_a_table_comes_back_as_it_was_with_labels_behind(folder):
    out, done = tagged(folder, "out.csv", "-k", "2")
    assert done.stdout.startswith("3 documents, written to ")
    assert done.stdout.endswith("with suggested_labels and suggested_scores\n")
    rows = read(out)
    assert rows[0] == [*HEAD, "suggested_labels", "suggested_scores"]
    assert [row[:3] for row in rows[1:]] == ROWS
    assert rows[1][3].split("; ")[0] == "energia"
    assert set(rows[2][3].split("; ")) == {"luonto", "vesi"}
    printed = called("tag", folder / "tagger", folder / "docs.csv", *LIKE, "-k", "2").stdout
    best = [json.loads(line)["labels"] for line in printed.splitlines()]
    assert [row[4] for row in rows[1:]] == [
        "; ".join(str(round(label["score"], 4)) for label in each) for each in best
    ]
    before = (folder / "docs.csv").read_bytes()
    assert out.read_bytes().startswith(before.split(b"\r\n")[0] + b";suggested_labels;")


def test_documents_without_text_get_no_labels_and_are_counted(folder):
    (folder / "blank.csv").write_text("nro;otsikko\n1;Tuulivoima\n2;\n3;  \n", encoding="utf-8")
    for name in ("blank-out.csv", "blank-out.xlsx", "blank-out.jsonl"):
        done = tagged(folder, name, docs="blank.csv")[1]
        assert "2 documents have no text, so no labels" in done.stderr
    assert [bool(row[2]) for row in read(folder / "blank-out.csv")[1:]] == [True, False, False]
    lines = map(json.loads, (folder / "blank-out.jsonl").read_text("utf-8").splitlines())
    assert [bool(line["suggested_labels"]) for line in lines] == [True, False, False]
    printed = called("tag", folder / "tagger", folder / "blank.csv", *LIKE).stdout.splitlines()
    assert [bool(json.loads(line)["labels"]) for line in printed] == [True, False, False]
    done = called("tag", folder / "tagger", "--text", " ")
    assert json.loads(done.stdout)["labels"] == []
    assert "--text without a text gets no labels" in done.stderr


def test_labels_with_names_have_a_column_of_ids_and_are_no_formulas(folder):
    out, done = tagged(folder, "named.csv", tagger="named")
    assert "written as UTF-8: Windows-1252 cannot hold the label" not in done.stderr  # it has ž
    rows = read(out)
    assert rows[0][3:] == ["suggested_labels", "suggested_label_ids", "suggested_scores"]
    assert rows[1][2] == "=1+1"  # the user's own value
    assert rows[1][3].startswith("'=Energia")
    assert rows[1][4].split("; ")[0] == "energia"
    out, _ = tagged(folder, "named.xlsx", tagger="named")
    sheet = openpyxl.load_workbook(out).active
    assert sheet["D2"].value.startswith("=Energia")
    assert {sheet["D2"].data_type, sheet["C2"].data_type} == {"s"}


def test_an_encoding_without_the_letters_of_a_label_becomes_utf_8(folder):
    table(folder / "latin.csv", ["text"], [["Järvi ja metsä"]], ";", "latin-1")
    out, done = tagged(
        folder, "latin-out.csv", "--encoding", "latin-1", *("--text-field", "text"),
        *("--id-field", "id"), tagger="named", docs="latin.csv",
    )  # fmt: skip
    assert "written as UTF-8: ISO8859-1 cannot hold the label 'Vesi ž'" in done.stderr
    assert out.read_bytes().startswith(b"\xef\xbb\xbf")
    assert read(out, ",", "utf-8-sig")[1][0] == "Järvi ja metsä"


@pytest.mark.parametrize("docs", ["docs.csv", "docs.xlsx", "docs.parquet", "docs.jsonl"])
def test_every_form_becomes_every_form(folder, docs):
    if not (folder / docs).exists():
        tagged(folder, docs)  # with columns of its own to be kept
    head = [*HEAD] if docs == "docs.csv" else None
    frames = {}
    for name in ("a.csv", "a.tsv", "a.xlsx", "a.parquet", "a.jsonl", "a.csv.gz", "a.jsonl.zst"):
        out, _ = tagged(folder, f"{docs.replace('.', '-')}-{name}", docs=docs)
        frames[name] = frame(out, docs)
    for name, each in frames.items():
        assert each["otsikko"].fillna("").str.replace("\r\n", "\n").tolist() == [r[1] for r in ROWS]
        assert each["nro"].tolist() == ["007", "8", "9"], name
        assert each[HEAD[2]].fillna("").tolist() == [row[2] for row in ROWS], name
        last = [column for column in each if column.startswith("suggested_labels")][-1]
        assert "energia" in str(each[last][0]), name
        if head:
            assert list(each)[:3] == head


def frame(path, docs):
    if path.suffix == ".xlsx":
        return pandas.read_excel(path, dtype=str)
    if path.suffix == ".parquet":
        return pandas.read_parquet(path)
    if ".jsonl" in path.name:
        return pandas.read_json(path, lines=True, dtype=False)
    delimiter = "\t" if ".tsv" in path.name else ";" if docs == "docs.csv" else ","
    encoding = "cp1252" if docs == "docs.csv" else "utf-8"
    return pandas.read_csv(path, sep=delimiter, encoding=encoding, dtype=str)


def test_parquet_and_json_lines_hold_lists(folder):
    out, _ = tagged(folder, "lists.parquet", "-k", "1")
    first = parquet.read_table(out).to_pylist()[0]["suggested_labels"][0]
    assert first["label"] == first["name"] == "energia"
    out, _ = tagged(folder, "lists.jsonl", "-k", "1")
    assert json.loads(out.read_text("utf-8").splitlines()[0])["suggested_labels"] == [first]


def test_a_file_that_was_tagged_already_gets_other_columns(folder):
    for form in ("csv", "jsonl"):
        tagged(folder, f"once.{form}")
        out, _ = tagged(folder, f"twice.{form}", docs=f"once.{form}")
        last = (
            pandas.read_json(out, lines=True)
            if form == "jsonl"
            else pandas.read_csv(out, sep=";", encoding="cp1252")
        )
        assert {"suggested_labels", "suggested_labels_2"} <= set(last)


def test_no_header_no_names(folder):
    (folder / "bare.tsv").write_text("Tuulivoima\tx\nJärvi\ty\n", encoding="utf-8")
    more = ("--no-header", "--text-field", "1", "--id-field", "2", "-k", "1")
    called("tag", folder / "tagger", folder / "bare.tsv", *more, "--out", folder / "bare-out.tsv")
    rows = read(folder / "bare-out.tsv", "\t", "utf-8")
    assert [row[:3] for row in rows] == [["Tuulivoima", "x", "energia"], ["Järvi", "y", rows[1][2]]]


def test_a_label_that_holds_the_separator_is_told_apart(folder, tmp_path):
    rows = [("Tuuli", "energia; voima|uusi"), ("Järvi", "vesi|luonto")] * 6
    table(tmp_path / "train.csv", ["text", "labels"], rows, ",", "utf-8")
    made = ("--model", "knn", "--separator", "|", "--out", tmp_path / "tagger")
    called("train", tmp_path / "train.csv", *made)
    called("tag", tmp_path / "tagger", tmp_path / "train.csv", "--out", tmp_path / "out.csv")
    first = read(tmp_path / "out.csv", ",", "utf-8")[1]
    assert set(first[2].split("|")) >= {"energia; voima", "uusi"}


def test_bad_rows_are_left_out_and_told(folder):
    (folder / "bad.csv").write_text("otsikko;nro\nTuuli;1\nJärvi\nYö;3\n", encoding="utf-8")
    line = fails(
        "tag", folder / "tagger", folder / "bad.csv", *LIKE, "--out", folder / "bad-out.csv"
    )
    assert "bad.csv, line 3: there is 1 field" in line
    assert not (folder / "bad-out.csv").exists()
    out, done = tagged(folder, "bad-out.csv", "--skip-bad", docs="bad.csv")
    assert "1 bad row skipped" in done.stderr
    assert [row[0] for row in read(out, encoding="utf-8")] == ["otsikko", "Tuuli", "Yö"]
    assert not list(folder.glob(".*"))  # nothing half written


def test_nothing_is_replaced_unless_asked_and_never_the_input(folder):
    out, _ = tagged(folder, "kept.csv.gz")
    before = gzip.decompress(out.read_bytes())
    call = ("tag", folder / "tagger", folder / "docs.csv", *LIKE)
    assert "exists already" in fails(*call, "--out", out)
    assert gzip.decompress(out.read_bytes()) == before
    line = fails(*call, "--overwrite", "--out", folder / "docs.csv")
    assert "holds the documents, and would be lost" in line
    assert "lies in the saved folder" in fails(*call, "--out", folder / "tagger" / "out.csv")
    assert "there is no folder" in fails(*call, "--out", folder / "nowhere" / "out.csv")
    assert "leave out .gz" in fails(*call, "--out", folder / "new.xlsx.gz")
    assert "whose suffix says its form" in fails(
        *call, "--out", folder / "new.csv", "--out-format", "csv"
    )
    assert "several inputs need --out FOLDER" in fails(
        *call, folder / "train.csv", "--out", folder / "new.csv"
    )


def test_several_texts_are_all_tagged(folder):
    texts = ("--text", "Tuulivoima", "--text", "Järvi ja metsä")
    lines = called("tag", folder / "tagger", *texts, "-k", "1").stdout.splitlines()
    found = [json.loads(line) for line in lines]
    assert [each["id"] for each in found] == ["1", "2"]
    assert found[0]["labels"][0]["label"] == "energia" != found[1]["labels"][0]["label"]


@pytest.mark.parametrize("name", ["out.xls", "out.ods", "out.txt", "out.json", "out.csv.zip"])
def test_a_form_that_cannot_be_written_makes_no_folder(folder, name):
    line = fails("tag", folder / "tagger", folder / "docs.csv", *LIKE, "--out", folder / name)
    assert f"{name}: .{name.split('.')[-1]} cannot be written; give a name that ends in" in line
    assert ".xlsx" in line
    assert not (folder / name).exists()


def test_a_folder_of_parts_may_have_a_dot_in_its_name(folder):
    out = folder / "batch.2026"
    called("tag", folder / "tagger", folder / "docs.csv", *LIKE, "--out", out)
    assert (out / "part-00000.jsonl").is_file()


def test_columns_of_a_second_tagging_share_a_number(folder):
    tagged(folder, "once.csv")
    out, done = tagged(folder, "twice.csv", docs="once.csv", tagger="named")
    again = ["suggested_labels_2", "suggested_label_ids_2", "suggested_scores_2"]
    assert read(out)[0][-3:] == again
    assert f"with {again[0]}, {again[1]} and {again[2]}\n" in done.stdout


@pytest.mark.parametrize(("given", "meant"), [("0,5", "0.5"), ("80%", "0.8"), ("12,5 %", "0.125")])
def test_a_threshold_in_another_notation_is_hinted_at(folder, given, meant):
    line = fails("tag", folder / "tagger", "--text", "Tuuli", "--threshold", given)
    assert f"--threshold {given}: did you mean {meant}?" in line
