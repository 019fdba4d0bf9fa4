"""Searches with real processes: what they find, survive, share and give up."""

import json
import sqlite3
from contextlib import closing

import pytest

from labelgrove.core.errors import InputError, LabelgroveError, UnknownNameError
from labelgrove.core.progress import Lines
from labelgrove.core.storage import locked
from labelgrove.corpus import Corpus, read_corpus
from labelgrove.tuning import tune
from text_corpora import titled
from tuning_stand_ins import BEST


class Counted(Corpus):
    """A corpus that knows how often it was read."""

    def __init__(self, corpus):
        self.inner, self.readings = read_corpus(corpus), 0
        self.name = "counted"

    def __iter__(self):
        self.readings += 1
        return iter(self.inner)


def values(found):
    return [trial.values for trial in found.trials]


def test_a_planted_optimum_is_found_again_and_after_an_interruption(planted, corpus, tmp_path):
    whole = tune(*corpus, model="planted", trials=16, prune=False)
    assert whole.default.values == {"x": 0.0}
    assert abs(whole.best.values["x"] - BEST) < 1.5
    assert whole.best.score > whole.default.score
    assert whole.best.scores["nDCG@5"] == whole.best.score
    assert whole.tagger().model.x == whole.best.values["x"]
    # the first part alone, then the rest: the same search
    first = tune(*corpus, model="planted", trials=5, folder=tmp_path, prune=False)
    assert values(first) == values(whole)[:5]
    rest = tune(*corpus, model="planted", trials=8, folder=tmp_path, resume=True, prune=False)
    assert values(rest) == values(whole)[:8]
    assert [trial.score for trial in rest.trials] == [trial.score for trial in whole.trials[:8]]
    assert [path.name for path in tmp_path.iterdir()] == ["study.sqlite3"]
    with pytest.raises(InputError, match="holds a search: go on with it"):
        tune(*corpus, model="planted", folder=tmp_path)
    # it goes on with the same data and ranges only
    texts, labels = corpus
    for changed, words in (
        ({"ranges": {"x": "-5..5"}}, "its ranges was .*-10..10.* now it is .*-5..5"),
        ({"seed": 1}, "its (seed|documents|training|checksum)"),
        ({"metric": "P@1"}, "its metric was nDCG@5, now it is P@1"),
    ):
        with pytest.raises(InputError, match=f"cannot go on: {words}"):
            tune(
                texts, labels, **{"model": "planted", "folder": tmp_path, "resume": True, **changed}
            )


def test_a_folder_with_other_things_is_left_alone(corpus, tmp_path):
    mine = ("work", "tagger", "report.html", "study.sqlite3")
    for name in mine:
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "notes").write_text("mine")
    with closing(sqlite3.connect(tmp_path / "other")) as file:
        file.execute("CREATE TABLE studies (study_name)")
        file.execute("INSERT INTO studies VALUES ('mine')")
        file.commit()
    for study in ("study.sqlite3", "other"):  # a folder of that name, then somebody's own study
        if study == "other":
            (tmp_path / "study.sqlite3").rename(tmp_path / "moved")
            (tmp_path / study).rename(tmp_path / "study.sqlite3")
        before = sorted(tmp_path.rglob("*"))
        for words in ({}, {"resume": True}, {"overwrite": True}):
            with pytest.raises(InputError, match="and no search, so nothing is written"):
                tune(*corpus, model="knn", trials=1, folder=tmp_path, **words)
        assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_of_a_search_keeps_what_is_not_its_own(planted, corpus, tmp_path):
    tune(*corpus, model="planted", trials=1, folder=tmp_path, prune=False)
    (tmp_path / "work").mkdir()
    (tmp_path / "tagger").mkdir()
    begun = {"model": "planted", "trials": 1, "folder": tmp_path, "overwrite": True}
    for wrong in ({"model": "bonzai"}, {"metric": "F3"}, {"ranges": {"y": "1..2"}}):
        with pytest.raises(InputError):
            tune(*corpus, **{**begun, **wrong})
    with pytest.raises(InputError):  # also what only the documents tell
        tune([], [], **begun)
    assert {path.name for path in tmp_path.iterdir()} == {"study.sqlite3", "work", "tagger"}
    found = tune(*corpus, **begun, seed=1, prune=False)
    assert found.facts["seed"] == 1
    assert {path.name for path in tmp_path.iterdir()} == {"study.sqlite3", "work"}


def test_what_a_killed_search_left_is_in_nobodys_way(planted, corpus, tmp_path):
    (tmp_path / ".work-abc").mkdir()  # killed before its study was there
    found = tune(*corpus, model="planted", trials=1, folder=tmp_path, resume=True, prune=False)
    assert len(found.trials) == 1


def test_a_folder_is_searched_in_by_one_process_at_a_time(corpus, tmp_path):
    with locked(tmp_path / "found.run"), pytest.raises(InputError, match="another process works"):
        tune(*corpus, model="knn", trials=1, folder=tmp_path / "found")
    assert not [*tmp_path.iterdir()]


def test_trials_that_fail_do_not_end_the_search(planted, corpus):
    ranges = {"x": "1", "mood": "well,fails,memory,breaks,dies"}
    found = tune(*corpus, model="planted", trials=30, ranges=ranges, prune=False)
    told = {trial.values["mood"]: trial for trial in found.trials if trial.repeats is None}
    assert told.keys() == {"well", "fails", "memory", "breaks", "dies"}
    assert told["well"].state == "finished"
    assert {mood: trial.message for mood, trial in told.items() if trial.state == "failed"} == {
        "fails": "this mood never learns",
        "memory": "out of memory",
        "breaks": "ZeroDivisionError: a bug",
        "dies": "its process was killed: there may not be enough memory for it",
    }
    assert found.best.values["mood"] == "well"
    assert len(found.trials) < 30, "there are five settings only"


def test_if_all_fail_the_search_says_why(planted, corpus):
    with pytest.raises(LabelgroveError, match="all 2 trials failed; the first: this mood never"):
        tune(*corpus, model="planted", trials=2, settings={"mood": "fails"})


def test_two_jobs_are_two_processes_that_share_the_threads(planted, corpus, tmp_path):
    found = tune(
        *corpus, model="planted", trials=5, jobs=2, threads=2, settings={"notes": str(tmp_path)},
        prune=False,
    )  # fmt: skip
    notes = [path.read_text().split() for path in tmp_path.glob("over-*")]
    assert len(found.trials) == len(notes) == 5
    assert len({process for process, *_ in notes}) == 2
    assert {tuple(cores) for _, *cores in notes} == {("1", "1")}


def test_trials_behind_the_median_are_given_up(planted, corpus, capsys):
    found = tune(*corpus, model="planted", trials=12, progress=Lines())
    pruned = [trial for trial in found.trials if trial.state == "pruned"]
    done = [trial for trial in found.trials if trial.state == "finished"]
    assert len(pruned) + len(done) == 12
    assert pruned
    assert all(trial.score is None and trial.steps.keys() == {1} for trial in pruned)
    assert min(trial.number for trial in pruned) >= 4
    assert max(trial.steps[1] for trial in pruned) < max(trial.steps[1] for trial in done)
    said = capsys.readouterr().err
    assert f"trial {pruned[0].number} (" in said
    assert "given up early" in said


def test_the_corpus_is_read_once_for_the_same_features(planted, corpus):
    counted = Counted(corpus)
    tune(counted, model="planted", trials=4, prune=False)
    assert counted.readings == 2  # once to see how texts are best read, once for the features
    ranges = {"x": "1", "text.min_df": "1,3"}
    found = tune(counted, model="planted", trials=6, ranges=ranges, prune=False)
    assert {trial.values["text.min_df"] for trial in found.trials} == {1, 3}
    assert counted.readings == 5


def test_time_ends_a_search_and_what_is_under_way(planted, corpus, tmp_path):
    words = {"model": "planted", "settings": {"notes": str(tmp_path)}, "prune": False}
    folder = tmp_path / "search"
    tune(*corpus, **words, trials=2, folder=folder)
    (tmp_path / "hold").write_text("2")
    found = tune(*corpus, **words, trials=50, folder=folder, resume=True, seconds=2)
    assert found.complete
    assert len(found.trials) == 2


def test_documents_to_judge_by_can_be_given(planted, corpus):
    texts, labels = corpus
    found = tune(
        texts[:300], labels[:300], model="planted", validation=(texts[300:], labels[300:]),
        trials=1, metric="hamming-loss",
    )  # fmt: skip
    assert (found.facts["training documents"], found.facts["documents to judge by"]) == (300, 100)
    assert found.metric.less_is_better
    json.dumps([trial.record() for trial in found.trials])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"metric": "F3"}, UnknownNameError, "unknown metric 'F3'"),
        ({"trials": 0}, InputError, "trials must be a whole number from 1, got 0"),
        ({"jobs": 1.5}, InputError, "jobs must be a whole number from 1, got 1.5"),
        ({"seconds": 0}, InputError, "time must be a number of seconds above 0, got 0"),
        ({"validation": 0}, InputError, "validation must be above 0 and below 1, got 0"),
        ({"model": "bonzai"}, UnknownNameError, "did you mean 'bonsai'"),
        ({"ranges": {"cost": "0..2"}}, InputError, "range 0..2 of cost: cost must be a number"),
    ],
)
def test_wrong_calls_are_refused_before_texts_are_read(arguments, error, message):
    with pytest.raises(error, match=message):
        tune(Counted((["a"], [["b"]])), **arguments)


def test_without_the_extra_it_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(LabelgroveError, match=r"a search needs optuna.*labelgrove\[tune\]"):
        tune(["a"], [["b"]])


def test_texts_are_read_as_in_a_training():
    arguments = {"model": "one-vs-rest", "trials": 1, "ranges": {"text.fade_after": "5..50"}}
    found = tune(*titled(), **arguments, settings={"cost": 1.0, "epochs": 2})
    (chosen,) = found.space.features.values()
    assert chosen["first_line"] > 1
    assert "fade_after" not in chosen  # it is searched
    assert found.recipe()["features"]["text"]["first_line"] == chosen["first_line"]
    fixed = {"text": {"first_line": 1, "analyzer": "word"}}
    assert tune(*titled(), **arguments, features=fixed).space.features == fixed
