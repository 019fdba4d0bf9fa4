"""The review page, used as people do: a real browser and service, and the keyboard alone."""

import json
import re

import pytest

from browser import DESK, PHONE, looking, viewed
from command_line import called
from labelgrove.corpus import ReviewItem, read_feedback, read_review, write_review
from labelgrove.corpus.review import Suggestion
from services import LABELS, TEXTS, serving

LONG = "A long text about apples. " + "\n".join(f"Line {i} of it 🍎." for i in range(400))
IMAGE = "<img src=x onerror=alert(1)>"
ITEMS = (
    ReviewItem(
        "green apples in a car",
        ("colour", "vehicle", "dessert"),
        (
            Suggestion("fruit", "Fruit of trees", 0.9, "missing", ("the word “apples”",)),
            Suggestion("vehicle", "vehicle", 0.8, "wrong", (IMAGE,)),
        ),
        id="7",
    ),
    ReviewItem(LONG, (), (Suggestion("fruit", "fruit", 0.7, "proposed"),)),
    ReviewItem("a red car", ("colour",), (Suggestion(IMAGE, IMAGE, 0.6, "missing"),)),
)


@pytest.fixture
def queue(tmp_path):
    write_review(tmp_path / "queue.jsonl", ITEMS)
    return tmp_path / "queue.jsonl"


@pytest.fixture
def service(taggers, queue):
    with serving(
        taggers / "bonsai", "--feedback", queue.parent, "--review", queue, "--quiet"
    ) as found:
        yield found


@pytest.fixture
def look(service, browser):
    """Open the page; in the end nothing must have been asked of another host, nor complained."""
    with looking(browser, service.address) as opener:
        yield opener


def at(page, number, of=3):
    """Wait for a document."""
    page.locator(".reviewing h3", has_text=f"Document {number} of {of}").wait_for()


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def save(page):
    """Press Enter, and wait until the service has taken it."""
    before = page.inner_text("#review-progress")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "before => document.querySelector('#review-progress').innerText !== before", arg=before
    )


def feedback(queue):
    file = queue.parent / "bonsai.feedback.jsonl"
    if not file.exists():
        return []
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [(each["text"], each["labels"], each["rejected"]) for each in lines]


def current(page):
    return page.locator(".suggestion.current .name > span, .chip.current > span").inner_text()


# --- from the queue to a better tagger --------------------------------------------------------


def test_a_batch_is_reviewed_by_keyboard_and_learned(taggers, browser, tmp_path):
    train, pool, queue = (tmp_path / name for name in ("train.jsonl", "pool.jsonl", "queue.jsonl"))
    rows = zip(TEXTS, LABELS, strict=True)
    train.write_text("".join(json.dumps({"text": t, "labels": s}) + "\n" for t, s in rows))
    boats = [f"a {each} boat on the lake" for each in ("red", "green", "small", "big")]
    pool.write_text("".join(json.dumps({"text": text}) + "\n" for text in boats))
    folder = tmp_path / "mine"
    called("train", train, "--out", folder, "-q", "--model", "knn")
    called("next", folder, pool, "-n", "4", "--out", queue, "-q")
    call = (folder, "--review", queue, "--quiet")
    with serving(*call) as service, viewed(browser, service.address) as seen:
        page = seen.page
        at(page, 1, of=4)
        for number in (1, 2):
            at(page, number, of=4)
            for _ in page.locator(".suggestion").all():
                press(page, "n")
            press(page, "l")
            page.keyboard.type("boats")
            page.get_by_role("option", name="Add as new label: boats").wait_for()
            press(page, "ArrowDown")
            while "boats" not in page.locator("[role=option][aria-selected=true]").inner_text():
                press(page, "ArrowDown")
            press(page, "Enter", "Control+Enter")
        at(page, 3, of=4)
        assert "2 of 4 reviewed" in page.inner_text("#review-progress")
    with serving(*call) as service, viewed(browser, service.address) as seen:
        at(seen.page, 3, of=4)  # a restart goes on
        press(seen.page, "s")
        at(seen.page, 4, of=4)
        press(seen.page, "s")
        seen.page.get_by_text("2 documents are left").wait_for()
        assert (
            seen.page.inner_text("pre >> visible=true") == "labelgrove retrain mine TRAIN --out NEW"
        )
        press(seen.page, "Enter")
        at(seen.page, 3, of=4)
    said = read_feedback(tmp_path / "mine.feedback.jsonl").documents
    asked = [item.text for item in read_review(queue)]
    assert {text: document.labels for text, document in said.items()} == dict.fromkeys(
        asked[:2], ("boats",)
    )
    test = tmp_path / "test.jsonl"
    test.write_text(json.dumps({"text": asked[2], "labels": ["boats"]}) + "\n")
    new = tmp_path / "new"
    done = called("retrain", folder, train, "--test", test, "--out", new)
    assert "1 new label" in done.stdout
    tagged = json.loads(called("tag", new, "--text", asked[2], "-k", "1").stdout)
    assert tagged["labels"][0]["label"] == "boats"


def test_an_audit_is_reviewed_by_keyboard(browser, tmp_path):
    rows = list(zip(TEXTS, LABELS, strict=True))
    wrong = [index for index, text in enumerate(TEXTS) if text.startswith("apple pie")][:2]
    labels = [["vehicle", *each] if i in wrong else each for i, (_, each) in enumerate(rows)]
    train, queue = tmp_path / "train.jsonl", tmp_path / "queue.jsonl"
    train.write_text(
        "".join(
            json.dumps({"text": text, "labels": each}) + "\n"
            for text, each in zip(TEXTS, labels, strict=True)
        )
    )
    called("train", train, "--out", tmp_path / "mine", "-q", "--model", "bonsai")
    call = ("audit", train, "--least-wrong", "0.2", "--least-missing", "0.2", "--out", queue)
    called(*call, "-q")
    items = list(read_review(queue))
    assert items
    call = (tmp_path / "mine", "--review", queue, "--quiet")
    with serving(*call) as service, viewed(browser, service.address) as seen:
        for number, item in enumerate(items, 1):
            at(seen.page, number, of=len(items))
            for _ in item.suggestions:
                press(seen.page, "y")
            press(seen.page, "Enter")
            if not expected(item):  # then the page asks
                seen.page.get_by_role("button", name="Yes, no label: save").wait_for()
                press(seen.page, "Enter")
        seen.page.get_by_role("heading", name="All documents are reviewed").wait_for()
    said = read_feedback(tmp_path / "mine.feedback.jsonl").documents
    assert {text: set(document.labels) for text, document in said.items()} == {
        item.text: expected(item) for item in items
    }


def expected(item):
    """The labels of a document all of whose suggestions are right."""
    changed = {each.label for each in item.suggestions}
    return set(item.labels) ^ changed


# --- judging ----------------------------------------------------------------------------------


def test_yes_and_no_by_kind_of_suggestion(look, queue):
    page = look().page
    at(page, 1)
    assert current(page) == "Fruit of trees"
    assert page.evaluate("document.activeElement.matches('.suggestion')")
    press(page, "y")
    assert current(page) == "Vehicle"
    press(page, "y")
    assert page.text_content("#review-told") == "Vehicle: removed."
    assert page.evaluate("document.activeElement.textContent") == "Save and go on"
    to_be_saved = re.sub("[\u2068\u2069]", "", page.inner_text(".outcome"))
    assert to_be_saved == "To be saved: Fruit of trees, Colour, dessert · rejected: Vehicle"
    save(page)
    at(page, 2)
    press(page, "y")
    save(page)
    at(page, 3)
    press(page, "n")
    save(page)
    page.get_by_role("heading", name="All documents are reviewed").wait_for()
    assert feedback(queue) == [
        (ITEMS[0].text, ["fruit", "colour", "dessert"], ["vehicle"]),
        (LONG, ["fruit"], []),
        (ITEMS[2].text, ["colour"], [IMAGE]),
    ]
    lines = (queue.parent / "bonsai.feedback.jsonl").read_text("utf-8").splitlines()
    assert json.loads(lines[0])["id"] == "7"
    assert "retrain bonsai TRAIN --feedback bonsai.feedback.jsonl --out NEW" in page.inner_text(
        "#review pre"
    )


def test_labels_of_the_document_are_removed_restored_and_added(look, queue):
    page = look().page
    at(page, 1)
    press(page, "n", "ArrowDown")
    assert current(page) == "Colour"
    press(page, "n", "ArrowDown", "n")
    assert current(page) == "dessert"
    press(page, "y", "l")
    page.keyboard.type("cake")
    page.get_by_role("option", name="Cake").wait_for()
    press(page, "ArrowDown", "Enter", "Escape")
    assert current(page) == "dessert"
    press(page, "ArrowDown", "ArrowDown")
    assert current(page) == "Cake <b>& more"
    save(page)
    assert feedback(queue) == [(ITEMS[0].text, ["vehicle", "dessert", "cake"], ["fruit", "colour"])]


def test_undo_goes_back_step_by_step_and_back_to_the_document_before(look, queue):
    page = look().page
    at(page, 1)
    press(page, "y", "ArrowDown", "n", "u", "u", "u")
    assert page.locator("[aria-pressed=true]").count() == 0
    assert "Nothing to undo" in page.text_content("#review-told")
    press(page, "ArrowUp", "ArrowUp", "y")
    save(page)
    at(page, 2)
    press(page, "b")
    at(page, 1)
    assert "✓ Reviewed" in page.inner_text(".reviewing")
    assert page.locator(".verdict.right[aria-pressed=true]").count() == 1
    press(page, "ArrowUp", "n", "Control+Enter")
    page.get_by_text("✓ Document 1 is saved").wait_for()
    at(page, 2)
    assert [labels for _, labels, _ in feedback(queue)] == [
        ["fruit", "vehicle", "colour", "dessert"],
        ["vehicle", "colour", "dessert"],
    ]


def test_what_may_not_be_meant_is_asked(look, queue):
    page = look().page
    at(page, 1)
    press(page, "Enter")
    page.get_by_text("You have judged no suggestion").wait_for()
    assert feedback(queue) == []
    press(page, "Enter")
    page.get_by_text("✓ Document 1 is saved").wait_for()
    at(page, 2)
    press(page, "n", "Enter")
    page.get_by_text("Save that no label fits").wait_for()
    press(page, "l")
    page.keyboard.type("cak")
    press(page, "Control+Enter")
    page.get_by_text("“cak” is still in the field").wait_for()
    page.fill("#review input", "")
    press(page, "Control+Enter")
    page.get_by_text("Save that no label fits").wait_for()
    save(page)
    at(page, 3)
    assert feedback(queue) == [
        (ITEMS[0].text, ["vehicle", "colour", "dessert"], []),
        (LONG, [], ["fruit"]),
    ]


def test_a_key_that_is_held_does_not_run_through_the_queue(look, queue):
    page = look().page
    at(page, 1)
    press(page, "y", "y")
    for _ in range(5):
        page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    at(page, 2)
    page.wait_for_timeout(300)
    assert len(feedback(queue)) == 1


# --- two windows, failures --------------------------------------------------------------------


def test_a_second_window_goes_on_and_conflicts_are_told(look, queue):
    first, second = look().page, look().page
    for page in (first, second):
        at(page, 1)
    press(first, "y")
    save(first)
    press(second, "n", "Control+Enter")
    second.get_by_text("decided meanwhile").wait_for()
    assert len(feedback(queue)) == 1
    second.get_by_role("button", name="Keep that").click()
    at(second, 2)
    press(first, "y")
    save(first)
    press(second, "n", "Control+Enter")
    second.get_by_role("button", name="Yes, no label: save").click()
    second.get_by_text("decided meanwhile").wait_for()
    press(second, "Enter")  # save mine
    at(second, 3)
    assert [labels for _, labels, _ in feedback(queue)][1:] == [["fruit"], []]
    second.reload()
    at(second, 3)
    assert "2 of 3 reviewed" in second.inner_text("#review-progress")


def test_what_was_decided_survives_a_failure(look, queue):
    seen = look()
    page = seen.page
    at(page, 1)
    press(page, "y", "y")
    page.context.set_offline(True)
    press(page, "Enter")
    page.get_by_text("Not saved; what you decided is still here").wait_for()
    page.context.set_offline(False)
    save(page)
    at(page, 2)
    assert len(feedback(queue)) == 1
    assert seen.complaints  # the browser's own, of the failure
    seen.complaints.clear()


def test_a_queue_that_is_replaced_is_told_and_nothing_is_lost(look, queue):
    seen = look()
    page = seen.page
    for number in (1, 2):
        at(page, number)
        press(page, "s")
    at(page, 3)
    write_review(queue, ITEMS[:1])
    press(page, "y", "Enter")
    page.get_by_text("The review file was replaced").wait_for()
    at(page, 1, of=1)
    assert feedback(queue) == [(ITEMS[2].text, [IMAGE, "colour"], [])]
    assert len(seen.complaints) == 1  # the browser's own: there is no document 3 any more
    seen.complaints.clear()


def test_the_feedback_goes_to_the_tagger_that_is_chosen(taggers, browser, queue):
    call = (taggers / "bonsai", taggers / "knn", "--feedback", queue.parent, "--review", queue)
    with serving(*call, "--quiet") as service, looking(browser, service.address) as look:
        page = look().page
        at(page, 1)
        press(page, "y")
        save(page)
        at(page, 2)
        page.select_option("#review-model", "knn")
        at(page, 1)
        assert page.inner_text("#review-said") == ""
        page.get_by_text("0 of 3 reviewed").wait_for()
        press(page, "n")
        save(page)
        at(page, 2)
        page.select_option("#review-model", "bonsai")
        at(page, 2)
    lines = (queue.parent / "knn.feedback.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["labels"] for line in lines] == [["vehicle", "colour", "dessert"]]
    assert len(feedback(queue)) == 1


# --- how it looks -----------------------------------------------------------------------------


def test_a_long_text_is_shortened_and_words_are_marked(look):
    page = look().page
    at(page, 1)
    page.locator(".reviewing mark.for", has_text="apples").first.wait_for()
    assert "Words for Fruit of trees: " in page.inner_text(".legend")
    press(page, "w")
    assert page.locator(".reviewing mark").count() == 0
    press(page, "s")
    at(page, 2)
    assert len(page.inner_text(".reviewing .document")) < 2_100
    press(page, "t")
    assert page.text_content(".reviewing .document") == LONG
    assert page.evaluate("document.activeElement.matches('.document')")
    press(page, "End")
    page.wait_for_function("() => document.querySelector('.document').scrollTop > 0")
    press(page, "t")
    assert page.evaluate("document.activeElement.matches('.suggestion')")
    page.get_by_role("button", name=re.compile("Show all [0-9,]+ characters")).click()
    assert page.text_content(".reviewing .document") == LONG


def test_after_the_key_the_page_begins_with_the_review(taggers, browser, queue):
    key = "a-key-of-more-than-sixteen-letters"
    (queue.parent / "keys").write_text(f"{key}\n")
    (queue.parent / "keys").chmod(0o600)
    call = ("--feedback", queue.parent, "--review", queue, "--api-keys", queue.parent / "keys")
    with (
        serving(taggers / "bonsai", *call, "--quiet") as service,
        viewed(browser, service.address) as seen,
    ):
        seen.page.get_by_label("Key", exact=True).fill(key)
        press(seen.page, "Enter")
        at(seen.page, 1)
        assert seen.page.locator("#part-review").is_visible()


def test_a_very_long_text_says_that_words_are_not_marked(look, queue):
    write_review(queue, [ReviewItem("apples " * 3_000, (), ITEMS[1].suggestions)])
    page = look().page
    at(page, 1, of=1)
    assert page.inner_text(".legend") == "This text is too long to mark words."


def test_words_of_a_learned_document_are_not_marked(look, queue):
    """Its own wrong label has taught the tagger words for that label."""
    suggestions = (Suggestion("vehicle", "vehicle", 0.8, "wrong"),)
    write_review(queue, [ReviewItem(TEXTS[0], ("vehicle",), suggestions), ITEMS[0]])
    seen = look()
    page = seen.page
    at(page, 1, of=2)
    assert (
        page.inner_text(".legend")
        == "bonsai has learned this document, so its words are not marked."
    )
    assert not page.get_by_role("button", name="Hide the marks").is_visible()
    press(page, "w", "s")
    at(page, 2, of=2)
    page.locator(".reviewing mark.for").first.wait_for()  # W was for nothing there
    assert len([each for each in seen.requests if "explain" in each]) == 1


def test_without_a_queue_there_is_no_review(taggers, browser):
    with (
        serving(taggers / "bonsai", "--no-feedback", "--quiet") as service,
        viewed(browser, f"{service.address}/#review") as seen,
    ):
        seen.page.locator(".welcome").wait_for()
        assert not seen.page.locator("nav a[href='#review']").is_visible()
        assert seen.complaints == []


@pytest.mark.parametrize(("width", "dark"), [(320, False), (PHONE, True), (DESK, False)])
def test_it_fits_and_can_be_read_and_used_by_mouse(look, width, dark):
    seen = look(width=width, dark=dark)
    page = seen.page
    at(page, 1)

    def looked():
        assert seen.sticking_out() == []
        assert seen.lowest_contrast()[0] >= 4.5, seen.lowest_contrast()
        small = page.evaluate("""() => [...document.querySelectorAll('button, select, input, a')]
          .filter(element => element.getClientRects().length && !element.matches('.skip'))
          .filter(element => element.getBoundingClientRect().height < 44)
          .map(element => element.outerHTML)""")
        assert width == DESK or small == []
        unnamed = page.evaluate("""() => [...document.querySelectorAll('#part-review input')]
          .filter(element => !element.labels?.length).map(element => element.outerHTML)""")
        assert unnamed == []
        for each in page.locator("#part-review button:visible").all():
            assert each.get_attribute("aria-label") or each.inner_text().strip()

    looked()
    page.get_by_role("button", name="Yes: Fruit of trees").click()
    page.get_by_role("button", name="No: Vehicle").click()
    page.get_by_role("button", name="Remove Colour").click()
    page.get_by_role("combobox", name="Add a label").fill("cake")
    page.get_by_role("option", name="Cake").click()
    looked()
    page.get_by_role("button", name="Save and go on").click()
    at(page, 2)
    assert page.evaluate("document.querySelector('.reviewing h3').getBoundingClientRect().top") >= 0
    page.get_by_role("button", name="Skip").click()
    at(page, 3)
    looked()
    page.get_by_role("button", name="Skip").click()
    page.get_by_text("2 documents are left").wait_for()
    looked()
    assert page.evaluate("document.querySelectorAll('main img').length") == 0
