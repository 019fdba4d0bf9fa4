"""What grove and vectors of meaning add to bonsai, from a hundred documents to all of them.

    python benchmarks/quality/meaning.py --data DIR --work DIR --encoder FOLDER [--only PHASE,...]
    python benchmarks/quality/meaning.py --work DIR --table

DIR of --data holds a folder for each set with train.jsonl.xz and test.jsonl.xz (labels.tsv where
there are names), and potion-base-8m with static vectors. The training documents of a seed are the
first of one random order, so that small sets are part of large ones; every system is judged on the
same 1,500 random test documents. Everything has its default settings. DIR of --work keeps a line of
JSON for each result, so that a run that was stopped goes on. meaning.md has what was found on top,
written by hand; the tables below it and the figure are written by this program.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from meaning_peers import PEERS, Peers
from meaning_tables import FIGURE, figure, tables, with_tables
from result_lines import ResultLines, source

from labelgrove import Tagger, models, read_corpus
from labelgrove.core.progress import Lines
from labelgrove.core.random import generator
from labelgrove.core.types import Document, Run
from labelgrove.models import MODELS
from labelgrove.text import FEATURIZERS

HERE = Path(__file__).parent
SETS = ("reuters", "arxiv", "debtags", "congress", "tibkat", "finna")
TEST = 1500  # documents
ALL = 0  # the size that stands for all training documents
ENCODED = 128  # tokens that the sentence encoder reads
NETWORK = {"length": 64, "epochs": 3, "batch": 16, "encoder_rate": 1e-4, "frozen": 3}
SHOWN = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5", "micro-F1", "macro-F1")


@dataclass(frozen=True)
class System:
    """A model, the vectors it has, and whether it knows the names of labels that only tests use.

    A network reads the texts with the encoder itself.
    """

    model: str
    vectors: str = ""
    network: bool = False
    all_names: bool = True


SYSTEMS = {
    "bonsai": System("bonsai"),
    "grove": System("grove"),
    "bonsai, static": System("bonsai", "static"),
    "grove, static": System("grove", "static"),
    "bonsai, MiniLM": System("bonsai", "encoder"),
    "grove, MiniLM": System("grove", "encoder"),
    "label-match": System("label-match"),
    "knn": System("knn"),
    "grove, fewer names": System("grove", all_names=False),
    "grove, static, fewer names": System("grove", "static", all_names=False),
    **{name: System(name, network=True) for name in ("transformer", "lightxml", "xr-transformer")},
}
FOUR = ("bonsai", "grove", "bonsai, static", "grove, static")
ENCODERS = ("bonsai, MiniLM", "grove, MiniLM")
MAKERS = ("label-match", "knn")  # models that a grove is made of, alone
FEWER = ("grove, fewer names", "grove, static, fewer names")
NETWORKS = ("transformer", "lightxml", "xr-transformer")


class Case(NamedTuple):
    """What is learned from: so many documents of a set, in the order of a seed."""

    where: str
    size: int
    seed: int


class Phase(NamedTuple):
    """Some results; the most telling phases come first."""

    name: str
    sizes: Sequence[int]
    seeds: Sequence[int]
    systems: Sequence[str]
    sets: Sequence[str] = SETS


PHASES = (
    Phase("first", (300, 4000), (0,), FOUR),
    Phase("other-sizes", (1000, 100), (0,), FOUR),
    Phase("few", (300,), (1, 2), FOUR),
    Phase("makers", (300, 4000), (0,), MAKERS),
    Phase("names", (300, 4000), (0,), FEWER, ("tibkat", "finna")),
    Phase("peers", (300, 4000), (0,), tuple(PEERS)),
    Phase("encoder", (1000, 4000), (0,), ENCODERS, ("debtags", "arxiv", "tibkat")),
    Phase("all", (ALL,), (0,), FOUR, ("reuters", "debtags", "tibkat", "arxiv", "congress")),
    Phase("seeds", (1000, 100), (1, 2), FOUR),
    Phase("networks", (4000,), (0, 1), (*NETWORKS, "bonsai", *ENCODERS), ("debtags", "arxiv")),
    Phase("more-seeds", (4000,), (1,), FOUR),
    Phase("largest", (ALL,), (0,), FOUR, ("finna",)),
)


class TooLongError(Exception):
    """A result took longer than it may."""


# --- documents ----------------------------------------------------------------------------------


@cache
def documents(folder: Path, part: str) -> list[Document]:
    return list(read_corpus(folder / f"{part}.jsonl.xz"))


def training(data: Path, case: Case) -> list[Document]:
    found = documents(data / case.where, "train")
    order = generator(case.seed, "meaning, training").permutation(len(found))
    return [found[i] for i in order[: case.size or None]]


@cache
def testing(data: Path, where: str, part: int) -> list[Document]:
    """Return 1,500 test documents; those of other parts are others."""
    found = documents(data / where, "test")
    order = generator(0, "meaning, testing").permutation(len(found))
    return [found[i] for i in np.sort(order[part * TEST : (part + 1) * TEST])]


# --- measuring ----------------------------------------------------------------------------------


class Bench:
    """Makes results and keeps them, a line of JSON each."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked, self.lines = asked, kept(asked.work)
        self.source = source()
        self.results = self.lines.read()
        self.peers = Peers(asked.work / "peers", asked.threads, asked.limit)

    def done(self, case: Case, system: str) -> bool:
        self.results |= self.lines.read()  # of runs beside this one
        found = self.results.get((*case, system))
        return found is not None and "error" not in found

    def measure(self, case: Case, system: str) -> None:
        """Make a result; one that fails is noted with its error, and tried again by a later run."""
        began = time.monotonic()
        told = f"{case.where} {case.size or 'all'} seed {case.seed}: {system}"
        print(f"{time.strftime('%H:%M:%S')} {told}", flush=True)
        try:
            with_limit = self._peer if system in PEERS else self._tagger
            found = limited(self.asked.limit, with_limit, case, system)
        except Exception as error:  # whatever a system does, the others are measured
            found = {"error": f"{type(error).__name__}: {error}"}
        line = {**case._asdict(), "system": system, "source": self.source, **found}
        self.results[(*case, system)] = line
        self.lines.add(line)
        scores = found.get("scores", {})
        shown = f"nDCG@5 {100 * scores['nDCG@5']:.2f}" if scores else found["error"]
        makers = " ".join(found.get("makers", []))
        print(f"  {shown} in {time.monotonic() - began:.1f} s {makers}", flush=True)

    def _peer(self, case: Case, system: str) -> dict[str, Any]:
        data = self.asked.data
        test = testing(data, case.where, self.asked.part)
        return self.peers.measure(system, training(data, case), test)

    def _tagger(self, case: Case, system: str) -> dict[str, Any]:
        data, asked = self.asked.data, SYSTEMS[system]
        train, test = training(data, case), testing(data, case.where, self.asked.part)
        more: dict[str, Any] = {}
        if asked.vectors == "encoder":  # both systems find the vectors on disk
            more["encoding_s"] = self._encode([each.text for each in (*train, *test)])
        tagger, names = self._new(asked, case.seed), self._names(case.where, asked)
        run = Run(progress=Lines(seconds=30))
        began, cpu = time.perf_counter(), time.process_time()
        tagger.fit(*pairs(train), vocabulary=names, run=run)
        spent = time.perf_counter() - began, time.process_time() - cpu
        model: Any = tagger.model_
        if asked.model == "grove":
            more["makers"] = [maker.kind for maker in model.makers_]
            more["held_out"] = model.held_out_
        scores = tagger.evaluate(*pairs(test))
        return {
            "documents": len(train),
            "labels": tagger.labels_.n_labels,
            "train_s": spent[0],
            "cpu_s": spent[1],
            "ms_per_document": 1e3 * self._seconds(tagger, test) / len(test),
            "disk": self._bytes(tagger),
            "scores": {name: scores[name] for name in SHOWN},
            **more,
        }

    def _new(self, asked: System, seed: int) -> Tagger:
        settings: dict[str, Any] = {"seed": seed, "threads": self.asked.threads}
        features = {}
        if asked.network:
            settings |= {"encoder": str(self.asked.encoder), **NETWORK}
        elif asked.vectors == "static":
            settings["dense"] = f"static:{self.asked.data / 'potion-base-8m'}"
        elif asked.vectors:
            settings["dense"] = str(self.asked.encoder)
            features = {"dense": {"length": ENCODED}}
        model = models.create(asked.model, **settings)
        return Tagger(model, seed=seed, threads=self.asked.threads, features=features or None)

    def _names(self, where: str, asked: System) -> Path | None:
        """Return the file of names, if the set has one."""
        names: Path = self.asked.data / where / "labels.tsv"
        if asked.all_names or not names.exists():
            return names if names.exists() else None
        used = {label for each in documents(names.parent, "train") for label in each.labels}
        kept = [
            line for line in names.read_text("utf-8").splitlines() if line.split("\t")[0] in used
        ]
        fewer: Path = self.asked.work / f"{where}-names.tsv"
        fewer.write_text("\n".join(kept) + "\n", encoding="utf-8")
        return fewer

    def _encode(self, texts: list[str]) -> float:
        """Put the vectors of texts on disk, and return how long it took."""
        encoder = FEATURIZERS.create("encoder", model=str(self.asked.encoder), length=ENCODED)
        began = time.perf_counter()
        encoder.fit_transform(texts)
        return time.perf_counter() - began

    def _seconds(self, tagger: Tagger, test: list[Document]) -> float:
        texts = [each.text for each in test]
        tagger.rank(texts[:50])  # warm up
        began = time.perf_counter()
        tagger.rank(texts)
        return time.perf_counter() - began

    def _bytes(self, tagger: Tagger) -> int:
        folder = self.asked.work / f"tagger-{os.getpid()}"  # runs of other phases may go on beside
        tagger.save(folder, overwrite=True)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        shutil.rmtree(folder)
        return size


def pairs(found: Sequence[Document]) -> tuple[list[str], list[list[str]]]:
    return [each.text for each in found], [list(each.labels) for each in found]


def limited(seconds: float, call: Any, *arguments: Any) -> Any:
    """Call, and raise an error after so many seconds, or as soon as compiled code returns."""

    def stop(*_: object) -> None:
        raise TooLongError(f"not done after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return call(*arguments)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def kept(work: Path) -> ResultLines:
    """Return where results are, the last of each case and system."""
    return ResultLines(work / "results.jsonl", (*Case._fields, "system"))


# --- command line -------------------------------------------------------------------------------


def planned(only: Sequence[str], sets: Sequence[str]) -> Iterator[tuple[Case, str]]:
    for phase in PHASES:
        if not only or phase.name in only:
            for size in phase.sizes:
                for seed in phase.seeds:
                    for where in phase.sets:
                        for system in phase.systems if where in sets else ():
                            yield Case(where, size, seed), system


def run(bench: Bench, only: Sequence[str], sets: Sequence[str]) -> None:
    warm = False
    for case, system in planned(only, sets):
        if bench.done(case, system) or (system in NETWORKS and system not in MODELS.names()):
            continue
        if not warm:  # compile all kernels; not kept
            print("compiling kernels", flush=True)
            for each, size in (*((each, 100) for each in FOUR), ("bonsai, static", 4000)):
                bench._tagger(Case("debtags", size, 9), each)
            warm = True
        bench.measure(case, system)
        write(bench.results, bench.asked.out)


def write(results: dict[tuple[Any, ...], dict[str, Any]], out: Path) -> None:
    """Write tables and figure anew."""
    lines = list(results.values())
    old = out.read_text(encoding="utf-8") if out.exists() else ""
    out.write_text(with_tables(old, tables(lines)), encoding="utf-8")
    out.with_name(FIGURE).write_text(figure(lines), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--work", type=Path, required=True, help="folder for all that is made")
    parser.add_argument("--encoder", type=Path, help="folder of the sentence encoder")
    parser.add_argument("--sets", default=",".join(SETS), help="default: %(default)s")
    names = ", ".join(phase.name for phase in PHASES)
    parser.add_argument("--only", default="", help=f"some of the phases {names}; default: all")
    parser.add_argument("--threads", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--limit", type=float, default=300, help="seconds of a result at most")
    parser.add_argument("--part", type=int, default=0, help="1: 1,500 other test documents")
    parser.add_argument("--table", action="store_true", help="write the tables, measure nothing")
    parser.add_argument("--out", type=Path, default=HERE / "meaning.md", help="the tables")
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    if asked.table:
        write(kept(asked.work).read(), asked.out)
        return
    if asked.data is None or asked.encoder is None:
        sys.exit("give --data and --encoder, or --table to write the tables of what is measured")
    os.environ.setdefault("LABELGROVE_CACHE", str(asked.work.resolve() / "vectors"))
    run(Bench(asked), [each for each in asked.only.split(",") if each], asked.sets.split(","))


if __name__ == "__main__":
    main()
