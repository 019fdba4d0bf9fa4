"""`evaluate` and `compare` say which test texts a tagger has learned from."""

import json

import pytest

from command_line import called


@pytest.fixture(scope="module")
def leaking(data):
    """A test file of 50 documents, 20 of which are in the training file."""
    learned = (data / "train.jsonl").read_text().splitlines()[:20]
    new = (data / "test.jsonl").read_text().splitlines()[:30]
    (data / "leaking.jsonl").write_text("\n".join(learned + new) + "\n")
    (data / "new.jsonl").write_text("\n".join(new) + "\n")
    for model in ("knn", "most-frequent"):
        called("train", data / "train.jsonl", "--model", model, "--out", data / model, "-q")
    return data


def _evaluated(data, file, *options):
    written = data / "scores.json"
    done = called("evaluate", data / "knn", data / file, "--json", written, "-q", *options)
    return done.stdout, json.loads(written.read_text())


def test_evaluate_scores_without_them_too(leaking):
    report = leaking / "report.html"
    shown, record = _evaluated(leaking, "leaking.jsonl", "--report", report)
    alone, clean = _evaluated(leaking, "new.jsonl")
    assert "of the 50 test documents, 20 have a text that the tagger has learned from" in shown
    assert "without the 20 texts that the tagger has learned from, %" in shown
    assert record["learned_texts"]["documents"] == 20
    assert record["learned_texts"]["scores_without"] == pytest.approx(clean["scores"])
    assert "without the 20 texts that the tagger has learned from" in report.read_text()
    assert clean["learned_texts"] == {"documents": 0, "scores_without": None}
    assert "learned from" not in alone


def test_compare_does_so_for_every_tagger(leaking):
    written, page = leaking / "compared.json", leaking / "compared.html"
    done = called(
        *("compare", leaking / "knn", leaking / "most-frequent", "--test"),
        *(leaking / "leaking.jsonl", "--json", written, "--report", page, "-q"),
    )
    title = "Scores on the 30 documents whose text no tagger has learned"
    assert title in done.stdout
    assert title in page.read_text()
    _, clean = _evaluated(leaking, "new.jsonl")
    told = json.loads(written.read_text())["taggers"][0]
    assert told["learned_texts"]["documents"] == 20
    without = told["learned_texts"]["scores_without"]
    assert without == pytest.approx({name: clean["scores"][name] for name in without})
