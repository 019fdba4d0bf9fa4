"""`labelgrove doctor` tells what is whole, damaged and left over, and repairs the last."""

import json
import shutil
import subprocess
import sys

import pytest

from command_line import called, fails, labelgrove
from labelgrove import Tagger
from labelgrove.core import replacing, storage

KILL = """
import os, sys
from pathlib import Path
from labelgrove import Tagger
from labelgrove.core import replacing, storage
folder, way = Path(sys.argv[1]), sys.argv[2]
if way == "aside":
    replacing.exchange = lambda *_: False
    rename = Path.rename
    def renamed(path, target):
        rename(path, target)
        if path == folder:
            os.kill(os.getpid(), 9)
    Path.rename = renamed
else:
    replacing.discard = lambda _: os.kill(os.getpid(), 9)
Tagger.load(folder).save(folder, overwrite=True)
"""


@pytest.fixture
def shelf(tmp_path):
    Tagger("most-frequent").fit(["apple", "bicycle"] * 10, [["x"], ["y"]] * 10).save(
        tmp_path / "one"
    )
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "manifest.json").write_text('{"name": "of another program"}')
    return tmp_path


def killed(folder, way):
    assert subprocess.run([sys.executable, "-c", KILL, folder, way], check=False).returncode == -9


def states(*arguments, check=0):
    done = called("doctor", *arguments, "--json", "-", check=check)
    return [(each["folder"], each["state"]) for each in json.loads(done.stdout)["folders"]]


def test_all_is_well(shelf):
    one, two = str(shelf / "one"), str(shelf / "two")
    assert states(shelf) == [(one, "whole"), (two, "whole")]
    assert states(shelf / "one") == [(one, "whole")]
    told = labelgrove("doctor", cwd=shelf).stdout
    assert f"whole: {one} (" in told
    assert "checksums fit" in told
    (shelf / "empty").mkdir()
    assert "no saved tagger" in called("doctor", shelf / "empty").stdout
    assert "no such folder" in fails("doctor", shelf / "none")


def test_trainings_that_did_not_end_are_listed(shelf):
    one, run = str(shelf / "one"), shelf / "three.run"
    (run / "model").mkdir(parents=True)  # somebody else's, without a lock
    (shelf / "one.run").mkdir()
    (shelf / "one.run" / "lock").touch()  # nothing is done
    assert states(shelf / "one") == [(one, "whole")]
    assert states(shelf) == [(one, "whole"), (str(shelf / "two"), "whole")]
    (run / "lock").touch()
    assert states(shelf)[2:] == states(shelf / "three") == [(str(run), "interrupted")]
    assert "--resume" in labelgrove("doctor", "three", cwd=shelf).stdout
    told = fails("evaluate", shelf / "three", "-")
    assert "three.run holds what is done" in told
    assert "--resume" in told
    with storage.locked(run):
        assert states(shelf / "three") == [(str(run), "in use")]


def test_damage_is_told(shelf):
    values = shelf / "one" / "calibration" / "values.json"
    values.write_bytes(values.read_bytes()[::-1])
    assert (str(shelf / "one"), "damaged") in states(shelf, check=1)
    assert (str(shelf / "one"), "whole") in states(shelf, "--sizes-only")
    (shelf / "two" / "notes.txt").write_text("mine")
    assert "'notes.txt'" in called("doctor", shelf / "two", check=1).stdout


def test_leftovers_are_listed_and_removed_when_asked(shelf):
    killed(shelf / "one", "after")
    (leftover,) = replacing.leftovers(shelf)
    assert (str(leftover.path), "left over") in states(shelf, check=1)
    assert states(shelf / "two") == [(str(shelf / "two"), "whole")]
    with leftover.held():
        assert (str(leftover.path), "in use") in states(shelf / "one", "--repair")
    (leftover.path / "notes.txt").write_text("mine")
    told = called("doctor", shelf, "--repair", check=1).stdout
    assert "'notes.txt'; look at it" in told
    (leftover.path / "notes.txt").unlink()
    assert (str(leftover.path), "removed") in states(shelf, "--repair")
    assert not leftover.path.exists()
    assert states(shelf) == [(str(shelf / n), "whole") for n in ("one", "two")]


def test_what_was_moved_aside_is_listed_and_brought_back_when_asked(shelf):
    killed(shelf / "one", "aside")
    assert not (shelf / "one").exists()
    assert "moved aside" in [state for _, state in states(shelf / "one", check=1)]
    repaired = states(shelf / "one", "--repair")
    assert (str(shelf / "one"), "brought back") in repaired
    assert (str(shelf / "one"), "whole") in repaired
    assert states(shelf) == [(str(shelf / n), "whole") for n in ("one", "two")]
