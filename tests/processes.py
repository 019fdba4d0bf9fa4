"""Processes that tests look at from outside."""

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

PATIENCE = 120  # seconds after which a process hangs for good
needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks at processes in /proc"
)


def no_locks(self, file, **how):
    """In place of ``Posix.lock``: what a drive without locks says."""
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def gone(process):
    """Wait until a process that is not ours has ended."""
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def stopped(call, holding, number, code):
    """Send a signal to a command whose worker holds; return what it printed on both streams.

    The worker writes its number to the file ``holding``, and ends with the command.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "labelgrove", *call],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    ends = time.monotonic() + PATIENCE
    try:
        while not holding.exists() and process.poll() is None:
            assert time.monotonic() < ends
            time.sleep(0.01)
        process.send_signal(number)
        said, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == code, errors
    assert gone(int(holding.read_text())), "its process still works"
    return said, errors
