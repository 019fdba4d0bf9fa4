"""A saved tagger that learns anew from feedback, from the command line."""

import json
import re

import pytest

from command_line import called, fails
from labelgrove import Tagger
from labelgrove.corpus.corrected import held_out
from labelgrove.models.contract import NOISE, known_answer
from stand_ins import Demanding

pytestmark = pytest.mark.usefixtures("stand_ins_installed")
NEW = [(f"brandnew {NOISE} noise{i % 30} number{i}", ["new"]) for i in range(60)]


def rows(path, documents, **more):
    """Write documents as the service writes feedback."""
    facts = {"rejected": ["label 01"], "model": "m", "time": "2026-11-16T23:59:00+00:00"} | more
    lines = [json.dumps({"text": text, "labels": labels} | facts) for text, labels in documents]
    path.write_text("\n".join(lines) + "\n")
    return path


def documents(path):
    found = map(json.loads, path.read_text().splitlines())
    return [(row["text"], row["labels"]) for row in found]


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def train(data):
    return data / "train.jsonl"


@pytest.fixture
def old(train, tmp_path):
    """A tagger whose feedback is of a label that it does not know."""
    called("train", train, "--model", "recalling", "--out", tmp_path / "old", "-q")
    rows(tmp_path / "old.feedback.jsonl", NEW)
    return tmp_path / "old"


@pytest.fixture
def test(data, tmp_path):
    """Documents to score on, of which a third has the label that only feedback has."""
    others = [(f"brandnew noise1 other{i}", ["new"]) for i in range(50)]
    return rows(tmp_path / "test.jsonl", [*documents(data / "test.jsonl"), *others])


def table(printed):
    row = r"^(\S+) +(\S+) +(\S+) +([+-]\S+)(?: +\S+ to \S+| +–)? *$"
    found = re.findall(row, printed, re.MULTILINE)
    return {name: tuple(map(float, values)) for name, *values in found}


def test_feedback_raises_the_score(old, train, test, tmp_path):
    before, said = contents(old), (tmp_path / "old.feedback.jsonl").read_bytes()
    done = called("retrain", old, train, "--out", tmp_path / "new", "--test", test)
    scores = table(done.stdout)
    assert f"recalling on {test}, %\n" in done.stdout
    was, now, change = scores["R@5"]
    assert was < 68 < 95 < now
    assert change == pytest.approx(now - was, abs=0.011)
    assert f"{100 * Tagger.load(old).evaluate(test)['R@5']:.2f}" == f"{was:.2f}"
    assert f"{100 * Tagger.load(tmp_path / 'new').evaluate(test)['R@5']:.2f}" == f"{now:.2f}"
    assert "before: 1 label (" in done.stdout
    assert "after: 1 label" not in done.stdout
    assert (
        f"learned from 60 documents of feedback: 0 corrected and 0 confirmed in {train}, 60 added\n"
        "1 new label, 13 labels together\n"
        f"saved to {tmp_path / 'new'}\n'labelgrove serve {tmp_path / 'new'}' serves it\n"
    ) in done.stdout
    assert "judged by" not in done.stdout
    assert "intervals cover the luck of the 150 test documents and that of training, by 4 more" in (
        done.stdout
    )
    assert re.search(r"^the new tagger is better by \d\d\.\d points nDCG@5 \(", done.stdout, re.M)
    assert contents(old) == before
    assert (tmp_path / "old.feedback.jsonl").read_bytes() == said
    assert Tagger.load(tmp_path / "new").labels_.n_documents == 260


def test_a_real_model_and_quiet(train, test, tmp_path):
    called("train", train, "--out", tmp_path / "old", "-q")
    rows(tmp_path / "said.jsonl", NEW)
    retrain = ("retrain", tmp_path / "old", train, "-o", tmp_path / "new", "--test", test, "-q")
    done = called(
        *retrain, "--feedback", tmp_path / "said.jsonl", "--threads", "1", "--refits", "0"
    )
    assert done.stderr == ""
    was, now, _ = table(done.stdout)["R@5"]
    assert now > was + 25
    assert Tagger.load(tmp_path / "new").model_.name == "grove"


def test_corrections_count_instead_and_the_later_one_at_that(tmp_path):
    texts, labels = known_answer(200)
    wrong = [["wrong" if x == "label 00" else x for x in some] for some in labels]
    train = rows(tmp_path / "train.jsonl", zip(texts, wrong, strict=True))
    called("train", train, "--model", "centroid", "--out", tmp_path / "old", "-q")
    judged = [i for i, some in enumerate(labels) if "label 00" in some]
    first = [(texts[i], ["label 00", "first"]) for i in judged]
    later = [(texts[i], labels[i]) for i in judged]
    sure = next((texts[i], labels[i]) for i in range(200) if i not in judged)
    rows(tmp_path / "old.feedback.jsonl", [*first, *later, sure])
    done = called("retrain", tmp_path / "old", train, "--out", tmp_path / "new")
    assert (
        f"learned from {len(judged) + 1} documents of feedback: {len(judged)} corrected and "
        f"1 confirmed in {train}, 0 added\n"
    ) in done.stdout
    assert "1 new label, 12 labels together" in done.stdout
    assert f"1 label of {tmp_path / 'old'} without a document now: wrong\n" in done.stdout
    assert f"was learned: 0 of its {len(judged) + 1} texts are new, too few" in done.stdout
    space = Tagger.load(tmp_path / "new").labels_
    known = dict(zip(space.ids, space.counts.tolist(), strict=False))
    assert known["label 00"] == len(judged)
    assert "first" not in space
    assert space.n_documents == 200
    assert space.index("wrong") >= space.n_labels, "a concept without documents"


def test_what_is_held_out_is_not_learned_and_judges(old, train, tmp_path):
    known = documents(train)[0]
    many = [(f"{text} again{i}", labels) for text, labels in NEW for i in range(3)]
    rows(tmp_path / "old.feedback.jsonl", [*many, known])
    held = held_out([text for text, _ in many], 0.2)
    n = len(held)
    assert n >= 20
    done = called("retrain", old, train, "--out", tmp_path / "new")
    assert f"recalling on {n} held-out documents of the feedback, %\n" in done.stdout
    assert f"judged by {n} of 181 documents of the feedback, which neither tagger" in done.stdout
    assert (
        f"learned from {181 - n} documents of feedback: 0 corrected and 1 confirmed" in done.stdout
    )
    new = Tagger.load(tmp_path / "new")
    assert new.labels_.n_documents == 380 - n
    remembered = set(new.model_.remembered())
    assert remembered.isdisjoint(held)
    assert remembered >= {text for text, _ in many} - held
    assert table(done.stdout)["P@1"][:2] == (0, 100)
    called("retrain", tmp_path / "new", train, "--out", tmp_path / "third", "--feedback",
           tmp_path / "old.feedback.jsonl")  # fmt: skip
    assert set(Tagger.load(tmp_path / "third").model_.remembered()) == remembered


@pytest.mark.parametrize("n", [1, 8])
def test_little_feedback_is_learned_wholly(old, train, tmp_path, n):
    few = [(f"brandnew {i}", ["new"]) for i in range(40)]
    few.sort(key=lambda row: not held_out([row[0]], 0.2))  # of which a fifth of more was held out
    rows(tmp_path / "old.feedback.jsonl", few[:n])
    done = called("retrain", old, train, "--out", tmp_path / "new")
    assert (
        f"all of the feedback was learned: {n} of its {n} text{'s are' if n > 1 else ' is'} new, "
        "too few to hold some out (a fifth of them must be 20 or more)\n"
        "whether the new tagger is better cannot be told: --test TEST"
    ) in done.stdout
    assert f"learned from {n} document{'s' * (n > 1)} of feedback: 0 corrected and " in done.stdout
    assert f"{n} added" in done.stdout
    assert Tagger.load(tmp_path / "new").labels_.n_documents == 200 + n
    assert table(done.stdout) == {}


def test_one_document_of_feedback_is_no_loss(data, train, test, tmp_path):
    """A model that is trained with luck: with one document more all trees are others."""
    called("train", train, "--model", "bonsai", "--out", tmp_path / "old", "-q")
    rows(tmp_path / "old.feedback.jsonl", [("noise1 noise2", ["label 03"])])
    call = ("retrain", tmp_path / "old", train, "--test", data / "test.jsonl", "--out")
    done = called(*call, tmp_path / "new")
    assert re.search("which may be luck$|are equal by", done.stdout.splitlines()[0])
    assert "by 4 more trainings with other seeds" in done.stdout
    assert "training with other seeds: 4 trainings in" in done.stderr
    done = called(*call, tmp_path / "other", "--refits", "0")
    assert "and not that of training; --refits 4 trains 4 times more with other" in done.stdout
    folders = [contents(tmp_path / name) for name in ("new", "other")]
    sizes = [{path.name: len(data) for path, data in folder.items()} for folder in folders]
    assert sizes[0] == sizes[1], "the tagger that is saved has the seed of the old one"
    assert Tagger.load(tmp_path / "new").seed == Tagger.load(tmp_path / "old").seed


def test_what_a_tagger_has_learned_does_not_judge_it(old, train, tmp_path):
    few, many = NEW[:40], [(f"{text} again{i}", labels) for text, labels in NEW for i in range(3)]
    rows(tmp_path / "old.feedback.jsonl", few)
    called("retrain", old, train, "--out", tmp_path / "new", "-q")
    rows(tmp_path / "new.feedback.jsonl", many)
    files = [f"--feedback={tmp_path / name}.feedback.jsonl" for name in ("old", "new")]
    done = called("retrain", tmp_path / "new", train, "--out", tmp_path / "third", *files, "-q")
    n = len(held_out([text for text, _ in many], 0.2))
    assert f"judged by {n} of 220 documents of the feedback, which neither tagger" in done.stdout
    assert set(Tagger.load(tmp_path / "third").model_.remembered()) >= {text for text, _ in few}


def test_a_served_tagger_is_renewed_in_its_place(old, train, test, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(old)
    before, said = contents(old), (tmp_path / "old.feedback.jsonl").read_bytes()
    retrain = ("retrain", link, train, "--test", test, "--out")
    assert "exists already" in fails(*retrain, old)
    assert contents(old) == before
    done = called(*retrain, old, "--overwrite", "--json", tmp_path / "result.json")
    assert "POST /v1/reload" in done.stdout
    assert "serves it" not in done.stdout
    assert "new" in Tagger.load(old).labels_
    assert (tmp_path / "old.feedback.jsonl").read_bytes() == said
    record = json.loads((tmp_path / "result.json").read_text())
    assert record["before"]["labels"] == 12
    assert record["after"]["labels"] == 13
    again = called(*retrain, old, "--overwrite").stdout
    assert table(again)["R@5"][2] == 0, "nothing was said since"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("link", "old", "old.feedback.jsonl", "result.json", "test.jsonl")
    ]


def test_the_result_for_a_program(old, train, test, tmp_path):
    call = ("retrain", old, train, "--out", tmp_path / "new", "--json", "-")
    record = json.loads(called(*call, "--test", test).stdout)
    assert record["folder"] == str(tmp_path / "new")
    assert record["documents"] == 260
    assert record["new_labels"] == ["new"]
    assert record["lost_labels"] == []
    assert record["feedback"] == {
        "files": [str(tmp_path / "old.feedback.jsonl")],
        "lines": 60,
        "torn": [],
        "documents": 60,
        "corrected": 0,
        "confirmed": 0,
        "added": 60,
        "without_labels": 0,
        "held_out": 0,
        "in_test": 0,
    }
    assert record["before"]["tagger"] == "old"
    assert record["after"]["tagger"] == "new"
    assert record["before"]["test"] == record["after"]["test"] == str(test)
    assert record["after"]["scores"]["R@5"] > record["before"]["scores"]["R@5"] + 0.25
    assert record["before"]["scores"].keys() == record["after"]["scores"].keys()
    change = record["change"]
    assert change["metrics"]["R@5"]["value"] == pytest.approx(
        record["after"]["scores"]["R@5"] - record["before"]["scores"]["R@5"]
    )
    assert change["refits"] == 4
    assert change["training_spread"]["nDCG@5"] >= 0
    assert change["verdict"].startswith("the new tagger is better by ")
    many = [(f"{text} again{i}", labels) for text, labels in NEW for i in range(3)]
    rows(tmp_path / "old.feedback.jsonl", many)
    record = json.loads(called(*call, "--overwrite", "--refits", "0").stdout)
    assert record["feedback"]["held_out"] == record["before"]["documents"] >= 20
    assert record["feedback"]["added"] == 180 - record["feedback"]["held_out"]
    assert record["change"]["refits"] == 0
    assert record["change"]["training_spread"] is None
    rows(tmp_path / "old.feedback.jsonl", documents(train)[:3])
    record = json.loads(called(*call, "--overwrite").stdout)
    assert record["before"] is record["after"] is record["change"] is None


def test_labels_that_were_all_wrong(old, train, tmp_path):
    rows(tmp_path / "old.feedback.jsonl", [*NEW, *((text, []) for text, _ in documents(train)[:3])])
    done = called("retrain", old, train, "--out", tmp_path / "new")
    assert "3 documents have no label: learned as without labels" in done.stderr
    assert "3 of them without a label: they count as having none of them" in done.stdout


def test_a_line_that_a_killed_server_left_is_left_out(old, train, tmp_path):
    file = tmp_path / "old.feedback.jsonl"
    whole = file.read_text()
    file.write_text(whole + '{"text": "brandnew", "lab')
    done = called("retrain", old, train, "--out", tmp_path / "new", "-q")
    assert done.stderr == f"{file}: the last line was not written to its end, and is left out\n"
    assert "learned from 60 documents of feedback" in done.stdout
    file.write_text('{"text": "brandnew", "lab\n' + whole)
    said = fails("retrain", old, train, "--out", tmp_path / "other")
    assert f"{file}, line 1: not JSON" in said
    assert not (tmp_path / "other").exists()


def test_several_files_and_reading_options(tmp_path, old, train):
    table_of = tmp_path / "train.csv"
    lines = [f"{text},{'|'.join(labels)}" for text, labels in documents(train)]
    table_of.write_text("\n".join(["body,subjects", *lines]) + "\n")
    rows(tmp_path / "more.jsonl", [(NEW[0][0], ["later"])])
    said = ("--feedback", tmp_path / "old.feedback.jsonl", "--feedback", tmp_path / "more.jsonl")
    fields = ("--text-field", "body", "--labels-field", "subjects", "--separator", "|")
    call = ("retrain", old, table_of, "--out", tmp_path / "new", *said, *fields)
    called(*call, "--test", table_of, "-q")
    space = Tagger.load(tmp_path / "new").labels_
    assert space.counts[space.index("later")] == 1
    assert space.counts[space.index("new")] == 59


def test_what_flatters_or_is_forgotten_is_told(old, train, test, data, tmp_path):
    call = ("retrain", old, train, "--out", tmp_path / "new", "-q", "--overwrite")
    assert f"--test {train} is what it learns from" in called(*call, "--test", train).stderr
    assert called(*call, "--test", test).stderr == ""
    both = rows(tmp_path / "both.jsonl", [*documents(test), *NEW[:7]])
    done = called(*call, "--test", both)
    assert f"the texts of 7 documents of {both} are in the feedback" in done.stderr
    few = rows(tmp_path / "few.jsonl", documents(train)[:100])
    done = called("retrain", old, few, "--out", tmp_path / "less", "-q")
    assert f"{old} has learned from 200 documents, and {few} and the feedback have 160" in (
        done.stderr
    )


def test_names_and_concepts_stay(train, tmp_path):
    names = [f"label {i:02d}\tName {i}\ttop" for i in range(12)]
    names += ["new\tQuite new\ttop", "top\tTop\t", "never\tNever used\ttop"]
    (tmp_path / "labels.tsv").write_text("\n".join(names) + "\n")
    called("train", train, "--model", "centroid", "--labels", tmp_path / "labels.tsv",
           "--validation", "0.3", "--seed", "5", "--out", tmp_path / "old", "-q")  # fmt: skip
    learned = next(
        text for text in map("brandnew {}".format, "abcdefg") if not held_out([text], 0.2)
    )
    rows(tmp_path / "old.feedback.jsonl", [*NEW, (learned, ["an id"])])
    called("retrain", tmp_path / "old", train, "--out", tmp_path / "new", "-q")
    new = Tagger.load(tmp_path / "new")
    space = new.labels_
    assert [space.names[space.index(x)] for x in ("new", "never")] == ["Quite new", "Never used"]
    assert [space.names[i] for i in space.path(space.index("new"))] == ["Top", "Quite new"]
    assert space.names[space.index("an id")] == "an id"
    assert (new.validation, new.seed, new.model_.seed) == (0.3, 5, 5)


def test_refusals_come_before_the_work(old, train, data, tmp_path):
    before = contents(old)
    call = ("retrain", old, train, "--out")
    assert "one lies in the other" in fails(*call, old / "new")
    assert "one lies in the other" in fails(*call, tmp_path, "--overwrite")
    assert "there is no file" in fails("retrain", old, tmp_path / "no.csv", "-o", tmp_path / "new")
    assert "there is no file" in fails(*call, tmp_path / "new", "--test", tmp_path / "no.jsonl")
    said = fails(*call, tmp_path / "new", "--feedback", tmp_path / "no.jsonl")
    assert f"there is no feedback in {tmp_path / 'no.jsonl'}" in said
    assert "--feedback" in said
    file = tmp_path / "old.feedback.jsonl"
    kept = file.read_text()
    assert "holds the feedback" in fails(*call, tmp_path / "new", "--json", file)
    assert file.read_text() == kept
    called("train", train, "--out", tmp_path / "other", "-q")
    called("combine", old, tmp_path / "other", "--out", tmp_path / "combined", "-q")
    said = fails("retrain", tmp_path / "combined", train, "--out", tmp_path / "new")
    assert "retrain each of them, then combine them anew" in said
    assert not (tmp_path / "new").exists()
    assert contents(old) == before


def test_a_failed_or_stopped_training_leaves_the_tagger_as_it_is(train, tmp_path):
    texts, labels = zip(*documents(train), strict=True)
    tagger = Tagger(Demanding()).fit(list(texts), list(labels))
    tagger.model_.stop_after = 2  # as if Ctrl-C was pressed, the next time
    tagger.save(tmp_path / "old")
    rows(tmp_path / "old.feedback.jsonl", NEW)
    before = contents(tmp_path / "old")
    retrain = ("retrain", tmp_path / "old", train, "--out", tmp_path / "old", "--overwrite")
    assert fails(*retrain, code=130) == "labelgrove: stopped"
    assert contents(tmp_path / "old") == before
    bad = tmp_path / "bad.jsonl"
    bad.write_text(train.read_text() + "nonsense\n")
    assert "line 201: not JSON" in fails(*retrain[:2], bad, *retrain[3:])
    assert contents(tmp_path / "old") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("bad.jsonl", "old", "old.feedback.jsonl")
    ]


def test_other_commands_read_feedback_as_it_is(train, tmp_path):
    file = rows(tmp_path / "near.feedback.jsonl", NEW)
    called("train", file, "--out", tmp_path / "of-feedback", "-q")
    assert Tagger.load(tmp_path / "of-feedback").labels_.ids == ["new"]
    called("train", train, "--model", "knn", "--out", tmp_path / "near", "-q")
    done = called("learn", tmp_path / "near", file, "--out", tmp_path / "nearer")
    assert "learned 60 documents, 1 new label" in done.stdout
