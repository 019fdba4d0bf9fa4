"""Which documents to label next, from the command line, and the way back into the tagger."""

import csv
import json

import openpyxl
import pytest

from command_line import called, fails
from labelgrove import Tagger
from labelgrove.corpus import read_review
from labelgrove.models.contract import known_answer


@pytest.fixture(scope="module")
def tagger(data):
    folder = data / "bonsai"
    called("train", data / "train.jsonl", "--model", "bonsai", "--out", folder, "-q")
    return folder


@pytest.fixture(scope="module")
def truth():
    texts, labels = known_answer(400, seed=7)
    return dict(zip(texts, labels, strict=True))


@pytest.fixture(scope="module")
def pool(data, truth):
    path = data / "pool.jsonl"
    lines = [json.dumps({"text": text, "id": f"d{i}"}) for i, text in enumerate(truth)]
    path.write_text("\n".join([*lines, json.dumps({"text": " "})]) + "\n")
    return path


def table(path):
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def filled_in(path, rows, **settings):
    with path.open("w", newline="", encoding=settings.pop("encoding", "utf-8-sig")) as file:
        writer = csv.DictWriter(file, rows[0].keys(), **settings)
        writer.writeheader()
        writer.writerows(rows)


def test_a_queue_for_the_review_page(tagger, pool, truth, tmp_path):
    queue = tmp_path / "queue.jsonl"
    done = called("next", tagger, pool, "-n", "20", "-k", "4", "--out", queue)
    assert f"20 documents chosen by labels: {queue}" in done.stdout
    assert "left out: 1 without text" in done.stdout
    assert f"'labelgrove serve {tagger} --review {queue}' shows them" in done.stdout
    assert "tagging the sample" in done.stderr
    items = list(read_review(queue))
    assert len({item.text for item in items}) == 20
    assert all(item.labels == () for item in items)
    right = 0
    for item in items:
        assert list(truth)[int(item.id[1:])] == item.text
        assert 1 <= len(item.suggestions) <= 4
        assert {each.kind for each in item.suggestions} == {"proposed"}
        scores = [each.score for each in item.suggestions]
        assert scores == sorted(scores, reverse=True)
        right += item.suggestions[0].label in truth[item.text]
    assert right >= 15


def test_the_same_call_makes_the_same_file(tagger, pool, tmp_path):
    files = [tmp_path / f"{name}.jsonl" for name in "abc"]
    for file, seed in zip(files, (0, 0, 1), strict=True):
        called("next", tagger, pool, "-q", "--seed", seed, "--out", file)
    assert files[0].read_bytes() == files[1].read_bytes() != files[2].read_bytes()
    assert len(files[0].read_text().splitlines()) == 50


def test_the_result_as_json(tagger, pool, tmp_path):
    queue = tmp_path / "queue.jsonl"
    call = ("next", tagger, pool, "-n", "3", "--by", "uncertainty", "--out", queue, "--json", "-")
    done = json.loads(called(*call, "-q").stdout)
    scores = done.pop("scores")
    assert scores == sorted(scores, reverse=True)
    assert done == {
        "file": str(queue),
        "folder": str(tagger),
        "pool": str(pool),
        "by": "uncertainty",
        "documents": 3,
        "read": 401,
        "considered": 400,
        "known": 0,
        "empty": 1,
    }


def test_what_was_judged_is_not_chosen_again(tagger, pool, data, tmp_path):
    folder, first, second = (tmp_path / name for name in ("tagger", "1.jsonl", "2.jsonl"))
    Tagger.load(tagger).save(folder)
    called("next", folder, pool, "-n", "30", "--out", first)
    judged = [json.loads(line) for line in first.read_text().splitlines()]
    told = [json.dumps({"text": each["text"], "labels": ["label 00"]}) for each in judged]
    (tmp_path / "tagger.feedback.jsonl").write_text("\n".join(told) + "\n")
    done = called("next", folder, pool, "-n", "30", "--out", second)
    assert "left out: 30 with labels already, 1 without text" in done.stdout
    texts = {json.loads(line)["text"] for line in second.read_text().splitlines()}
    assert len(texts) == 30
    assert texts.isdisjoint(each["text"] for each in judged)
    new = tmp_path / "new"
    called("retrain", folder, data / "train.jsonl", "--test", data / "test.jsonl", "--out", new)
    assert Tagger.load(new).labels_.n_documents == Tagger.load(folder).labels_.n_documents + 30


def test_a_table_is_filled_in_and_learned(tagger, pool, truth, data, tmp_path):
    batch = tmp_path / "batch.csv"
    done = called("next", tagger, pool, "-n", "12", "--out", batch)
    assert f"labelgrove retrain {tagger} TRAIN --feedback {batch} --out NEW" in done.stdout
    rows = table(batch)
    assert list(rows[0]) == ["id", "text", "labels", "proposed", "names"]
    assert all(row["labels"] == row["names"] == "" for row in rows)
    assert sum(row["proposed"].split(";")[0] in truth[row["text"]] for row in rows) >= 9
    again = ("retrain", tagger, data / "train.jsonl", "--test", data / "test.jsonl")
    line = fails(*again, "--feedback", batch, "--out", tmp_path / "new")
    assert f"no row of {batch} has labels: fill in the column" in line
    for row in rows[:8]:  # the last four are left for another day
        row["labels"] = "; ".join(truth[row["text"]])
    filled_in(batch, rows)
    done = called(*again, "--feedback", batch, "--out", tmp_path / "new")
    assert "learned from 8 documents of feedback" in done.stdout
    old, new = Tagger.load(tagger), Tagger.load(tmp_path / "new")
    assert new.labels_.n_documents == old.labels_.n_documents + 8
    left = tmp_path / "left.jsonl"
    done = called("next", tagger, pool, "-n", "400", "--labelled", batch, "--out", left)
    assert "left out: 8 with labels already" in done.stdout
    texts = {json.loads(line)["text"] for line in left.read_text().splitlines()}
    assert texts.isdisjoint(row["text"] for row in rows[:8])
    assert texts >= {row["text"] for row in rows[8:]}


def test_a_workbook_is_filled_in_and_learned(tagger, pool, truth, data, tmp_path):
    batch = tmp_path / "batch.xlsx"
    done = called("next", tagger, pool, "-n", "6", "--out", batch)
    assert f"labelgrove retrain {tagger} TRAIN --feedback {batch} --out NEW" in done.stdout
    book = openpyxl.load_workbook(batch)
    head, *rows = book.active.iter_rows()
    assert [cell.value for cell in head] == ["id", "text", "labels", "proposed", "names"]
    assert len(rows) == 6
    for row in rows[:4]:
        row[2].value = ";".join(truth[row[1].value])
    book.save(batch)
    done = called("retrain", tagger, data / "train.jsonl", "--feedback", batch,
                  "--test", data / "test.jsonl", "--out", tmp_path / "new")  # fmt: skip
    assert "learned from 4 documents of feedback" in done.stdout


def test_a_text_too_long_for_excel_is_refused(tmp_path):
    pool, batch = tmp_path / "pool.jsonl", tmp_path / "batch.xlsx"
    pool.write_text(json.dumps({"id": "long", "text": "word " * 8000}) + "\n")
    assert "document long: the text has 40,000 characters" in fails("next", pool, "-o", batch)
    assert not batch.exists()


def test_a_table_that_excel_has_saved_is_learned(tagger, pool, data, tmp_path):
    batch = tmp_path / "batch.csv"
    called("next", tagger, pool, "-n", "5", "--out", batch)
    rows = table(batch)
    for row in rows:
        row["labels"] = "Möbel; label 01"
    filled_in(batch, rows, delimiter=";", encoding="windows-1252")
    called("retrain", tagger, data / "train.jsonl", "--feedback", batch, "--out", tmp_path / "new",
           "--test", data / "test.jsonl")  # fmt: skip
    labels = Tagger.load(tmp_path / "new").labels_
    assert labels.counts[labels.ids.index("Möbel")] == 5


def test_documents_with_labels_are_left_out(tagger, data, tmp_path):
    queue, both = tmp_path / "queue.jsonl", tmp_path / "both.jsonl"
    both.write_text((data / "train.jsonl").read_text() + (data / "test.jsonl").read_text())
    done = called("next", tagger, both, "-n", "500", "--out", queue)
    known = {json.loads(line)["text"] for line in (data / "train.jsonl").read_text().splitlines()}
    texts = {json.loads(line)["text"] for line in queue.read_text().splitlines()}
    assert 90 <= len(texts) <= 100
    assert texts.isdisjoint(known)
    assert f"{500:,} were asked for: no others are left" in done.stdout
    none = ("next", tagger, both, "--labelled", data / "test.jsonl")
    line = fails(*none, "--out", tmp_path / "none.jsonl")
    assert "there is nothing to choose from" in line
    assert "300 with labels already" in line


def test_without_a_tagger(pool, tmp_path):
    batch, queue, names = (tmp_path / name for name in ("a.csv", "b.jsonl", "labels.tsv"))
    done = called("next", pool, "-n", "10", "--out", batch)
    assert "10 documents chosen by diversity" in done.stdout
    assert f"fill in the column 'labels', then 'labelgrove train {batch} --out NEW'" in done.stdout
    rows = table(batch)
    assert len(rows) == 10
    assert all(row["proposed"] == "" for row in rows)
    names.write_text("one\ttopic1a\ntwo\ttopic2a\n")
    done = called("next", pool, "-n", "30", "--labels", names, "--out", queue, "-q")
    assert (
        f"'labelgrove serve DIR --review {queue}' shows them, with any tagger as DIR" in done.stdout
    )
    items = list(read_review(queue))
    found = {(each.label, each.name) for item in items for each in item.suggestions}
    assert found == {("one", "topic1a"), ("two", "topic2a")}
    for item in items:
        assert {each.name for each in item.suggestions} <= set(item.text.split())


def test_names_stand_beside_ids(pool, tmp_path):
    names, batch = tmp_path / "labels.tsv", tmp_path / "batch.csv"
    names.write_text("one\ttopic1a\ntwo\ttopic2a\n")
    called("next", pool, "-n", "30", "--labels", names, "--out", batch, "-q")
    told = {(row["proposed"], row["names"]) for row in table(batch)}
    assert ("one", "topic1a") in told
    assert told <= {
        ("", ""), ("one", "topic1a"), ("two", "topic2a"), ("one;two", "topic1a;topic2a"),
        ("two;one", "topic2a;topic1a"),
    }  # fmt: skip


def test_nothing_that_was_filled_in_is_lost(tagger, pool, tmp_path):
    batch = tmp_path / "batch.csv"
    batch.write_text("mine")
    assert "exists already" in fails("next", tagger, pool, "--out", batch)
    assert batch.read_text() == "mine"
    called("next", tagger, pool, "--out", batch, "--overwrite")
    assert len(table(batch)) == 50


def test_refusals(tagger, pool, tmp_path):
    queue = tmp_path / "queue.jsonl"
    assert "must end in .jsonl" in fails("next", tagger, pool, "--out", tmp_path / "queue.txt")
    assert "in a folder that exists" in fails("next", tagger, pool, "--out", tmp_path / "a" / "b")
    assert "named twice" in fails("next", tagger, pool, "--out", pool, "--overwrite")
    assert "lies in a saved tagger" in fails("next", tagger, pool, "-o", tagger / "queue.csv")
    assert "'sure'" in fails("next", tagger, pool, "--by", "sure", "--out", queue)
    line = fails("next", pool, "--by", "rare", "--out", queue)
    assert "'rare' needs a tagger that has learned" in line
    assert "expected [DIR] POOL" in fails("next", tagger, pool, pool, "--out", queue)
    line = fails("next", tagger, pool, "--labels", pool, "--out", queue)
    assert "--labels is for no tagger" in line
    assert "is a saved tagger" in fails("next", tagger, "--out", queue)
    features = tmp_path / "features.svm"
    features.write_text("1 5 2\n0 1:0.5 2:0.1\n")
    assert "holds features" in fails("next", tagger, features, "--out", queue)
    assert not queue.exists()
