"""A queue to review: what the service answers, and what it makes of files that change."""

import json

import pytest

from asgi import in_process
from command_line import fails
from labelgrove.corpus import ReviewItem, write_review
from labelgrove.corpus.review import Suggestion
from labelgrove.service.settings import Limits
from services import TEXTS, serving, workers_of

APPLES, CAR, PIE = "green apples in a basket", "a car with 🍎", "pie\nand cake"
ITEMS = (
    ReviewItem(
        APPLES,
        ("colour", "vehicle"),
        (
            Suggestion("fruit", "Fruit", 0.9, "missing", ("the word “apples”",)),
            Suggestion("vehicle", "Vehicle", 0.8, "wrong"),
        ),
        id="7",
    ),
    ReviewItem(CAR, (), (Suggestion("vehicle", "Vehicle", 0.7, "proposed"),)),
    ReviewItem(PIE, ("dessert", "Cake <b>& more"), ()),
)


@pytest.fixture
def queue(tmp_path):
    write_review(tmp_path / "queue.jsonl", ITEMS)
    return tmp_path / "queue.jsonl"


@pytest.fixture
def service(taggers, queue):
    with in_process(
        taggers / "bonsai", taggers / "knn", feedback=queue.parent, review=str(queue)
    ) as found:
        yield found


def asked(service, query="", **options):
    got = service.ask(f"/v1/review?{query}", **options)
    assert got.status == 200, got.body
    return got.json


def decide(service, text, labels, **more):
    body = {"text": text, "labels": labels, "allow_new": True, **more}
    assert service.ask("/v1/feedback", body).status == 200


def number_of(answer):
    return answer["document"] and answer["document"]["number"]


# --- what is next -----------------------------------------------------------------------------


def test_a_document_comes_with_names_and_suggestions(service):
    first = asked(service)
    assert (first["model"], first["documents"], first["decided"]) == ("bonsai", 3, 0)
    assert (
        first["retrain"] == "labelgrove retrain bonsai TRAIN --feedback bonsai.feedback.jsonl"
        " --out NEW"
    )
    assert first["document"] == {
        "number": 1,
        "id": "7",
        "text": APPLES,
        "learned": False,
        "labels": [
            {"label": "colour", "name": "Colour", "known": True},
            {"label": "vehicle", "name": "Vehicle", "known": True},
        ],
        "suggestions": [
            {
                **{"label": "fruit", "name": "Fruit of trees", "known": True},
                **{"kind": "missing", "score": 0.9, "reasons": ["the word “apples”"]},
            },
            {
                **{"label": "vehicle", "name": "Vehicle", "known": True},
                **{"kind": "wrong", "score": 0.8, "reasons": []},
            },
        ],
        "decision": None,
    }


def test_labels_that_are_names_become_ids_and_unknown_ones_stay(service):
    labels = asked(service, "number=3")["document"]["labels"]
    assert labels == [
        {"label": "dessert", "name": "dessert", "known": False},
        {"label": "cake", "name": "Cake <b>& more", "known": True},
    ]


def test_a_text_that_the_tagger_has_learned_is_told(service, queue):
    write_review(queue, [ReviewItem(TEXTS[0].upper(), (), ()), *ITEMS])
    learned = [asked(service, f"number={n}")["document"]["learned"] for n in (1, 2)]
    assert learned == [True, False]


def test_what_has_feedback_is_left_out_and_can_be_looked_at(service):
    decide(service, APPLES, ["fruit", "colour"], rejected=["vehicle"], id="7")
    after = asked(service)
    assert (after["decided"], number_of(after)) == (1, 2)
    decided = asked(service, "number=1")["document"]["decision"]
    assert [each["label"] for each in decided["labels"]] == ["fruit", "colour"]
    assert [each["label"] for each in decided["rejected"]] == ["vehicle"]
    assert decided["time"].startswith("20")
    decide(service, APPLES, ["colour"])
    changed = asked(service, "number=1")
    assert [each["label"] for each in changed["document"]["decision"]["labels"]] == ["colour"]
    assert changed["decided"] == 1


def test_each_tagger_has_its_own_feedback(service):
    decide(service, APPLES, ["fruit"], model="knn")
    assert asked(service)["decided"] == 0
    assert asked(service, "model=knn")["decided"] == 1
    assert "--feedback knn.feedback.jsonl" in asked(service, "model=knn")["retrain"]
    assert service.ask("/v1/review?model=none").status == 404


def test_the_next_one_is_behind_a_number_and_none_behind_the_last(service):
    assert [number_of(asked(service, f"from={n}")) for n in (1, 2, 3, 4, 10**9)] == [
        *(1, 2, 3, None, None)
    ]
    for text in (APPLES, CAR, PIE):
        decide(service, text, ["fruit"])
    assert asked(service) == {**asked(service), "decided": 3, "document": None}


def test_the_command_is_the_shortest_that_reads_the_feedback(taggers, queue):
    with in_process(taggers / "bonsai", feedback=taggers, review=str(queue)) as service:
        assert asked(service)["retrain"] == "labelgrove retrain bonsai TRAIN --out NEW"


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("number=4", 404, "the queue ends with document 3"),
        ("number=0", 422, "greater than or equal to 1"),
        ("from=0", 422, "greater than or equal to 1"),
        ("from=x", 422, "from: "),
        ("from=1&number=1", 409, "from and number exclude each other"),
        ("start=1", 422, "there is no such field"),
    ],
)
def test_what_cannot_be_asked_is_refused(service, query, status, said):
    got = service.ask(f"/v1/review?{query}")
    assert (got.status, said in got.detail) == (status, True), got.detail


def test_without_a_queue_there_is_nothing_to_review(taggers, queue):
    with in_process(taggers / "bonsai", feedback=queue.parent) as service:
        got = service.ask("/v1/review")
        assert (got.status, "--review FILE" in got.detail) == (404, True)
        assert service.ask("/v1/models").json["review"] is False
    with in_process(taggers / "bonsai", review=str(queue)) as service:
        assert service.ask("/v1/review").status == 403
        assert service.ask("/v1/models").json["review"] is True


def test_keys_and_rates_hold_for_it_too(taggers, queue):
    key = "a-key-of-more-than-sixteen-letters"
    settings = {"feedback": queue.parent, "review": str(queue), "keys": (key,)}
    with in_process(taggers / "bonsai", limits=Limits(rate=2), **settings) as service:
        assert service.ask("/v1/review").status == 401
        headers = {"Authorization": f"Bearer {key}"}
        answers = [service.ask("/v1/review", headers=headers).status for _ in range(3)]
        assert answers == [200, 200, 429]


# --- files that change ------------------------------------------------------------------------


def test_a_queue_that_is_replaced_is_read_again(service, queue):
    before = asked(service)
    decide(service, PIE, ["cake"])
    write_review(queue, [*ITEMS[1:], *ITEMS[:1]])
    after = asked(service)
    assert after["queue"] != before["queue"]
    assert (after["document"]["text"], after["decided"]) == (CAR, 1)
    assert asked(service, "from=2")["document"]["text"] == APPLES


def test_a_queue_that_is_removed_goes_on(service, queue):
    before = asked(service)
    queue.unlink()
    assert asked(service) == before


def test_a_replacement_that_is_bad_is_told_until_it_is_mended(service, queue):
    asked(service)
    lines = queue.read_text("utf-8").splitlines(keepends=True)
    queue.write_text(lines[0] + '{"text": "a"}\n' + lines[2], "utf-8")
    got = service.ask("/v1/review")
    assert got.status == 409
    assert "queue.jsonl, line 2: there is no field 'suggestions'" in got.detail
    assert "the review file was replaced" in got.detail
    assert "answers that were saved are safe" in got.detail
    assert str(queue.parent) not in got.detail
    assert service.ask("/v1/tag", {"text": "red"}).status == 200
    queue.write_text("".join(lines), "utf-8")
    assert number_of(asked(service)) == 1


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_marks_blank_lines_and_copies_do_not_count(service, queue, ending, mark):
    lines = [item.to_json() for item in ITEMS]
    content = ending.join(["", lines[0], " ", lines[1], lines[0], lines[2]])
    queue.write_bytes(mark + content.encode())
    texts = [asked(service, f"number={n}")["document"]["text"] for n in (1, 2, 3)]
    assert texts == [APPLES, CAR, PIE]
    assert asked(service)["documents"] == 3


def test_feedback_that_was_edited_is_read_again(service, queue):
    file = queue.parent / "bonsai.feedback.jsonl"
    for text in (APPLES, CAR):
        decide(service, text, ["fruit"])
    assert asked(service)["decided"] == 2
    kept = file.read_text("utf-8").splitlines(keepends=True)
    file.write_text(kept[1], "utf-8")  # somebody took a line back
    assert (asked(service)["decided"], number_of(asked(service))) == (1, 1)
    (queue.parent / "new").write_text(
        "".join(kept) + json.dumps({"text": PIE, "labels": []}), "utf-8"
    )
    (queue.parent / "new").replace(file)
    assert asked(service)["decided"] == 3
    file.unlink()
    assert asked(service)["decided"] == 0


def test_lines_that_decide_nothing_are_passed_over(service, queue):
    file = queue.parent / "bonsai.feedback.jsonl"
    file.write_text('{"text": 5}\n[]\nno JSON\n{"text": "another", "labels": []}\n')
    assert asked(service)["decided"] == 0
    with file.open("a", encoding="utf-8") as opened:
        opened.write(json.dumps({"text": APPLES, "labels": "fruit"})[:20])
        opened.flush()
        assert asked(service)["decided"] == 0
        opened.write(json.dumps({"text": APPLES, "labels": "fruit"})[20:])
        opened.flush()
        assert asked(service)["decided"] == 1, "whole but for its end"
    assert asked(service, "number=1")["document"]["decision"]["labels"] == []


def test_what_was_written_aside_counts(service, queue):
    """As when another process holds the file of feedback for long."""
    decide(service, CAR, ["vehicle"])
    aside = queue.parent / "bonsai.feedback.jsonl.aside-4194305"
    aside.write_text(json.dumps({"text": APPLES, "labels": ["fruit"]}) + "\n")
    found = asked(service)
    assert (found["decided"], number_of(found)) == (2, 3)
    decision = asked(service, "number=1")["document"]["decision"]
    assert [each["label"] for each in decision["labels"]] == ["fruit"]
    aside.rename(queue.parent / "gone")
    assert asked(service)["decided"] == 1


# --- from outside -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.jsonl", None, "there is no file"),
        ("bad.jsonl", '{"text": "a", "suggestions": []}\n{"text": "b"}\n', "bad.jsonl, line 2: "),
        ("empty.jsonl", "\n", "holds no document to review"),
        ("packed.jsonl.gz", "x", "is compressed"),
        ("long.jsonl", f'{{"text": "{"a" * 101}", "suggestions": []}}\n', "--max-length"),
    ],
)
def test_a_file_that_cannot_be_reviewed_is_told_at_the_start(
    taggers, tmp_path, name, content, said
):
    if content is not None:
        (tmp_path / name).write_text(content)
    call = ("serve", taggers / "bonsai", "--feedback", tmp_path, "--port", "0")
    told = fails(*call, "--max-length", "100", "--review", tmp_path / name)
    assert said in told
    assert name in told


def test_a_review_needs_feedback(taggers, queue):
    told = fails("serve", taggers / "bonsai", "--review", queue, "--no-feedback")
    assert "leave out --no-feedback" in told


def test_two_workers_and_a_restart_agree(taggers, queue):
    call = (taggers / "bonsai", "--feedback", queue.parent, "--review", queue, "--workers", "2")
    with serving(*call) as service:
        assert "3 documents to review" in service.log()
        assert len(workers_of(service)) == 2
        for decided, text in enumerate((APPLES, CAR)):
            seen = {asked(service)["decided"] for _ in range(12)}
            assert seen == {decided}, "whichever worker answers"
            decide(service, text, ["fruit"])
    with serving(*call) as service:
        assert {number_of(asked(service)) for _ in range(12)} == {3}


def test_texts_are_not_held_in_memory(taggers, tmp_path):
    import tracemalloc

    from labelgrove.service.review_queue import ReviewQueue

    write_review(
        tmp_path / "long.jsonl",
        (ReviewItem(f"{i} " + "word " * 10_000, (), ()) for i in range(400)),
    )
    queue = ReviewQueue(tmp_path / "long.jsonl", 10**6)
    tracemalloc.start()
    try:
        index = queue.index()
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (tmp_path / "long.jsonl").stat().st_size > 20e6
    assert kept < 200_000
    assert most < 2_000_000
    assert index.item(400).text.startswith("399 ")
    index.file.close()
