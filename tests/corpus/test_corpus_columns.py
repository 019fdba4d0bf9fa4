"""Several columns become lines of one text, the first column its first line, in every form."""

import csv
import json

import openpyxl
import pandas
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from labelgrove.core.errors import InputError
from labelgrove.corpus import read_corpus, read_like
from labelgrove.corpus.layout import read_columns, write_columns

COLUMNS = ["title", "abstract"]
ROWS = [
    {"title": "Wind", "abstract": "It blows.\nIt turns.", "labels": "energy"},
    {"title": "Sun\nand moon", "abstract": "", "labels": "sky"},
    {"title": None, "abstract": "No title here.", "labels": "sky"},
]
TEXTS = ["Wind\nIt blows.\nIt turns.", "Sun and moon\n", "\nNo title here."]


def as_jsonl(path):
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))


def as_csv(path):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*COLUMNS, "labels"])
        writer.writeheader()
        writer.writerows(ROWS)


def as_xlsx(path):
    workbook = openpyxl.Workbook()
    for row in [[*COLUMNS, "labels"], *([*row.values()] for row in ROWS)]:
        workbook.active.append(row)
    workbook.save(path)


def as_parquet(path):
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)


@pytest.mark.parametrize("write", [as_jsonl, as_csv, as_xlsx, as_parquet])
def test_columns_are_lines_of_one_text(tmp_path, write):
    path = tmp_path / f"docs.{write.__name__.removeprefix('as_')}"
    write(path)
    corpus = read_corpus(path, text=COLUMNS, separator=";")
    assert [document.text for document in corpus] == TEXTS
    assert corpus.reading["text"] == COLUMNS
    again = read_like(path, corpus.reading, {})
    assert [document.text for document in again] == TEXTS


def test_columns_of_a_frame():
    corpus = read_corpus(pandas.DataFrame(ROWS), text=COLUMNS, separator=";")
    assert [document.text for document in corpus] == TEXTS


def test_a_row_without_any_text_is_bad(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text('{"title": null, "abstract": null, "labels": []}\n')
    with pytest.raises(InputError, match="the text must be a string, got null"):
        list(read_corpus(path, text=COLUMNS))


def test_a_column_that_is_missing_is_named(tmp_path):
    path = tmp_path / "docs.csv"
    as_csv(path)
    with pytest.raises(InputError, match="there is no field 'summary'"):
        list(read_corpus(path, text=["title", "summary"]))


@given(st.lists(st.text("ab ,\";'", min_size=1).map(str.strip).filter(bool), min_size=1))
def test_names_of_columns_come_back(names):
    read = read_columns(write_columns(names))
    assert read == (names if len(names) > 1 else names[0])
