"""Training on two real Ray nodes: what it takes, and the same model whatever is killed.

    python benchmarks/speed/cluster_training.py --data DIR --work DIR [--parts speed,kills,networks]

DIR of the data holds finna/train.jsonl.xz and debtags/train.jsonl.xz. The nodes are real ones
(`ray start`), on loopback, with one CPU each. A part is a function that returns lines of Markdown;
each replaces its own section of cluster_training.md, so parts can be run one by one. Each kill is
one training in which, at a random moment, a worker, the second node or the driver is killed with
SIGKILL; where the driver has ended it is run again with --resume. Taggers are compared byte for
byte, but for the times that they were made and took.
"""

from __future__ import annotations

import argparse
import lzma
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cluster_page import table, write_section
from killed_training import KINDS, Kill, Timed, Training, differences, kill_once
from ray_nodes import RayNodes

HERE = Path(__file__).parent
LINEAR = ("--model=bonsai", "--threads=1", "--validation=0")
MINUTES = 0.1  # between checkpoints of the network
NETWORK = (
    *("--model=xml-cnn", "--threads=1", "--device=cpu", "--set=epochs=6", "--set=batch=64"),
    f"--set=checkpoint_minutes={MINUTES}",
)
STORE = 500 * 2**20  # bytes of each node's object store


@dataclass(frozen=True)
class Setup:
    """What the parts share.

    Parameters
    ----------
    data, work
        The folder of the data sets, and one for what is made.
    documents, kills
        How many are learned from, and how many processes are killed; None for a number that suits
        the part.
    nodes
        Of the cluster on which networks learn.
    seed
        Of what is killed when.
    """

    data: Path
    work: Path
    documents: int | None
    kills: int | None
    nodes: int
    seed: int

    def source(self, name: str, n: int) -> str:
        """Return a file with the first documents of a data set; nothing else is left of before."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        path = self.work / "train.jsonl"
        with lzma.open(self.data / name / "train.jsonl.xz", "rt", encoding="utf-8") as file:
            path.write_text("".join(islice(file, n)), encoding="utf-8")
        return str(path)

    def linear(self) -> Training:
        source = self.source("finna", self.documents or 60_000)
        return Training(self.work, (source, *LINEAR), "training", "ray::_work")

    def network(self) -> Training:
        source = self.source("debtags", self.documents or 4_000)
        worker = "ray::RayTrainWorker"
        return Training(self.work, (source, *NETWORK), "training network 1", worker, True)


# --- parts --------------------------------------------------------------------------------------


def speed(setup: Setup) -> list[str]:
    """Time a training without Ray, on one node and on two; compare the models."""
    training = setup.linear()
    took = [("one machine, 1 thread", training.run("alone", dict(os.environ)), "")]
    for nodes, title in ((1, "1 node of 1 CPU"), (2, "2 nodes of 1 CPU")):
        with RayNodes(nodes, STORE) as cluster:
            timed = training.run(str(nodes), cluster.environment, "--cluster", cluster.address)
        different = differences(setup.work / "alone", setup.work / str(nodes))
        took.append((title, timed, f"DIFFERENT: {different}" if different else "the same"))
    rows = [
        [title, f"{timed.command:.1f}", f"{timed.training:.1f}", model]
        for title, timed, model in took
    ]
    return [
        f"`labelgrove train` of bonsai on {setup.documents or 60_000:,} documents of finna, from "
        "start to end of the command; both nodes and the driver share the cores of this machine, "
        f"whose load was {os.getloadavg()[2]:.1f} meanwhile.",
        "",
        *table(["", "seconds", "of them training", "model"], rows),
    ]


def kills(setup: Setup) -> list[str]:
    """Kill workers, nodes and drivers in linear training; compare with a run without Ray."""
    training = setup.linear()
    training.run("calm", dict(os.environ))
    calm, found = kill_all(setup, training, 2, setup.kills or 20, "undisturbed")
    different = differences(setup.work / "calm", setup.work / "undisturbed")
    return [
        f"bonsai on {setup.documents or 60_000:,} documents of finna on 2 nodes, a training for "
        f"each kill; undisturbed the command takes {calm.command:.0f} s, {calm.training:.0f} s of "
        f"them training {calm.units:,} groups of labels. Taggers are compared with one of a single "
        f"machine; that of the undisturbed cluster is {said_of(different)}.",
        "",
        *told(found, "groups of labels"),
    ]


def networks(setup: Setup) -> list[str]:
    """Kill workers, nodes and drivers while a network learns; compare with an undisturbed run."""
    training = setup.network()
    calm, found = kill_all(setup, training, setup.nodes, setup.kills or 6, "calm")
    ages = [kill.since for kill in found if kill.since is not None]
    return [
        f"xml-cnn on {setup.documents or 4_000:,} documents of debtags in {setup.nodes} "
        "processes, one on each node, 6 epochs, with a checkpoint after each epoch and every "
        f"{60 * MINUTES:.0f} s (`checkpoint_minutes={MINUTES}`; 10 minutes is the default); "
        "a training for each kill. "
        f"Undisturbed the command takes {calm.command:.0f} s, {calm.training:.0f} s of them "
        f"from the start of the processes, {calm.units:,} documents of all epochs. Taggers are "
        "compared with that of the undisturbed run. *Again*: what was learned between the last "
        f"checkpoint and the kill; the oldest checkpoint was {max(ages, default=0):.1f} s old.",
        "",
        *told(found, "documents"),
    ]


def kill_all(
    setup: Setup, training: Training, nodes: int, n: int, calm: str
) -> tuple[Timed, list[Kill]]:
    """Train once undisturbed, then with a kill each."""
    draw, found = random.Random(setup.seed), []
    kinds = [KINDS[number % len(KINDS)] for number in range(n)]
    draw.shuffle(kinds)
    with RayNodes(nodes, STORE) as cluster:
        undisturbed = training.run(calm, cluster.environment, "--cluster", cluster.address)
        print(undisturbed, flush=True)
        for number, kind in enumerate(kinds):
            found.append(kill_once(training, cluster, kind, number, draw, undisturbed))
            print(found[-1], flush=True)
    return undisturbed, found


def told(found: list[Kill], units: str) -> list[str]:
    """Return a table of kills, and what they come to."""
    head = ["killed", "after, s", "then", f"{units} again", "checkpoint's age, s", "longer by, s"]
    rows = [
        [
            kill.kind,
            f"{kill.moment:.1f}",
            kill.went_on,
            "" if kill.again is None else f"{kill.again:,}",
            "" if kill.since is None else f"{kill.since:.1f}",
            f"{kill.longer:.0f}",
            said_of(kill.different),
        ]
        for kill in found
    ]
    bad = sum(bool(kill.different) for kill in found)
    return [*table([*head, "tagger"], rows), f"{len(found)} kills, {bad} other taggers.", ""]


def said_of(different: list[str]) -> str:
    return f"DIFFERENT: {', '.join(different)}" if different else "the same"


PARTS: dict[str, tuple[str, Callable[[Setup], list[str]]]] = {
    "speed": ("Linear training: speed", speed),
    "kills": ("Linear training: kills", kills),
    "networks": ("Networks: kills", networks),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--work", type=Path, required=True, help="folder for what is made")
    parser.add_argument("--parts", default=",".join(PARTS), help="default: %(default)s")
    parser.add_argument("--documents", type=int, help="default: 60,000, of networks 4,000")
    parser.add_argument("--kills", type=int, help="default: 20, of networks 6")
    parser.add_argument("--nodes", type=int, default=2, help="of networks (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("--out", type=Path, default=HERE / "cluster_training.md", help="the tables")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that nodes are ended
    work = asked.work.resolve()
    for name in asked.parts.split(","):
        title, part = PARTS[name]
        setup = Setup(
            asked.data, work / name, asked.documents, asked.kills, asked.nodes, asked.seed
        )
        command = (
            f"python benchmarks/speed/cluster_training.py --data DIR --work DIR --parts {name}"
        )
        if asked.documents:
            command += f" --documents {asked.documents}"
        if part is not speed:
            command += f" --kills {asked.kills or (20 if part is kills else 6)} --seed {asked.seed}"
        if part is networks and asked.nodes != 2:
            title += f" ({asked.nodes} nodes)"
            command += f" --nodes {asked.nodes}"
        write_section(asked.out, title, part(setup), command, "numba", "torch")


if __name__ == "__main__":
    main()
