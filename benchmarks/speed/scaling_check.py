"""Commands on real Ray nodes of this machine, watched: what scaling.py compares its model with."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
from ray_nodes import RayNodes

COMMAND = [sys.executable, "-m", "labelgrove"]
LOOK = 0.2  # seconds between two looks at the processes
TRAINING = ("--model=bonsai", "--set=trees=1", "--set=cost=0.3", "--validation=0", "--threads=1")


def inputs(source: Path, folder: Path, documents: int, files: int) -> list[str]:
    """Return files that hold the documents of another one, again and again."""
    if not folder.exists():
        made = folder.with_name("making")
        made.mkdir(parents=True)
        lines = itertools.cycle(source.read_text("utf-8").splitlines(keepends=True))
        for number in range(files):
            some = itertools.islice(lines, documents // files)
            (made / f"{number:04}.jsonl").write_text("".join(some), "utf-8")
        made.rename(folder)
    return sorted(map(str, folder.iterdir()))


def watched(words: list[str], nodes: int) -> dict[str, Any]:
    """Run a command on a cluster of some nodes.

    Seconds of the wall clock, and of the processor: of the command, of the nodes' workers, of all
    other processes of the nodes, and of whatever else ran on the machine.
    """
    with RayNodes(nodes) as cluster:
        address = ["--cluster", cluster.address, "--quiet"]
        before, ray = cluster.seconds(), dict[tuple[int, float], float]()
        workers: dict[tuple[int, float], float] = {}
        busy, start = _busy(), time.perf_counter()
        driver = subprocess.Popen(
            [*words, *address], env=cluster.environment, stdout=subprocess.DEVNULL
        )
        while True:
            ended, status, used = os.wait4(driver.pid, os.WNOHANG)
            if ended:
                break
            ray |= cluster.seconds()
            workers |= _seconds(cluster.workers())
            time.sleep(LOOK)
        wall, busy = time.perf_counter() - start, _busy() - busy
    driver.returncode = os.waitstatus_to_exitcode(status)
    if driver.returncode:
        raise SystemExit(f"{' '.join(words[:4])} ended with {driver.returncode}")
    own, work = used.ru_utime + used.ru_stime, sum(workers.values())
    nodes_all = sum(spent - before.get(key, 0.0) for key, spent in ray.items())
    return {
        "wall": wall,
        "driver": own,
        "workers": work,
        "ray": max(nodes_all - work, 0.0),
        "others": max(busy - own - nodes_all, 0.0) / wall,
        "load": round(os.getloadavg()[0], 1),
    }


def _busy() -> float:
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - times.iowait - times.guest - times.guest_nice)


def _seconds(processes: list[psutil.Process]) -> dict[tuple[int, float], float]:
    found = {}
    for each in processes:
        try:
            spent = each.cpu_times()
            found[each.pid, each.create_time()] = float(spent.user + spent.system)
        except psutil.Error:
            continue
    return found


def tagging(tagger: Path, files: list[str], out: Path, nodes: int) -> dict[str, Any]:
    return watched([*COMMAND, "tag", str(tagger), *files, "--out", str(out)], nodes)


def training(file: Path, out: Path, nodes: int) -> dict[str, Any]:
    return watched([*COMMAND, "train", str(file), "--out", str(out), *TRAINING], nodes)
