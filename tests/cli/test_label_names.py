"""Documents whose labels are names of a vocabulary, from the command line."""

import json

import pytest

from command_line import called
from labelgrove import Tagger

N = 12  # labels of the data


def renamed(source, target, every, rename):
    """Copy documents with other words for the labels of each so many of them."""
    lines = []
    for i, line in enumerate(source.read_text().splitlines()):
        row = json.loads(line)
        if i % every == 0:
            row["labels"] = [rename(label) for label in row["labels"]]
        lines.append(json.dumps(row))
    target.write_text("\n".join(lines) + "\n")
    return target


def name(label):
    return label.replace("label", "The Name").upper()


def other_name(label):
    return label.replace("label", "also")


@pytest.fixture(scope="module")
def files(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    rows = [f"label {i:02d}\tThe name {i:02d}\t\t\talso {i:02d}" for i in range(N)]
    (folder / "labels.tsv").write_text("\n".join(rows) + "\n")
    renamed(data / "train.jsonl", folder / "train.jsonl", 2, name)
    renamed(data / "test.jsonl", folder / "test.jsonl", 1, other_name)
    return folder


@pytest.fixture(scope="module")
def tagger(files):
    out = files / "tagger"
    done = called(
        *("train", files / "train.jsonl", "--labels", files / "labels.tsv"),
        *("--model", "knn", "--out", out),
    )
    assert f"{N} labels are names in {files / 'labels.tsv'} and taken for their ids" in done.stderr
    return out


def test_names_and_ids_of_training_data_are_the_same_labels(tagger, data, files):
    assert Tagger.load(tagger).labels_.n_labels == N
    called(
        *("train", data / "train.jsonl", "--labels", files / "labels.tsv", "-q"),
        *("--model", "knn", "--out", files / "by-id"),
    )
    assert Tagger.load(tagger).labels_ == Tagger.load(files / "by-id").labels_


def test_other_names_of_test_data_are_known(tagger, data, files):
    by_name, by_id = (
        called("evaluate", tagger, test, "--json", "-")
        for test in (files / "test.jsonl", data / "test.jsonl")
    )
    assert json.loads(by_name.stdout)["scores"] == json.loads(by_id.stdout)["scores"]
    assert "labels are names in the tagger and taken for their ids ('also " in by_name.stderr
    assert "names" not in by_id.stderr


def test_learning_more_by_name(tagger, files):
    done = called("learn", tagger, files / "test.jsonl", "--out", files / "more")
    assert "0 of their labels had no document before" in done.stderr
    assert Tagger.load(files / "more").labels_.n_labels == N


def test_feedback_by_name_confirms_documents_by_id(tagger, data, files):
    (files / "tagger.feedback.jsonl").write_text(
        renamed(data / "train.jsonl", files / "said.jsonl", 1, other_name).read_text()
    )
    done = called("retrain", tagger, files / "train.jsonl", "--out", files / "better", "-q")
    assert "0 corrected and 200 confirmed" in done.stdout
    assert Tagger.load(files / "better").labels_.n_labels == N


def test_a_name_of_two_concepts_is_told_with_the_way_out(data, tmp_path):
    rows = [f"label {i:02d}\tthe name {i:02d}" for i in range(N)]
    (tmp_path / "labels.tsv").write_text("\n".join([*rows, "second\tthe name 03"]) + "\n")
    train = renamed(data / "train.jsonl", tmp_path / "train.jsonl", 1, name)
    done = called(
        *("train", train, "--labels", tmp_path / "labels.tsv"),
        *("--model", "knn", "--out", tmp_path / "out"),
    )
    told = "1 is the name of several concepts and stays as it is ('THE NAME 03' of 'label 03', "
    assert told + "'second'): write the id" in done.stderr
    before = Tagger.load(tmp_path / "out").labels_
    assert "THE NAME 03" in before
    said = renamed(train, tmp_path / "said.jsonl", 1, str.capitalize)
    called(
        *("retrain", tmp_path / "out", train, "--feedback", said),
        *("--out", tmp_path / "better", "-q"),
    )
    after = Tagger.load(tmp_path / "better").labels_
    assert after.ids[: after.n_labels] == before.ids[: before.n_labels]
