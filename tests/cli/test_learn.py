"""More documents for a saved tagger, and the documents behind a label, from the command line."""

import json
import re

import pytest

from command_line import called, fails
from labelgrove import Tagger
from labelgrove.models.contract import NOISE

pytestmark = pytest.mark.usefixtures("stand_ins_installed")


def rows(path, *documents):
    lines = [json.dumps({"text": text, "labels": labels}) for text, labels in documents]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def old(data):
    folder = data / "recalling"
    if not folder.exists():
        called("train", data / "train.jsonl", "--model", "recalling", "--out", folder, "-q")
    return folder


@pytest.fixture
def more(tmp_path):
    return rows(tmp_path / "more.jsonl", *[(NOISE, ["new", "label 00"])] * 12, ("bare", []))


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_more_documents_make_a_new_folder(old, more, tmp_path):
    before = contents(old)
    done = called("learn", old, more, "--out", tmp_path / "new")
    assert "12 more documents to remember; 1 of their labels had no document" in done.stderr
    assert "1 document has no label: left out" in done.stderr
    assert f"learned 12 documents, 1 new label: saved to {tmp_path / 'new'}" in done.stdout
    assert f"'labelgrove evaluate {tmp_path / 'new'} TEST'" in done.stdout
    assert contents(old) == before
    tagged = json.loads(called("tag", tmp_path / "new", "--text", NOISE, "-k", "2").stdout)
    assert {tag["label"] for tag in tagged["labels"]} == {"new", "label 00"}
    assert called("learn", old, more, "--out", tmp_path / "again", "-q").stderr == ""


def test_what_it_changes_is_measured(old, more, data, tmp_path):
    known = [json.loads(line) for line in (data / "test.jsonl").read_text().splitlines()]
    documents = [(row["text"], row["labels"]) for row in known] + [(NOISE, ["new"])] * 50
    test = rows(tmp_path / "test.jsonl", *documents)
    done = called("learn", old, more, "--out", tmp_path / "new", "--test", test)
    row = r"^(\S+) +(\S+ +\S+ +[+-]\S+) +(?:\S+ to \S+|–)$"
    found = dict(re.findall(row, done.stdout, re.MULTILINE))
    assert {"P@1", "nDCG@5", "PSP@3", "micro-F1"} <= found.keys()
    before, after, change = map(float, found["R@5"].split())
    assert after > before + 25
    assert change == pytest.approx(after - before, abs=0.011)
    own = Tagger.load(old).evaluate(test)
    assert f"{100 * own['R@5']:.2f}" == f"{before:.2f}"
    assert "before: 1 label (" in done.stdout
    assert "after: 1 label" not in done.stdout
    assert re.search(r"^the new tagger is better by \d\d\.\d points nDCG@5 ", done.stdout, re.M)
    assert "luck of training" not in done.stdout, "nothing was trained"
    assert done.stdout.count("precision, recall and F1 count labels with a probability") == 1
    assert "TEST" not in done.stdout


def test_documents_that_it_knows_and_a_test_that_it_learns_are_told(old, more, tmp_path):
    known = json.loads((old.parent / "train.jsonl").read_text().splitlines()[0])
    both = rows(tmp_path / "both.jsonl", (known["text"], known["labels"]), (NOISE, ["new"]))
    done = called("learn", old, both, "--out", tmp_path / "new")
    assert "1 of them begin as documents do that it remembers already" in done.stderr
    assert "remembers already" not in called("learn", old, more, "-o", tmp_path / "b").stderr
    learn = ("learn", old, both, "--out", tmp_path / "c", "-q", "--test")
    assert f"--test {both} is what it learns from" in called(*learn, both).stderr
    assert called(*learn, more, "--overwrite").stderr == ""


def test_the_input_options_are_those_of_the_others(old, tmp_path):
    table = tmp_path / "more.csv"
    table.write_text(f"body,subjects\n{NOISE},new|label 00\n")
    (tmp_path / "labels.tsv").write_text("new\tA new one\n")
    called(
        *("learn", old, table, "--out", tmp_path / "new", "--labels", tmp_path / "labels.tsv"),
        *("--text-field", "body", "--labels-field", "subjects", "--separator", "|"),
    )
    assert Tagger.load(tmp_path / "new").labels_.names[-1] == "A new one"


@pytest.mark.parametrize("way", ["same", "dot", "link", "inside", "above"])
def test_a_tagger_is_never_changed_in_place(old, more, way, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(old)
    out = {
        "same": old,
        "dot": old / ".." / "." / old.name,
        "link": link,
        "inside": old / "new",
        "above": old.parent,
    }[way]
    before = contents(old)
    said = fails("learn", old, more, "--out", out, "--overwrite")
    assert "choose a folder beside it" in said
    assert ("is" in said and "itself" in said) == (way in ("same", "dot", "link"))
    assert contents(old) == before
    if way == "link":
        assert "itself" in fails("learn", link, more, "--out", old, "--overwrite")


def test_refusals_come_before_the_work(old, more, data, tmp_path):
    bare = rows(tmp_path / "bare.jsonl", ("text", []))
    assert "none of the 1 documents has a label" in fails(
        "learn", old, bare, "--out", tmp_path / "new"
    )
    assert "there is no file" in fails("learn", old, tmp_path / "no.jsonl", "-o", tmp_path / "new")
    assert "there is no file" in fails(
        *("learn", old, more, "-o", tmp_path / "new", "--test", tmp_path / "no.jsonl")
    )
    assert not (tmp_path / "new").exists()
    called("train", data / "train.jsonl", "--model", "centroid", "-o", tmp_path / "c", "-q")
    said = fails("learn", tmp_path / "c", tmp_path / "no.jsonl", "--out", tmp_path / "new")
    assert "centroid keeps no documents" in said
    assert "exists already" in fails("learn", old, more, "--out", tmp_path / "c")
    called("learn", old, more, "--out", tmp_path / "c", "--overwrite", "-q")
    assert Tagger.load(tmp_path / "c").model_.name == "recalling"


def test_explanations_show_similar_documents(old, tmp_path):
    more = rows(
        tmp_path / "more.jsonl",
        *[(f"{NOISE} <i>&", ["new", *(f"of number {i:02d}" for i in range(20))])] * 3,
    )
    called("learn", old, more, "--out", tmp_path / "new", "-q")
    page = tmp_path / "why.html"
    done = called(*("explain", tmp_path / "new", "--text", NOISE, "--label", "new", "--html", page))
    assert re.search(r"^similarity +has it +document +labels *$", done.stdout, re.MULTILINE)
    assert re.search(rf"^1\.00 +yes +{NOISE} <i>& +new, .{{40,55}} … *$", done.stdout, re.MULTILINE)
    assert re.search(r"^0\.\d\d +no +\S.* label \d\d *$", done.stdout, re.MULTILINE)
    assert len(re.findall(r"^[01]\.\d\d +(yes|no) ", done.stdout, re.MULTILINE)) == 5
    assert "3 of the 10 most similar documents have it\n" in done.stdout
    written = page.read_text()
    assert "<caption>3 of the 10 most similar documents have it</caption>" in written
    assert (
        f'<th scope="row">1.00</th><td>yes</td><td>{NOISE} &lt;i&gt;&amp;</td>'
        "<td>new, of number 00, " in written
    )
    other = called_page(old, tmp_path, "centroid")
    assert re.findall("<caption>.*</caption>", other) == ["<caption>The heaviest words</caption>"]


def called_page(old, tmp_path, model):
    """Return the page of a model that remembers nothing."""
    source = old.parent / "train.jsonl"
    called("train", source, "--model", model, "--out", tmp_path / model, "-q")
    page = tmp_path / f"{model}.html"
    done = called("explain", tmp_path / model, "--text", "topic1a", "-k", "1", "--html", page)
    assert "similarity" not in done.stdout
    return page.read_text()
