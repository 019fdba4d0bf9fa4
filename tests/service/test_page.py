"""The page, used as people do: in a real browser, with a real service behind it."""

import csv
import io
import json
import re
from itertools import pairwise

import pytest

from browser import PHONE, looking, viewed
from labelgrove import Tagger
from services import serving

TEXT = "green apples in a car"
IMAGE, SCRIPT = "<img src=x onerror=alert(1)>", "<script>alert(2)</script>"
LONG, HIDDEN, RIGHT_TO_LEFT = "verylongword" * 20, "\u202ebackwards", "فاكهة"
ODD = (IMAGE, SCRIPT, LONG, HIDDEN, RIGHT_TO_LEFT, "🍎 fruit")
KEY = "open-sesame-open-sesame"
LENGTH = 2_000  # characters of a text that the service takes


@pytest.fixture(scope="module")
def service(taggers, tmp_path_factory):
    """Two taggers with a hierarchy, one with label names that mean ill; feedback is taken."""
    place = tmp_path_factory.mktemp("page")
    texts = [
        "red apples",
        "a red car 🚗",
        "green cars drive",
        "apple pie",
        "فاكهة حمراء",
        "pie",
    ] * 12
    labels = [[ODD[i % 6], f"label {i:02d}"] for i in range(72)]
    Tagger("bonsai", validation=0).fit(texts, labels).save(place / "odd")
    limits = ("--max-length", LENGTH, "--max-texts", 400)
    folders = (taggers / "bonsai", taggers / "knn", place / "odd")
    with serving(*folders, "--feedback", place, *limits, "--quiet") as found:
        found.feedback = place
        yield found


@pytest.fixture
def look(service, browser):
    """Open the page; in the end nothing must have been asked of another host, nor complained."""
    with looking(browser, service.address) as opener:

        def opened(part="tag", **options):
            seen = opener(f"#{part}", **options)
            seen.page.locator("select#model option").first.wait_for(state="attached")
            return seen

        yield opened


def tag(page, text, model=None, **options):
    """Enter a text and wait for its labels."""
    if model:
        page.select_option("#model", model)
    for name, value in options.items():
        page.fill(f"#{name}", str(value))
    page.fill("#text", text)
    page.click("#go")
    page.locator("#go", has_text=re.compile("^Tag$")).wait_for()  # while it works it says so
    page.locator(".ranking").first.wait_for()


def ranked(page, column=".ranking"):
    """The labels on the page: names and percentages."""
    rows = page.locator(f"{column} button.label")
    return [
        (row.locator(".name > span").inner_text(), row.locator(".share").inner_text())
        for row in rows.all()
    ]


def given(service, text=TEXT, **options):
    (result,) = service.ask("/v1/tag", {"text": text, **options}).json["results"]
    return result["labels"]


# --- one text ---------------------------------------------------------------------------------


def test_a_text_is_tagged_and_stays_out_of_the_address(service, look):
    page = look().page
    assert "knows 4 labels, learned from 100 documents" in page.inner_text(".welcome")
    tag(page, TEXT, k=3)
    expected = given(service, k=3)
    assert [name for name, _ in ranked(page)] == [label["name"] for label in expected]
    for (_, shown), label in zip(ranked(page), expected, strict=True):
        assert float(shown.strip("<%")) == pytest.approx(100 * label["score"], abs=0.6)
    assert expected[0]["name"] in page.inner_text("#said")
    assert page.url == f"{service.address}/#tag"
    assert page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 0]


def test_a_threshold_leaves_out_what_is_less_likely(service, look):
    page = look().page
    page.select_option("#threshold", "number")
    tag(page, TEXT, least=50)
    expected = [label["name"] for label in given(service, threshold=0.5)]
    assert [name for name, _ in ranked(page)] == expected
    assert 0 < len(expected) < 4
    page.fill("#least", "100")
    page.keyboard.press("Control+Enter")
    page.get_by_text("No label is likely enough").wait_for()
    page.fill("#k", "0")
    page.click("#go")
    assert "from 1 to 1,000" in page.inner_text("#tag-problem")


def test_a_promise_is_asked_for_in_per_cent(service, look):
    seen = look()
    page = seen.page
    page.select_option("#threshold", "precision")
    assert page.inner_text("label[for=least]") == "Right, %"
    assert page.input_value("#least") == "90"
    tag(page, TEXT, least=50)
    expected = [label["name"] for label in given(service, threshold="precision=0.5")]
    assert [name for name, _ in ranked(page)] == expected
    assert "at least 0.5 holds on new documents" in page.inner_text("#result .note")
    page.fill("#least", "99.9")
    page.keyboard.press("Control+Enter")
    page.get_by_text("cannot promise precision=0.999").wait_for()
    page.fill("#least", "100")
    page.click("#go")
    assert "Right: a number from 0.1 to 99.9." in page.inner_text("#tag-problem")
    assert len(seen.complaints) == 1  # the browser's own, of what was refused
    seen.complaints.clear()


def test_a_threshold_that_was_never_tuned_says_so(look):
    page = look().page
    page.select_option("#threshold", "auto")
    tag(page, "red apples", "odd")
    assert page.inner_text(".note")


def test_the_words_that_spoke_are_marked_also_behind_an_emoji(service, look):
    page = look().page
    text = "🍎🍏 Äpfel:\napples and a <b>car</b>"
    tag(page, text)
    page.click("button.label:has-text('Fruit of trees')")
    page.locator(".document").wait_for()
    assert page.locator(".document").text_content() == text
    words = service.ask("/v1/explain", {"text": text, "label": "fruit"}).json["words"]
    sides = {"for": 1, "against": -1}
    for kind, sign in sides.items():
        loud = [word for word in words if sign * word["weight"] > 0]
        marked = page.locator(f".document mark.{kind}").all_inner_texts()
        assert set(marked) <= {word["text"] for word in loud}
        listed = page.locator(f".side:has(mark.{kind}) .words").inner_text()
        assert loud[0]["text"] in marked
        assert loud[0]["text"] in listed
    assert "apples" in page.locator(".document mark.for").all_inner_texts()
    assert "Thing › Fruit of trees" in page.inner_text(".why:visible")
    page.click("button.label:has-text('Fruit of trees')")
    assert page.locator(".document:visible").count() == 0


def test_the_heaviest_word_is_on_top(look):
    page = look().page
    found = page.evaluate("""async () => {
      const { pieces } = await import('/static/places.js');
      const words = [
        { weight: -2, places: [[2, 4]] },
        { weight: 1, places: [[1, 5], [6, 7]] },
        { weight: 0.01, places: [[0, 1]] },
      ];
      return pieces('😀bcdef😀', words).map(({ text, share }) => [text, share]);
    }""")
    assert found == [["😀", 0], ["b", 0.5], ["cd", -1], ["e", 0.5], ["f", 0], ["😀", 0.5]]


def test_a_model_that_remembers_shows_similar_documents(look):
    page = look().page
    tag(page, TEXT, "knn")
    page.locator("button.label").first.click()
    page.locator(".similar li").first.wait_for()
    assert "apples" in page.inner_text(".similar")
    assert "most similar documents have it" in page.inner_text(".why")


def test_two_models_are_compared(service, look):
    page = look().page
    page.select_option("#second", "knn")
    tag(page, TEXT, k=2)
    for model, column in (("bonsai", 1), ("knn", 2)):
        expected = [label["name"] for label in given(service, k=2, model=model)]
        shown = ranked(page, f".beside > :nth-child({column})")
        assert [name for name, _ in shown] == expected
    names = [{label["name"] for label in given(service, k=2, model=m)} for m in ("bonsai", "knn")]
    both = page.locator("dl.facts dd").first.inner_text()
    assert all(name in both for name in names[0] & names[1])
    assert page.locator(".only").count() == len(names[0] ^ names[1])


def test_a_text_that_has_changed_makes_its_labels_pale(look):
    page = look().page
    tag(page, TEXT)
    assert page.locator(".stale").count() == 0
    page.fill("#text", "another")
    assert page.locator(".stale").count() == 1
    assert "The text has changed" in page.inner_text("#said")


# --- files ------------------------------------------------------------------------------------


def downloaded(page, what):
    with page.expect_download() as found:
        page.click(f"text=Download {what}")
    content = found.value.path().read_bytes().decode("utf-8-sig")
    return content, found.value.suggested_filename


def tagged_file(page, path):
    page.set_input_files("#file", path)
    page.locator("#source-file").wait_for()
    page.click("#go")
    page.get_by_text("Done:").wait_for()


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_is_tagged_and_downloaded(look, taggers, tmp_path, separator):
    texts = ['a "green" car, fast; very', "red\napples\r\nand\tmore", "", "Äpfel 🍎 apple pie"]
    path = tmp_path / ("docs.tsv" if separator == "\t" else "docs.csv")
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        rows = csv.writer(file, delimiter=separator)
        rows.writerows([["id", "Text", "more"], *([f"d{i}", t, "x"] for i, t in enumerate(texts))])
    page = look().page
    tagged_file(page, path)
    assert "4 documents tagged" in page.inner_text("#said")
    expected = Tagger.load(taggers / "bonsai").tag(texts, k=5)
    lines, name = downloaded(page, "JSON lines")
    assert name == "docs.tagged.jsonl"
    found = [json.loads(line) for line in lines.splitlines()]
    assert [(each["id"], each["Text"], each["more"]) for each in found] == [
        (f"d{i}", text, "x") for i, text in enumerate(texts)
    ]
    for each, tags in zip(found, expected, strict=True):
        assert [(label["label"], label["score"]) for label in each["suggested_labels"]] == [
            (tag.label, pytest.approx(tag.score, abs=1e-6)) for tag in tags
        ]
    form = "TSV" if separator == "\t" else "CSV"
    table, name = downloaded(page, form)
    assert name == f"docs.tagged.{form.lower()}"
    rows = list(csv.reader(io.StringIO(table, newline=""), delimiter=separator))
    added = ["suggested_labels", "suggested_label_ids", "suggested_scores"]
    assert rows[0] == ["id", "Text", "more", *added]
    assert [row[1] for row in rows[1:]] == texts
    assert [row[4].split("; ") for row in rows[1:]] == [[tag.label for tag in t] for t in expected]
    page.get_by_label("with the texts", exact=True).uncheck()
    table, _ = downloaded(page, form)
    rows = list(csv.reader(table.splitlines(), delimiter=separator))
    assert rows[0] == ["id", "more", *added]


def test_an_id_may_be_nought(look, tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text('{"id": 0, "text": "apples"}\n{"id": "", "text": "cars"}\n', "utf-8")
    page = look().page
    tagged_file(page, path)
    assert page.locator(".run tbody td:first-child").all_inner_texts() == ["0", "2"]
    lines, _ = downloaded(page, "JSON lines")
    assert [json.loads(line)["id"] for line in lines.splitlines()] == [0, ""]


def test_a_file_that_is_refused_does_not_leave_the_one_before(look, tmp_path):
    (tmp_path / "good.csv").write_text("text\napples\n")
    (tmp_path / "bad.pdf").write_bytes(b"%PDF")
    page = look().page
    tagged_file(page, tmp_path / "good.csv")
    page.set_input_files("#file", tmp_path / "bad.pdf")
    page.get_by_text("This page reads .txt").wait_for()
    assert page.locator("#source-file").is_hidden()
    page.click("#go")
    assert "There is no text yet" in page.inner_text("#tag-problem")


def test_a_first_row_that_names_no_texts_is_told(look, tmp_path):
    (tmp_path / "docs.csv").write_text("green apples\na red car\n")
    page = look().page
    page.set_input_files("#file", tmp_path / "docs.csv")
    page.get_by_text("The first row is taken for the names of the columns").wait_for()


def test_cells_of_the_user_stay_as_they_are(look, tmp_path):
    path = tmp_path / "docs.csv"
    path.write_text('id,text\n+1,"=HYPERLINK(""http://example.org"")"\n', "utf-8")
    page = look().page
    tagged_file(page, path)
    table, _ = downloaded(page, "CSV")
    row = list(csv.reader(table.splitlines()))[1]
    assert row[:2] == ["+1", '=HYPERLINK("http://example.org")']  # the user's own
    lines, _ = downloaded(page, "JSON lines")
    assert json.loads(lines)["text"] == '=HYPERLINK("http://example.org")'


def test_what_is_refused_is_named_and_the_rest_is_tagged(look, tmp_path):
    lines = ['{"body": "apples"}', "no JSON", '{"body": 3}', '{"body": "cars", "id": "own"}', ""]
    lines.append(json.dumps({"body": "x" * (LENGTH + 1)}))
    lines.append(r'{"body": "half a pair: \ud800"}')  # what only the service refuses
    lines.append('{"body": "apple pie"}')
    path = tmp_path / "docs.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    seen = look()
    page = seen.page
    page.set_input_files("#file", path)
    page.get_by_text("Choose the one with the texts").wait_for()
    page.click("#go")
    assert "Choose the column" in page.inner_text("#tag-problem")
    page.select_option("#source-file select", label="body")
    page.click("#go")
    page.get_by_text("Done: 3 documents tagged, 4 refused").wait_for()
    refused = page.locator(".run details li").all_inner_texts()
    assert [line.partition(":")[0] for line in refused] == ["line 2", "line 3", "line 6", "line 7"]
    assert "2,001 characters" in refused[2]
    assert "not JSON" in refused[3]
    lines, _ = downloaded(page, "JSON lines")
    assert [json.loads(line).get("id") for line in lines.splitlines()] == [None, "own", None]
    assert page.locator(".run tbody td:first-child").all_inner_texts() == ["1", "own", "7"]
    assert all("400" in said for said in seen.complaints)  # the browser's own
    seen.complaints.clear()


def test_many_rows_can_be_stopped_and_gone_on_with(look, tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("text\n" + "".join(f"apples and car {i}\n" for i in range(10_000)), "utf-8")
    page = look().page
    page.set_input_files("#file", path)
    page.get_by_role("button", name="Tag 10,000 documents").click()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Cancelled").wait_for()
    page.get_by_role("button", name="Go on").click()
    page.get_by_text("Done: 10,000 documents tagged").wait_for()
    assert page.locator(".run tbody tr").count() == 200
    lines, _ = downloaded(page, "JSON lines")
    found = [json.loads(line) for line in lines.splitlines()]
    assert [each["text"] for each in found] == [f"apples and car {i}" for i in range(10_000)]


BAD_FILES = [
    ("docs.csv", b"text\n\xff\xfe\0\n", "no text file"),
    ("docs.xlsx", b"PK and no more", "cannot be read as .xlsx"),
    ("docs.xlsx", b"\xd0\xcf\x11\xe0 and so on", "has a password, or is an old .xls"),
    ("docs.csv", b"", "It is empty"),
    ("docs.txt", b" \n", "It is empty"),
    ("docs.csv", b"text,labels\n", "no documents"),
    ("docs.csv", b'text\nfine\n"never closed\n', "Row 3 opens a quotation mark"),
    ("docs.txt", b"x" * (LENGTH + 1), "2,001 characters; this server takes 2,000"),
    ("docs.pdf", b"%PDF-1.4", ".txt, .csv, .tsv, .jsonl and .xlsx"),
]


def test_a_file_that_cannot_be_read_says_why(look):
    page = look().page
    page.fill("#text", "still here")
    for name, content, said in BAD_FILES:
        page.set_input_files("#file", {"name": name, "mimeType": "", "buffer": content})
        page.locator("#tag-problem .problem", has_text=said).wait_for()
        assert page.inner_text("#tag-problem").startswith(f"{name}: ")
        assert page.input_value("#text") == "still here"


def test_a_dropped_text_file_is_one_document(look):
    page = look().page
    dropped = page.evaluate_handle("""() => {
      const data = new DataTransfer();
      data.items.add(new File(['red apples 🍎'], 'one.txt', { type: 'text/plain' }));
      return data;
    }""")
    page.dispatch_event("#text", "drop", {"dataTransfer": dropped})
    page.get_by_text("one.txt is in the field").wait_for()
    assert page.input_value("#text") == "red apples 🍎"


# --- feedback ---------------------------------------------------------------------------------


def test_that_no_label_fits_is_saved_only_if_it_is_meant(service, look):
    file = service.feedback / "bonsai.feedback.jsonl"
    before = file.read_bytes() if file.exists() else b""
    page = look().page
    tag(page, "something else altogether")
    page.locator(".verdict.wrong").first.click()
    page.click("text=Save feedback")
    page.get_by_text("You have marked no label as right").wait_for()
    assert (file.read_bytes() if file.exists() else b"") == before
    page.click("text=None of the labels fits")
    page.get_by_text("✓ Saved").wait_for()
    stored = json.loads(file.read_text("utf-8").splitlines()[-1])
    assert stored["labels"] == []
    assert len(stored["rejected"]) == 1


def test_a_label_that_was_only_typed_is_not_forgotten(service, look):
    page = look().page
    tag(page, "a text with a label to add")
    page.locator(".verdict.right").first.click()
    field = page.get_by_role("combobox", name="Add a label")
    field.press_sequentially("qwertz")
    page.get_by_role("option", name="Add as new label: qwertz").wait_for()
    field.blur()
    page.click("text=Save feedback")
    page.get_by_text("is still in the field").wait_for()
    assert page.locator(".saved").count() == 0
    field.press("ArrowDown")
    page.get_by_role("option", name="Add as new label: qwertz").wait_for()
    field.press("Enter")  # it is the only one
    page.click("text=Save feedback")
    page.get_by_text("✓ Saved").wait_for()
    line = (service.feedback / "bonsai.feedback.jsonl").read_text("utf-8").splitlines()[-1]
    assert "qwertz" in json.loads(line)["labels"]


def test_labels_of_other_settings_are_told_to_be_old(look):
    page = look().page
    tag(page, TEXT)
    assert page.locator("#result.stale").count() == 0
    page.select_option("#threshold", "macro")
    page.locator("#result.stale").wait_for()
    assert "What is asked for has changed" in page.inner_text("#said")
    page.click("#go")
    page.locator("#result:not(.stale)").wait_for()


def test_feedback_is_saved_and_survives_a_failure(service, look):
    seen = look()
    page = seen.page
    tag(page, TEXT)
    page.get_by_role("button", name="Right: Fruit of trees").click()
    page.get_by_role("button", name="Wrong: Vehicle").click()
    field = page.get_by_role("combobox", name="Add a label")
    for typed, option in (("sha", "Shade of colour"), ("Brand new", "Add as new label: Brand new")):
        field.press_sequentially(typed)
        page.get_by_role("option", name=option).click()
    page.context.set_offline(True)
    page.click("text=Save feedback")
    page.get_by_text("Not saved; your marks are still here").wait_for()
    assert page.get_by_role("button", name="Right: Fruit of trees", pressed=True).count() == 1
    page.context.set_offline(False)
    page.click("text=Save feedback")
    page.get_by_text("✓ Saved").wait_for()
    assert "new: \u2068Brand new\u2069" in page.inner_text(".saved")
    line = (service.feedback / "bonsai.feedback.jsonl").read_text("utf-8").splitlines()[-1]
    stored = json.loads(line)
    assert stored["text"] == TEXT
    assert sorted(stored["labels"]) == ["Brand new", "fruit", "shade"]
    assert stored["rejected"] == ["vehicle"]
    assert any("ERR_INTERNET_DISCONNECTED" in said for said in seen.complaints)
    seen.complaints.clear()
    tag(page, "something else")
    assert page.locator("[aria-pressed=true]").count() == 0
    tag(page, TEXT)
    assert page.locator("[aria-pressed=true]").count() == 2


def test_suggestions_work_by_keyboard_and_take_no_label_by_accident(look):
    page = look().page
    tag(page, TEXT)
    field = page.get_by_role("combobox", name="Add a label")
    field.press_sequentially("col")
    options = page.locator(".combobox").get_by_role("option")
    options.first.wait_for()
    assert field.get_attribute("aria-expanded") == "true"
    field.press("Enter")  # nothing is chosen yet
    assert page.locator("[aria-pressed=true], .chips li").count() == 0
    field.press("ArrowUp")
    assert page.locator("[aria-selected=true]").inner_text() == "Add as new label: col"
    field.press("ArrowDown")
    chosen = page.locator("[aria-selected=true]")
    assert chosen.get_attribute("id") == field.get_attribute("aria-activedescendant")
    assert "Colour" in chosen.inner_text()
    field.press("Enter")
    assert page.get_by_role("button", name="Right: Colour", pressed=True).count() == 1
    field.press_sequentially("col")
    options.first.wait_for()
    field.press("Escape")
    assert options.count() == 0
    assert field.get_attribute("aria-expanded") == "false"


# --- the other parts --------------------------------------------------------------------------


def test_labels_are_browsed_level_by_level_and_searched(look):
    page = look("labels").page
    assert page.locator(".tree > li .name").all_inner_texts() == ["Colour", "Thing"]
    for name in ("Thing", "Fruit of trees"):
        opener = page.get_by_role("button", name=f"Below {name}")
        opener.click()
        page.locator(f"button[aria-label='Below {name}'][aria-expanded=true]").wait_for()
    page.get_by_role("button", name="Cake <b>& more").click()
    told = page.inner_text(".details:visible")
    assert "Thing › Fruit of trees › Cake <b>& more" in told
    assert "Learned from 25 documents" in told
    page.fill("#search", "COLO")
    page.get_by_text("2 labels with “COLO”").wait_for()
    page.fill("#search", "nothing")
    page.get_by_text("No label has a word").wait_for()


def test_long_levels_have_more(look):
    page = look("labels").page
    page.select_option("#labels-model", "odd")
    page.get_by_text("78 labels of odd").wait_for()
    assert page.locator(".tree > li:not(.more)").count() == 50
    page.get_by_role("button", name="More").click()
    page.locator(".tree > li").nth(77).wait_for()
    assert page.locator(".tree > li").count() == 78


def test_models_and_calls_are_shown(service, look):
    page = look("models").page
    cards = page.locator("article")
    assert cards.locator("h3").all_inner_texts() == ["bonsai", "knn", "odd"]
    score = service.ask("/v1/models").json["models"][0]["scores"]["P@1"]
    assert f"{100 * score:.1f}%\nfirst label right" in cards.first.inner_text()
    assert "no scores" in cards.last.inner_text()
    cards.first.get_by_text("What thresholds give").click()
    (row, *_) = service.ask("/v1/models").json["models"][0]["by_threshold"]
    shown = cards.first.locator("tbody tr").first.inner_text().split()
    assert shown[:2] == ["0.9", f"{100 * row['precision']:.0f}%"]
    assert not cards.last.get_by_text("What thresholds give").count()
    page.click("nav >> text=API")
    page.locator("#part-api").wait_for()
    assert page.url.endswith("#api")
    assert f"curl {service.address}/v1/tag" in page.inner_text("#calls")
    data = re.search(r"--data '(.*)'", page.locator("pre").first.inner_text())
    assert service.ask("/v1/tag", data[1]).status == 200
    assert page.get_by_role("link", name="openapi.json").get_attribute("href") == "openapi.json"
    page.go_back()
    assert page.locator("#part-models").is_visible()


# --- for everyone -----------------------------------------------------------------------------


def states(page):
    """Go through the page, and name each state it is in."""
    yield "empty"
    page.select_option("#second", "knn")
    tag(page, f"apples {LONG} car")
    page.locator("button.label").first.click()
    page.locator(".document").first.wait_for()
    yield "compared and explained"
    page.select_option("#second", "")
    tag(page, f"red apples {LONG}", "odd", k=9)
    page.locator(".verdict.wrong").first.click()
    field = page.get_by_role("combobox", name="Add a label")
    field.press_sequentially("pie")
    options = page.locator(".combobox").get_by_role("option")
    options.first.click()
    field.press_sequentially("verylong")
    options.first.wait_for()
    yield "odd labels, judged"
    field.press("Escape")
    field.fill("")
    page.click("text=Save feedback")
    page.locator(".saved").wait_for()
    lines = "".join(json.dumps({"text": text}) + "\n" for text in ("apples", LONG, "x" * 2001))
    content = {"name": f"{LONG}.jsonl", "mimeType": "", "buffer": lines.encode()}
    tagged_file(page, content)
    yield "a file"
    for part in ("labels", "models", "api"):
        page.click(f"nav a[href='#{part}']")
        page.locator(f"#part-{part}").wait_for()
        if part == "labels":
            page.locator("button.name").nth(3).click()
        yield part


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_sticks_out_and_all_can_be_read_and_hit_on_a_phone(look, dark):
    seen = look(width=PHONE, dark=dark)
    for state in states(seen.page):
        assert seen.sticking_out() == [], state
        assert seen.lowest_contrast()[0] >= 4.5, (state, seen.lowest_contrast())
        small = seen.page.evaluate("""() => [...document.querySelectorAll(
            'button, select, input:not([type=file], [type=checkbox]), nav a, [role=option]')]
          .filter(element => element.getClientRects().length)
          .filter(element => element.getBoundingClientRect().height < 44)
          .map(element => element.outerHTML)""")
        assert small == [], state


def test_it_is_light_or_dark_as_the_system_is(look):
    backs = [
        look(dark=dark).page.evaluate("getComputedStyle(document.body).backgroundColor")
        for dark in (False, True)
    ]
    assert backs == ["rgb(255, 255, 255)", "rgb(20, 24, 28)"]


def test_a_keyboard_is_enough(look):
    page = look().page

    def focused(what):
        return page.evaluate("what => document.activeElement.matches(what)", what)

    def tab_to(what):
        for _ in range(40):
            page.keyboard.press("Tab")
            if focused(what):
                width = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
                assert width == "2px"  # where one is can be seen
                return
        raise AssertionError(f"Tab never comes to {what}")

    page.keyboard.press("Tab")
    assert focused(".skip")
    page.keyboard.press("Enter")
    assert focused("main")
    assert page.url.endswith("#tag")
    tab_to("#text")
    page.keyboard.type(TEXT)
    page.keyboard.press("Control+Enter")
    page.locator(".ranking").wait_for()
    tab_to("button.label")
    page.keyboard.press("Enter")
    page.locator(".document").wait_for()
    tab_to(".verdict.right")
    page.keyboard.press("Space")
    assert focused("[aria-pressed=true]")
    tab_to(".feedback .main")
    page.keyboard.press("Enter")
    page.locator(".saved").wait_for()
    for _ in range(40):
        page.keyboard.press("Shift+Tab")
        if focused("nav a[href='#labels']"):
            break
    page.keyboard.press("Enter")
    page.locator("#title-labels:focus").wait_for(state="attached")


def test_every_control_has_a_name_and_headings_are_in_order(look):
    page = look().page
    for state in states(page):
        unnamed = page.evaluate("""() => [...document.querySelectorAll('input, select, textarea')]
          .filter(element => !element.labels?.length && !element.ariaLabel)
          .map(element => element.outerHTML)""")
        assert unnamed == [], state
        for button in page.locator("button:visible").all():
            assert button.get_attribute("aria-label") or button.inner_text().strip(), state
        levels = page.evaluate("""() => [...document.querySelectorAll('h1, h2, h3, h4')]
          .filter(element => element.getClientRects().length)
          .map(element => Number(element.tagName[1]))""")
        assert levels[:2] == [1, 2]
        assert all(b - a <= 1 for a, b in pairwise(levels)), (state, levels)


# --- what means ill, and what fails -----------------------------------------------------------


def test_labels_and_texts_are_only_ever_text(look):
    seen = look()
    page = seen.page
    page.evaluate("""() => {
      window.violations = [];
      addEventListener('securitypolicyviolation',
        event => violations.push(event.violatedDirective));
    }""")
    text = f"{IMAGE} {SCRIPT} \u202eapples <b>car</b> pie"
    tag(page, text, "odd", k=100)
    shown = [name for name, _ in ranked(page)]
    assert set(ODD) <= {name.replace("\n", "") for name in shown}
    for name in (IMAGE, SCRIPT):
        page.get_by_role("button", name=f"Right: {name}", exact=True).click()
        page.locator("button.label", has_text=name).click()
        page.locator(".document:visible").wait_for()
        assert page.locator(".document:visible").text_content() == text
    page.get_by_role("combobox", name="Add a label").press_sequentially("<script>x")
    page.get_by_role("option", name="Add as new label").click()
    page.click("text=Save feedback")
    page.get_by_text("✓ Saved").wait_for()
    lines = f'"text"\n"{SCRIPT}"\n"{IMAGE}"\n'
    tagged_file(page, {"name": f"{IMAGE}.csv", "mimeType": "", "buffer": lines.encode()})
    page.click("nav >> text=Labels")
    page.fill("#search", "img")
    page.get_by_role("button", name=IMAGE).click()
    page.locator(".details:visible").wait_for()
    assert seen.count("main img, main b > b, main script, main i") == 0
    assert page.evaluate("violations") == []


def test_what_the_service_refuses_is_told_and_the_text_stays(look):
    seen = look()
    page = seen.page
    page.fill("#text", "a" * (LENGTH + 1))
    page.click("#go")
    page.locator("#tag-problem .problem").wait_for()
    assert "2,001 characters, at most 2,000 are taken" in page.inner_text("#tag-problem")
    assert len(page.input_value("#text")) == LENGTH + 1
    page.fill("#text", TEXT)
    page.context.set_offline(True)
    page.click("#go")
    page.get_by_text("does not answer").wait_for()
    assert page.input_value("#text") == TEXT
    page.context.set_offline(False)
    page.click("#go")
    page.locator(".ranking").wait_for()
    assert page.locator("#tag-problem .problem").count() == 0
    assert len(seen.complaints) == 2  # the browser's own, one for each failure
    seen.complaints.clear()


def test_a_key_is_asked_for_and_a_busy_service_waited_for(taggers, browser, tmp_path):
    keys = tmp_path / "keys"
    keys.touch(0o600)
    keys.write_text(f"{KEY}\n", "utf-8")
    path = tmp_path / "docs.csv"
    path.write_text("text\n" + "apples\n" * 40, "utf-8")
    arguments = ("--api-keys", keys, "--no-feedback", "--rate", 60, "--quiet")
    with (
        serving(taggers / "bonsai", *arguments) as service,
        viewed(browser, service.address) as seen,
    ):
        page = seen.page
        dialog = page.get_by_role("dialog", name="API key")
        for key in ("wrong", KEY):
            dialog.get_by_label("Key", exact=True).fill(key)
            assert dialog.get_by_label("Key", exact=True).get_attribute("type") == "password"
            dialog.get_by_role("button", name="Go on").click()
            if key == "wrong":
                dialog.get_by_text("this API key is not known").wait_for()
        page.locator(".welcome").wait_for()
        assert page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 1]
        tag(page, TEXT)
        assert page.locator(".feedback, .verdict").count() == 0
        assert not page.locator("#second").is_visible()
        asking = {"Authorization": f"Bearer {KEY}"}
        while service.ask("/v1/models", headers=asking).status != 429:
            pass  # until the service has had enough
        tagged_file(page, path)
        assert "40 documents tagged" in page.inner_text("#said")
        assert any("429" in said for said in seen.complaints)
