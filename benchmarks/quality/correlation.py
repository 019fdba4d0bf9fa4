"""LACO's claims on our data: labels read with the text, and tasks about labels that go together.

    python benchmarks/quality/correlation.py --data DIR --work DIR --encoder FOLDER
        [--sets ...] [--systems ...] [--seeds 0,1,2]

DIR of --data holds a folder for each set with train.jsonl.xz and test.jsonl.xz. Results are kept
in DIR of --work, and correlation.md and correlation.svg grow as they come; see trial.py. The
tables are in correlation_tables.py.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from correlation_tables import PER_DOCUMENT, SET_NAMES, About, panels, report
from scipy.sparse import csr_array
from trial import Case, Result, draw, measure, pairs, trained

from labelgrove import Tagger
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Document
from labelgrove.evaluation import (
    Decision,
    additive,
    by_frequency,
    combinations,
    evaluate,
    pair_divergence,
    perfect_ranking,
)
from labelgrove.models.neural.learning import Measure
from labelgrove.models.neural.transformer import Transformer

HERE = Path(__file__).parent
FIGURE = "correlation.svg"
TEST = 2000
TRAIN = {"arxiv": 2000, "debtags": 1500, "congress": 2000}
TOKENS = {"arxiv": 64, "debtags": 48, "congress": 64}
MOST = {"arxiv": 54}  # labels, the most frequent: as many as AAPD has
EPOCHS = 3


class Bert(Transformer):
    """The baseline, stopped and drawn by the same score as the others."""

    measure: ClassVar[Measure] = "micro-F1"


SYSTEMS: dict[str, tuple[str | type[Transformer], dict[str, Any]]] = {
    "bonsai": ("bonsai", {}),
    "one-vs-rest": ("one-vs-rest", {}),
    "classifier-chain": ("classifier-chain", {}),
    "transformer": (Bert, {"layer_decay": 0.8, "warmup": 0.1}),
    "laco": ("laco", {}),
    "laco-plcp": ("laco-plcp", {}),
    "laco-clcp": ("laco-clcp", {}),
    "laco-plcp, bilinear": ("laco-plcp", {"task_head": "bilinear"}),
    "laco-clcp, bilinear": ("laco-clcp", {"task_head": "bilinear"}),
    "laco, no label term": ("laco", {"label_term": False}),
    "laco, no joint embedding": ("laco", {"joint": False}),
    "laco, no cross attention": ("laco", {"cross": False}),
    "laco, neither": ("laco", {"joint": False, "cross": False}),
    "laco, ids for names": ("laco", {}),
    "seqtag": ("seqtag", {}),
}
NAMELESS = "laco, ids for names"
# in two stages too, what LACO's parts add to a transformer that judges the same candidates
TWO_STAGES = ("bonsai", "transformer", "laco", "laco-plcp", "laco-clcp", "laco-plcp, bilinear",
              "laco-clcp, bilinear", "laco, no label term", "laco, no joint embedding",
              "laco, no cross attention", "laco, neither")  # fmt: skip
WANTED = {"arxiv": (*SYSTEMS,), "debtags": TWO_STAGES, "congress": TWO_STAGES}
LINEAR = ("bonsai", "one-vs-rest", "classifier-chain")


@dataclass(frozen=True)
class Few(Case):
    """A set with its most frequent labels only, and the documents that have one of them."""

    def documents(self, part: str) -> list[Document]:
        most = MOST.get(self.where)
        found = super().documents(part) if most is None else self._chosen(part, most)
        return found[:TEST] if part == "test" else found

    def _chosen(self, part: str, most: int) -> list[Document]:
        whole = Case(self.where, self.seed, 10**9, self.data, self.work, self.threads)
        counts = Counter(label for each in whole.documents("train") for label in each.labels)
        kept = {label for label, _ in sorted(counts.items(), key=lambda x: (-x[1], x[0]))[:most]}
        chosen = [
            each._replace(labels=tuple(label for label in each.labels if label in kept))
            for each in (whole.documents(part))
        ]
        chosen = [each for each in chosen if each.labels]
        order = np.random.default_rng(self.seed if part == "train" else 0).permutation(len(chosen))
        return [chosen[i] for i in np.sort(order[: self.train if part == "train" else TEST])]


def settings(where: str, system: str, encoder: str) -> dict[str, Any]:
    """Return what is not default, the same for all networks."""
    _, own = SYSTEMS[system]
    if system in LINEAR:
        return own
    return {
        "encoder": encoder, "length": TOKENS[where], "batch": 16, "epochs": EPOCHS, "patience": 100,
        "encoder_rate": 1e-4, "learning_rate": 5e-3, **own,
    }  # fmt: skip


def judged(case: Case, tagger: Tagger, Y: csr_array, ranking: Ranking) -> Result:
    """Return what sets of labels come to, with a threshold of 0.5 and with the tuned one."""
    _, labels = pairs(case.documents("train"))
    train = tagger.labels_.encode(labels)
    train.resize(train.shape[0], Y.shape[1])
    thresholds = {"0.5": 0.5, "tuned": tagger.learned_.thresholds["micro"]}
    found = {}
    for name, threshold in thresholds.items():
        groups = by_frequency(Y, ranking, tagger.labels_.counts, threshold=threshold)
        found[name] = {
            **scores_of_sets(tagger, Y, ranking, threshold),
            **correlations(Y, ranking, train, threshold),
            "frequency": [group["macro-F1"] for group in groups],
        }
    return {"sets": found, "truth": correlations(Y, perfect_ranking(Y), train, 0.5)}


def scores_of_sets(
    tagger: Tagger, Y: csr_array, ranking: Ranking, threshold: float | Decision
) -> Result:
    """Return scores of label sets, and what each document adds to some of them."""
    known = tagger.labels_.n_labels
    unseen = (np.bincount(Y.indices, minlength=Y.shape[1])[known:] > 0).sum()
    n_labels = known + int(unseen)
    scores = evaluate(Y, ranking, ks=(1,), threshold=threshold, n_labels=n_labels)
    sums = additive(Y, ranking, PER_DOCUMENT, threshold=threshold, n_labels=n_labels)
    by_document = {name: [each.part.tolist(), each.whole.tolist()] for name, each in sums.items()}
    return {"scores": {name: scores[name] for name in SET_NAMES}, "documents": by_document}


def correlations(
    Y: csr_array, ranking: Ranking, train: csr_array, threshold: float | Decision
) -> Result:
    """Return how many sets of labels are given, and how far label pairs are from the true."""
    near = {
        f"{part} {kind}": pair_divergence(truth, ranking, threshold=threshold)[kind]
        for part, truth in (("train", train), ("test", Y))
        for kind in ("KL", "whole-KL")
    }
    sets = combinations(Y, ranking, train, threshold=threshold)
    return {"combinations": sets, "divergence": near}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--work", type=Path, required=True, help="folder of this benchmark alone")
    parser.add_argument("--encoder", required=True, help="folder or name of the encoder")
    parser.add_argument("--sets", default=",".join(TRAIN), help="default: %(default)s")
    parser.add_argument("--systems", default=";".join(SYSTEMS), help="default: %(default)s")
    parser.add_argument("--seeds", default="0", help="default: %(default)s")
    parser.add_argument("--train", type=int, help="documents; default: those of each set")
    parser.add_argument("--threads", type=int, help="default: all cores")
    parser.add_argument("--out", type=Path, default=HERE / "correlation.md", help="the tables")
    asked = parser.parse_args()
    seeds = tuple(map(int, asked.seeds.split(",")))
    sizes = {where: asked.train or n for where, n in TRAIN.items()}
    about = About(asked.work, asked.encoder, seeds, WANTED, sizes, TOKENS, MOST, EPOCHS, TEST)
    systems = asked.systems.split(";")
    for where in asked.sets.split(","):
        for seed in seeds:
            case = Few(where, seed, sizes[where], asked.data, asked.work, asked.threads)
            for name in (each for each in systems if each in WANTED[where]):
                own = settings(where, name, asked.encoder)
                own_case = replace(case, named=name != NAMELESS)
                make = partial(trained, own_case, name, SYSTEMS[name][0], own)
                measure(case, name, make, partial(judged, case))
                asked.out.write_text(report(about, FIGURE), encoding="utf-8")
                drawn = draw("Learning with labels in view", panels(about))
                asked.out.with_name(FIGURE).write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
