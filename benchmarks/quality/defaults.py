"""Which settings of the linear models fit data sets of all sizes, and what bonsai chooses.

    python benchmarks/quality/defaults.py --data DIR --work DIR [--sets ...] [--sizes ...]
    python benchmarks/quality/defaults.py --work DIR --table

DIR of --data holds a folder for each set with train.jsonl.xz; no test document is read. A case is
a random part of a set's training documents, with up to 3,000 others to judge by. bonsai (a tree)
and one-vs-rest (flat) learn from it with each cost and tail of a grid, and bonsai also with what it
chooses by itself. DIR of --work keeps a line of JSON for each fit, so that a run that was stopped
goes on; --table prints a row for each size of each set. --only bonsai fits only that one.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from labelgrove import read_corpus
from labelgrove.core.estimator import Classifier
from labelgrove.core.random import generator
from labelgrove.evaluation import evaluate
from labelgrove.labels import LabelCollector
from labelgrove.models.linear.bonsai import Bonsai
from labelgrove.models.linear.one_vs_rest import OneVsRest
from labelgrove.models.linear.parabel import Parabel
from labelgrove.text import Tfidf

SETS = ("reuters", "arxiv", "debtags", "congress", "tibkat", "finna")
SIZES = (300, 1000, 3000, 10000, 30000, 100000)
JUDGED, SEEDS = 3000, 3
COSTS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 4.0)
TAILS = (0.0, 0.5, 1.0)
MODELS = {"tree": partial(Bonsai, max_leaf=200), "flat": OneVsRest, "parabel": Parabel}
OWN = "bonsai"  # what bonsai does by itself


class Case(NamedTuple):
    """A part of a data set: what is learned from, and what is judged."""

    where: str
    size: int
    seed: int


class Fit(NamedTuple):
    """A model and its settings; None for what it chooses by itself."""

    model: str
    cost: float | None = None
    tail: float | None = None


@dataclass
class Data:
    """Features and labels of a case; labels that only judged documents have count as misses."""

    X: csr_array
    Y: csr_array
    X_judged: csr_array
    Y_judged: csr_array

    def statistics(self) -> dict[str, float]:
        """Return what a rule might look at."""
        counts = np.bincount(self.Y.indices, minlength=self.Y.shape[1])
        return {
            "documents": self.X.shape[0],
            "labels": self.Y.shape[1],
            "per_document": self.Y.nnz / self.Y.shape[0],
            "per_label": self.Y.nnz / self.Y.shape[1],
            "typical": float(counts[self.Y.indices].mean()),
            "features": self.X.nnz / self.X.shape[0],
        }


# --- fitting ------------------------------------------------------------------------------------


def grid(case: Case) -> Iterator[Fit]:
    """Yield the fits of a case: fewer, the more documents there are."""
    yield Fit(OWN)
    costs, tails = COSTS, TAILS
    if case.size > 1000:
        costs, tails = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0), (0.5, 1.0)
    if case.size > 3000:
        costs, tails = (0.1, 0.2, 0.3, 0.5, 1.0), (1.0,)
    if case.size > 10000:
        costs = (0.1, 0.2, 0.4)
    flat = case.size <= 3000 or case.where in ("reuters", "arxiv", "debtags")
    for model in ("flat", "tree") if flat else ("tree",):
        for tail in tails:
            for cost in costs:
                yield Fit(model, cost, tail)


def load(source: Path, case: Case) -> Data:
    """Return the features and labels of a case."""
    documents = list(read_corpus(source))
    order = generator(case.seed, f"defaults {case.size}").permutation(len(documents))
    learned = [documents[i] for i in order[: case.size]]
    judged = [documents[i] for i in order[case.size : case.size + JUDGED]]
    texts = Tfidf()
    X = texts.fit_transform([each.text for each in learned])
    collector = LabelCollector()
    for each in learned:
        collector.add(each.labels)
    space, Y = collector.finish()
    return Data(
        X, Y, texts.transform([each.text for each in judged]),
        space.encode([each.labels for each in judged], unseen="append"),
    )  # fmt: skip


def made(fit: Fit, case: Case) -> Classifier:
    """Return an unfitted model."""
    given = {"cost": fit.cost, "tail": fit.tail}
    settings = {name: value for name, value in given.items() if value is not None}
    model: Classifier = MODELS.get(fit.model, Bonsai)(seed=case.seed, threads=1, **settings)
    return model


def judged(fit: Fit, case: Case, data: Data) -> dict[str, Any]:
    """Return the scores of a fit and what it took."""
    started = time.perf_counter()
    model = made(fit, case).fit(data.X, data.Y)
    seconds = time.perf_counter() - started
    scores = evaluate(data.Y_judged, model.rank(data.X_judged, 5), ks=(1, 3, 5))
    chosen = {key: getattr(model, f"{key}_", None) for key in ("cost", "tail", "flat")}
    names = ("P@1", "P@3", "P@5", "nDCG@5")
    return {
        **case._asdict(), **fit._asdict(), **{name: float(scores[name]) for name in names},
        "seconds": round(seconds, 2), "chosen": chosen, **data.statistics(),
    }  # fmt: skip


def run(given: argparse.Namespace, results: Path) -> None:
    """Make every fit that is not in the file of results yet."""
    done = {(_case_of(line), _fit_of(line)) for line in read(results)}
    sources = {where: given.data / where / "train.jsonl.xz" for where in given.sets}
    for size in given.sizes:
        for where, source in sources.items():
            for seed in range(given.seeds or (3 if size <= 300 else 2 if size <= 3000 else 1)):
                case = Case(where, size, seed)
                fits = [Fit(each) for each in given.only] if given.only else list(grid(case))
                todo = [fit for fit in fits if (case, fit) not in done]
                if not todo or size > _most(source):
                    continue
                data = load(source, case)
                for fit in todo:
                    with results.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(judged(fit, case, data)) + "\n")
                print(case, f"{len(todo)} fits", flush=True)


def _most(source: Path) -> int:
    """Return how many documents may be learned from so that 1,000 are left to judge."""
    if source not in _known_sizes:
        _known_sizes[source] = sum(1 for _ in read_corpus(source)) - 1000
    return _known_sizes[source]


_known_sizes: dict[Path, int] = {}


def read(results: Path) -> list[dict[str, Any]]:
    """Return all lines of the file of results."""
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]


def _case_of(line: dict[str, Any]) -> Case:
    return Case(*(line[name] for name in Case._fields))


def _fit_of(line: dict[str, Any]) -> Fit:
    return Fit(*(line[name] for name in Fit._fields))


# --- the table ----------------------------------------------------------------------------------


def table(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a row for each size of each set that has been fitted, seeds averaged."""
    yield (
        "| set | documents | labels | documents a label | best of the grid | nDCG@5 "
        "| cost 0.2, a tree | bonsai's choice | behind the best |"
    )
    yield "| --- | ---: | ---: | ---: | --- | ---: | ---: | --- | ---: |"
    for size, where in sorted({(line["size"], line["where"]) for line in lines}):
        here = [line for line in lines if (line["size"], line["where"]) == (size, where)]
        by_seed = [[each for each in here if each["seed"] == s] for s in range(SEEDS)]
        rows = [row for row in map(_gaps, by_seed) if row is not None]
        if rows:
            best, before, own = rows[0].best, *np.mean([row[1:] for row in rows], axis=0)
            chosen = next(each["chosen"] for each in by_seed[0] if each["model"] == OWN)
            yield (
                f"| {where} | {size:,} | {best['labels']:,} | {best['per_label']:.1f} "
                f"| {best['model']}, {best['cost']:g}, {best['tail']:g} "
                f"| {100 * best['nDCG@5']:.1f} | {100 * before:+.1f} "
                f"| {'flat' if chosen['flat'] else 'tree'}, {chosen['cost']:g} | {100 * own:+.1f} |"
            )


class Gaps(NamedTuple):
    """The best fit of a case, and by how much the old and the new choice differ from it."""

    best: dict[str, Any]
    before: float
    own: float


def _gaps(lines: list[dict[str, Any]]) -> Gaps | None:
    """Return the gaps of a case, or None if not all that they need has been fitted."""
    tried = [line for line in lines if line["model"] in ("tree", "flat")]
    before = [line for line in tried if _fit_of(line) == Fit("tree", 0.2, 1.0)]
    own = [line for line in lines if line["model"] == OWN]
    if not before or not own:
        return None
    best = max(tried, key=lambda line: line["nDCG@5"])
    return Gaps(best, *(each[-1]["nDCG@5"] - best["nDCG@5"] for each in (before, own)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of data sets")
    parser.add_argument("--work", type=Path, required=True, help="folder of the results")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--seeds", type=int, help="parts of each size; by default 3, 2 or 1")
    parser.add_argument("--only", nargs="+", default=(), help="models with their own settings")
    parser.add_argument("--table", action="store_true", help="print the table, fit nothing")
    given = parser.parse_args()
    results = given.work / "defaults.jsonl"
    if given.table:
        print("\n".join(table(read(results))))
        return
    if given.data is None:
        parser.error("--data is needed, the folder of data sets; or --table")
    given.work.mkdir(parents=True, exist_ok=True)
    run(given, results)


if __name__ == "__main__":
    main()
