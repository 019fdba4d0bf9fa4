"""Trials: what is said of a new tagger before it is served."""

import asyncio
import io
import json
import os

import pytest

from labelgrove.core.errors import InputError, StorageError
from labelgrove.service import trial
from labelgrove.service.metrics import FOLDER
from labelgrove.service.settings import Settings
from labelgrove.service.trial import _problem, try_out
from processes import PATIENCE
from services import made


@pytest.mark.parametrize(
    ("said", "code", "problem"),
    [
        (b'{"problem": ""}\n', 0, ""),
        (b'a library says\n{"problem": "it is damaged"}\n', 0, "it is damaged"),
        (b'{"problem": ""}\n', -11, "the process that tried it was ended by SIGSEGV"),
        (b"", 0, "the process that tried it ended with code 0 and said nothing"),
        (b"", 1, "the process that tried it ended with code 1 and said nothing"),
        (b"nothing\n", 3, "the process that tried it ended with code 3 and said nothing"),
        (b"[]\n", 3, "the process that tried it ended with code 3 and said nothing"),
    ],
)
def test_what_is_wrong_is_what_was_said_last(said, code, problem):
    assert _problem(said, code) == problem


def test_a_good_tagger_passes_and_a_damaged_one_is_named_by_its_folder(tmp_path, capfd):
    snapshot = tmp_path / "snapshot"
    made(snapshot, "most-frequent")
    settings = Settings((), (), keys=("a-key-of-more-than-sixteen-letters",))
    asyncio.run(try_out("own", "models/own", str(snapshot), settings))
    file = max(snapshot.rglob("*.npy"), key=lambda each: each.stat().st_size)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(StorageError, match=r"models/own") as refused:
        asyncio.run(try_out("own", "models/own", str(snapshot), settings))
    assert str(snapshot) not in str(refused.value)
    assert "Traceback" not in capfd.readouterr().err


def said_by(monkeypatch, command, **settings):
    """Return why a trial failed that runs another command instead."""
    monkeypatch.setattr(trial, "COMMAND", f"import json, os, sys, time\n{command}")
    given = Settings((), ("f",), **{"loading": 60.0} | settings)
    with pytest.raises(StorageError) as refused:
        asyncio.run(asyncio.wait_for(try_out("own", "models/own", "snapshot", given), PATIENCE))
    return str(refused.value)


def test_a_trial_has_its_own_session_and_no_secrets(monkeypatch):
    monkeypatch.setenv(FOLDER, "/nowhere")
    monkeypatch.setenv("PASSED_ON", "yes")
    command = f"""
told = json.load(sys.stdin)
facts = [os.getsid(0) == os.getpid(), {FOLDER!r} in os.environ, os.environ["PASSED_ON"]]
facts += [told[each] for each in ("keys", "taggers", "feedback", "batch")]
print(json.dumps({{"problem": json.dumps(facts)}}))"""
    said = said_by(monkeypatch, command, keys=("secret",), batch=3)
    expected = [True, False, "yes", [], [["own", "snapshot"]], [None], 3]
    assert json.loads(said.replace("models/own", "snapshot")) == expected


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("os.kill(os.getpid(), 11)", "was ended by SIGSEGV"),
        ("", "ended with code 0 and said nothing"),
        ("sys.exit(3)", "ended with code 3 and said nothing"),
    ],
)
def test_how_a_trial_ended_is_told(monkeypatch, command, problem):
    assert said_by(monkeypatch, command) == f"the process that tried it {problem}"


def test_a_trial_that_takes_too_long_is_ended(monkeypatch, tmp_path):
    file = tmp_path / "process"
    command = f"open({str(file)!r}, 'w').write(str(os.getpid()))\ntime.sleep(3600)"
    said = said_by(monkeypatch, command, loading=1.5)
    assert said.startswith("models/own was not loaded after 1.5 s, so it was given up; ")
    if file.exists():  # else it was ended before it began
        with pytest.raises(ProcessLookupError):
            os.kill(int(file.read_text()), 0)


class Tried:
    """Stands for a loaded tagger with so many labels; ``error`` is what it fails with."""

    def __init__(self, n, error=None):
        self.names, self.error, self.asked = [f"label {i}" for i in range(n)], error, []
        self.labels = self.tagger = self

    def tag(self, texts, k):
        self.asked.append((texts, k))
        if self.error:
            raise self.error


def in_trial(monkeypatch, capsys, tried, loading=7.2):
    """Return what a trial says, and after how many seconds it would end by itself."""
    alarms = []
    settings = Settings((("own", "place"),), (None,), loading=loading)
    monkeypatch.setattr(trial.sys, "stdin", io.StringIO(settings.to_json()))
    monkeypatch.setattr(trial.signal, "alarm", alarms.append)
    monkeypatch.setattr(
        trial, "Served", lambda *given: tried if given[:2] == ("own", "place") else 0
    )
    trial.main()
    said = capsys.readouterr()
    return json.loads(said.out)["problem"], alarms, "Traceback" in said.err


def test_a_trial_asks_for_labels_from_all_of_the_list(monkeypatch, capsys):
    few, many = Tried(3), Tried(100)
    assert in_trial(monkeypatch, capsys, few) == ("", [8], False)
    assert few.asked == [(["label 0", "label 1", "label 2"], 5)]
    in_trial(monkeypatch, capsys, many)
    assert many.asked == [([f"label {i}" for i in range(0, 96, 6)], 5)]


@pytest.mark.parametrize(
    ("error", "said", "traced"),
    [(InputError("bad"), "bad", False), (ValueError("odd"), "ValueError: odd", True)],
)
def test_an_error_of_a_trial_is_told(monkeypatch, capsys, error, said, traced):
    assert in_trial(monkeypatch, capsys, Tried(3, error)) == (said, [8], traced)
