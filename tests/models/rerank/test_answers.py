import sqlite3
import stat
import subprocess
import sys

from labelgrove.models.rerank.answers import Answers, question_key

KEYS = [question_key("http://host/v1", {"number": n}) for n in range(600)]
WRITER = """
import sys
from pathlib import Path
from labelgrove.models.rerank.answers import Answers, question_key
kept = Answers(Path(sys.argv[1]))
for n in range(int(sys.argv[2]), 60, 2):
    kept.keep(question_key("http://host/v1", {"number": n}), str(n))
"""


def test_two_processes_keep_answers_at_once(tmp_path):
    calls = [[sys.executable, "-c", WRITER, str(tmp_path), str(first)] for first in (0, 1)]
    for process in [subprocess.Popen(call) for call in calls]:
        assert process.wait() == 0
    found = Answers(tmp_path).find(KEYS)
    assert found == {KEYS[n]: str(n) for n in range(60)}
    assert stat.S_IMODE((tmp_path / "answers.sqlite").stat().st_mode) == 0o600


def test_a_damaged_file_is_put_aside(tmp_path):
    kept = Answers(tmp_path)
    kept.path.write_bytes(b"no data base" * 100)
    assert kept.find(KEYS) == {}
    kept.keep(KEYS[0], "yes")
    assert kept.find(KEYS) == {KEYS[0]: "yes"}
    assert (tmp_path / "answers.damaged").exists()


def test_a_locked_file_or_a_folder_that_cannot_be_made_loses_no_tagging(tmp_path, monkeypatch):
    monkeypatch.setattr("labelgrove.models.rerank.answers.WAIT", 0.01)
    (tmp_path / "file").write_text("")
    nowhere = Answers(tmp_path / "file" / "below")
    nowhere.keep(KEYS[0], "yes")
    assert nowhere.find(KEYS) == {}
    kept = Answers(tmp_path)
    kept.keep(KEYS[0], "yes")
    with sqlite3.connect(kept.path) as other:
        other.execute("BEGIN EXCLUSIVE")
        kept.keep(KEYS[1], "no")
        assert kept.find(KEYS) == {}
    other.close()
    assert kept.find(KEYS) == {KEYS[0]: "yes"}


def test_the_folder_is_that_of_the_user_unless_it_is_given_or_switched_off(tmp_path, monkeypatch):
    monkeypatch.setenv("LABELGROVE_CACHE", str(tmp_path))
    assert Answers.of("").path == tmp_path / "answers.sqlite"
    assert Answers.of(str(tmp_path / "own")).path == tmp_path / "own" / "answers.sqlite"
    monkeypatch.setenv("LABELGROVE_CACHE", "off")
    assert Answers.of("") is None


def test_any_part_of_a_question_makes_another_key():
    body = {"model": "m", "temperature": 0}
    others = [("http://b/v1", body), ("http://a/v1", {**body, "model": "n"}),
              ("http://a/v1", {"model": "m"})]  # fmt: skip
    keys = {question_key(*each) for each in [("http://a/v1", body), *others]}
    assert len(keys) == 4
    assert question_key("u", {"a": 1, "b": 2}) == question_key("u", {"b": 2, "a": 1})
