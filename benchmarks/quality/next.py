"""Learning curves of `labelgrove next`: are chosen documents worth more than random ones?

    python benchmarks/quality/next.py --data DIR [--only PHASE,...]
    python benchmarks/quality/next.py --table

DIR holds a folder for each set with train.jsonl.xz and test.jsonl.xz. Of 10,000 random training
documents a bonsai learns from the first 100 (or 500); batches of 100 are chosen among the others
until it has 1,000, and the labels of the data stand in for a person who names all that are right.
Every tagger is judged by the same 2,000 test documents. The default strategy was chosen in the
phase "chosen"; the phases "judged" and "later" use other seeds and the other half of the test
documents, and congress, which had no part in the choice. "first" is the first batch, without a
tagger. PSP goes by the label counts of all
training documents, whatever a tagger has seen.

next.jsonl has a line for each run, so that a run that was stopped goes on; next.md has what was
found on top, written by hand; the tables below it and the figure are written by this program.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from next_tables import write_page
from result_lines import Line, ResultLines

from labelgrove import Tagger, read_corpus
from labelgrove.core.random import generator
from labelgrove.corpus import Corpus, Document
from labelgrove.tagger.choosing import STRATEGIES, choose_documents

HERE = Path(__file__).parent
RESULTS = HERE / "next.jsonl"
POOL, TEST = 10_000, 2000  # documents
STEP, END = 100, 1000  # documents of a batch, and with how many a curve ends
METRICS = ("nDCG@5", "P@1", "PSP@5", "macro-F1")
BEST = ("random", "labels", "mixed")
SMALL = ("debtags", "arxiv")  # sets on which a curve takes seconds


class Phase(NamedTuple):
    """Some curves; the most telling phases come first."""

    name: str
    sets: Sequence[str]
    seeds: Sequence[int]
    start: int = 100
    strategies: Sequence[str] = tuple(STRATEGIES)
    end: int = END


PHASES = (
    Phase("chosen", ("reuters", "debtags", "arxiv"), (100, 101)),
    Phase("judged", SMALL, range(5), strategies=BEST),
    Phase("judged", ("congress",), range(5), strategies=("random", "labels")),
    Phase("first", ("reuters", *SMALL), range(5), 0, ("random", "diversity"), end=STEP),
    Phase("later", SMALL, range(5), 500, ("random", "labels")),
    Phase("judged", SMALL, range(5)),
    Phase("judged", ("congress",), range(5), strategies=BEST),
    Phase("later", ("congress",), range(5), 500, ("random", "labels")),
)


class Case(NamedTuple):
    """The documents of a set and seed."""

    pool: dict[str, Document]
    test: Corpus
    first: list[Document]


@cache
def documents(file: Path) -> list[Document]:
    """Return the documents of a file, each text once."""
    return list({each.text: each for each in read_corpus(file)}.values())


@cache
def counting(file: Path) -> Tagger:
    """Return a tagger that has the label counts of a whole file, for PSP."""
    labels = [each.labels for each in documents(file)]
    return Tagger("most-frequent", validation=0).fit(["word"] * len(labels), labels)


def case(folder: Path, seed: int, phase: Phase) -> Case:
    """Return what a curve begins with; the phases differ in their half of the test documents."""
    train, test = (documents(folder / f"{part}.jsonl.xz") for part in ("train", "test"))
    random = generator(seed, "next")
    pool = [train[i] for i in random.permutation(len(train))[:POOL]]
    half = test[phase.name == "chosen" :: 2]
    judges = [half[i] for i in random.permutation(len(half))[:TEST]]
    return Case({each.text: each for each in pool}, corpus(judges), pool[: phase.start])


def corpus(some: Sequence[Document]) -> Corpus:
    """Return documents in memory as a corpus."""
    return Corpus.from_lists([each.text for each in some], [each.labels for each in some])


def curve(folder: Path, phase: Phase, seed: int, strategy: str) -> Line:
    """Return the scores of a tagger that learns from a batch after the other."""
    pool, test, known = case(folder, seed, phase)
    others = counting(folder / "train.jsonl.xz")
    started, points = time.process_time(), []
    while True:
        tagger = None
        if known:
            tagger = Tagger("bonsai", seed=seed, threads=1).fit(corpus(known))
            found = tagger.evaluate(test, threshold="macro", labels_of=others)
            scores = [round(float(found[metric]), 5) for metric in METRICS]
            labels = [len(each.labels) for each in known]
            met = int((tagger.labels_.counts > 0).sum())
            points.append([len(known), *scores, met, sum(labels)])
        if len(known) >= phase.end:
            break
        left = pool.keys() - {each.text for each in known}
        some = [text for text in pool if text in left]
        drawn = 1000 * seed + len(known)  # no two batches of all curves are drawn alike
        batch = choose_documents(tagger, some, STEP, by=strategy, seed=drawn)
        known = [*known, *(pool[each.document.text] for each in batch)]
    seconds = round(time.process_time() - started, 1)
    return {"points": points, "cpu": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", default=",".join(phase.name for phase in PHASES))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    results = ResultLines(given.results, ("phase", "where", "seed", "strategy"))
    for phase in PHASES if given.data and not given.table else ():
        for seed in phase.seeds if phase.name in given.only.split(",") else ():
            for where in phase.sets:
                for strategy in phase.strategies:
                    key = {"phase": phase.name, "where": where, "seed": seed, "strategy": strategy}
                    if tuple(key.values()) not in results.read():
                        results.add(key | curve(given.data / where, phase, seed, strategy))
    write_page(list(results.read().values()), METRICS)


if __name__ == "__main__":
    main()
