"""Labels that are probably wrong or missing, found from the command line."""

import csv
import json

import pytest

from command_line import called, fails
from labelgrove.corpus import read_corpus, read_review

KINDS = {
    "red apples and pears in a basket": ["fruit", "colour"],
    "a red car on a long road": ["colour", "vehicle"],
    "green trucks drive at night": ["colour", "vehicle"],
    "apple pie and sweet cake": ["fruit", "cake"],
}
DOCUMENTS = [(f"{text}, the {i}th", labels) for i in range(40) for text, labels in KINDS.items()]
LOST, ADDED = (2, "vehicle"), (7, "vehicle")  # a truck that is no vehicle, a cake that is one


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    """Documents of which one lacks a label and one has a wrong one."""
    path = tmp_path_factory.mktemp("audit") / "train.jsonl"
    rows = [{"id": f"d{i}", "text": t, "labels": [*ls]} for i, (t, ls) in enumerate(DOCUMENTS)]
    rows[LOST[0]]["labels"].remove(LOST[1])
    rows[ADDED[0]]["labels"].append(ADDED[1])
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def audited(train, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "checked"
    printed = called("audit", train, "--out", out, "--json", out.with_suffix(".json"), "-q").stdout
    return out, printed


def test_planted_mistakes_are_the_first_suggestions(audited, train):
    out, printed = audited
    items = list(read_review(out / "review.jsonl"))
    best = {
        kind: max((s.score, item.id, s.label) for item in items for s in item.suggestions
                  if s.kind == kind)[1:]
        for kind in ("missing", "wrong")
    }  # fmt: skip
    assert best == {"missing": ("d2", "vehicle"), "wrong": ("d7", "vehicle")}
    lost = next(item for item in items if item.id == "d2")
    assert (lost.text, lost.labels) == ("green trucks drive at night, the 0th", ("colour",))
    (why,) = [s.reasons for s in lost.suggestions if s.label == "vehicle"]
    assert why[0].startswith("bonsai, without this document, gives it 0.")
    assert any("words that speak for it: " in each and "trucks" in each for each in why)
    assert "10 of the 10 most similar documents have it" in why
    documents = {each.text: each.labels for each in read_corpus(train)}
    assert all(documents[item.text] == item.labels for item in items)
    assert "'labelgrove serve TAGGER --review" in printed


def test_a_rare_label_is_told_to_be_one(train, tmp_path):
    rare = tmp_path / "rare.jsonl"
    rows = [json.loads(line) for line in train.read_text().splitlines()]
    for row in rows[:3]:
        row["labels"].append("rare")
    rows[9]["labels"].append("single")
    rare.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "rare.review.jsonl"
    called("audit", rare, "--out", out, "--least-wrong", "1e-9", "-q")
    why = {}
    for item in read_review(out):
        for suggestion in item.suggestions:
            if suggestion.kind == "wrong":
                why.setdefault(suggestion.label, set()).update(suggestion.reasons)
    assert "only 2 of the other documents have it" in why["rare"]
    assert "single" not in why, "what no other document teaches cannot be called wrong"
    assert not any("other document" in each for each in why["fruit"])


def test_the_table_and_the_record_say_the_same(audited):
    out, _ = audited
    items = list(read_review(out / "review.jsonl"))
    with (out / "suggestions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["id"], row["label"], row["kind"], float(row["score"])) for row in rows] == [
        (item.id, each.label, each.kind, each.score) for item in items for each in item.suggestions
    ]
    record = json.loads(out.with_suffix(".json").read_text())
    kinds = [row["kind"] for row in rows]
    assert (record["missing"], record["wrong"]) == (kinds.count("missing"), kinds.count("wrong"))
    assert record["documents"] == len(DOCUMENTS)


def test_nothing_is_left_beside_the_result_and_it_is_not_replaced_unasked(audited, train):
    out, _ = audited
    assert not out.with_name("checked.run").exists()
    error = fails("audit", train, "--out", out, "-q")
    assert "review.jsonl is there already: --overwrite replaces it" in error


def test_what_people_said_is_not_asked_again(audited, train, tmp_path):
    said = {"text": DOCUMENTS[2][0], "labels": ["colour"]}  # they say that it is no vehicle
    (tmp_path / "said.jsonl").write_text(json.dumps(said) + "\n")
    out = tmp_path / "again.jsonl"
    called("audit", train, "--out", out, "--feedback", tmp_path / "said.jsonl", "-q")
    items = list(read_review(out))
    assert items, "others are still suggested"
    assert all(item.text != said["text"] for item in items)


def test_only_the_most_and_the_likeliest_are_suggested(train, tmp_path):
    out = tmp_path / "few.csv"
    called("audit", train, "--out", out, "--most", 1, "-q")
    with out.open(newline="") as file:
        assert [row["kind"] for row in csv.DictReader(file)] == ["missing", "wrong"]
    none = tmp_path / "none.csv"
    called("audit", train, "--out", none, "--least-missing", 1, "--least-wrong", 1, "-q")
    assert none.read_text().splitlines() == ["id,text,kind,label,name,score,reasons"]


def test_the_time_is_told_before(train, tmp_path):
    printed = called("audit", train, "--out", tmp_path / "new", "--estimate", "-q").stdout
    assert "the 5 models will take about" in printed
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a text", ["a"])] * 8, "at least two different documents with labels"),
        ([("a text", []), ("another", [])], "none of the 2 documents has a label"),
    ],
)
def test_what_cannot_be_audited_is_refused(tmp_path, rows, message):
    file = tmp_path / "train.jsonl"
    file.write_text("".join(json.dumps({"text": t, "labels": ls}) + "\n" for t, ls in rows))
    assert message in fails("audit", file, "--out", tmp_path / "out", "-q")
