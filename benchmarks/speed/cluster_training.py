"""Linear training on two real Ray nodes: the same model as on one machine, also after kills.

    python benchmarks/speed/cluster_training.py --data DIR --work DIR [--documents N] [--kills N]

DIR of --data holds finna/train.jsonl.xz. Two nodes with one CPU each run on the loopback of this
machine, with a token and a temporary folder of their own; what is ended are the processes that were
started here. Each kill is one training in which, at a random moment, a worker, the second node or
the driver is killed with SIGKILL; the driver is then run again with --resume. Every tagger is
compared with that of a training without a cluster, byte for byte. The table goes to
cluster_training.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
from machine import installed, machine

import labelgrove

HERE = Path(__file__).parent
SOURCE = Path(labelgrove.__file__).parents[1]
PORT = 9379  # below 10002, where the ports of workers begin
ADDRESS = f"127.0.0.1:{PORT}"
KINDS = ("worker", "node", "driver")
SETTINGS = ("--model=bonsai", "--threads=1", "--validation=0")
STORE = 500 * 2**20  # bytes of each node's object store
PATIENCE = 120  # seconds
TRAINS = "ray::_work"  # the title of a worker with a task; Ray's own agents begin with ray:: too
BEGINS = "growing label trees"  # what a training says then


trained: dict[str, float] = {}  # seconds of the classifiers alone


class Nodes:
    """Two nodes of one CPU each.

    Parameters
    ----------
    folder
        For Ray's files, with a short path: it holds sockets.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        own |= {"PYTHONPATH": str(SOURCE), "RAY_USAGE_STATS_ENABLED": "0"}
        self.environment = {**os.environ, **own}
        self._started: dict[str, psutil.Process] = {}

    def start(self, name: str) -> None:
        where = ["--head", f"--port={PORT}", "--include-dashboard=false"]
        if name == "first":
            where += [f"--temp-dir={self.folder}"]
        else:
            where = [f"--address={ADDRESS}"]
        log = (self.folder.parent / f"{self.folder.name}.{name}.log").open("ab")
        own = ["--num-cpus=1", f"--object-store-memory={STORE}", "--node-ip-address=127.0.0.1"]
        started = subprocess.Popen(
            [sys.executable, "-m", "ray.scripts.scripts", "start", *where, *own, "--block"],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        log.close()
        self._started[name] = psutil.Process(started.pid)
        ends = time.monotonic() + PATIENCE
        while not any(each.name() == "raylet" for each in self.processes(name)):
            if started.poll() is not None or time.monotonic() > ends:
                raise SystemExit(f"the {name} node did not start: see {log.name}")
            time.sleep(0.1)
        time.sleep(3)  # until it is registered

    def processes(self, name: str) -> list[psutil.Process]:
        """Return what was started for a node, the first one last."""
        top = self._started[name]
        try:
            return [*top.children(recursive=True), top]
        except psutil.NoSuchProcess:
            return []

    def workers(self) -> list[psutil.Process]:
        """Return the processes that train now."""
        found = []
        for name in self._started:
            for each in self.processes(name):
                with suppress(psutil.Error):
                    if " ".join(each.cmdline()).startswith(TRAINS):
                        found.append(each)
        return found

    def end(self, name: str) -> None:
        """Kill a node with all that it started."""
        for each in self.processes(name):
            with suppress(psutil.NoSuchProcess):
                each.kill()
        with suppress(psutil.NoSuchProcess):
            self._started[name].wait(PATIENCE)


def documents(data: Path, path: Path, n: int) -> None:
    with lzma.open(data / "finna" / "train.jsonl.xz", "rt", encoding="utf-8") as file:
        path.write_text("".join(islice(file, n)), encoding="utf-8")


def command(work: Path, name: str, *more: str) -> list[str]:
    call = ["train", str(work / "train.jsonl"), *SETTINGS, "--out", str(work / name), *more]
    return [sys.executable, "-m", "labelgrove", *call]


def train(work: Path, name: str, environment: dict[str, str], *more: str) -> float:
    """Train to the end; return the seconds."""
    began = time.perf_counter()
    done = subprocess.run(
        command(work, name, *more), env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr}")
    said = [line for line in done.stderr.splitlines() if line.startswith(("training", "the clus"))]
    print(name, *said, sep="\n  ", flush=True)
    trained[name] = float(said[-1].split()[-2].replace(",", ""))
    return time.perf_counter() - began


def differences(work: Path, one: str, other: str) -> list[str]:
    """Return the files in which two taggers differ, but for the moment they were made."""

    def content(folder: Path) -> dict[str, Any]:
        found: dict[str, Any] = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }
        about = json.loads(found["manifest.json"])
        for changing in ("created", "checksum"):
            about.pop(changing, None)
        return found | {"manifest.json": about}

    a, b = content(work / one), content(work / other)
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))


def killed(work: Path, nodes: Nodes, kind: str, number: int, moment: float) -> str:
    """Kill something in a training; return what came of it."""
    name = f"kill-{number}"
    log = (work / f"{name}.log").open("w+")
    driver = subprocess.Popen(
        command(work, name, "--cluster", ADDRESS),
        env=nodes.environment,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
    )
    path, ends = Path(log.name), time.monotonic() + PATIENCE
    while BEGINS not in path.read_text() and driver.poll() is None and time.monotonic() < ends:
        time.sleep(0.02)
    time.sleep(moment)
    if kind == "worker":
        while not (victims := nodes.workers()) and driver.poll() is None:
            time.sleep(0.002)
        for victim in victims[:1]:
            with suppress(psutil.NoSuchProcess):
                victim.kill()
    if driver.poll() is not None:
        return f"{kind}: the training was over after {moment:.1f} s"
    if kind == "node":
        nodes.end("second")
        nodes.start("second")
    elif kind == "driver":
        driver.send_signal(signal.SIGKILL)
    code = driver.wait()
    log.close()
    went_on = "went on"
    if code:
        went_on = "resumed"
        if kind != "driver":
            went_on = f"the driver ended too ({path.read_text().splitlines()[-1]:.80}), resumed"
        train(work, name, nodes.environment, "--cluster", ADDRESS, "--resume")
    different = differences(work, "alone", name)
    shutil.rmtree(work / name)
    found = f"DIFFERENT: {different}" if different else "the same model"
    return f"{kind} killed after {moment:.1f} s of the training: {went_on}, {found}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    work: Path = options.work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    documents(options.data, work / "train.jsonl", options.documents)
    here = {**os.environ, "PYTHONPATH": str(SOURCE)}
    rows = [("one machine, 1 thread", train(work, "alone", here), "")]
    folder = Path(tempfile.mkdtemp(prefix="lgb-", dir="/tmp"))
    nodes = Nodes(folder)
    try:
        nodes.start("first")
        for title, name in (("1 node of 1 CPU", "one"), ("2 nodes of 1 CPU", "two")):
            if name == "two":
                nodes.start("second")
            seconds = train(work, name, nodes.environment, "--cluster", ADDRESS)
            different = differences(work, "alone", name)
            rows.append((title, seconds, f"DIFFERENT: {different}" if different else "the same"))
        draw = random.Random(options.seed)
        told = []
        for number in range(options.kills):
            kind = KINDS[number % len(KINDS)]
            told.append(killed(work, nodes, kind, number, draw.uniform(0.1, 0.9) * trained["two"]))
            print(told[-1], flush=True)
    finally:
        for name in ("second", "first"):
            if name in nodes._started:
                nodes.end(name)
        shutil.rmtree(folder, ignore_errors=True)
    write(options.documents, rows, told)


def write(n: int, rows: list[tuple[str, float, str]], told: list[str]) -> None:
    table = [
        f"| {title} | {seconds:.1f} | {own:.1f} | {model} |"
        for (title, seconds, model), own in zip(rows, trained.values(), strict=False)
    ]
    lines = [
        "# Linear training on a cluster",
        machine(installed("labelgrove", "numpy", "numba", "ray")),
        "",
        f"`labelgrove train` of bonsai on {n:,} documents of finna, from start to end of the "
        "command; both nodes and the driver share the cores of this machine, whose load was "
        f"{os.getloadavg()[2]:.1f} meanwhile.",
        "",
        "| | seconds | of them training | model |",
        "|---|---|---|---|",
        *table,
        "",
        f"{len(told)} kills, a training each:",
        "",
        *(f"- {line}" for line in told),
    ]
    (HERE / "cluster_training.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(*lines, sep="\n")


if __name__ == "__main__":
    main()
