"""`labelgrove migrate` and --hierarchy, as a user calls them."""

import json

import pytest

from command_line import called, fails
from labelgrove import Tagger
from labelgrove.labels import Concept, Vocabulary
from stand_ins import Recalling

pytestmark = pytest.mark.usefixtures("stand_ins_installed")
TEXTS = ["a red car", "a long train", "a fast ship", "an old tram"]
LABELS = [["c1"], ["t1"], ["s1"], ["t2"]]
NEW = "id\tname\tparents\nc1\tCars\tv\nv\tVehicles\nrail\tRail transport\tv\ns2\tShips\tv\n"


@pytest.fixture(scope="module")
def tagger():
    return Tagger(Recalling(), validation=0).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def saved(tagger, tmp_path_factory):
    folder = tmp_path_factory.mktemp("migrate") / "old"
    tagger.save(folder)
    return folder


@pytest.fixture(scope="module")
def subjects(tagger, tmp_path_factory):
    """A tagger whose labels have parents: an old tram is below a train."""
    concepts = {each: Concept(each) for each in ("c1", "s1", "t1")} | {"t2": Concept("t2", ("t1",))}
    folder = tmp_path_factory.mktemp("subjects") / "tagger"
    tagger.migrate(Vocabulary(concepts))[0].save(folder)
    return folder


@pytest.fixture
def newer(tmp_path):
    path = tmp_path / "new.tsv"
    path.write_text(NEW)
    return path


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_new_version_makes_a_new_folder(saved, newer, tmp_path):
    before, pairs, out = contents(saved), tmp_path / "map.tsv", tmp_path / "new"
    pairs.write_text("t1\trail\nt2\trail\ns1\ts2\n")
    done = called(
        "migrate", saved, newer, "--map", pairs, "--out", out, "--json", tmp_path / "told.json",
        "--report", tmp_path / "told.html",
    )  # fmt: skip
    assert contents(saved) == before
    assert "t1, t2 -> rail" in done.stdout
    page = (tmp_path / "told.html").read_text()
    assert '<th scope="row">Rail transport (rail)</th><td>t1; t2</td>' in page.replace("\n", "")
    assert "s1 -> s2" in done.stdout
    told = json.loads((tmp_path / "told.json").read_text())
    assert told["migration"]["counts"] == {
        "renamed": 1, "renumbered": 1, "merged": 1, "split": 0, "removed": 0, "moved": 2,
        "new": 1, "unchanged": 0,
    }  # fmt: skip
    assert (told["labels"], told["migration"]["warning"]) == (3, None)
    line = json.loads(called("tag", out, "--text", "an old tram", "-k", "1", "-q").stdout)
    assert line["labels"][0]["name"] == "Rail transport"
    test = tmp_path / "test.jsonl"
    test.write_text(json.dumps({"text": "a red car", "labels": ["c1"]}) + "\n")
    record = tmp_path / "scores.json"
    how = ["--threshold", "0", "--hierarchy", "leaf"]
    called("evaluate", out, test, "--json", record, *how, "-q")
    scored = json.loads(record.read_text())
    assert scored["hierarchy"] == "leaf"
    assert scored["scores"]["hierarchical-recall"] == 1.0
    refused = fails("evaluate", out, test, "--report", tmp_path / "r.html", *how, "-q")
    assert "--hierarchy" in refused


def test_what_cannot_be_carried_over_is_said(saved, newer, tmp_path):
    done = called("migrate", saved, newer, "--out", tmp_path / "new", "-q")
    assert "covers only 1 of 4 labels (25%)" in done.stderr
    newer.write_text("x\tAnother\n")
    assert "shares no label" in fails("migrate", saved, newer, "--out", tmp_path / "none", "-q")
    assert not (tmp_path / "none").exists()
    assert "migrate does not change" in fails("migrate", saved, newer, "--out", saved, "-q")


def test_labels_without_parents_have_no_hierarchy(saved):
    told = fails("tag", saved, "--text", "a car", "--hierarchy", "closed")
    assert "--labels FILE" in told
    assert "closed, leaf" in fails("tag", saved, "--text", "a car", "--hierarchy", "open")


def test_files_and_folders_are_tagged_so(subjects, tmp_path):
    docs = tmp_path / "docs.csv"
    docs.write_text("text\nan old tram\na fast ship\n")
    how = ["-k", "1", "--hierarchy", "closed", "-q"]
    lines = called("tag", subjects, docs, *how).stdout
    given = [[each["label"] for each in json.loads(line)["labels"]] for line in lines.splitlines()]
    assert given == [["t2", "t1"], ["s1"]]
    called("tag", subjects, docs, *how, "--out", tmp_path / "parts")
    assert (tmp_path / "parts" / "part-00000.jsonl").read_text() == lines
    how[3] = "leaf"
    told = fails("tag", subjects, docs, *how, "--out", tmp_path / "parts")
    assert "hierarchy 'closed' instead of 'leaf'" in told
    called("tag", subjects, docs, "-k", "1", "--hierarchy", "closed", "--out", tmp_path / "o.csv")
    assert "an old tram,t2; t1,0.25; 0.25" in (tmp_path / "o.csv").read_text()
