import datetime
import re
import zipfile

import openpyxl
import pytest

from labelgrove.core.errors import BadRowError, InputError
from labelgrove.corpus import Document, excel_parts, read_corpus
from labelgrove.corpus.base import LayoutError

ROWS = [("text", "labels"), ("Tuulivoima, määrä", "energia; ympäristö"), ("Yö", None)]


def book(path, *sheets):
    """Write sheets, each a name and rows."""
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for name, rows in sheets:
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(row)
    workbook.save(path)
    return path


def altered(path, part, change):
    """Write the archive anew with one part changed, or added."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[part] = change(parts.get(part, b""))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def complaint(path, **options):
    with pytest.raises(InputError) as raised:
        list(read_corpus(path, **options))
    message = str(raised.value)
    assert "\n" not in message
    return message.replace(str(path), "FILE")


def test_a_sheet(tmp_path):
    corpus = read_corpus(book(tmp_path / "docs.xlsx", ("Data", ROWS)))
    expected = [Document("Tuulivoima, määrä", ("energia", "ympäristö")), Document("Yö")]
    assert list(corpus) == expected
    assert list(corpus) == expected
    assert (corpus.notes, corpus.reading) == ((), {})


def test_what_cells_hold(tmp_path):
    day = datetime.datetime(2026, 11, 18)
    rows = [
        ("id", "text", "labels"),
        (7, 12.0, 2026),
        ("a", day, 2.5),
        (None, True, "x|y"),
        ("b", day.replace(hour=9), None),
        ("c", "two_x000D_\nlines", datetime.time(9, 30)),
    ]
    assert list(read_corpus(book(tmp_path / "docs.xlsx", ("Data", rows)))) == [
        Document("12", ("2026",), "7"),
        Document("2026-11-18", ("2.5",), "a"),
        Document("TRUE", ("x", "y"), ""),
        Document("2026-11-18 09:00:00", (), "b"),
        Document("two\nlines", ("09:30:00",), "c"),
    ]


def test_the_value_that_was_saved_with_a_formula(tmp_path):
    path = book(tmp_path / "docs.xlsx", ("Data", [*ROWS, ('="a"&"b"', "x")]))
    altered(
        path,
        "xl/worksheets/sheet1.xml",
        lambda sheet: re.sub(
            rb'(<c r="A4"[^>]*?)(?: t="\w+")?>(<f>.*?</f>)<v\s*/?>(</v>)?',
            rb'\1 t="str">\2<v>ab</v>',
            sheet,
        ),
    )
    assert [document.text for document in read_corpus(path)][-1] == "ab"


def test_a_formula_that_failed_is_a_bad_row(tmp_path):
    path = book(tmp_path / "docs.xlsx", ("Data", [*ROWS, ("Wind", "#N/A")]))
    assert complaint(path).startswith("FILE, sheet 'Data', row 4: a cell holds #N/A")
    corpus = read_corpus(path, on_bad="skip")
    assert (len(list(corpus)), corpus.skipped) == (2, 1)


def test_empty_rows_and_columns_without_a_name(tmp_path):
    rows = [
        (),
        (None, "text", None, "labels"),
        ("note", "Wind", 3, "a"),
        (),
        (1, "Sun", None, "b", 4),
    ]
    path = book(tmp_path / "docs.xlsx", ("Data", rows))
    assert list(read_corpus(path)) == [Document("Wind", ("a",)), Document("Sun", ("b",))]


def test_sheets(tmp_path):
    path = book(tmp_path / "docs.xlsx", ("Read me", [("Hello",)]), ("Data", ROWS))
    assert len(list(read_corpus(path, sheet="Data"))) == 2
    message = complaint(path)
    assert message.startswith("FILE, sheet 'Read me', row 1: there is no field 'text'")
    assert "other sheets are 'Data' (sheet=NAME)" in message
    assert "there is no sheet 'x'; the sheets are 'Read me', 'Data'" in complaint(path, sheet="x")
    other = book(tmp_path / "other.xlsx", ("Data", ROWS), ("More", ROWS))
    corpus = read_corpus(other)
    corpus.look()
    assert corpus.notes == ("its first sheet 'Data' is read, not 'More' (sheet=NAME)",)


def test_without_a_header(tmp_path):
    path = book(tmp_path / "docs.xlsx", ("Data", ROWS[1:]))
    assert "header=False, text='1', labels='2'" in complaint(path)
    corpus = read_corpus(path, header=False, text="1", labels="2")
    assert [document.text for document in corpus] == ["Tuulivoima, määrä", "Yö"]


def test_labels_are_optional_for_tagging(tmp_path):
    path = book(tmp_path / "docs.xlsx", ("Data", [("text",), ("Wind",)]))
    assert list(read_corpus(path, labelled=False)) == [Document("Wind")]
    with pytest.raises(LayoutError, match="there is no field 'labels'"):
        list(read_corpus(path))


def test_nothing_to_read(tmp_path):
    for rows in ([], [()], [("text", "labels")]):
        message = complaint(book(tmp_path / "docs.xlsx", ("Data", rows)))
        assert message == "FILE is empty: there is no document to read in it"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"text,labels\n", "cannot read FILE as .xlsx (File is not a zip file)"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "FILE is an old .xls file or has a password"),
    ],
)
def test_what_is_no_workbook(tmp_path, content, expected):
    path = tmp_path / "docs.xlsx"
    path.write_bytes(content)
    assert complaint(path).startswith(expected)


def test_other_files_of_spreadsheets(tmp_path):
    for name in ("docs.xls", "docs.ods"):
        (tmp_path / name).touch()
        assert "save it in the spreadsheet program as .xlsx" in complaint(tmp_path / name)
    (tmp_path / "docs.xlsx.gz").touch()
    assert "is packed twice" in complaint(tmp_path / "docs.xlsx.gz")


def test_damaged_workbooks(tmp_path):
    path = book(tmp_path / "docs.xlsx", ("Data", ROWS))
    whole = path.read_bytes()
    for end in (10, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:end])
        assert complaint(path).startswith("cannot read FILE as .xlsx")
    path.write_bytes(whole)
    altered(path, "xl/worksheets/sheet1.xml", lambda sheet: sheet[:-30])
    assert complaint(path).startswith("cannot read FILE as .xlsx")


ENTITIES = b'<?xml version="1.0"?>\n<!DOCTYPE x [<!ENTITY a "wind"><!ENTITY b "&a;&a;&a;">]>\n'


@pytest.mark.parametrize(
    "part",
    ["xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "xl/workbook.xml", "[Content_Types].xml"],
)
def test_entities_are_refused(tmp_path, part):
    path = book(tmp_path / "docs.xlsx", ("Data", ROWS))
    altered(
        path,
        part,
        lambda xml: ENTITIES + xml.partition(b"?>")[2] if b"?>" in xml else ENTITIES + xml,
    )
    message = complaint(path)
    assert message.startswith("FILE defines entities of XML") or "EntitiesForbidden" in message


def test_a_part_that_unpacks_to_too_much(tmp_path):
    path = book(tmp_path / "docs.xlsx", ("Data", ROWS))
    altered(path, "xl/sharedStrings.xml", lambda xml: xml + b" " * (excel_parts.SMALL + 1))
    assert path.stat().st_size < 200_000
    message = complaint(path)
    assert "FILE unpacks to more than 100 bytes for each in the file" in message
    assert "'xl/sharedStrings.xml'" in message


def test_limits_of_parts(tmp_path, monkeypatch):
    path = book(tmp_path / "docs.xlsx", ("Data", ROWS))
    monkeypatch.setattr(excel_parts, "WHOLE", 100)
    assert "more than 100 bytes" in complaint(path)
    monkeypatch.undo()
    monkeypatch.setattr(excel_parts, "ELEMENTS", 10)
    assert "more than 10 elements of XML" in complaint(path)


def test_a_cell_far_away_takes_no_memory(tmp_path):
    path = book(tmp_path / "docs.xlsx", ("Data", ROWS))
    altered(
        path,
        "xl/worksheets/sheet1.xml",
        lambda sheet: sheet.replace(b'r="A3"', b'r="ZZZ3"').replace(b'r="3"', b'r="999999999"'),
    )
    assert len(list(read_corpus(path))) == 1


def test_a_separator_must_be_given_for_commas(tmp_path):
    path = book(tmp_path / "docs.xlsx", ("Data", [ROWS[0], ("Wind", "a, b")]))
    assert complaint(path).startswith("FILE: cannot tell what separates labels")
    assert list(read_corpus(path, separator=",")) == [Document("Wind", ("a", "b"))]


def test_places_of_bad_rows(tmp_path):
    rows = [(), ROWS[0], ("Wind", "a"), (), ("Sun", "#REF!")]
    with pytest.raises(BadRowError, match="sheet 'Data', row 5: a cell holds #REF!"):
        list(read_corpus(book(tmp_path / "docs.xlsx", ("Data", rows))))


def test_merged_cells_are_said(tmp_path, monkeypatch):
    path = book(tmp_path / "a.xlsx", ("docs", [*ROWS[:2], ("Aurinko", "energia"), ("Vesi", "")]))
    workbook = openpyxl.load_workbook(path)
    workbook["docs"].merge_cells("A1:A1")
    workbook["docs"].merge_cells("B3:B4")
    workbook.save(path)
    monkeypatch.setattr(excel_parts, "CHUNK", 7)  # ranges are cut in two
    corpus = read_corpus(path)
    assert [each.labels for each in corpus][1:] == [("energia",), ()]
    assert [note for note in corpus.notes if "B3:B4 are merged" in note]
    plain = read_corpus(book(tmp_path / "b.xlsx", ("docs", ROWS)))
    assert list(plain)
    assert not [note for note in plain.notes if "merged" in note]


def test_titles_above_the_header_are_left_out(tmp_path):
    rows = [["Report"], [], ["Nr", "Title", "Subjects"], [1, "Wind", "energy"]]
    path = book(tmp_path / "docs.xlsx", ("Data", rows))
    corpus = read_corpus(path, text="Title", labels="Subjects", id="Nr")
    assert list(corpus) == [Document("Wind", ("energy",), "1")]
    assert corpus.notes == ("its columns are named in row 3; what stands above is left out",)
    message = complaint(path)
    assert "row 3: there is no field 'text'; the fields are 'Nr', 'Title', 'Subjects'" in message


def test_a_sheet_in_another_case_is_hinted_at(tmp_path):
    path = book(tmp_path / "docs.xlsx", ("Data 2026", ROWS))
    assert "did you mean 'Data 2026'? The sheets are 'Data 2026'" in complaint(path, sheet="data")
