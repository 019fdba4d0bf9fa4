"""Rows written again: every form of a file round-trips, and becomes any other form."""

import csv
import datetime
import gzip
import json

import openpyxl
import pandas
import pyarrow
import pytest
from pyarrow import parquet

from labelgrove.core.errors import InputError
from labelgrove.core.files import lines
from labelgrove.corpus import read_corpus, row_survey
from labelgrove.corpus.row_survey import surveyed
from labelgrove.corpus.row_writers import TEXT, row_writer, written_layout
from labelgrove.corpus.source_rows import layout_of, rows_of

HEAD = ["id", "text", "", "Määrä", "note"]
BODY = [
    ["007", 'Tuuli; "yö"\nja järvi', "x", "1,5", "=SUM(A1)"],
    ["8", "half\rline, end", "", "-2", "'quoted'"],
    ["9", "", "tab\there", "", "ärrä"],
]


def copied(source, target, added=None, values=(), **reading):
    """Write the rows of a file to another; return the documents that were read."""
    corpus = read_corpus(source, labelled=False, **reading)
    layout = surveyed(corpus, written_layout(layout_of(corpus), target.name))
    documents = []
    with row_writer(target, layout, added, compression=target.suffix) as writer:
        for document, row in rows_of(corpus):
            documents.append(document)
            writer.write(row, values)
    return documents


def table(path, encoding, delimiter, line_end="\r\n", mark=""):
    with path.open("w", encoding=encoding, newline="") as file:
        file.write(mark)
        csv.writer(file, delimiter=delimiter, lineterminator=line_end).writerows([HEAD, *BODY])
    return path


def cells(path, encoding, delimiter):
    with path.open(encoding=encoding, newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


@pytest.mark.parametrize(
    ("encoding", "delimiter", "mark"),
    [
        ("utf-8", ",", ""),
        ("utf-8", ";", "\ufeff"),
        ("cp1252", ";", ""),
        ("utf-16-le", "\t", "\ufeff"),
    ],
)
def test_a_table_keeps_separator_encoding_and_all_cells(tmp_path, encoding, delimiter, mark):
    source = table(tmp_path / "docs.csv", encoding, delimiter, mark=mark)
    copied(source, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == source.read_bytes()


def test_half_a_line_end_is_quoted_where_line_ends_are_short(tmp_path):
    source = tmp_path / "docs.csv"
    source.write_bytes(b'id,text\n1,"a\rb"\n2,c\n')
    copied(source, tmp_path / "out.csv")
    assert [d.text for d in read_corpus(tmp_path / "out.csv", labelled=False)] == ["a\rb", "c"]


def test_added_columns_come_last_also_without_a_header(tmp_path):
    source = tmp_path / "docs.tsv"
    source.write_text("Tuuli\t1\nYö\t2\n", encoding="utf-8")
    copied(source, tmp_path / "out.tsv", {"new": TEXT}, ["a;b"], header=False, text="1")
    assert (tmp_path / "out.tsv").read_text("utf-8") == "Tuuli\t1\ta;b\nYö\t2\ta;b\n"


def test_quotes_that_are_ordinary_characters_stay(tmp_path):
    source = tmp_path / "docs.csv"
    source.write_text('text,n\n"Tuuli",1\n', encoding="utf-8")
    copied(source, tmp_path / "out.csv", {"new": TEXT}, ["a,b\nc"], quote=None)
    assert (tmp_path / "out.csv").read_text("utf-8") == 'text,n,new\n"Tuuli",1,a b c\n'


def test_columns_of_one_name_are_all_kept(tmp_path):
    source = tmp_path / "docs.csv"
    source.write_text("text,note,note\nTuuli,a,b\n", encoding="utf-8")
    copied(source, tmp_path / "out.csv")
    copied(source, tmp_path / "out.jsonl")
    assert (tmp_path / "out.csv").read_text("utf-8") == source.read_text("utf-8")
    row = json.loads((tmp_path / "out.jsonl").read_text("utf-8"))
    assert row == {"text": "Tuuli", "note": "a", "note_2": "b"}


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_text_files_are_compressed(tmp_path, suffix):
    source = table(tmp_path / "docs.csv", "utf-8", ",")
    copied(source, tmp_path / f"out.csv{suffix}")
    written = b"".join(lines(tmp_path / f"out.csv{suffix}"))
    assert written == source.read_bytes()
    if suffix == ".gz":
        assert gzip.decompress((tmp_path / "out.csv.gz").read_bytes()) == written
        assert len(pandas.read_csv(tmp_path / "out.csv.gz")) == len(BODY)


def test_what_is_compressed_is_not_packed_again(tmp_path):
    source = table(tmp_path / "docs.csv", "utf-8", ",")
    with pytest.raises(InputError, match=r"leave out \.gz, \.xlsx is compressed already"):
        copied(source, tmp_path / "out.xlsx.gz")


def test_a_table_becomes_a_sheet_of_texts(tmp_path):
    copied(table(tmp_path / "docs.csv", "cp1252", ";"), tmp_path / "out.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "out.xlsx").active
    rows = [[cell.value or "" for cell in row] for row in sheet]
    assert rows == [HEAD, BODY[0], [BODY[1][0], "half\nline, end", *BODY[1][2:]], BODY[2]]
    assert sheet["E2"].data_type == "s"  # no formula
    assert pandas.read_excel(tmp_path / "out.xlsx", dtype=str)["id"].tolist() == ["007", "8", "9"]


def test_a_sheet_keeps_its_numbers_dates_and_name(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "Aineisto"
    day = datetime.datetime(2026, 11, 18)
    for row in (["text", "year", "day"], ["Tuuli", 2026, day, 2.5], ["Yö", None, None, True]):
        book.active.append(row)  # the last column has no name
    book.save(tmp_path / "docs.xlsx")
    copied(tmp_path / "docs.xlsx", tmp_path / "out.xlsx", {"new": TEXT}, ["=a"])
    sheet = openpyxl.load_workbook(tmp_path / "out.xlsx")["Aineisto"]
    assert list(sheet.values)[1:] == [
        ("Tuuli", 2026, day, 2.5, "=a"),
        ("Yö", None, None, True, "=a"),
    ]
    assert sheet["E2"].data_type == "s"
    copied(tmp_path / "docs.xlsx", tmp_path / "out.csv")
    assert cells(tmp_path / "out.csv", "utf-8-sig", ",")[1] == [
        "Tuuli",
        "2026",
        "2026-11-18",
        "2.5",
    ]
    copied(tmp_path / "docs.xlsx", tmp_path / "out.parquet")
    kinds = parquet.read_schema(tmp_path / "out.parquet").types
    assert kinds[:3] == [pyarrow.string(), pyarrow.int64(), pyarrow.timestamp("us")]


def test_json_lines_keep_what_is_in_them_and_become_tables(tmp_path):
    rows = [
        {"text": "Tuuli", "n": 1, "tags": ["a", "ä"], "deep": {"x": [1, None]}},
        {"id": "k", "text": "Yö \x07", "n": 2.5, "tags": []},
    ]
    source = tmp_path / "docs.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    copied(source, tmp_path / "out.jsonl")
    assert [json.loads(line) for line in lines(tmp_path / "out.jsonl")] == rows
    copied(source, tmp_path / "out.csv")
    assert cells(tmp_path / "out.csv", "utf-8", ",") == [
        ["text", "n", "tags", "deep", "id"],
        ["Tuuli", "1", '["a", "ä"]', '{"x": [1, null]}', ""],
        ["Yö \x07", "2.5", "[]", "", "k"],
    ]
    copied(source, tmp_path / "out.parquet")
    read = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["n"] for row in read] == [1.0, 2.5]
    assert [row["tags"] for row in read] == [["a", "ä"], []]
    assert read[0]["deep"] == '{"x": [1, null]}'
    copied(source, tmp_path / "out.xlsx")
    assert openpyxl.load_workbook(tmp_path / "out.xlsx").active["A3"].value == "Yö _x0007_"


def test_parquet_keeps_its_types_and_all_columns(tmp_path):
    frame = pandas.DataFrame(
        {
            "text": ["Tuuli", "Yö"],
            "when": pandas.to_datetime(["2026-11-18", None]),
            "kind": pandas.Categorical(["a", "b"]),
            "n": pandas.array([1, None], dtype="Int64"),
            "tags": [["a"], []],
        }
    )
    frame.to_parquet(tmp_path / "docs.parquet")
    copied(tmp_path / "docs.parquet", tmp_path / "out.parquet")
    read = pandas.read_parquet(tmp_path / "out.parquet")
    pandas.testing.assert_frame_equal(read, pandas.read_parquet(tmp_path / "docs.parquet"))


def test_texts_without_columns_are_written_with_their_numbers(tmp_path):
    (tmp_path / "docs.txt").write_text("Tuuli\nYö\n", encoding="utf-8")
    copied(tmp_path / "docs.txt", tmp_path / "out.csv", format="raw")
    assert cells(tmp_path / "out.csv", "utf-8", ",") == [
        ["id", "text"],
        ["1", "Tuuli"],
        ["2", "Yö"],
    ]


def test_bad_rows_are_left_out_and_counted(tmp_path):
    source = tmp_path / "docs.csv"
    source.write_text("text,n\nTuuli,1\nYö\nJärvi,3\n", encoding="utf-8")
    assert len(copied(source, tmp_path / "out.csv", on_bad="skip")) == 2
    assert (tmp_path / "out.csv").read_text("utf-8") == "text,n\nTuuli,1\nJärvi,3\n"
    with pytest.raises(InputError, match="line 3: there is 1 field"):
        copied(source, tmp_path / "out.csv")


def test_what_no_cell_of_excel_holds_is_refused_with_its_place(tmp_path):
    source = tmp_path / "docs.csv"
    source.write_text(f"text,n\nTuuli,1\n{'y' * 32_768},2\n", encoding="utf-8")
    with pytest.raises(InputError, match="row 2: the column 'text' has 32,768 characters"):
        copied(source, tmp_path / "out.xlsx")
    source.write_text(f"text,n\n{'y' * 32_767},2\n", encoding="utf-8")
    copied(source, tmp_path / "out.xlsx")
    written = openpyxl.load_workbook(tmp_path / "out.xlsx").active["A2"].value
    assert len(written) == 32_767


def test_more_documents_than_a_sheet_has_rows_are_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(row_survey, "ROWS", 3)
    source = tmp_path / "docs.csv"
    source.write_text("text,n\na,1\nb,2\nc,3\n", encoding="utf-8")
    with pytest.raises(InputError, match="more than the 2 documents that fit"):
        copied(source, tmp_path / "out.xlsx")
    assert not (tmp_path / "out.xlsx").exists()


def test_a_character_that_an_encoding_lacks_is_told(tmp_path):
    source = tmp_path / "docs.jsonl"
    source.write_text('{"text": "Tuuli", "note": "half \\ud800"}\n')
    copied(source, tmp_path / "out.jsonl")
    assert "\\ud800" in (tmp_path / "out.jsonl").read_text("utf-8")
    with pytest.raises(InputError, match=r"utf-8 cannot hold the character '\\ud800'"):
        copied(source, tmp_path / "out.csv")


def test_a_date_of_a_workbook_is_shown_without_a_time(tmp_path):
    workbook = openpyxl.Workbook()
    day, hour = datetime.date(2026, 11, 18), datetime.datetime(2026, 11, 18, 9, 30)
    for row in (["text", "day", "hour"], ["Tuuli", day, hour]):
        workbook.active.append(row)
    workbook.save(tmp_path / "in.xlsx")
    copied(tmp_path / "in.xlsx", tmp_path / "out.xlsx")
    sheets = [openpyxl.load_workbook(tmp_path / f"{name}.xlsx").active for name in ("in", "out")]
    for cell in ("B2", "C2"):
        before, after = (sheet[cell] for sheet in sheets)
        assert (after.value, after.number_format) == (before.value, before.number_format)
        assert after.is_date
