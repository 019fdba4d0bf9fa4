"""How much memory this process has held at most, where the system tells it."""

from __future__ import annotations

import re
from pathlib import Path

_STATUS = Path("/proc/self/status")
_PEAK = Path("/proc/self/clear_refs")


def reset_peak_memory() -> bool:
    """Let `peak_memory` count from now on; tell whether it can. Only Linux does."""
    try:
        _PEAK.write_text("5", "ascii")
    except OSError:
        return False
    return True


def peak_memory() -> int | None:
    """Return the most memory, in bytes, that was held since `reset_peak_memory`, or ever."""
    try:
        match = re.search(r"^VmHWM:\s*(\d+) kB$", _STATUS.read_text("ascii"), re.MULTILINE)
    except OSError:
        return None
    return int(match[1]) * 1024 if match else None
