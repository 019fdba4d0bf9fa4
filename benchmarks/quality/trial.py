"""What the quality benchmarks share: fixed documents, systems trained once, scores, tables.

A system is trained on random documents of a set, of which `Tagger` holds out a tenth for early
stopping, calibration and thresholds, and is judged on the same random test documents as all
others. It is saved with its ranking and scores: what is there is not run again, an interrupted
training goes on.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from markdown_tables import cell as cell
from markdown_tables import table as table
from scipy.sparse import csr_array

from labelgrove import Tagger, models, read_corpus
from labelgrove.core.estimator import Classifier
from labelgrove.core.progress import Lines
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Document, Run
from labelgrove.evaluation import areas_by_frequency, by_frequency, evaluate

sys.path.append(str(Path(__file__).parents[1] / "speed"))
from figure import Panel as Panel
from figure import draw as draw
from machine import installed, machine

TEST = 3000  # documents at most
PLACES = 100
SHOWN = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "PSP@1", "PSP@3", "PSP@5")
Result = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A set with a seed: which training documents are drawn, and how networks begin."""

    where: str
    seed: int
    train: int  # documents at most
    data: Path
    work: Path
    threads: int | None
    named: bool = True  # with names and hierarchy of the labels, where the set has them

    @property
    def vocabulary(self) -> Path | None:
        found = self.data / self.where / "labels.tsv"
        return found if self.named and found.exists() else None

    @property
    def folder(self) -> Path:
        return self.work / f"{self.where}-{self.seed}"

    @property
    def glove(self) -> str:
        return str(next(iter((self.data / "glove").glob("*.txt*"))))

    def documents(self, part: str) -> list[Document]:
        """Return the same random documents every time."""
        found = list(read_corpus(self.data / self.where / f"{part}.jsonl.xz"))
        seed, most = (self.seed, self.train) if part == "train" else (0, TEST)
        order = generator(seed, part).permutation(len(found))
        return [found[i] for i in np.sort(order[:most])]


def pairs(documents: list[Document]) -> tuple[list[str], list[list[str]]]:
    return [each.text for each in documents], [list(each.labels) for each in documents]


ALONE = ("attentionxml", "lightattention", "treaderxml", "aplc-xlnet")  # else data would decide


def trained(
    case: Case, system: str, model: str | type[Classifier], settings: Mapping[str, Any]
) -> Tagger:
    """Train a model under the name of a system, or go on, or load what is there.

    Networks are in their papers' form, without a first stage, unless settings say otherwise. How
    a model was trained is written beside it, see `training_record`.
    """
    folder = case.folder / system
    if (folder / "manifest.json").exists():
        return Tagger.load(folder)
    new = partial(models.create, model) if isinstance(model, str) else model
    alone = {"first": "none"} if model in ALONE else {}
    made = new(seed=case.seed, threads=case.threads, **alone | dict(settings))
    run = Run(folder=case.folder / f"{system}.run", resume=True, progress=Lines(seconds=30))
    resumed = run.folder is not None and run.folder.exists()
    texts, labels = pairs(case.documents("train"))
    began, cpu = time.monotonic(), time.process_time()
    tagger = Tagger(made, seed=case.seed).fit(texts, labels, vocabulary=case.vocabulary, run=run)
    record = {
        "train_s": None if resumed else time.monotonic() - began,
        "cpu_s": None if resumed else time.process_time() - cpu,
        "history": getattr(tagger.model_, "history_", []),
    }
    _record(case, system).write_text(json.dumps(record), encoding="utf-8")
    tagger.save(folder)
    return tagger


def training_record(case: Case, system: str) -> Result:
    """Return seconds of a training, wall and CPU (None where it was resumed), and its history."""
    found: Result = json.loads(_record(case, system).read_text(encoding="utf-8"))
    return found


def _record(case: Case, system: str) -> Path:
    return case.folder / f"{system}.training.json"


def measure(
    case: Case,
    system: str,
    make: Callable[[], Tagger],
    more: Callable[[Tagger, csr_array, Ranking], Result] | None = None,
) -> None:
    """Write the ranking and the scores of a system, unless they are there.

    ``more`` adds to the scores what it makes of the tagger, the truth and the ranking.
    """
    target = case.folder / f"{system}.json"
    if target.exists():
        return
    case.folder.mkdir(parents=True, exist_ok=True)
    print(f"{time.strftime('%H:%M:%S')} {case.folder.name}: {system}", flush=True)
    began = time.monotonic()
    tagger = make()
    seconds = time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    facts, Y, ranking = judged(case, tagger)
    space = tagger.labels_
    ids = np.array([*space.ids[: space.n_labels], ""])
    np.savez_compressed(
        case.folder / f"{system}.npz", labels=ids[ranking.labels], scores=ranking.scores
    )
    result = {
        **facts,
        "train_s": seconds,
        "peak_mb": peak,  # of the process so far
        "quarters": by_frequency(Y, ranking.top(5), space.counts, threshold=0.0),
        "history": getattr(tagger.model_, "history_", []),
        **(more(tagger, Y, ranking) if more else {}),
    }
    target.write_text(json.dumps(result), encoding="utf-8")
    print("  " + ", ".join(f"{k} {100 * v:.2f}" for k, v in result["scores"].items()), flush=True)


def judged(case: Case, tagger: Tagger) -> tuple[Result, csr_array, Ranking]:
    """Rank the test documents; return scores and groups, the truth and the ranking."""
    texts, labels = pairs(case.documents("test"))
    began = time.monotonic()
    ranking = tagger.rank(texts, PLACES)
    spent = time.monotonic() - began
    space = tagger.labels_
    Y = space.encode(labels, unseen="append")
    chances = space.propensities(n_columns=Y.shape[1])
    scores = evaluate(Y, ranking, ks=(1, 3, 5), threshold=0.5, propensities=chances)
    facts = {
        "labels": space.n_labels,
        "documents_per_s": len(texts) / spent,
        "scores": {name: scores[name] for name in SHOWN},
        "groups": areas_by_frequency(Y, ranking, space.counts, ties="half"),
        "test_groups": areas_by_frequency(Y, ranking, by="test", ties="half"),
    }
    return facts, Y, ranking


# --- the tables -------------------------------------------------------------------------------


def read(work: Path, where: str, system: str, seeds: Iterable[int]) -> list[Result]:
    """Return the results of all seeds, as far as there are any."""
    found = [work / f"{where}-{seed}" / f"{system}.json" for seed in seeds]
    return [json.loads(path.read_text(encoding="utf-8")) for path in found if path.exists()]


def score_table(found: Mapping[str, list[Result]], untimed: Sequence[str] = ()) -> list[str]:
    """Return all scores of systems, the best of each column in bold."""
    found = {system: results for system, results in found.items() if results}
    best = {
        name: max(np.mean([each["scores"][name] for each in results]) for results in found.values())
        for name in SHOWN
    }
    rows = []
    for system, results in found.items():
        row = [system]
        for name in SHOWN:
            values = [each["scores"][name] for each in results]
            told = cell([100 * value for value in values])
            row.append(f"**{told}**" if np.mean(values) == best[name] else told)
        seconds = [each["train_s"] for each in results]
        row.append("" if system in untimed else f"{np.mean(seconds):.0f}")
        row.append(f"{np.mean([each['documents_per_s'] for each in results]):,.0f}")
        rows.append(row)
    return table(["system", *SHOWN, "train s", "ranks a second"], rows)


def group_table(found: Mapping[str, list[Result]], key: str = "groups") -> list[str]:
    """Return AUC and AUPR by frequency of the labels in training, or in the test documents.

    The latter, ``"test_groups"``, is Table 6 of AttentionXML.
    """
    rows = []
    for system, results in found.items():
        if results and all(key in each for each in results):
            cells = [
                cell([100 * each[key][group][name] for each in results])
                for name in ("AUC", "AUPR")
                for group in range(3)
            ]
            rows.append([system, *cells])
    head = [f"{name} {kind}" for name in ("AUC", "AUPR") for kind in ("frequent", "middle", "rare")]
    return table(["system", *head], rows)


def told_machine() -> str:
    return machine(installed("labelgrove", "torch", "lightning-fabric", "numpy", "scipy"))
