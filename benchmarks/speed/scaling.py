"""What large trainings and taggings take on a cluster: costs measured here, a model, its check.

    python benchmarks/speed/scaling.py --work DIR [--steps costs,tagging,training,network]
    python benchmarks/speed/scaling.py --table

Documents are planted, so no data is needed. Results go to scaling.jsonl beside this file, a line
for each step as it ends: what is there is not measured again, unless labelgrove's source has
changed (--again). The tables go to scaling.md; --table writes them from the lines alone.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import scaling_check as check
from scaling_page import page

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "quality"))
from result_lines import ResultLines, source  # noqa: E402

SIZES = (  # documents, labels
    *((10_000, 1_000), (30_000, 1_000), (100_000, 1_000)),
    *((10_000, 10_000), (30_000, 10_000), (100_000, 10_000)),
    *((30_000, 30_000), (100_000, 30_000), (30_000, 100_000), (100_000, 100_000)),
)
CHECKED = (60_000, 20_000)  # of another size than all that the laws are fitted on
NETWORKS = ((30_000, 1_000), (30_000, 10_000))
TAGGED = {(100_000, 10_000): (300_000, 1_000_000)}  # how many more are tagged
FEWEST = 6  # sizes that laws are fitted on
FEW = 30_000  # documents tagged by every tagger
FILES = 24  # divisible by 1, 2, 3 and 4 nodes
STARTS = ((1, FILES), (1, 10 * FILES), (2, FILES))  # nodes, files of one document
DOCUMENTS = 240_000  # tagged on the nodes
THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA")
KEYS = ("kind", "documents", "labels", "tagged", "nodes", "files", "turn")


class Bench:
    """Runs steps that have no result yet."""

    def __init__(self, work: Path, file: Path, again: bool) -> None:
        self.work, self.lines = work, ResultLines(file, KEYS)
        self.source, self.again = source(), again
        self.known = self.lines.read()

    def step(self, kind: str, do: Callable[[], dict[str, Any]], **about: int) -> None:
        """Do a step unless its result is there."""
        named = {key: about.get(key, 0) for key in KEYS if key != "kind"}
        key = (kind, *named.values())
        if key in self.known and not (self.again and self.known[key]["source"] != self.source):
            return
        print(
            time.strftime("%H:%M:%S"), kind, *(f"{k} {v:,}" for k, v in about.items()), flush=True
        )
        self.known[key] = {"kind": kind, **named, **do(), "source": self.source}
        self.lines.add(self.known[key])

    def texts(self, documents: int, labels: int) -> Path:
        """Return the folder of planted documents, made once."""
        folder = self.work / f"texts-{slug(documents, labels)}"
        if not folder.exists():
            made = self.work / "making"
            shutil.rmtree(made, ignore_errors=True)
            child("make", documents, labels, made)
            made.rename(folder)
        return folder

    def costs(self, documents: int, labels: int, keep: bool = False) -> None:
        """Train and tag on one thread."""
        size = {"documents": documents, "labels": labels}
        tagger, run = self.work / f"tagger-{slug(documents, labels)}", self.work / "run"

        def train() -> dict[str, Any]:
            for folder in (tagger, run):
                shutil.rmtree(folder, ignore_errors=True)
            found = child("train", self.texts(documents, labels) / "train.jsonl", tagger)
            shutil.rmtree(run)
            return found

        def tag(n: int) -> dict[str, Any]:
            if not tagger.exists():  # a run that was interrupted may have removed it
                train()
            source = self.texts(documents, labels) / "test.jsonl"
            (file,) = check.inputs(source, self.work / f"many-{n}-{labels}", n, 1)
            return child("tag", tagger, file, self.out())

        self.step("train", train, **size)
        for n in (FEW, *TAGGED.get((documents, labels), ())):
            self.step("tag", lambda n=n: tag(n), **size, tagged=n)  # type: ignore[misc]
        if not keep:
            for folder in (tagger, *self.work.glob(f"many-*-{labels}")):
                shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(self.work / f"texts-{slug(documents, labels)}", ignore_errors=True)

    def out(self) -> Path:
        folder = self.work / "out"
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def tagging(self, turns: int) -> None:
        """Tag on some nodes; first almost nothing, which tells what starts and files take."""
        size = self.checked()
        tagger, texts = (self.work / f"{kind}-{slug(*CHECKED)}" for kind in ("tagger", "texts"))

        def tag(nodes: int, files: int, documents: int) -> dict[str, Any]:
            made = self.work / f"inputs-{documents}-{files}"
            parts = check.inputs(texts / "test.jsonl", made, documents, files)
            return check.tagging(tagger, parts, self.out(), nodes)

        runs = [("start tagging", nodes, files, files) for nodes, files in STARTS]
        runs += [("tagging", nodes, FILES, DOCUMENTS) for nodes in (1, 2, 3, 4)]
        for turn in range(turns):
            for kind, nodes, files, documents in runs:
                about = {"nodes": nodes, "files": files, "tagged": documents, "turn": turn}
                if kind == "tagging" or turn == 0:
                    do = partial(tag, nodes, files, documents)
                    self.step(kind, do, **size, **about)

    def training(self, turns: int) -> None:
        """Train on one and two nodes; first on almost nothing."""
        size, few = self.checked(), self.work / "small.jsonl"
        texts = self.work / f"texts-{slug(*CHECKED)}" / "train.jsonl"
        child("small", few)
        for nodes in (1, 2):
            self.step("start training", lambda n=nodes: self.train(few, n), nodes=nodes)  # type: ignore[misc]
        for turn in range(turns):
            for nodes in (1, 2):
                do = partial(self.train, texts, nodes)
                self.step("training", do, **size, nodes=nodes, turn=turn)

    def train(self, file: Path, nodes: int) -> dict[str, Any]:
        return check.training(file, self.out(), nodes)

    def checked(self) -> dict[str, int]:
        """Measure the costs of the size that the laws do not know; keep texts and tagger."""
        self.costs(*CHECKED, keep=True)
        return dict(zip(("documents", "labels"), CHECKED, strict=True))

    def network(self) -> None:
        """Ask what a network exchanges."""
        for size in NETWORKS:
            file = self.texts(*size) / "train.jsonl"
            named = dict(zip(("documents", "labels"), size, strict=True))
            self.step("network", lambda file=file: child("network", file), **named)  # type: ignore[misc]


def child(*words: object) -> dict[str, Any]:
    """Run a step in a process of its own, on one thread."""
    command = [sys.executable, str(HERE / "scaling_steps.py"), *map(str, words)]
    limits = {f"{name}_NUM_THREADS": "1" for name in THREADS}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, env={**os.environ, **limits}, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def slug(documents: int, labels: int) -> str:
    return f"{documents}-{labels}"


def sizes(text: str) -> list[tuple[int, int]]:
    """Return sizes such as 30000x1000,30000x10000."""
    pairs = [each.split("x") for each in text.split(",")]
    return [(int(documents), int(labels)) for documents, labels in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, help="folder for what is made")
    parser.add_argument(
        "--steps", default="costs,tagging,training,network", help="default: %(default)s"
    )
    parser.add_argument("--sizes", type=sizes, default=SIZES, help="DOCUMENTSxLABELS,...")
    parser.add_argument("--turns", type=int, default=2, help="of the check; default: %(default)s")
    parser.add_argument("--again", action="store_true", help="measure what is of an older source")
    parser.add_argument("--table", action="store_true", help="write the tables, measure nothing")
    parser.add_argument("--results", type=Path, default=HERE / "scaling.jsonl", help="the lines")
    parser.add_argument("--out", type=Path, default=HERE / "scaling.md", help="the tables")
    asked = parser.parse_args()
    if asked.work is None and not asked.table:
        parser.error("give --work, or --table")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that nodes are ended
    if not asked.table:
        work: Path = asked.work.resolve()
        work.mkdir(parents=True, exist_ok=True)
        bench, steps = Bench(work, asked.results, asked.again), asked.steps.split(",")
        for size in asked.sizes if "costs" in steps else ():
            bench.costs(*size)
        if "tagging" in steps:
            bench.tagging(asked.turns)
        if "training" in steps:
            bench.training(asked.turns)
        if "network" in steps:
            bench.network()
    lines = list(ResultLines(asked.results, KEYS).read().values())
    if len({(line["documents"], line["labels"]) for line in lines}) < FEWEST:
        sys.exit(f"results of fewer than {FEWEST} sizes make no tables")
    asked.out.write_text(page(lines), encoding="utf-8")
    print(f"tables in {asked.out}")


if __name__ == "__main__":
    main()
