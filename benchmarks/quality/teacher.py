"""TReaderXML's claims on our data: neighbours and hierarchy as teachers, learning afterwards.

    python benchmarks/quality/teacher.py --data DIR --work DIR [--sets ...] [--systems ...]

DIR of --data holds a folder for each set with train.jsonl.xz, test.jsonl.xz and maybe labels.tsv,
and glove/ with GloVe vectors. Results are kept in DIR of --work, and teacher.md grows as they come;
see trial.py.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from trial import (
    Case,
    Result,
    cell,
    measure,
    pairs,
    read,
    score_table,
    table,
    told_machine,
    trained,
)

from labelgrove import Tagger, models
from labelgrove.core.progress import Lines
from labelgrove.core.types import Document, Run
from labelgrove.models.neighbours.memory import Nearest
from labelgrove.models.neighbours.neighbourhood import Neighbourhood
from labelgrove.models.neural.treader_xml import TReaderXml

HERE = Path(__file__).parent
TRAIN = {"reuters": 6000, "debtags": 6000, "congress": 3000}  # documents at most
SETS = tuple(TRAIN)
MAIN = ("bonsai", "knn", "attentionxml", "treaderxml")
ROWS: dict[str, dict[str, Any]] = {  # of Table 3; the last is the whole model
    "0: no teacher, no reading": {"teacher": False, "reading": []},
    "1: teacher, no reading": {"reading": []},
    "2: masked + residual": {"reading": ["masked", "residual"]},
    "3: plain + residual": {"reading": ["plain", "residual"]},
    "4: plain + residual + masked": {"reading": ["plain", "residual", "masked"]},
    "5: masked + plain": {"reading": ["masked", "plain"]},
}
SLOWER = "learning rate 0.002"
LEAK = "taught by itself (wrong)"
OTHERS: dict[str, dict[str, Any]] = {
    "no teacher": {"teacher": False},
    "no hierarchy": {"hierarchy": False},
    "votes weigh": {"weighted": True},
    SLOWER: {"learning_rate": 0.002},
    LEAK: {},
}
CONSENSUS = {"treaderxml + bonsai": ("treaderxml", "bonsai"), "knn + bonsai": ("knn", "bonsai")}
SYSTEMS = (*MAIN, *ROWS, *OTHERS, *CONSENSUS)
ONLY = {  # beside the main ones and the consensus
    "reuters": ("no teacher", "no hierarchy", SLOWER),
    "debtags": (*ROWS, *OTHERS),
    "congress": ("no teacher", "no hierarchy", SLOWER, LEAK),
}
SEEDS = (0, 1, 2)
LEARNERS = ("bonsai", "knn", "treaderxml")


class Leaky(Neighbourhood):
    """What must not be done: a training document is looked for like any other text."""

    def of_training(self, k: int) -> Nearest:
        return self.memory.nearest(self.memory.vectors, k, threads=self.threads)


class TaughtByItself(TReaderXml):
    """TReaderXML whose training documents are their own best teachers."""

    def _new_memory(self) -> Neighbourhood:
        found = super()._new_memory()
        return Leaky(**{name: getattr(found, name) for name in ("by", "view", "encoder", "copies",
                        "length", "device", "seed", "threads")})  # fmt: skip


def settings(case: Case, system: str) -> dict[str, Any]:
    """Return what is not default."""
    if system in ("bonsai", "knn"):
        return {}
    found: dict[str, Any] = {
        "first": "none", "vectors": case.glove, "length": 128, "epochs": 8, "batch": 40,
        "patience": 100, "schedule": "linear", "learning_rate": 0.01,
    }  # fmt: skip
    if system == "attentionxml":
        tree = "always" if case.where == "congress" else "never"
        return {**found, "units": 128, "layers": [128], "tree": tree}
    paper = {"learning_rate": 0.005, "by": "words", "votes": False}
    return {**found, **paper, **ROWS.get(system, {}), **OTHERS.get(system, {})}


def learned(case: Case, system: str) -> Tagger:
    """Train a system, or go on, or combine what is trained."""
    if system in CONSENSUS:
        tagger = Tagger.combine([learned(case, name) for name in CONSENSUS[system]])
        tagger.save(case.folder / system, overwrite=True)
        return tagger
    model = system if system in MAIN else "treaderxml"
    return trained(
        case, system, TaughtByItself if system == LEAK else model, settings(case, system)
    )


# --- learning without training ------------------------------------------------------------------


def measure_learning(case: Case, system: str) -> None:
    """Score on the last tenth before and after the ninth is added to what is remembered."""
    target = case.folder / f"learn {system}.json"
    if target.exists():
        return
    case.folder.mkdir(parents=True, exist_ok=True)
    documents = case.documents("train")
    first, ninth, last = (documents[slice(*part)] for part in tenths(len(documents)))
    known = {label for each in first for label in each.labels}
    found: dict[str, Any] = {"documents": len(ninth)}
    found["new"] = len({label for each in ninth for label in each.labels} - known)
    run = Run(progress=Lines(seconds=30))
    made = models.create(system, seed=0, threads=case.threads, **settings(case, system))
    tagger = Tagger(made).fit(*pairs(first), vocabulary=case.vocabulary, run=run)
    found["before"] = dict(tagger.evaluate(*pairs(last)))
    found["new before"] = new_found(tagger, last, known)
    if tagger.model_.remembers:
        tagger = tagger.learn(*pairs(ninth))
    else:
        tagger = Tagger(made).fit(*pairs([*first, *ninth]), vocabulary=case.vocabulary, run=run)
    found["after"] = dict(tagger.evaluate(*pairs(last)))
    found["new after"] = new_found(tagger, last, known)
    target.write_text(json.dumps(found), encoding="utf-8")


def tenths(n: int) -> list[tuple[int, int]]:
    cuts = [0, 8 * n // 10, 9 * n // 10, n]
    return list(pairwise(cuts))


def new_found(tagger: Tagger, documents: list[Document], known: set[str]) -> list[int]:
    """Return how many uses of labels that training did not know are among the first ten."""
    wanted = [{*each.labels} - known for each in documents]
    some = [i for i, labels in enumerate(wanted) if labels]
    tagged = tagger.tag([documents[i].text for i in some], k=10)
    hits = sum(tag.label in wanted[i] for i, tags in zip(some, tagged, strict=True) for tag in tags)
    return [hits, sum(map(len, wanted))]


# --- the tables ---------------------------------------------------------------------------------


def learning_table(work: Path) -> list[str]:
    rows = []
    for where in SETS:
        for system in LEARNERS:
            path = work / f"{where}-0" / f"learn {system}.json"
            if path.exists():
                found = json.loads(path.read_text(encoding="utf-8"))
                how = "trained again" if system == "bonsai" else "remembered"
                for when in ("before", "after"):
                    scores = [f"{100 * found[when][name]:.1f}" for name in LEARNED]
                    hits, uses = found[f"new {when}"]
                    told = f"{where}, {system}, {'before' if when == 'before' else how}"
                    rows.append([told, *scores, f"{hits} of {uses}"])
    return table(["", *LEARNED, "uses of new labels found"], rows)


LEARNED = ("P@1", "P@5", "nDCG@5", "macro-F1")


def results(
    work: Path, where: str, systems: tuple[str, ...], seeds: tuple[int, ...] = SEEDS
) -> dict[str, list[Result]]:
    return {name: read(work, where, name, seeds) for name in systems}


def held_out(found: dict[str, list[Result]]) -> list[str]:
    """Return nDCG@5 of held-out and of test documents, of what was done rightly and wrongly."""
    rows = []
    for system in ("treaderxml", "no teacher", LEAK):
        held = [
            max((event["score"] for event in each["history"] if event.get("score")), default=np.nan)
            for each in found[system]
        ]
        losses = [each["history"][-1]["loss"] for each in found[system]]
        test = [each["scores"]["nDCG@5"] for each in found[system]]
        shown = (cell([100 * value for value in values]) for values in (held, test))
        rows.append([system, cell(losses, 4), *shown])
    return table(["system", "last training loss", "held-out nDCG@5", "test nDCG@5"], rows)


def report(work: Path) -> str:
    lines = [
        "# Reading with a teacher",
        "",
        "At most " + ", ".join(f"{n:,} ({where})" for where, n in TRAIN.items()) + " training "
        "documents, of which a tenth is held out, the first 128 words of each, GloVe "
        "vectors of 100 numbers; the same random test documents for all, 3,000 at most. One "
        "seed; of parts left out or added some have two (`--seed 1`), with mean and deviation, "
        "which draws other training documents too. Networks learn for 8 epochs with falling "
        "learning rates (attentionxml "
        "0.01, treaderxml 0.005). knn and bonsai read whole texts. Per cent. Made with `python "
        "benchmarks/quality/teacher.py --data DIR --work DIR`, on " + told_machine() + " Other "
        "work ran on the machine at the same time: the last two columns tell orders of magnitude.",
        "",
    ]
    for where in SETS:
        found = results(work, where, (*MAIN, *CONSENSUS), (0,))
        if any(found.values()):
            lines += [f"## {where}", "", *score_table(found, untimed=tuple(CONSENSUS))]
        rows = results(work, where, (*ROWS, "treaderxml", *OTHERS))
        if any(rows[name] for name in ONLY[where]):
            lines += [f"### {where}, parts left out or added", "", *score_table(rows)]
        if rows[LEAK]:
            lines += ["What happens where a training document is its own neighbour:", ""]
            lines += held_out(rows)
    lines += [
        "## Learning without training",
        "",
        "Trained on the first eight tenths of the documents, scored on the last tenth, before and "
        "after the ninth was added (bonsai: trained again with it). New labels are those of the "
        "last tenth that the first eight do not have; ten labels were given.",
        "",
        *learning_table(work),
    ]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--work", type=Path, required=True, help="folder of this benchmark alone")
    parser.add_argument("--sets", default=",".join(SETS), help="default: %(default)s")
    parser.add_argument("--systems", default=";".join(SYSTEMS), help="default: %(default)s")
    parser.add_argument("--learn", default=";".join(LEARNERS), help="default: %(default)s")
    parser.add_argument("--seed", type=int, choices=SEEDS, default=0, help="default: %(default)s")
    parser.add_argument("--threads", type=int, help="default: all cores")
    parser.add_argument("--out", type=Path, default=HERE / "teacher.md", help="the tables")
    asked = parser.parse_args()
    for where in asked.sets.split(","):
        case = Case(where, asked.seed, TRAIN[where], asked.data, asked.work, asked.threads)
        wanted = (*MAIN, *ONLY[where], *CONSENSUS)
        for name in filter(None, asked.systems.split(";")):
            if name in wanted:
                measure(case, name, partial(learned, case, name))
                asked.out.write_text(report(asked.work), encoding="utf-8")
        for name in filter(None, asked.learn.split(";")):
            measure_learning(case, name)
            asked.out.write_text(report(asked.work), encoding="utf-8")


if __name__ == "__main__":
    main()
