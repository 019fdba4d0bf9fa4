"""On what machine times were measured."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path
from typing import Any

from labelgrove._version import __version__


def machine() -> dict[str, Any]:
    """Return what times depend on, where the system tells it."""
    return {
        "processor": _line(Path("/proc/cpuinfo"), r"model name\s*:\s*(.+)") or platform.machine(),
        "cores": os.cpu_count(),
        "memory": int(_line(Path("/proc/meminfo"), r"MemTotal:\s*(\d+)") or 0) * 1024 or None,
        "system": platform.system(),
        "python": platform.python_version(),
        "labelgrove": __version__,
    }


def accelerator() -> str | None:
    """Return the name of the graphics processor that torch can use here, once it is imported."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    return str(torch.cuda.get_device_name())


def told(facts: dict[str, Any]) -> str:
    """Return the machine in a line.

    Examples
    --------
    >>> told({"processor": "X1", "cores": 2, "memory": 8_000_000_000, "system": "Linux"})
    'X1, 2 cores, 8.0 GB of memory, Linux'
    """
    memory = facts.get("memory")
    parts = [str(facts["processor"]), f"{facts['cores']} cores"]
    parts += [f"{memory / 1e9:.1f} GB of memory"] if memory else []
    return ", ".join([*parts, str(facts["system"])])


def _line(path: Path, pattern: str) -> str | None:
    try:
        found = re.search(pattern, path.read_text("utf-8", "replace"))
    except OSError:
        return None
    return found[1].strip() if found else None
