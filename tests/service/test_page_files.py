"""Files as people have them, on the page: encodings, separators, workbooks, columns to choose."""

import csv
import datetime
import io
import json

import openpyxl
import pytest

from browser import viewed
from labelgrove import Tagger
from labelgrove.corpus import read_corpus
from services import serving

FORMULA = "=Fruit"
ODD = "a/b c, \"d\"; 'e' #?&ä"
HEAD = ["nro", "otsikko", "huom"]
ROWS = [["007", 'Omena; "ä"\nja piirakka', "=1+1"], ["8", "Öljy ja auto", "-2"]]


@pytest.fixture(scope="module")
def served(tmp_path_factory, browser):
    """A tagger with labels that are hard to write; returns the page's address."""
    place = tmp_path_factory.mktemp("page-files")
    texts, labels = (
        ["omena ja piirakka", "punainen auto", "öljy"] * 8,
        [[FORMULA], [ODD], [ODD]] * 8,
    )
    Tagger("bonsai", validation=0).fit(texts, labels).save(place / "tagger")
    (place / "public.txt").write_text("omena   ja <b>piirakka</b>\n\n" + "auto\n" * 9, "utf-8")
    examples = ("--examples", place / "public.txt")
    with serving(place / "tagger", "--feedback", place, "--quiet", *examples) as service:
        service.feedback = place
        yield service


@pytest.fixture(scope="module")
def finnish(tmp_path_factory):
    """The address of a service whose tagger learned from columns with names of their own."""
    place = tmp_path_factory.mktemp("finnish")
    lines = ["nro,otsikko,huom,asiat", *(f"{i},omena {i},ja auto,{'ab'[i % 2]}" for i in range(20))]
    (place / "train.csv").write_text("\n".join(lines))
    reading = {"text": ["otsikko", "huom"], "labels": "asiat", "id": "nro"}
    corpus = read_corpus(place / "train.csv", **reading)
    Tagger("bonsai", validation=0).fit(corpus).save(place / "tagger")
    with serving(place / "tagger", "--quiet") as service:
        yield service


def test_the_columns_that_the_tagger_remembers_are_chosen(finnish, browser):
    (card,) = finnish.ask("/v1/models").json["models"]
    assert card["reading"] == {"text": ["otsikko", "huom"], "labels": "asiat", "id": "nro"}
    with viewed(browser, f"{finnish.address}/#tag") as seen:
        page = seen.page
        page.locator("select#model option").first.wait_for(state="attached")
        chosen(page, "docs.csv", table(";", "utf-8"))
        picked = "{0}.options[{0}.selectedIndex].textContent"
        ids = ("column", "second-column", "id-column")
        names = [page.evaluate(picked.format(f"document.getElementById('{i}')")) for i in ids]
        assert names == ["otsikko", "huom", "nro"]
        assert not page.locator("#source-file .hint").is_visible()
        with page.expect_request("**/v1/tag") as sent:
            page.click("#go")
        assert sent.value.post_data_json["texts"] == [f"{row[1]}\n{row[2]}" for row in ROWS]
        page.get_by_text("Done:").wait_for()
        chosen(page, "other.csv", b"text,n\nomena,1\nauto,2\n")
        page.locator("#go", has_text="Tag 2 documents").wait_for()
        chosen(page, "odd.csv", b"a,b\nomena,piirakka\n")
        hint = "No column is called “otsikko” and “huom”."
        page.locator("#source-file .hint", has_text=hint).wait_for()
        assert seen.complaints == []


@pytest.fixture
def page(served, browser):
    with viewed(browser, f"{served.address}/#tag") as seen:
        seen.page.set_default_timeout(20_000)
        seen.page.locator("select#model option").first.wait_for(state="attached")
        yield seen.page
        assert seen.complaints == []


def table(delimiter, encoding, mark="", rows=ROWS):
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter).writerows([HEAD, *rows])
    return (mark + text.getvalue()).encode(encoding)


def chosen(page, name, content):
    page.set_input_files("#file", {"name": name, "mimeType": "", "buffer": content})
    page.locator("#source-file").wait_for()


def tagged(page, texts="otsikko", ids="nro"):
    page.select_option("#column", label=texts)
    page.select_option("#id-column", label=ids)
    page.click("#go")
    page.get_by_text("Done:").wait_for()


def downloaded(page, what, delimiter=None):
    with page.expect_download() as found:
        page.click(f"text=Download {what}")
    text = found.value.path().read_bytes().decode("utf-8")
    if delimiter is None:
        return [json.loads(line) for line in text.splitlines()]
    assert text.startswith("\ufeff")  # else Excel reads it as something else
    return list(csv.reader(io.StringIO(text[1:], newline=""), delimiter=delimiter))


@pytest.mark.parametrize(
    ("encoding", "delimiter", "mark", "found"),
    [
        ("utf-8", ",", "\ufeff", "utf-8"),
        ("cp1252", ";", "", "windows-1252"),
        ("utf-16-le", "\t", "\ufeff", "utf-16le"),
        ("utf-16-be", ";", "", "utf-16be"),
    ],
)
def test_a_table_comes_back_with_its_columns_and_separator(page, encoding, delimiter, mark, found):
    chosen(page, "docs.csv", table(delimiter, encoding, mark))
    assert page.input_value("#encoding") == found
    assert page.input_value("#separator") == delimiter
    assert page.locator("#source-file .note").count() == (found == "windows-1252")
    tagged(page)
    assert page.locator(".run tbody td:first-child").all_inner_texts() == ["007", "8"]
    rows = downloaded(page, "CSV", delimiter)
    assert rows[0] == [*HEAD, "suggested_labels", "suggested_scores"]
    assert [row[:3] for row in rows[1:]] == ROWS
    # labels hold a semicolon; a cell that begins with one that is a formula is marked
    assert [row[3].split("|") for row in rows[1:]] == [[f"'{FORMULA}", ODD], [ODD, FORMULA]]
    assert [row["suggested_labels"][0]["label"] for row in downloaded(page, "JSON lines")] == [
        FORMULA, ODD
    ]  # fmt: skip


def test_what_was_found_out_can_be_corrected(page):
    chosen(page, "docs.csv", "Otsikko|huom;x\nčaj, auto|a;b\n".encode("cp1250"))
    page.select_option("#encoding", "windows-1250")
    page.locator("blockquote", has_text="čaj").or_(page.locator("#column")).first.wait_for()
    page.select_option("#separator", ",")
    page.locator("#source-file", has_text="1 bad row").wait_for()
    page.select_option("#separator", ";")
    page.select_option("#column", label="Otsikko|huom")
    assert "čaj, auto|a" in page.inner_text("#source-file blockquote")
    page.locator("#header").uncheck()
    page.locator("#go", has_text="Tag 2 documents").wait_for()
    page.click("#go")
    page.get_by_text("Done: 2 documents tagged").wait_for()
    rows = downloaded(page, "CSV", ";")
    assert [row[:2] for row in rows] == [["Otsikko|huom", "x"], ["čaj, auto|a", "b"]]


def test_two_columns_become_lines_of_one_text(page):
    chosen(page, "docs.csv", table(",", "utf-8"))
    page.select_option("#second-column", label="huom")
    with page.expect_request("**/v1/tag") as sent:
        tagged(page)
    assert sent.value.post_data_json["texts"] == [f"{row[1]}\n{row[2]}" for row in ROWS]
    page.get_by_label("with the texts", exact=True).uncheck()
    assert downloaded(page, "CSV", ",")[0][:2] == ["nro", "suggested_labels"]


def test_bad_rows_are_named_and_the_rest_is_tagged(page):
    content = b"text,n\nomena,1\nauto\n\xc3\xa4\xc3\xb6 auto,2\n\xff auto,3\n"
    chosen(page, "docs.csv", content)
    assert page.input_value("#encoding") == "utf-8"
    page.click("#go")
    page.get_by_text("Done: 2 documents tagged, 2 refused").wait_for()
    refused = page.locator(".run details li").all_inner_texts()
    assert refused[0] == "row 3: has 1 cells, and the first row has 2"
    assert refused[1] == "row 5: has bytes of another encoding"


def test_a_workbook_is_read_in_the_browser(page, tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "Ohje"
    book.active.append(["ei mitään"])
    sheet = book.create_sheet("Aineisto")
    sheet.append([None])  # an empty row
    sheet.append(["nro", "otsikko", "päivä", "vuosi"])
    sheet.append([7, "omena & piirakka <1>", datetime.datetime(2026, 11, 18), 2026])
    sheet.append([8.5, "auto", datetime.datetime(2026, 11, 18, 12, 30), None])
    book.save(tmp_path / "docs.xlsx")
    chosen(page, "docs.xlsx", (tmp_path / "docs.xlsx").read_bytes())
    assert page.input_value("#sheet") == "Aineisto"  # the first that has documents
    assert "It has 2 sheets: “Aineisto” is read." in page.inner_text("#source-file .note")
    tagged(page)
    delimiter = page.evaluate("(1.5).toLocaleString().includes(',') ? ';' : ','")
    rows = downloaded(page, "CSV", delimiter)
    assert [row[:4] for row in rows] == [
        ["nro", "otsikko", "päivä", "vuosi"],
        ["7", "omena & piirakka <1>", "2026-11-18", "2026"],
        ["8.5", "auto", "2026-11-18 12:30:00", ""],
    ]
    with page.expect_download() as found:
        page.click("text=Download Excel")
    assert found.value.suggested_filename == "docs.tagged.xlsx"
    found.value.save_as(tmp_path / "out.xlsx")
    written = openpyxl.load_workbook(tmp_path / "out.xlsx")
    assert written.sheetnames == ["Aineisto"]
    values = list(written.active.values)
    assert values[0] == ("nro", "otsikko", "päivä", "vuosi", "suggested_labels", "suggested_scores")
    noon = datetime.datetime(2026, 11, 18, 12, 30)
    assert [row[:4] for row in values[1:]] == [
        (7, "omena & piirakka <1>", datetime.datetime(2026, 11, 18), 2026),
        (8.5, "auto", noon, None),
    ]
    assert values[1][4].split("|")[0] == FORMULA
    assert written.active["E2"].data_type == "s"
    again = read_corpus(tmp_path / "out.xlsx", text="otsikko", labelled=False)
    assert [document.text for document in again] == ["omena & piirakka <1>", "auto"]


def test_a_first_row_that_is_a_document_is_no_header(page):
    long = "omena ja piirakka " * 6
    chosen(page, "docs.csv", f"{long},a\npunainen auto,b\n".encode())
    assert "The first row looks like a document" in page.inner_text("#source-file .note")
    page.locator("#column option", has_text="column 1").wait_for(state="attached")
    page.select_option("#column", label="column 1")
    page.locator("#go", has_text="Tag 2 documents").wait_for()
    page.locator("#header").check()  # it was names after all
    page.locator("#column option", has_text=long.strip()).wait_for(state="attached")
    survey = f"text,{long}\nomena,x\nauto,y\n"  # a question may be long
    chosen(page, "survey.csv", survey.encode())
    page.locator("#go", has_text="Tag 2 documents").wait_for()
    assert page.locator("#source-file .note").count() == 0


def test_text_of_excel_is_a_table_and_other_text_is_not(page):
    rows = "Otsikko\tVuosi\r\nomena\t1999\r\nauto\t2000\r\n"
    chosen(page, "unicode.txt", rows.encode("utf-16"))
    page.select_option("#column", label="Otsikko")
    page.locator("#go", has_text="Tag 2 documents").wait_for()
    page.click("text=Put away")
    letter = "Arvoisa\tvastaanottaja,\nomena on punainen.\nTerveisin\n"
    page.set_input_files("#file", {"name": "a.txt", "mimeType": "", "buffer": letter.encode()})
    page.locator("#said", has_text="a.txt is in the field").wait_for()
    assert page.input_value("#text") == letter


def test_ids_stay_in_one_line(page):
    rows = "".join(f"1234{i},omena {'ja piirakka ' * 20}\n" for i in range(10, 13))
    page.set_viewport_size({"width": 1100, "height": 800})
    chosen(page, "docs.csv", f"id,text\n{rows}".encode())
    page.click("#go")
    page.get_by_text("Done:").wait_for()
    lines = "cell => { const r = document.createRange(); r.selectNodeContents(cell);"
    lines += " return r.getClientRects().length; }"
    assert page.locator(".run tbody td").first.evaluate(lines) == 1


def test_labels_of_another_file_or_other_settings_are_told_to_be_old(page):
    content = table(",", "utf-8")
    chosen(page, "docs.csv", content)
    tagged(page)
    assert "docs.csv, column “otsikko”, by tagger: 5 labels at most" in page.inner_text(".run")
    old = page.locator("#result.stale")
    for change, back in [
        (lambda: page.fill("#k", "1"), lambda: page.fill("#k", "5")),
        (lambda: page.select_option("#column", label="huom"),
         lambda: page.select_option("#column", label="otsikko")),
        (lambda: page.select_option("#threshold", "auto"),
         lambda: page.select_option("#threshold", "")),
    ]:  # fmt: skip
        change()
        page.keyboard.press("Tab")
        old.wait_for()
        assert "labels are of before" in page.inner_text("#said")
        back()
        page.keyboard.press("Tab")
        old.wait_for(state="detached")
    chosen(page, "docs.csv", content)  # as the user sees it this may be another one
    old.wait_for()
    tagged(page)
    old.wait_for(state="detached")
    page.click("text=Put away")
    old.wait_for()


def test_a_label_that_is_hard_to_write_is_shown_added_and_saved(page, served):
    page.fill("#text", "öljy ja omena")
    page.fill("#k", "1")
    page.click("#go")
    page.click("button.label")
    page.locator(".document").wait_for()
    field = page.get_by_role("combobox", name="Add a label")
    other = FORMULA if ODD in page.inner_text(".ranking") else ODD
    field.fill(other)
    page.locator(".combobox [role=option]").first.wait_for()
    page.keyboard.press("Enter")
    page.locator(".chips li", has_text=other).wait_for()
    page.get_by_role("button", name="Save feedback").click()
    page.get_by_text("✓ Saved").wait_for()
    (path,) = served.feedback.glob("*.jsonl")
    saved = json.loads(path.read_text("utf-8").splitlines()[-1])
    assert saved["labels"] == [other]


def test_examples_are_the_texts_that_were_named(page):
    buttons = page.locator(".examples button")
    assert buttons.all_inner_texts() == ["omena ja <b>piirakka</b>", *["auto"] * 4]
    buttons.first.click()
    page.locator(".ranking").wait_for()
    assert page.input_value("#text") == "omena ja <b>piirakka</b>"
