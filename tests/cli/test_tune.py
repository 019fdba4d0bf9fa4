"""`labelgrove tune` as a user calls it, also where it is stopped or killed."""

import json
import shlex
import shutil
import signal
import sys

import pytest

from command_line import called, fails
from labelgrove import Tagger
from labelgrove.cli.recipes import read_recipe, write_recipe
from labelgrove.core.errors import InputError
from processes import needs_proc, stopped


@pytest.fixture(scope="module")
def search(data, tmp_path_factory):
    """A search whose best is trained, and what it said."""
    out = tmp_path_factory.mktemp("tuned") / "found? {ü} #%41"
    said = called(
        "tune", data / "train.jsonl", "--model", "knn", "--trials", 3, "--range",
        "neighbours=3..20:log", "--set", "text.min_df=2", "--out", out, "--train", "--no-prune",
        "--json", data / "search.json",
    )  # fmt: skip
    return out, said


def trials(out):
    return [json.loads(line) for line in (out / "trials.jsonl").read_text().splitlines()]


def test_all_that_is_found_is_in_the_folder(search):
    out, said = search
    names = {path.name for path in out.iterdir()}
    assert names == {"study.sqlite3", "trials.jsonl", "recipe.toml", "report.html", "tagger"}
    assert [path.name for path in out.parent.iterdir()] == [out.name]
    first, *others = trials(out)
    assert first["default"]
    assert first["values"] == {"neighbours": 30, "power": 1.5}
    assert all(3 <= each["values"]["neighbours"] <= 20 for each in others)
    assert "3 trials: 3 finished, 0 given up early, 0 failed" in said.stdout
    assert "is optimistic: test on others" in said.stdout
    assert "trial 0 (1 of 3): nDCG@5 " in said.stderr
    assert "s left" in said.stderr


def test_a_record_for_machines(search, data, tmp_path):
    out, _ = search
    record = json.loads((data / "search.json").read_text())
    best = max(trials(out), key=lambda trial: trial["score"])
    assert record["best"] == {
        "trial": best["number"], "values": best["values"], "score": best["score"],
    }  # fmt: skip
    assert record["default"]["values"] == {"neighbours": 30, "power": 1.5}
    assert record["default"]["score"] == trials(out)[0]["score"]
    assert record["trials"] == {"finished": 3, "pruned": 0, "failed": 0}
    assert (record["model"], record["metric"], record["folder"]) == ("knn", "nDCG@5", str(out))
    assert record["seconds"] > 0
    call = ["tune", data / "train.jsonl", "--model", "knn", "--trials", 1, "--out", tmp_path / "t"]
    assert json.loads(called(*call, "--json", "-").stdout)["complete"]


def test_the_recipe_is_what_was_trained(search, data, tmp_path):
    out, _ = search
    recipe = read_recipe(str(out / "recipe.toml"))
    best = max(trials(out), key=lambda trial: trial["score"])
    assert recipe["settings"] == best["values"]
    assert recipe["features"] == {"text": {"min_df": 2}}
    assert recipe["about"]["selected"] == best["score"]
    called("train", data / "train.jsonl", "--recipe", out / "recipe.toml", "--out", tmp_path / "t")
    one, other = Tagger.load(tmp_path / "t"), Tagger.load(out / "tagger")
    assert one.model_.get_params() == other.model_.get_params()
    assert one.scores_ == other.scores_
    assert one.scores_["nDCG@5"] == best["score"], "the same documents judge"


def test_a_search_is_neither_lost_nor_continued_unasked(search, data, tmp_path):
    out = tmp_path / "found"
    shutil.copytree(search[0], out)
    call = ["tune", data / "train.jsonl", "--model", "knn", "--out", out, "--trials", 4]
    same = ["--range", "neighbours=3..20:log", "--set", "text.min_df=2", "--no-prune"]
    assert "--resume), begin anew (--overwrite)" in fails(*call)
    assert "its ranges was" in fails(*call, "--resume")
    called(*call, *same, "--resume", "--quiet")
    assert trials(out)[:3] == trials(search[0])
    assert len(trials(out)) == 4
    notes = out / "tagger" / "notes.txt"
    notes.write_text("mine")
    said = fails(*call[:-1], 1, "--range", "power=2", "--overwrite", "--quiet")
    assert "did not write: 'notes.txt'" in said
    assert notes.read_text() == "mine"
    assert len(trials(out)) == 4
    notes.unlink()
    done = called(*call[:-1], 1, "--range", "power=2", "--overwrite", "--quiet")
    assert done.stderr == ""
    assert [trial["values"] for trial in trials(out)] == [{"neighbours": 30}]
    assert not (out / "tagger").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--range", "beam"], "--range takes KEY=RANGE, got 'beam'"),
        (["--range", "beam=1.."], "'1..' is no range"),
        (["--range", "baem=1..5"], "did you mean 'beam'"),
        (["--range", "beam=0..5"], "range 0..5 of beam: beam must be"),
        (["--metric", "nDCG"], "unknown metric 'nDCG'"),
        (["--model", "most-frequent"], "nothing to search"),
        (["--valid", "x", "--validation", "0.2"], "either --valid or --validation"),
        (["--set", "cost"], "--set takes KEY=VALUE, got 'cost'"),
    ],
)
def test_wrong_calls_are_one_line(data, tmp_path, options, message):
    assert message in fails("tune", data / "train.jsonl", "--out", tmp_path / "out", *options)
    assert not [*tmp_path.iterdir()], "nothing is left behind"


def test_a_foreign_folder_is_left_alone(data, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for option in ("--resume", "--overwrite"):
        said = fails("tune", data / "train.jsonl", "--out", tmp_path, option)
        assert "'notes.txt' and no search" in said
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert "is a file" in fails("tune", data / "train.jsonl", "--out", tmp_path / "notes.txt")


def test_the_command_that_is_printed_trains_the_best_on_the_same_documents(data, tmp_path):
    lines = (data / "train.jsonl").read_text().replace('"text"', '"body"')
    (tmp_path / "train.txt").write_text(lines)
    said = called(
        "tune", tmp_path / "train.txt", "--model", "knn", "--trials", 1, "--no-prune", "--out",
        tmp_path / "out", "--validation", "0.3", "--format", "jsonl", "--text-field", "body",
        "--skip-bad", "--seed", 3,
    ).stdout.splitlines()[-1]  # fmt: skip
    program, *command = shlex.split(said.removeprefix("train it by: "))
    assert program == "labelgrove"
    called(*command[:-1], tmp_path / "tagger", "--quiet")
    assert Tagger.load(tmp_path / "tagger").scores_ == trials(tmp_path / "out")[0]["scores"]


def test_without_matplotlib_only_the_report_is_missing(data, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    out = tmp_path / "out"
    done = called("tune", data / "train.jsonl", "--model", "knn", "--trials", 1, "--out", out)
    assert "no report: a report with figures needs matplotlib" in done.stderr
    assert "labelgrove[report]" in done.stderr
    assert (out / "recipe.toml").exists()
    assert not (out / "report.html").exists()


def test_recipes_are_read_as_they_are_written(tmp_path):
    recipe = {
        "model": "bonsai",
        "validation": 0.2,
        "settings": {"cost": 1e-05, "loss": 'a "quoted" ü 😀\n\x7f', "layers": [1, 2], "on": True},
        "features": {"text": {"ngrams": [1, 2]}, "near": {"min_df": 2}},
        "about": {"trials": 3},
    }
    (tmp_path / "recipe.toml").write_text(write_recipe(recipe), "utf-8")
    assert read_recipe(str(tmp_path / "recipe.toml")) == recipe
    with pytest.raises(InputError, match="no recipe 'nothing'"):
        read_recipe("nothing")


@needs_proc
@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_search_that_is_stopped_goes_on(planted, data, tmp_path, number, code):
    """It is stopped in its fourth trial; three are kept, the fourth is made again."""
    notes, out = tmp_path / "notes", tmp_path / "out"
    notes.mkdir()
    (notes / "hold").write_text("3")
    call = ["tune", str(data / "train.jsonl"), "--model", "planted", "--no-prune"]
    call += ["--set", f"notes={notes}", "--trials", "5", "--out", str(out)]
    said, errors = stopped(call, notes / "holding", number, code)
    if number == signal.SIGINT:
        assert "stopped after 3 trials, which are kept" in errors
        assert "--resume goes on" in errors
        assert "3 trials: 3 finished" in said
        assert len(trials(out)) == 3
    (notes / "hold").unlink()
    assert "holds a search: go on with it" in fails(*call)
    called(*call, "--resume")
    found = trials(out)
    assert [trial["number"] for trial in found] == [0, 1, 2, 4, 5], "one was lost"
    assert all(trial["state"] == "finished" for trial in found)
    assert len([*notes.glob("over-*")]) == 5
