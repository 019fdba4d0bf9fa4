"""Processes that tests look at from outside."""

import time
from pathlib import Path

import pytest

PATIENCE = 120  # seconds after which a process hangs for good
needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks at processes in /proc"
)


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
