"""Results for machines: ``--json FILE`` of each command, and ``-`` for standard output."""

import json
import re

import pytest

from command_line import called, fails, labelgrove
from labelgrove import Tagger
from labelgrove._version import __version__


@pytest.fixture(scope="module")
def trained(data):
    for model in ("bonsai", "knn"):
        done = called(
            *("train", data / "train.jsonl", "--model", model, "--out", data / model, "-q"),
            *("--json", data / f"{model}.json"),
        )
        assert "saved to" in done.stdout
    return data / "bonsai"


def read(path):
    return json.loads(path.read_text())


def test_a_training(trained, data):
    record, tagger = read(data / "bonsai.json"), Tagger.load(trained)
    assert record["folder"] == str(trained)
    assert (record["tagger"], record["model"], record["labelgrove"]) == (
        "bonsai", "bonsai", __version__,
    )  # fmt: skip
    assert (record["documents"], record["labels"]) == (200, 12)
    assert record["held_out"]["scores"] == tagger.scores_
    assert 5 <= record["held_out"]["documents"] <= 40
    own = record["thresholds"].pop("labels_with_their_own")
    assert 0 < own <= 12
    assert record["thresholds"] == tagger.thresholds_
    assert record["seconds"] > 0
    assert record["size"] == sum(p.stat().st_size for p in trained.rglob("*") if p.is_file())


def test_a_training_without_held_out_documents(data, tmp_path):
    train = ("train", data / "train.jsonl", "--model", "most-frequent", "--validation", "0", "-q")
    done = called(*train, "--out", tmp_path / "t", "--json", "-")
    record = json.loads(done.stdout)
    assert record["held_out"] is None
    assert record["thresholds"] is None


@pytest.mark.parametrize("threshold", ["auto", "0.25", "per-label"])
def test_an_evaluation(trained, data, tmp_path, threshold):
    test, place = data / "test.jsonl", tmp_path / "s.json"
    called("evaluate", trained, test, "--json", place, "--threshold", threshold, "-q")
    record, tagger = read(place), Tagger.load(trained)
    assert set(record) == {
        "labelgrove", "tagger", "model", "test", "documents", "labels", "scores", "notes",
        "seconds", "size", "threshold", "hierarchy", "by_threshold", "learned_texts",
    }  # fmt: skip
    assert [each["threshold"] for each in record["by_threshold"]] == sorted(
        {0.9, 0.8, 0.7, 0.5, 0.3, 0.2, 0.1} | {record["threshold"]["value"]} - {None}, reverse=True
    )
    choice = 0.25 if threshold == "0.25" else threshold
    value = {"auto": tagger.thresholds_["micro"], "0.25": 0.25, "per-label": None}[threshold]
    assert record["threshold"] == {"choice": choice, "value": value}
    scores = tagger.evaluate(test, threshold=choice)
    assert record["scores"] == scores
    assert record["notes"] == scores.notes
    assert (record["documents"], record["labels"], record["test"]) == (100, 12, str(test))
    assert not [*tmp_path.glob(".*")], "no half-written file is left"


def test_standard_output_holds_nothing_else(trained, data):
    done = labelgrove("evaluate", trained, data / "test.jsonl", "--json", "-")
    assert json.loads(done.stdout)["documents"] == 100
    assert "tagging: 100 documents in" in done.stderr


def test_statistics(data, tmp_path):
    place = tmp_path / "stats.json"
    done = called("stats", data / "train.jsonl", data / "test.jsonl", "--json", place)
    assert "N_train" in done.stdout
    record = read(place)
    assert (record["n_train"], record["n_test"], record["n_labels"]) == (200, 100, 12)
    assert record["train"] == str(data / "train.jsonl")
    assert record["curve"][0]["rank"] == 1
    assert record == json.loads(
        called("stats", data / "train.jsonl", data / "test.jsonl", "--json", "-").stdout
    )


def test_an_explanation(trained, data, tmp_path):
    text = read_text(data)
    done = called("explain", trained, "--text", text, "-k", "2", "--json", "-")
    record, tagger = json.loads(done.stdout), Tagger.load(trained)
    assert record["text"] == text
    assert [(each["label"], each["name"], each["score"]) for each in record["labels"]] == [
        tuple(tag) for tag in tagger.tag(text, k=2)
    ]
    word, reason = record["labels"][0]["words"][0], tagger.explain(text, "label 00")[0]
    assert set(word) == {"text", "weight", "places"}
    assert record["labels"][0]["documents"] == []
    one = json.loads(
        called("explain", trained, "--text", text, "--label", "label 00", "--json", "-").stdout
    )
    assert one["labels"][0]["words"][0] == {
        "text": reason.text, "weight": reason.weight, "places": [list(p) for p in reason.places],
    }  # fmt: skip
    near = json.loads(called("explain", data / "knn", "--text", text, "--json", "-").stdout)
    assert set(near["labels"][0]["documents"][0]) == {"text", "similarity", "labels", "has_label"}
    assert called("explain", trained, "--text", text, "--quiet").stderr == ""
    assert "explaining: 3 labels in" in called("explain", trained, "--text", text).stderr


def read_text(data):
    return json.loads((data / "test.jsonl").read_text().splitlines()[0])["text"]


def test_models(tmp_path):
    listed = json.loads(called("models", "--json", "-").stdout)
    assert listed["attentionxml"]["needs"] == "neural"
    called("models", "bonsai", "--json", tmp_path / "m.json")
    record = read(tmp_path / "m.json")
    assert record["model"] == "bonsai"
    assert record["summary"] == listed["bonsai"]["summary"]
    (beam,) = (each for each in record["settings"] if each["setting"] == "beam")
    assert beam["default"] == "10"
    assert beam["allowed"] == "a whole number from 1"
    assert beam["meaning"].startswith("Nodes")
    (threads,) = (each for each in record["settings"] if each["setting"] == "threads")
    assert (threads["default"], threads["allowed"]) == ("null", "a whole number from 1, or null")
    text = record["views"]["text"]
    assert text["featurizer"] == "tf-idf"
    assert text["chosen"] == ["analyzer", "first_line", "fade_after"]
    assert "ngrams" in [each["setting"] for each in text["settings"]]


def test_combining(trained, data, tmp_path):
    folders = (trained, data / "knn")
    done = called(
        *("combine", *folders, "--out", tmp_path / "both", "--test", data / "test.jsonl"),
        *("--json", tmp_path / "c.json"),
    )
    record = read(tmp_path / "c.json")
    assert record["partners"] == [*map(str, folders)]
    assert record["thresholds"] is None
    (pair,) = record["overlap"]
    assert pair["taggers"] == [*map(str, folders)]
    shown = re.search(r"knn +(\d+) +(\d+)", done.stdout)
    assert [float(shown[1]), float(shown[2])] == pytest.approx(
        [100 * pair["top"]["1"], 100 * pair["top"]["2"]], abs=0.51
    )
    calibrated = ("--out", tmp_path / "again", "--valid", data / "test.jsonl", "--json", "-", "-q")
    record = json.loads(called("combine", *folders, *calibrated).stdout)
    assert record["overlap"] is None
    assert record["held_out"]["documents"] == 100


def test_learning(trained, data, tmp_path):
    more = tmp_path / "more.jsonl"
    more.write_text('{"text": "quite new", "labels": ["new", "label 00"]}\n')
    learn = ("learn", data / "knn", more, "--out", tmp_path / "n", "--test", data / "test.jsonl")
    record = json.loads(called(*learn, "--json", "-", "-q").stdout)
    assert (record["more_documents"], record["more_labels"]) == (1, 1)
    assert record["documents"] == 201
    assert record["after"]["tagger"] == "n"
    assert record["before"]["tagger"] == "knn"
    assert (record["before"]["labels"], record["after"]["labels"]) == (12, 13)
    own = Tagger.load(tmp_path / "n").evaluate(data / "test.jsonl")
    assert record["after"]["scores"] == own


@pytest.mark.parametrize("command", ["stats", "models", "train"])
def test_a_file_that_cannot_be_written_is_told_before_the_work(command, data, tmp_path):
    words = {"stats": [data / "train.jsonl"], "models": [], "train": [data / "train.jsonl"]}
    out = ["--out", tmp_path / "t"] if command == "train" else []
    line = fails(command, *words[command], *out, "--json", tmp_path / "none" / "x.json")
    assert "--json needs a file in a folder that exists" in line
    assert not (tmp_path / "t").exists()


def test_a_result_is_never_written_over_what_is_read_or_saved(trained, data, tmp_path):
    train, test = data / "train.jsonl", data / "test.jsonl"
    before = {path: path.read_bytes() for path in (train, test, trained / "manifest.json")}
    both = tmp_path / "both"
    for words in (
        ["evaluate", trained, test, "--json", test],
        ["evaluate", trained, test, "--json", both, "--report", both],
        ["compare", trained, data / "knn", "--test", test, "--markdown", test],
        ["train", train, "--out", tmp_path / "t", "--json", train],
        ["stats", train, test, "--json", test],
    ):
        assert "is named twice" in fails(*words)
    line = fails("explain", trained, "--text", "a", "--html", trained / "manifest.json")
    assert "lies in a saved tagger" in line
    assert all(path.read_bytes() == content for path, content in before.items())
    assert not both.exists()
