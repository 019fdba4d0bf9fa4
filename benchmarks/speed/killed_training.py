"""Trainings on a cluster in which something is killed, and what that costs."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from ray_nodes import RayNodes

KINDS = ("worker", "node", "driver")
PATIENCE = 600  # seconds
TRIES = 5  # moments of a kill, of which some fall behind the end of the training
# the command, with a line of progress at every step instead of every ten seconds
COMMAND = [
    sys.executable,
    "-c",
    "import sys; from labelgrove.core.progress import Lines; "
    "Lines.__init__.__defaults__ = (None, 0.0); from labelgrove.cli import main; sys.exit(main())",
]


@dataclass(frozen=True)
class Training:
    """A training by the command line.

    Parameters
    ----------
    work
        Where taggers go.
    options
        The file to learn from, and settings.
    title
        How its lines of progress begin, and the one that ends it.
    worker
        How the titles of processes begin that do its work.
    has_checkpoints
        Whether it goes on from a checkpoint instead of from finished tasks.
    """

    work: Path
    options: tuple[str, ...]
    title: str
    worker: str
    has_checkpoints: bool = False

    def command(self, name: str, *more: str) -> list[str]:
        return [*COMMAND, "train", *self.options, "--out", str(self.work / name), *more]

    def run(self, name: str, environment: dict[str, str], *more: str) -> Timed:
        """Train to the end."""
        began = time.perf_counter()
        done = subprocess.run(
            self.command(name, *more), env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{name}: {done.stderr[-3000:]}")
        log = self.work / f"{name}.log"
        with log.open("a", encoding="utf-8") as file:
            file.write(done.stderr)
        spent = re.findall(rf"^{self.title}: ([\d,]+) [a-z ]+ in ([\d.]+) s", done.stderr, re.M)
        count, seconds = spent[-1]
        return Timed(time.perf_counter() - began, float(seconds), _number(count))


@dataclass(frozen=True)
class Timed:
    """Seconds of a whole command and of its training alone, which did some units of work."""

    command: float
    training: float
    units: int


@dataclass(frozen=True)
class Kill:
    """What came of a kill.

    Parameters
    ----------
    kind
        What was killed.
    moment
        Seconds after the training had begun.
    went_on
        What went on, and how.
    different
        Files of the tagger that are not those of the undisturbed run.
    again
        Units of work that were done and had to be done again, if that is known.
    since
        Seconds since the last checkpoint, of networks.
    longer
        Seconds that the command, with its resumption, took longer than the undisturbed one.
    """

    kind: str
    moment: float
    went_on: str
    different: list[str]
    again: int | None
    since: float | None
    longer: float


class Watched:
    """A command that runs, and the lines that it has said."""

    def __init__(self, training: Training, name: str, nodes: RayNodes) -> None:
        self._title, self.log = training.title, training.work / f"{name}.log"
        with self.log.open("wb") as log:
            self.driver = subprocess.Popen(
                training.command(name, "--cluster", nodes.address),
                env=nodes.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def wait_for_work(self) -> None:
        """Wait until the training shows its first progress."""
        ends = time.monotonic() + PATIENCE
        while not self.units() and self.runs() and time.monotonic() < ends:
            time.sleep(0.02)

    def runs(self) -> bool:
        return self.driver.poll() is None

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def units(self) -> int:
        """Return how many documents, or groups of labels, were learned, 0 before and after."""
        lines = self.log.read_text(errors="replace").splitlines()
        found = re.match(rf"{self._title}: ([\d,]+) [a-z ]+ of ", lines[-1]) if lines else None
        return _number(found[1]) if found else 0


def kill_once(
    training: Training,
    nodes: RayNodes,
    kind: str,
    number: int,
    draw: random.Random,
    calm: Timed,
) -> Kill:
    """Kill something at a random moment of a training, end it, and compare with ``calm``."""
    for _ in range(TRIES):
        moment = draw.uniform(0.05, 0.95) * calm.training
        if (kill := _kill_at(training, nodes, kind, f"kill-{number}", moment, calm)) is not None:
            return kill
    raise SystemExit(f"a {kind} was never met in {TRIES} trainings")


def _kill_at(
    training: Training, nodes: RayNodes, kind: str, name: str, moment: float, calm: Timed
) -> Kill | None:
    began = time.perf_counter()
    watched = Watched(training, name, nodes)
    watched.wait_for_work()
    time.sleep(moment)
    victims = []
    while kind == "worker" and not victims and watched.runs():
        victims = nodes.workers(training.worker)
    known, again, since = watched.units(), None, None
    if training.has_checkpoints:
        kept, since = _kept(training.work / f"{name}.run")
        again = known - kept
    if not known:  # the training was over
        if watched.driver.wait():
            raise SystemExit(f"{name}: {watched.said()[-3000:]}")
        shutil.rmtree(training.work / name)
        return None
    if kind == "worker":
        with suppress(psutil.NoSuchProcess):
            victims[-1].kill()
    elif kind == "node":
        nodes.replace_last()
    else:
        watched.driver.kill()
    went_on = "went on by itself"
    if watched.driver.wait():
        went_on = "resumed"
        if kind != "driver":
            last = watched.said().splitlines()[-1]
            went_on = f"the driver ended too ({last:.200}), resumed"
        rest = training.run(name, nodes.environment, "--cluster", nodes.address, "--resume")
        if again is None:
            again = known - (calm.units - rest.units)
    longer = time.perf_counter() - began - calm.command
    if steps := re.findall(r"^resuming after ([\d,]+) steps", watched.said(), re.M):
        went_on += f" from step {steps[-1]}"
    different = differences(training.work / "calm", training.work / name)
    shutil.rmtree(training.work / name)
    return Kill(kind, moment, went_on, different, again, since, longer)


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _kept(folder: Path) -> tuple[int, float | None]:
    """Return the documents behind the newest checkpoint, 0 without one, and its age in seconds."""
    for path in sorted(folder.glob("model/*/checkpoint-*/facts.json"), reverse=True):
        with suppress(OSError, ValueError):
            standing = json.loads(path.read_text())["standing"]
            return int(standing["documents"]), time.time() - path.stat().st_mtime
    return 0, None


def differences(one: Path, other: Path) -> list[str]:
    """Return the files in which two taggers differ, but for when they were made."""
    a, b = _content(one), _content(other)
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))


def _content(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    for name in found:
        if name.endswith(".json"):
            found[name] = _timeless(json.loads(found[name]))
    return found


def _timeless(value: Any) -> Any:
    """Return a value of JSON without times, sizes and checksums."""
    if isinstance(value, list):
        return [_timeless(each) for each in value]
    if isinstance(value, dict):
        # sizes and checksums are those of files that are compared themselves
        leave = ("created", "checksum", "seconds", "bytes", "sha256")
        return {key: _timeless(each) for key, each in value.items() if key not in leave}
    return value
