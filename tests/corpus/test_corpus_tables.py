import csv
import gzip
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from labelgrove.core.errors import BadRowError, InputError
from labelgrove.core.files import LINE
from labelgrove.corpus import Document, parquet_batches, read_corpus
from labelgrove.corpus.parquet_batches import batches, row_bytes
from labelgrove.corpus.rows import RowError, Separator, guess_separator, sampled


def write(folder: Path, content: str | bytes, name: str = "docs.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path: Path, **options) -> list[Document]:
    return list(read_corpus(path, **options))


def complaint(path: Path, **options) -> str:
    with pytest.raises(InputError) as raised:
        read(path, **options)
    message = str(raised.value)
    assert "\n" not in message
    return message.replace(str(path), "FILE")


def test_csv(tmp_path):
    content = '\ufeffid,text,labels\r\n1,"Wind, sun",a;b\r\n\r\n2,"two\r\nlines ""q""",\r\n3,,a\r\n'
    expected = [
        Document("Wind, sun", ("a", "b"), "1"),
        Document('two\r\nlines "q"', (), "2"),
        Document("", ("a",), "3"),
    ]
    assert read(write(tmp_path, content)) == expected
    assert read(write(tmp_path, gzip.compress(content.encode()), "docs.csv.gz")) == expected


def test_tsv_and_semicolons(tmp_path):
    expected = [Document("Wind, sun", ("a", "b"))]
    assert read(write(tmp_path, "text\tlabels\nWind, sun\ta|b\n", "docs.tsv")) == expected
    assert read(write(tmp_path, "text;labels\nWind, sun;a|b\n")) == expected
    assert read(write(tmp_path, "text\tlabels\nWind, sun\ta|b\n")) == expected


def test_fields_by_name(tmp_path):
    path = write(tmp_path, "title,body,tags,nr\nWind,It blows,a b,7\n")
    options = {"labels": "tags", "id": "nr", "separator": " "}
    assert read(path, text=["title", "body"], **options) == [
        Document("Wind\nIt blows", ("a", "b"), "7")
    ]


def test_quoting_can_be_turned_off(tmp_path):
    path = write(tmp_path, 'text\tlabels\n"Wind" blows\ta\nSun\tb\n', "docs.tsv")
    message = complaint(path)
    assert message.startswith("FILE, line 2: cannot be divided into fields")
    assert "quote=None" in message
    assert read(path, quote=None) == [Document('"Wind" blows', ("a",)), Document("Sun", ("b",))]


def test_a_million_words(tmp_path):
    text = "word " * 1_000_000
    assert read(write(tmp_path, f"text,labels\n{text},a\n")) == [Document(text, ("a",))]


def test_labels_optional_for_tagging(tmp_path):
    assert read(write(tmp_path, "text\nWind\n"), labelled=False) == [Document("Wind")]


def test_missing_field(tmp_path):
    message = complaint(write(tmp_path, "txt,labels\nWind,a\n"))
    assert message.startswith("FILE, line 1: there is no field 'text'; the fields are 'txt', 'lab")
    assert "'labels'" in complaint(write(tmp_path, "text,tags\nWind,a\n"))
    assert "two fields 'text'" in complaint(write(tmp_path, "text,text,labels\nWind,a,b\n"))
    # the header is no row: it is not skipped
    assert "no field" in complaint(write(tmp_path, "a,b\nWind,a\n"), on_bad="skip")


def test_nothing_to_read(tmp_path):
    for content in ("", "\n", "text,labels\n", "text,labels"):
        message = complaint(write(tmp_path, content))
        assert message == "FILE is empty: there is no document to read in it"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (b"one", "there is 1 field, but the header has 2"),
        (b"one,two,three", "there are 3 fields, but the header has 2"),
        (b'"one" x,two', "cannot be divided into fields"),
        (b"\xffone,two", "the byte 0xff in column 1 is not UTF-8; name the encoding"),
        (b"one,\xe9", "the byte 0xe9 in column 5 is not UTF-8"),
        (b'"two, \xe9\nlines",two', "the byte 0xe9 in column 7 is not UTF-8"),
        (b"one,two\0", "holds a NUL character"),
    ],
)
def test_bad_row(tmp_path, row, expected):
    # the quoted line end makes the fourth line the third row's first
    path = write(tmp_path, 'text,labels\n"ä\nö",c;d\n'.encode() + row + b"\nlast\0,e\n")
    message = complaint(path)
    assert message.startswith("FILE, line 4: ")
    assert expected in message
    corpus = read_corpus(path, on_bad="skip")
    assert list(corpus) == [Document("ä\nö", ("c", "d")), Document("last ", ("e",))]
    assert corpus.skipped == 1


def test_open_quote(tmp_path):
    message = complaint(write(tmp_path, 'text,labels\na,b\n"never closed,c\nd,e\n'))
    assert message.startswith(
        "FILE, line 3: cannot be divided into fields (unexpected end of data)"
    )


def test_cut_short(tmp_path):
    rows = "".join(f"{i * 7919},a\n" for i in range(20_000))
    whole = gzip.compress(f"text,labels\n{rows}".encode())
    path = write(tmp_path, whole[:-2000], "docs.csv.gz")
    assert "cut short" in complaint(path, on_bad="skip")


def test_guessed_separator():
    assert guess_separator(["a;b", "c|d", "e"]) == Separator(";")
    assert guess_separator(["a;b", "c|d", "e|f"]) == Separator("|")
    assert guess_separator(["Doe, J; Roe, R", "a", None, ["x"]]) == Separator(";")
    assert guess_separator(["a", "b"]) == guess_separator([]) == Separator(None)
    with pytest.raises(RowError, match='labels such as "Doe, J": give the separator'):
        guess_separator(["Doe, J", "Roe, R", "a;b"])
    assert Separator("|").split(" a | b||a ") == ["a", "b", "a"]
    assert Separator(None).split(" a b ") == ["a b"]


def test_separator_of_a_file(tmp_path):
    assert read_corpus(write(tmp_path, "text,labels\nx,a|b\n")).separator == "|"
    path = write(tmp_path, 'text,labels\nx,"a,b"\n')
    assert complaint(path).startswith("FILE: cannot tell what separates labels")
    assert read(path, separator=",") == [Document("x", ("a", "b"))]
    assert read(path, separator=";") == [Document("x", ("a,b",))]


def test_separator_that_comes_late(tmp_path):
    path = write(tmp_path, "text,labels\n" + "x,a\n" * 10_000 + "x,a;b\n")
    message = complaint(path)
    assert message.startswith("FILE, line 10002: ")
    assert "give the separator" in message


texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
labels = st.lists(texts.map(lambda label: label.replace(";", "").strip()).filter(bool), unique=True)


@pytest.mark.parametrize(("suffix", "delimiter"), [("csv", ","), ("tsv", "\t"), ("csv", ";")])
@given(rows=st.lists(st.tuples(texts, labels), min_size=1))
def test_round_trip(tmp_path_factory, suffix, delimiter, rows):
    path = tmp_path_factory.mktemp("table") / f"docs.{suffix}"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["text", "labels"])
        writer.writerows((text, ";".join(some)) for text, some in rows)
    if filled := [Document(text, tuple(some)) for text, some in rows if text.strip() or some]:
        assert read(path, separator=";") == filled


# --- Parquet ----------------------------------------------------------------------------------


def table(folder: Path, columns: dict) -> Path:
    path = folder / "docs.parquet"
    parquet.write_table(pa.table(columns), path, row_group_size=1000)
    return path


def test_parquet(tmp_path):
    n = 2500  # more than a batch
    path = table(
        tmp_path,
        {
            "text": [f"text {i}" for i in range(n)],
            "labels": [["a", f"b{i % 3}", "a"] for i in range(n)],
            "id": list(range(n)),
            "other": [0] * n,
        },
    )
    corpus = read_corpus(path)
    assert list(corpus) == list(corpus)
    assert list(corpus) == [Document(f"text {i}", ("a", f"b{i % 3}"), str(i)) for i in range(n)]


def test_parquet_label_columns(tmp_path):
    assert read(table(tmp_path, {"text": ["x"], "labels": ["a|b"]})) == [Document("x", ("a", "b"))]
    assert read(table(tmp_path, {"text": ["x"], "labels": [[3, 4]]})) == [Document("x", ("3", "4"))]
    assert read(table(tmp_path, {"text": ["x"]}), labelled=False) == [Document("x")]


def test_parquet_bad_rows(tmp_path):
    path = table(tmp_path, {"text": ["x", None, "y"], "labels": [["a"], ["a"], None]})
    message = complaint(path)
    assert message.startswith("FILE, row 2: the text must be a string, got null")
    corpus = read_corpus(path, on_bad="skip")
    assert list(corpus) == [Document("x", ("a",))]
    assert corpus.skipped == 2
    assert "the fields are 'text'" in complaint(table(tmp_path, {"text": ["x"]}))


def test_parquet_invalid_utf8(tmp_path):
    bad = pa.array([b"x", b"\xff", b"y"]).view(pa.string())
    path = table(tmp_path, {"text": bad, "labels": [["a"]] * 3})
    assert complaint(path).startswith("FILE, row 2: the row is not UTF-8")
    assert [d.text for d in read(path, on_bad="skip")] == ["x", "y"]


def test_parquet_damaged_or_empty(tmp_path):
    path = table(tmp_path, {"text": ["x"], "labels": [["a"]]})
    path.write_bytes(path.read_bytes()[:-20])
    assert complaint(path).startswith("cannot read FILE as Parquet")
    path.write_bytes(b"")
    assert "is empty" in complaint(path)
    assert "is empty" in complaint(
        table(tmp_path, {"text": pa.array([], pa.string()), "labels": pa.array([], pa.string())})
    )
    with pytest.raises(InputError, match="there is no file"):
        read_corpus(tmp_path / "none.parquet")


def test_row_errors_know_their_file(tmp_path):
    path = write(tmp_path, "text,labels\na\n")
    with pytest.raises(BadRowError) as raised:
        read(path)
    assert (raised.value.file, raised.value.line) == (str(path), 2)


def test_parquet_with_a_value_that_unpacks_to_too_much(tmp_path):
    path = tmp_path / "docs.parquet"
    columns = {"text": ["x" * (LINE + 1)], "labels": ["a"]}
    parquet.write_table(pa.table(columns), path, compression="zstd", use_dictionary=False)
    assert path.stat().st_size < 10_000
    assert "more than 67,108,864 bytes a row in the column 'text'" in complaint(path)


def test_parquet_with_a_long_value_that_rows_share(tmp_path, monkeypatch):
    monkeypatch.setattr("labelgrove.corpus.parquet.LINE", 1000)
    texts = ["x", *["y" * 1001] * 300, "z" * 1000]  # written once, so the mean is far below
    path = table(tmp_path, {"text": texts, "labels": [["a"]] * len(texts)})
    assert path.stat().st_size < 10_000
    assert "row 2: the column 'text' has more than 1,000 bytes in this row" in complaint(path)
    assert [len(d.text) for d in read(path, on_bad="skip")] == [1, 1000]


def test_parquet_batches_are_small_where_shared_values_are_long(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_batches, "DECODED", 5000)
    columns = {"text": ["y" * 1000] * 12, "labels": [["a"]] * 12}
    sizes = [b.num_rows for b in batches(table(tmp_path, columns), ["text", "labels"])]
    assert sizes == [5, 5, 2]
    columns = {"text": ["y"] * 12, "labels": [["a" * 1000] * 9] * 12}
    first = next(batches(table(tmp_path, columns), ["text", "labels"]))
    assert pa.types.is_dictionary(first.schema.field("labels").type.value_type)
    assert first.to_pylist()[0]["labels"] == ["a" * 1000] * 9


def test_parquet_with_too_many_labels_in_a_row(tmp_path, monkeypatch):
    monkeypatch.setattr("labelgrove.corpus.parquet.LINE", 1000)
    path = table(tmp_path, {"text": ["x"] * 3, "labels": [["a"], ["b"] * 300, ["c"]]})
    assert "row 2: the column 'labels' has more than 1,000 bytes in this row" in complaint(path)
    monkeypatch.setattr(parquet_batches, "LINE", 100)
    assert "more than 100 bytes a row in the column 'labels'" in complaint(path)
    monkeypatch.undo()
    monkeypatch.setattr(parquet_batches, "GROUP", 300)
    assert "302 items in a row group of the column 'labels'" in complaint(path)


def test_parquet_kinds_of_columns_and_their_bytes():
    strings = pa.array(["ab", None, "é"])
    assert row_bytes(strings).tolist() == [2, 0, 2]
    assert row_bytes(strings.dictionary_encode()).tolist() == [2, 0, 2]
    lists = pa.array([["ab", "c"], None, [], ["def"]])
    assert row_bytes(lists).tolist() == [11, 0, 0, 7]
    assert row_bytes(lists[3:]).tolist() == [7]
    pairs = pa.array([["a", "b"], ["cc", "dd"]], pa.list_(pa.string(), 2))
    assert row_bytes(pairs).tolist() == [10, 12]
    assert row_bytes(pairs[1:]).tolist() == [12]
    assert row_bytes(pa.array([{"x": "abc", "y": 1}])).tolist() == [7]
    assert row_bytes(pa.array([[("k", "abc")]], pa.map_(pa.string(), pa.string()))).tolist() == [8]


def test_parquet_with_values_that_share_beginnings(tmp_path):
    path = tmp_path / "docs.parquet"
    columns = {"text": ["x" * 500 + str(i) for i in range(300)], "labels": ["a"] * 300}
    encoding = {"text": "DELTA_BYTE_ARRAY"}
    parquet.write_table(pa.table(columns), path, use_dictionary=False, column_encoding=encoding)
    assert [d.text for d in read(path)] == columns["text"]


def test_a_separator_is_guessed_from_few_cells_if_they_are_long(monkeypatch):
    monkeypatch.setattr("labelgrove.corpus.rows.LINE", 10)
    assert sampled(["aaaaaa"] * 5) == ["aaaaaa"] * 2


TITLES = "Library report,,\n,,\nmade,2026-11-19,\n"
REPORT = "Title,Nr,Subjects\nWind,1,a;b\nSun,2,\n"
NAMED = {"text": "Title", "labels": "Subjects", "id": "Nr"}


def test_titles_above_the_header_are_left_out(tmp_path):
    path = write(tmp_path, TITLES + REPORT)
    corpus = read_corpus(path, **NAMED)
    corpus.look()
    assert list(corpus) == [Document("Wind", ("a", "b"), "1"), Document("Sun", (), "2")]
    assert corpus.notes == ("its columns are named in row 4; what stands above is left out",)
    assert corpus.layout().columns == ("Title", "Nr", "Subjects")
    # the line that is named is that of the file
    assert complaint(write(tmp_path, TITLES + REPORT + "x\n"), **NAMED).startswith("FILE, line 7: ")
    message = complaint(write(tmp_path, TITLES + REPORT))
    assert "FILE, line 4: there is no field 'text'; the fields are 'Title', 'Nr'" in message


def test_titles_of_another_width_and_separator(tmp_path):
    path = write(tmp_path, "Report of Tom, Dick\n" + REPORT.replace(",", "\t"))
    assert [each.text for each in read_corpus(path, **NAMED)] == ["Wind", "Sun"]


def test_a_document_that_looks_like_names_is_no_header(tmp_path):
    path = write(tmp_path, "title,subjects\nWind,a\ntext,labels\n")
    assert "FILE, line 1: there is no field 'text'; the fields are 'title'" in complaint(path)
    message = complaint(write(tmp_path, "\n" * 3 + "Report\n" * 11 + "text,labels\nWind,a\n"))
    assert "the fields are 'Report'" in message


@pytest.mark.parametrize("line", ["sep=;", '"sep=;"', "SEP=;"])
def test_the_first_line_may_name_the_delimiter(tmp_path, line):
    path = write(tmp_path, f"\ufeff{line}\r\ntext;labels\r\nWind, sun;a\r\none\r\n")
    corpus = read_corpus(path, on_bad="skip")
    assert list(corpus) == [Document("Wind, sun", ("a",))]
    corpus.look()
    assert corpus.notes == ("its fields are separated by ';'",)
    assert "FILE, line 4: there is 1 field, but the header has 2" in complaint(path)
    assert corpus.layout().delimiter == ";"
    assert "the fields are 'text', 'labels'" in complaint(path, text="title")
    bare = {"header": False, "text": "1", "labels": "2"}
    assert len(read(write(tmp_path, f"{line}\nWind, sun;a\nRain;b\n"), **bare)) == 2


def test_returns_as_line_ends(tmp_path):
    content = 'text,labels\rWind,a\r"two\rlines\n, ""three""",b\r'
    expected = [Document("Wind", ("a",)), Document('two\rlines\n, "three"', ("b",))]
    assert read(write(tmp_path, content)) == expected
    assert complaint(write(tmp_path, content + "one\r")).startswith("FILE, line 6: ")
    # of a table with other line ends they are characters
    quoted = '"te\rxt",labels\nWind,a\n'
    assert read(write(tmp_path, quoted), text="te\rxt") == [Document("Wind", ("a",))]


@pytest.mark.parametrize("blank", [",,", " , ,", "   ", ",", ",,,"])
def test_rows_of_blanks_are_passed_over(tmp_path, blank):
    path = write(tmp_path, f"{blank}\nid,text,labels\n1,Wind,a\n{blank}\n2,,\n{blank}\n")
    assert read(path) == [Document("Wind", ("a",), "1"), Document("", (), "2")]


def test_an_empty_text_alone_in_its_row_is_a_document(tmp_path):
    assert read(write(tmp_path, 'text\n""\nWind\n'), labelled=False)[0] == Document("")


def test_names_in_another_case_are_hinted_at(tmp_path):
    path = write(tmp_path, "Id , Text,LABELS\n1,Wind,a\n")
    message = complaint(path)
    assert "there is no field 'text'; did you mean 'Text'? The fields are 'Id', 'Text'" in message
    assert "did you mean 'LABELS'?" in complaint(path, text="Text")
