"""What a server and all that it started take: processor time, memory, open files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil


class Tree:
    """A process with all that descend from it.

    Parameters
    ----------
    pid
        Of the process on top.
    """

    def __init__(self, pid: int) -> None:
        self.top = psutil.Process(pid)

    def each(self) -> list[psutil.Process]:
        """Return the process and its descendants, as they are now."""
        return [self.top, *self.top.children(recursive=True)]

    def seconds(self) -> float:
        """Return the processor time that those alive have taken."""
        spent = 0.0
        for process in self.each():
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            spent += times.user + times.system
        return spent

    def memory(self) -> list[dict[str, Any]]:
        """Return bytes of each process: resident, its share of them (PSS), its own alone (USS)."""
        found = []
        for process in self.each():
            try:
                with process.oneshot():
                    full = process.memory_full_info()
                    found.append(
                        {
                            "pid": process.pid,
                            "rss": full.rss,
                            "pss": full.pss,
                            "uss": full.uss,
                            "threads": process.num_threads(),
                            "files": process.num_fds(),
                        }
                    )
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    def mapped(self, folder: Path) -> dict[str, int]:
        """Return bytes of files in a folder that are mapped: summed over processes, and shared."""
        rss = pss = 0
        for process in self.each():
            for file in process.memory_maps(grouped=True):
                if Path(file.path).is_relative_to(folder):
                    rss, pss = rss + file.rss, pss + file.pss
        return {"rss": rss, "pss": pss}

    def total(self) -> dict[str, int]:
        """Return the sums of `memory`, and how many processes there are."""
        each = self.memory()
        keys = ("rss", "pss", "uss", "threads", "files")
        return {"processes": len(each), **{key: sum(one[key] for one in each) for key in keys}}


def busy_seconds() -> float:
    """Return the processor time that the whole machine has taken, stolen time included."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - times.iowait - times.guest - times.guest_nice)
