"""The machine that figures come from, told with nothing but the standard library."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path


def machine(versions: dict[str, str]) -> str:
    """Return processor, memory, system and versions as one sentence."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(x.partition(":")[2].strip() for x in lines if x.startswith("model name"))
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (OSError, StopIteration, ValueError):
        processor, memory = platform.processor() or platform.machine(), 0.0
    told = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    return (
        f"{processor}, {os.cpu_count()} cores, {memory:.0f} GiB; {platform.system()}, Python "
        f"{platform.python_version()}; {told}."
    )


def installed(*packages: str) -> dict[str, str]:
    """Return the versions of packages in this environment."""
    return {name: metadata.version(name) for name in packages}
