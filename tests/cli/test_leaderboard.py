"""`labelgrove leaderboard` as a user calls it, also where it is stopped or killed."""

import csv
import json
import os
import re
import signal

import pytest

from command_line import called, fails
from labelgrove import Tagger
from labelgrove.cli.leaderboard import _entrants
from processes import gone, needs_proc, stopped

ENTRANTS = "knn,most-frequent,planted:x=3,planted:mood=dies,label-meaning"


@pytest.fixture(scope="module")
def board(planted_for_all, data, tmp_path_factory):
    """Three models that can be trained, with two seeds; one that dies, one without vectors."""
    out = tmp_path_factory.mktemp("board") / "out {ü}"
    said = called(
        "leaderboard", data / "train.jsonl", data / "test.jsonl", "--models", ENTRANTS, "--seeds",
        2, "--budget", "20m", "--out", out,
    )  # fmt: skip
    return out, said, json.loads((out / "leaderboard.json").read_text())


def test_every_model_has_a_row(board):
    _, said, record = board
    names = [each["name"] for each in record["systems"]]
    assert sorted(names) == ["knn", "most-frequent", "planted:x=3"]
    assert names[-1] == "most-frequent"
    missing = {each["name"]: each["why"] for each in record["absent"]}
    assert missing["planted:mood=dies"].startswith("its process was killed")
    assert "--encoder" in missing["label-meaning"]
    for name in [*names, *missing]:
        assert re.search(rf"^{re.escape(name)} ", said.stdout, re.M)
    assert "of the budget are left" in said.stderr
    assert record["machine"]["cores"] == os.cpu_count()


@pytest.mark.parametrize("seed", [0, 1])
def test_scores_are_those_that_train_and_evaluate_give(board, data, tmp_path, seed):
    _, _, record = board
    tagger, scored = tmp_path / "tagger", tmp_path / "scored.json"
    call = ["--model", "knn", "--seed", seed, "--quiet"]
    called("train", data / "train.jsonl", *call, "--out", tagger)
    called("evaluate", tagger, data / "test.jsonl", "--json", scored, "--quiet")
    expected = json.loads(scored.read_text())
    (knn,) = (each for each in record["systems"] if each["name"] == "knn")
    found = knn["trainings"][seed]
    assert found["seed"] == seed
    for metric, value in found["scores"].items():
        assert value == pytest.approx(expected["scores"][metric], abs=1e-9), metric
    assert found["size"] == pytest.approx(expected["size"], rel=0.01)
    assert found["threshold"] == pytest.approx(expected["threshold"]["value"])


def test_means_deviations_and_intervals_belong_together(board):
    _, _, record = board
    for each in record["systems"]:
        for metric, mean in each["scores"].items():
            own = [training["scores"][metric] for training in each["trainings"]]
            assert mean == pytest.approx(sum(own) / 2)
            assert each["deviations"][metric] == pytest.approx(abs(own[0] - own[1]) / 2**0.5)
            low, high = each["intervals"][metric]
            assert low <= mean <= high
    ranks = [each["average_rank"] for each in record["systems"]]
    assert sum(ranks) == pytest.approx(6)
    assert "behind_the_best" in record["systems"][-1]
    assert record["systems"][-1]["behind_the_best"]["nDCG@5"]["p"] < 0.05


def test_every_form_is_written(board):
    out, _, record = board
    rows = [*csv.DictReader((out / "leaderboard.csv").read_text().splitlines())]
    assert len(rows) == 6
    assert float(rows[0]["nDCG@5"]) == record["systems"][0]["trainings"][0]["scores"]["nDCG@5"]
    markdown = (out / "leaderboard.md").read_text()
    assert "| planted:x=3 |" in markdown
    page = (out / "leaderboard.html").read_text()
    assert page.count("<svg") == 7
    assert "average rank, 1 is the best" in page
    assert not (out / "taggers").exists()
    assert not [*out.glob("trainings/*/tagger")]


def test_the_latex_is_well_formed(board):
    lines = (board[0] / "leaderboard.tex").read_text().splitlines()
    code = [line for line in lines if line and not line.startswith("%")]
    opened = []
    for line in code:
        for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", line):
            opened.append(name) if kind == "begin" else opened.remove(name)
        assert line.count("{") == line.count("}")
        assert not re.search(r"(?<!\\)[&%#_^]", line.replace(" & ", " ")), line
        assert line.isascii(), line
    assert not opened
    rows = [line for line in code if line.endswith(r"\\")]
    (form,) = {line for line in code if line.startswith(r"\begin{tabular}{lrrrrrrrr}")}
    assert form
    assert [row.count(" & ") for row in rows[:4]] == [8] * 4
    assert any(r"\textbf{" in row for row in rows)


def test_nothing_finished_is_trained_again(board, data, planted_for_all):
    out, _, before = board
    notes = {path: path.stat().st_mtime_ns for path in out.glob("trainings/*/note.json")}
    call = ["leaderboard", data / "train.jsonl", data / "test.jsonl", "--out", out]
    call += ["--models", "knn,most-frequent,planted:x=3", "--budget", "20m"]
    assert "holds a leaderboard: go on with it (--resume)" in fails(*call)
    called(*call, "--seeds", 2, "--resume")
    assert {path: path.stat().st_mtime_ns for path in notes} == notes
    after = json.loads((out / "leaderboard.json").read_text())
    assert after["systems"] == before["systems"]
    assert after["absent"] == []
    assert "other documents" in fails(
        *("leaderboard", data / "test.jsonl", data / "train.jsonl"), *call[3:], "--resume"
    )
    assert "other validation" in fails(*call, "--resume", "--validation", 0.2)
    renamed = [*call[:-3], "knn", "--budget", "20m", "--set", "knn.neighbours=7", "--resume"]
    assert "knn with other settings" in fails(*renamed)


@pytest.fixture
def holding(planted, data, tmp_path):
    """The command of a leaderboard whose only model hangs in its second training."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "hold").write_text("4")  # the estimate fits twice, and so does the first training
    call = ["leaderboard", data / "train.jsonl", data / "test.jsonl", "--models"]
    call += [f"planted:notes={notes}", "--seeds", "2", "--budget", "20m"]
    return notes, [*map(str, call), "--out", str(tmp_path / "out")], tmp_path / "out"


@needs_proc
@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_leaderboard_that_is_stopped_goes_on(holding, number, code):
    notes, call, out = holding
    _, errors = stopped(call, notes / "holding", number, code)
    if number == signal.SIGINT:
        assert "stopped; what is finished is kept, and --resume goes on with it" in errors
    (system,) = json.loads((out / "leaderboard.json").read_text())["systems"]
    assert len(system["trainings"]) == 1
    first = out / "trainings"
    (first,) = first.glob("*/note.json")
    written = first.stat().st_mtime_ns
    (notes / "hold").unlink()
    called(*call, "--resume")
    (system,) = json.loads((out / "leaderboard.json").read_text())["systems"]
    assert [each["seed"] for each in system["trainings"]] == [0, 1]
    assert first.stat().st_mtime_ns == written


@needs_proc
def test_a_training_that_takes_too_long_is_a_row(holding):
    notes, call, out = holding
    said = called(*call, "--limit", "20s", "--keep-taggers").stdout
    told = "1 of 2 trainings: stopped after 20 s, the limit of one training (--limit)"
    assert told in said
    held = notes / "holding"  # a busy machine may not have come so far
    assert not held.exists() or gone(int(held.read_text())), "its process still works"
    record = json.loads((out / "leaderboard.json").read_text())
    assert [each["status"] for each in record["absent"]] == ["fewer"]
    (kept,) = (out / "taggers").iterdir()
    assert Tagger.load(kept).model_.name == "planted"
    assert len(record["systems"][0]["trainings"]) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--models", "bonzai"], "did you mean 'bonsai'"),
        (["--models", "knn:neighbors=3"], "unknown setting of 'knn' 'neighbors'"),
        (["--models", "knn,knn"], "'knn' is named twice"),
        (["--models", ","], "there is no model to train"),
        (["--budget", "2 hours"], "--budget takes a time such as 2h, 90m, 1h30m or 45s"),
        (["--budget", "0h"], "--budget takes a time"),
        (["--limit", "soon"], "--limit takes a time"),
        (["--set", "cost=2"], "--set takes MODEL.KEY=VALUE"),
        (["--models", "knn", "--set", "bonsai.cost=2"], "bonsai is not among the models"),
        (["--models", "knn", "--set", "*.nosuch=2"], "none of the models has such a setting"),
        (["--validation", "0"], "validation must be above 0"),
        (["--papers", "bert"], "unknown paper 'bert'"),
    ],
)
def test_wrong_calls_are_one_line(data, tmp_path, options, message):
    call = ["leaderboard", data / "train.jsonl", data / "test.jsonl", "--out", tmp_path / "out"]
    assert message in fails(*call, *options)
    assert not [*tmp_path.iterdir()], "nothing is left behind"


def test_files_that_cannot_be_compared_on_are_refused(data, tmp_path):
    call = ["--models", "knn", "--out", tmp_path / "out"]
    train, test = data / "train.jsonl", data / "test.jsonl"
    assert "holds the same documents" in fails("leaderboard", train, train, *call)
    copies, bare = tmp_path / "copies.jsonl", tmp_path / "bare.jsonl"
    copies.write_text("".join(train.read_text().splitlines(keepends=True)[:50]))
    assert "are in" in fails("leaderboard", train, copies, *call)
    rows = [json.loads(line) | {"labels": []} for line in test.read_text().splitlines()]
    bare.write_text("\n".join(map(json.dumps, rows)))
    assert "no test document has a label" in fails("leaderboard", train, bare, *call)
    assert "give documents to train on" in fails("leaderboard", train, *call)
    assert not (tmp_path / "out").exists()


def test_copies_and_unknown_labels_are_told(data, tmp_path):
    train, test = data / "train.jsonl", tmp_path / "test.jsonl"
    lines = train.read_text().splitlines()[:5] + (data / "test.jsonl").read_text().splitlines()
    test.write_text("\n".join([*lines, json.dumps({"text": "new", "labels": ["unheard"]})]))
    call = ["--models", "most-frequent", "--seeds", 1, "--budget", "20m", "--out", tmp_path / "out"]
    said = called("leaderboard", train, test, *call).stderr
    assert "5 of the 106 test documents (4.7%) have a text of the training documents" in said
    assert "1 label of the test documents" in said


def test_without_time_for_a_model_it_says_what_would_help(data, tmp_path):
    call = ["leaderboard", data / "train.jsonl", data / "test.jsonl", "--models", "knn"]
    said = fails(*call, "--budget", "0.001s", "--out", tmp_path / "out")  # gone before it begins
    assert "no model was trained in 0.001 s" in said
    assert "--budget" in said


def test_papers_have_their_own_tables(board, data, planted_for_all):
    out, _, _ = board
    call = ["leaderboard", data / "train.jsonl", data / "test.jsonl", "--out", out, "--seeds", 2]
    call += ["--models", "knn,most-frequent,planted:x=3", "--budget", "20m"]
    call += ["--resume", "--papers", "laco,treaderxml"]
    said = called(*call, "--quiet").stdout
    assert "LACO, Table 2: Hamming loss, micro and macro averages" in said
    assert re.search(
        r"^AAPD \(published\) +SGM +0\.0251 +74\.6 +65\.9 +69\.9 +– +– +–$", said, re.M
    )
    assert "measured here)" not in said
    assert "no model of LACO, Table 2, has results here" in said
    assert "They are of other documents than those measured here" in said


def test_leaderboards_of_several_data_sets_are_joined(board, data, tmp_path):
    out, record = board[0], json.loads(json.dumps(board[2]))
    other, joined = tmp_path / "other", tmp_path / "joined"
    other.mkdir()
    record["data"]["test"]["checksum"] = "another"
    record["systems"] = record["systems"][:2]
    (other / "leaderboard.json").write_text(json.dumps(record))
    call = ["leaderboard", "--join", out, "--join", other, "--out", joined]
    said = called(*call).stdout
    names = [each["name"] for each in record["systems"]]
    (left_out,) = {"knn", "most-frequent", "planted:x=3"} - {*names}
    assert f"{left_out} has results on out {{ü}} only, so it is left out" in said
    assert "2 data sets are too few for a p-value" in said
    found = json.loads((joined / "leaderboard.json").read_text())
    assert found["standings"]["nDCG@5"]["average_ranks"] == {names[0]: 1.0, names[1]: 2.0}
    assert {path.name for path in joined.glob("leaderboard.*")} == {
        "leaderboard.json", "leaderboard.md", "leaderboard.tex", "leaderboard.html",
    }  # fmt: skip
    assert "exists already" in fails(*call)
    called(*call, "--overwrite")
    assert "takes two leaderboards" in fails("leaderboard", "--join", out, "--out", tmp_path / "j")
    twice = ["leaderboard", "--join", out, "--join", out, "--out", tmp_path / "j"]
    assert "given twice" in fails(*twice)
    assert "holds no leaderboard" in fails(*call[:3], "--join", data, "--out", tmp_path / "j")
    assert "not both" in fails("leaderboard", data / "train.jsonl", *call[1:])


def test_settings_go_to_the_models_that_have_them():
    given = ["*.cost=1", "knn.text.min_df=2", "bonsai.beam=7"]
    bonsai, knn, chain = _entrants("bonsai:max_leaf=50,knn,classifier-chain:order=random", given)
    assert (bonsai.name, bonsai.model) == ("bonsai:max_leaf=50", "bonsai")
    assert bonsai.settings == {"max_leaf": 50, "cost": 1, "beam": 7}
    assert (knn.settings, knn.features) == ({}, {"text": {"min_df": 2}})
    assert chain.settings == {"order": "random", "cost": 1}
    (recipe,) = _entrants("eur-lex/attentionxml", [])
    assert recipe.model == "attentionxml"
    assert recipe.settings["units"] == 256
