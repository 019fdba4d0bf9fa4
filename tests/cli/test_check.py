"""`labelgrove check`: real files with planted faults, and clean ones without findings."""

import csv
import json
import random

from browser import PHONE, open_browser, viewed
from command_line import called, fails
from labelgrove.checking.check import check
from labelgrove.corpus import Corpus

WORDS = [
    a + b
    for a in ("ba", "ke", "mi", "so", "tu", "ra", "ne")
    for b in ("lon", "dar", "fis", "mup", "gat")
]
LABELS = ["energy policy", "fisheries", "tariffs", "railways", "housing", "forests"]


def _documents(n, seed=0, words=40):
    rng = random.Random(seed)
    return [
        {
            "text": f"The report of {rng.randrange(10**6)} "
            + " ".join(rng.choices(WORDS, k=words)),
            "labels": sorted(rng.sample(LABELS, 2)),
        }
        for _ in range(n)
    ]


def _written(path, documents):
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "labels"])
            writer.writerows([each["text"], ";".join(each["labels"])] for each in documents)
    else:
        path.write_text("".join(json.dumps(each) + "\n" for each in documents))
    return path


def _checked(*arguments, **options):
    done = called("check", *arguments, "--quiet", "--json", "-", **options)
    record = json.loads(done.stdout)
    return {finding["kind"]: finding for finding in record["findings"]}, record


def test_clean_files_have_no_findings(tmp_path):
    train = _written(tmp_path / "train.csv", _documents(400))
    test = _written(tmp_path / "test.jsonl", _documents(150, seed=1))
    done = called("check", train, test, "--strict", "-q")
    assert done.stdout.endswith("nothing to correct\n")
    assert len(done.stdout.splitlines()) < 8
    assert "400 documents, 6 labels (2.0 each)" in done.stdout
    assert "read as CSV, utf-8, fields separated by ',', labels separated by ';'" in done.stdout
    assert _checked(train, test)[1]["serious"] is False


def test_the_advice_on_separators_is_another_command_or_none(tmp_path):
    documents = [
        {"text": each["text"], "labels": [mark.join(each["labels"])]}
        for each, mark in zip(_documents(200), ";|" * 100, strict=True)
    ]
    train = _written(tmp_path / "train.csv", documents)
    finding = _checked(train, "--separator", ",")[0]["lists"]
    assert finding["command"] is None
    assert "a file is read with one separator" in finding["advice"]
    first = _checked(train)[0]["lists"]
    assert first["command"].endswith("train.csv --separator '|'")


def test_copies_in_both_files_are_counted_exact_and_near(tmp_path):
    documents, new = _documents(300), _documents(100, seed=1)
    new[:10] = [{**each, "text": each["text"].upper()} for each in documents[:10]]
    for i in range(10, 25):
        new[i] = {**new[i], "text": documents[i]["text"].replace("report", "Report on") + " end"}
    train = _written(tmp_path / "train.jsonl", documents)
    test = _written(tmp_path / "test.jsonl", new)
    found, record = _checked(train, test)
    leak = found["in-both-files"]
    assert (leak["documents"], leak["near_copies"], leak["of"]) == (10, 15, 100)
    assert leak["level"] == "serious"
    assert record["serious"] is True
    assert leak["examples"][0].startswith("document 1 of test.jsonl")
    assert "document 1 of train.jsonl" in leak["examples"][0]
    assert leak["command"] == f"labelgrove split {train} {test} --group near --out parts"
    assert called("check", train, test, "--strict", "-q", check=1).stdout.startswith(str(train))
    assert called("check", train, test, "-q").returncode == 0


def test_copies_in_a_file_and_those_with_other_labels(tmp_path):
    documents = _documents(200)
    documents += documents[:6]
    documents += [{**each, "labels": ["housing"]} for each in documents[20:23]]
    found, _ = _checked(_written(tmp_path / "docs.jsonl", documents))
    assert found["copies"]["documents"] == 6
    assert found["copies"]["examples"][0].startswith("document 1 and document 201: 'The report of")
    assert found["copies-with-other-labels"]["documents"] == 3


def test_all_documents_of_a_finding_are_named_with_their_ids(tmp_path):
    documents = _documents(60)
    rows = [
        [f"key-{i}", each["text"], ";".join(each["labels"])] for i, each in enumerate(documents)
    ]
    rows += [[f"again-{i}", *row[1:]] for i, row in enumerate(rows[:9])]
    path, page, found = tmp_path / "docs.csv", tmp_path / "check.html", tmp_path / "check.json"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["key", "text", "labels"], *rows])
    options = ["--id-field", "key", "--report", page, "--json", found, "-q"]
    shown = called("check", path, *options).stdout
    assert "document 1 (id key-0) and document 61 (id again-0): 'The report" in shown
    (copies,) = (e for e in json.loads(found.read_text())["findings"] if e["kind"] == "copies")
    assert copies["places"] == [
        [
            {"file": "docs.csv", "document": i + 1, "id": f"key-{i}"},
            {"file": "docs.csv", "document": i + 61, "id": f"again-{i}"},
        ]
        for i in range(9)
    ]
    text = page.read_text("utf-8")
    assert "All 9 pairs" in text
    assert all(f"again-{i}" in text for i in range(9))
    assert "--json FILE name all documents" in called("check", path, "-q").stdout


def test_a_finding_names_a_thousand_documents(tmp_path):
    documents = _documents(30) + [{"text": "", "labels": ["housing"]}] * 1100
    page = tmp_path / "check.html"
    found, _ = _checked(_written(tmp_path / "docs.jsonl", documents), "--report", page)
    assert found["empty-texts"]["documents"] == 1100
    assert len(found["empty-texts"]["places"]) == 1000
    assert "The first 1,000 of 1,100 documents" in page.read_text("utf-8")


def test_ids_that_occur_twice_and_labels_that_are_none(tmp_path):
    documents = [{"id": f"d{i}", **each} for i, each in enumerate(_documents(50))]
    documents[40]["id"] = "d7"
    for i, label in enumerate(["N/A", "-", "2024-01-01", "31.12.2024"]):
        documents[i]["labels"] = [label]
    found, _ = _checked(_written(tmp_path / "docs.jsonl", documents))
    assert found["same-ids"]["documents"] == 1
    assert [(e["document"], e["id"]) for e in found["same-ids"]["places"][0]] == [
        (8, "d7"),
        (41, "d7"),
    ]
    assert sorted(found["placeholders"]["labels"]) == ["-", "N/A"]
    assert sorted(found["dates"]["labels"]) == ["2024-01-01", "31.12.2024"]
    clean, _ = _checked(_written(tmp_path / "clean.jsonl", _documents(50)))
    assert not clean.keys() & {"same-ids", "placeholders", "dates"}


def test_labels_with_few_documents_are_noted(tmp_path):
    documents = _documents(60)
    for i in range(9):
        documents[i]["labels"].append(f"rare {'abc'[i % 3]}")
    found, _ = _checked(_written(tmp_path / "docs.jsonl", documents))
    assert found["few-documents"]["labels"] == 3
    assert found["few-documents"]["level"] == "note"


def test_near_copies_in_a_file_ask_for_a_split_by_groups(tmp_path):
    documents = _documents(200)
    documents += [{**each, "text": each["text"] + " again"} for each in documents[:30]]
    found, _ = _checked(_written(tmp_path / "docs.jsonl", documents))
    assert found["near-copies"]["documents"] == 60
    assert "--group near" in found["near-copies"]["command"]


def test_empty_texts_missing_labels_bad_rows_and_damaged_letters(tmp_path):
    documents = _documents(200)
    for i in (3, 4):
        documents[i]["text"] = " "
    documents[7]["labels"] = []
    documents[8]["text"] = "Die Stra\ufffde nach K\ufffdln " + documents[8]["text"]
    documents[9]["text"] = "Die StraÃŸe nach KÃ¶ln " + documents[9]["text"]
    path = _written(tmp_path / "docs.jsonl", documents)
    path.write_text(path.read_text() + '{"text": 7}\n')
    found, _ = _checked(path)
    assert found["empty-texts"]["documents"] == 2
    assert found["empty-texts"]["examples"] == ["document 4", "document 5"]
    assert found["no-labels"]["documents"] == 1
    assert found["bad-rows"]["rows"] == 1
    assert found["bad-rows"]["level"] == "serious"
    assert "line 201" in found["bad-rows"]["examples"][0]
    assert found["replaced-characters"]["documents"] == 1
    assert found["decoded-twice"]["documents"] == 1


def test_labels_spelled_in_two_ways_are_merged_with_a_file(tmp_path):
    documents = _documents(300)
    swaps = {0: ("energy policy", "Energy Policy"), 1: ("tariffs", "tariff")}
    for i, (old, new) in swaps.items():
        for each in [d for d in documents if old in d["labels"]][: 5 + i]:
            each["labels"] = [new if label == old else label for label in each["labels"]]
    path = _written(tmp_path / "docs.csv", documents)
    merges = tmp_path / "merges.tsv"
    found, _ = _checked(path, "--merge-out", merges)
    assert found["spellings"]["labels"] == 1
    assert found["spellings"]["level"] == "serious"
    assert found["plurals"]["labels"] == 1
    rows = [line.split("\t") for line in merges.read_text().splitlines()]
    assert rows[0][:2] == ["from", "to"]
    assert {tuple(row[:2]) for row in rows[1:]} == {
        ("tariff", "tariffs"),
        ("Energy Policy", "energy policy"),
    }
    assert found["spellings"]["command"] is None, "the file is written already"
    assert f"--merge {merges}" in found["spellings"]["advice"]
    assert "--merge-out merges.tsv" in _checked(path)[0]["spellings"]["command"]
    again, _ = _checked(path, "--merge", merges)
    assert "spellings" not in again
    assert "plurals" not in again
    tagger = tmp_path / "tagger"
    called("train", path, "--merge", merges, "--model", "most-frequent", "--out", tagger, "-q")
    called("evaluate", tagger, path, "--json", tmp_path / "scores.json", "-q")
    notes = json.loads((tmp_path / "scores.json").read_text())["notes"]
    assert not any("not in the training data" in note for note in notes), "merges are remembered"
    shown = called("stats", path, "--merge", merges, "--json", "-", "-q").stdout
    assert json.loads(shown)["n_labels"] == len(LABELS)


def test_labels_that_say_nothing_belong_together_or_are_lists(tmp_path):
    documents = _documents(300)
    for i, each in enumerate(documents):
        if i % 10 == 1:
            each["labels"] += ["pines", "nature"]
        if i % 5 == 0:
            each["labels"].append("nature")
        if i % 10 == 0:
            each["labels"] += ["europe", "EU law"]
        each["labels"] = sorted({*each["labels"], "document"})
    found, _ = _checked(_written(tmp_path / "docs.jsonl", documents))
    assert found["everywhere"]["labels"] == ["document"]
    assert sorted(found["together"]["first"][0]) == ["EU law", "europe"]
    assert ["pines", "nature"] in found["hierarchy"]["first"]
    lists = [{**each, "labels": ["|".join(each["labels"])]} for each in _documents(50)]
    found, _ = _checked(_written(tmp_path / "lists.jsonl", lists))
    assert found["lists"]["level"] == "serious"


def test_languages_and_drift_between_files(tmp_path):
    english = "the house of the committee on railways and the report about it is"
    german = "das Haus des Ausschusses für Eisenbahnen und der Bericht darüber ist"
    train = [{**d, "text": f"{english} {i} {d['text']}"} for i, d in enumerate(_documents(300))]
    test = [
        {"text": f"{german} {i} " + d["text"].split(" of ")[1][:20], "labels": ["fisheries", "law"]}
        for i, d in enumerate(_documents(200, seed=1))
    ]
    train_file = _written(tmp_path / "train.jsonl", train)
    found, record = _checked(train_file, _written(tmp_path / "test.jsonl", test))
    assert found["other-language"]["languages"] == ["en", "de"]
    assert found["unseen-labels"]["share"] == 0.5
    assert found["labels-drift"]["labels"] >= 1
    assert found["new-words"]["share"] > 0.2
    assert found["lengths-differ"]["level"] == "check"
    assert next(iter(record["files"][0]["languages"])) == "en"
    mixed = _written(tmp_path / "mixed.jsonl", [*train[:150], *test])
    assert "languages" in _checked(mixed)[0]


def test_the_page_has_all_findings_and_reads_on_a_phone(tmp_path):
    documents = _documents(100)
    documents += documents[:40]
    documents[0]["labels"] = ["Fisheries", "<b>bold</b>"]
    path = _written(tmp_path / "docs.jsonl", documents)
    page = tmp_path / "check.html"
    done = called("check", path, "--report", page, "-q")
    assert f"written to {page}" in done.stdout
    text = page.read_text("utf-8")
    assert "To correct before training" in text
    assert "Fisheries" in text
    assert "<b>bold</b>" not in text
    with open_browser() as browser, viewed(browser, page, width=PHONE) as seen:
        assert seen.sticking_out() == []
        assert (seen.requests, seen.complaints, seen.dialogs) == ([], [], [])


def test_what_is_no_use_is_refused(tmp_path):
    path = _written(tmp_path / "docs.jsonl", _documents(5))
    assert "there is no file" in fails("check", tmp_path / "none.csv")
    assert "named twice" in fails("check", path, "--merge-out", path)
    assert "--report needs a file" in fails("check", path, "--report", tmp_path)


def test_labels_that_begin_with_a_hash_are_merged_too(tmp_path):
    documents = [{"text": f"text {i}", "labels": ["#AI" if i else "#ai"]} for i in range(4)]
    path, merges = _written(tmp_path / "docs.jsonl", documents), tmp_path / "merges.tsv"
    assert "spellings" in _checked(path, "--merge-out", merges)[0]
    assert "spellings" not in _checked(path, "--merge", merges)[0]


def test_files_in_memory_are_told_apart():
    train = Corpus.from_lists(["wind power"] * 3, [["x"]] * 3)
    texts = [f"rain {i}" for i in range(20)] + ["St\ufffdrm"]
    found = check(train, Corpus.from_lists(texts, [["x"]] * 21))
    (damaged,) = (each for each in found.findings if each.kind == "replaced-characters")
    assert damaged.examples == ["document 21: 'St\ufffdrm'"]


def test_the_language_is_that_of_texts_not_of_empty_rows_and_copies():
    texts = [f"the report of the committee on the railways of country {i}" for i in range(400)]
    copies = ["der Bericht des Ausschusses über die Eisenbahnen"] * 300
    found = check(Corpus.from_lists([*texts, *[""] * 400, *copies]))
    assert next(iter(found.files[0].languages)) == "en"
