"""A study that is killed between any two writes goes on as if it had not been."""

import shutil
import sqlite3
from contextlib import closing, contextmanager

import pytest

from labelgrove.core.progress import Silent
from labelgrove.tuning.folder import STUDY, workplace
from labelgrove.tuning.metric import Metric
from labelgrove.tuning.plan import Plan
from labelgrove.tuning.space import new_space
from labelgrove.tuning.study import opened


@pytest.fixture
def place(memory_folder):
    return memory_folder


def search(place, *, resume=False, overwrite=False):
    """Make two trials that cost nothing; return values, scores and which is the default."""
    space = new_space("knn", ranges={"neighbours": "2..90"})
    plan = Plan(space, Metric("P@1"), None, 2, False, 0, 1, Silent(), None)
    with (
        workplace(place, resume=resume, overwrite=overwrite) as (folder, work),
        opened(folder / STUDY, work, plan, facts={"seed": 0}, resume=resume) as study,
    ):
        while study.n_begun < plan.trials:
            number, values = study.ask()
            score = values["neighbours"] / 100 + values["power"] / 1000
            study.finish(number, scores={"P@1": score}, seconds=0.0)
        return [(trial.values, trial.score, trial.default) for trial in study.trials()]


@contextmanager
def copied(place, copies, monkeypatch):
    """Copy a folder before every statement that finds another study there than the one before."""
    connect, seen = sqlite3.connect, []

    def look(statement):
        study = place / STUDY
        state = study.read_bytes() if study.exists() else None
        if place.exists() and (not seen or state != seen[-1]):
            seen.append(state)
            shutil.copytree(place, copies / str(len(seen)))

    def watched(*arguments, **words):
        connection = connect(*arguments, **words)
        connection.set_trace_callback(look)
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", watched)
        yield


def test_killed_between_any_two_writes_a_search_goes_on_to_the_same_trials(place, monkeypatch):
    whole = search(place / "whole")
    assert [default for *_, default in whole] == [True, False]
    with copied(place / "watched", place / "copies", monkeypatch):
        assert search(place / "watched") == whole
    copies = [*(place / "copies").iterdir()]
    assert len(copies) > 10
    for copy in copies:
        assert search(copy, resume=True) == whole, copy
        assert [path.name for path in copy.iterdir()] == [STUDY], "nothing else is left"


@pytest.mark.parametrize("how", [{"resume": True}, {"overwrite": True}, {}])
@pytest.mark.parametrize("tables", [[], ["studies"], ["studies", "trials"]])
def test_a_study_that_was_not_whole_yet_is_in_nobodys_way(place, how, tables):
    with closing(sqlite3.connect(place / STUDY)) as file:  # as a kill left it in earlier versions
        for table in tables:
            file.execute(f"CREATE TABLE {table} (study_name)")
        file.commit()
    (place / f"{STUDY}-journal").touch()
    assert len(search(place, **how)) == 2
    assert [path.name for path in place.iterdir()] == [STUDY]


def test_a_new_search_takes_the_place_of_the_old_one_at_once(place, monkeypatch):
    whole = search(place / "search")
    (place / "search" / "trials.jsonl").write_text("old")
    with copied(place / "search", place / "copies", monkeypatch):
        search(place / "search", overwrite=True)
    first, second, *_, last = sorted((place / "copies").iterdir(), key=lambda path: int(path.name))
    for copy in (first, second, last):  # the old one, the new one without trials, and with them
        assert search(copy, resume=True) == whole


def test_what_a_killed_search_left_is_removed(place):
    search(place)
    for name in (".work-abc/features", ".work-def"):
        (place / name).mkdir(parents=True)
    (place / ".trials.jsonl-12.part").write_text("half")
    search(place, resume=True)
    assert [path.name for path in place.iterdir()] == [STUDY]
