"""The folder of a cluster of this machine, and those that killed commands left."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from labelgrove.cluster.scratch import MARK, YOUNG, scratch_folder

HOLDER = """
from labelgrove.cluster.scratch import scratch_folder
with scratch_folder() as folder:
    print(folder, flush=True)
    input()
"""


@pytest.fixture
def temporary(monkeypatch):
    """A temporary folder with a short path, as that of a system."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        monkeypatch.setenv("TMPDIR", folder)
        yield folder


def made_long_ago(folder):
    old = time.time() - YOUNG - 1
    os.utime(Path(folder) / MARK, (old, old))


def test_only_what_a_dead_process_left_is_removed(temporary):
    command = [sys.executable, "-c", HOLDER]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **streams) as killed, subprocess.Popen(command, **streams) as at:
        left, held = (each.stdout.readline().strip() for each in (killed, at))
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        strange = tempfile.mkdtemp(prefix="lg-")  # another program's
        made_long_ago(held)
        with scratch_folder():
            assert Path(left).is_dir()  # it may have no lock yet
        made_long_ago(left)
        with scratch_folder() as own:
            there = {entry.path for entry in os.scandir(temporary)}
        assert there == {held, strange, str(own)}
        at.communicate("\n")
    assert [str(each) for each in Path(temporary).iterdir()] == [strange]
