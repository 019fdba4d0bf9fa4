"""LACO's claims on our data: labels read with the text, and tasks about labels that go together.

    python benchmarks/quality/correlation.py --data DIR --work DIR --encoder FOLDER [--sets ...]

DIR of --data holds a folder for each set with train.jsonl.xz and test.jsonl.xz. Results are kept
in DIR of --work, and correlation.md and correlation.svg grow as they come; see trial.py.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from trial import (
    Case,
    Panel,
    Result,
    draw,
    measure,
    pairs,
    read,
    score_table,
    table,
    told_machine,
    trained,
)

from labelgrove import Tagger
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Document
from labelgrove.evaluation import (
    by_frequency,
    combinations,
    convergence,
    convergence_curve,
    evaluate,
    pair_divergence,
)

HERE = Path(__file__).parent
FIGURE = "correlation.svg"
TEST = 2000
TRAIN = {"arxiv": 2000, "debtags": 1500, "congress": 2000}
TOKENS = {"arxiv": 64, "debtags": 48, "congress": 64}
MOST = {"arxiv": 54}  # labels, the most frequent: as many as AAPD has
SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "bonsai": ("bonsai", {}),
    "one-vs-rest": ("one-vs-rest", {}),
    "classifier-chain": ("classifier-chain", {}),
    "transformer": ("transformer", {"layer_decay": 0.8, "warmup": 0.1}),
    "laco": ("laco", {}),
    "laco-plcp": ("laco-plcp", {}),
    "laco-clcp": ("laco-clcp", {}),
    "laco, no joint embedding": ("laco", {"joint": False}),
    "laco, no cross attention": ("laco", {"cross": False}),
    "laco, neither": ("laco", {"joint": False, "cross": False}),
    "laco, ids for names": ("laco", {}),
    "seqtag": ("seqtag", {}),
}
NAMELESS = "laco, ids for names"
WANTED = {
    "arxiv": (*SYSTEMS,),
    "debtags": ("bonsai", "transformer", "laco", "laco-clcp"),
    "congress": ("bonsai", "laco"),
}
DRAWN = ("laco", "laco-plcp", "laco-clcp", "laco, neither", "seqtag")
LINEAR = ("bonsai", "one-vs-rest", "classifier-chain")
SET_NAMES = ("hamming-loss", "micro-precision", "micro-recall", "micro-F1", "macro-precision",
             "macro-recall", "macro-F1", "subset-accuracy")  # fmt: skip


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
        "encoder": encoder, "length": TOKENS[where], "batch": 16, "epochs": 3, "patience": 100,
        "encoder_rate": 1e-4, "learning_rate": 5e-3, **own,
    }  # fmt: skip


def judged(case: Case, tagger: Tagger, Y: csr_array, ranking: Ranking) -> Result:
    """Return what sets of labels come to, with a threshold of 0.5 and with the tuned one."""
    _, labels = pairs(case.documents("train"))
    train = tagger.labels_.encode(labels)
    train.resize(train.shape[0], Y.shape[1])
    unseen = (np.bincount(Y.indices, minlength=Y.shape[1])[tagger.labels_.n_labels :] > 0).sum()
    n_labels = tagger.labels_.n_labels + int(unseen)
    found = {}
    for name, threshold in (("0.5", 0.5), ("tuned", tagger.learned_.thresholds["micro"])):
        scores = evaluate(Y, ranking, ks=(1,), threshold=threshold, n_labels=n_labels)
        sets = combinations(Y, ranking, train, threshold=threshold)
        near = {
            f"{part} {kind}": pair_divergence(truth, ranking, threshold=threshold)[kind]
            for part, truth in (("train", train), ("test", Y))
            for kind in ("KL", "whole-KL")
        }
        groups = by_frequency(Y, ranking, tagger.labels_.counts, threshold=threshold)
        found[name] = {
            "scores": {each: scores[each] for each in SET_NAMES},
            "combinations": sets,
            "divergence": near,
            "frequency": [group["macro-F1"] for group in groups],
        }
    return {"sets": found}


# --- tables and figure --------------------------------------------------------------------------


def results(work: Path, where: str) -> dict[str, list[Result]]:
    return {name: read(work, where, name, (0,)) for name in WANTED[where]}


def set_table(found: Mapping[str, list[Result]], threshold: str) -> list[str]:
    """Return Hamming loss, precision, recall and F1, subset accuracy."""
    rows = []
    for system, runs in found.items():
        for each in runs:
            scores = each["sets"][threshold]["scores"]
            loss = f"{scores['hamming-loss']:.4f}"
            rest = [f"{100 * scores[name]:.1f}" for name in SET_NAMES[1:]]
            rows.append([system, loss, *rest, f"{each['train_s']:.0f}"])
    head = ["Hamming", "Mi-P", "Mi-R", "Mi-F1", "Ma-P", "Ma-R", "Ma-F1", "subset", "train s"]
    return table(["system", *head], rows)


def analysis_table(found: Mapping[str, list[Result]], threshold: str) -> list[str]:
    """Return combinations, divergences of pairs, and macro-F1 by frequency."""
    rows = []
    for system, runs in found.items():
        for each in runs:
            own = each["sets"][threshold]
            sets, near = own["combinations"], own["divergence"]
            counts = [f"{sets[name]:.0f}" for name in ("given", "given-unseen", "found-unseen")]
            far = [f"{near[name]:.2f}" for name in ("train whole-KL", "test whole-KL", "test KL")]
            rows.append([system, *counts, *far, *(f"{100 * x:.1f}" for x in own["frequency"])])
    head = ["sets", "unseen", "of them right", "pairs, train", "test", "test, as printed"]
    return table(["system", *head, *(f"F1 group {n}" for n in (1, 2, 3, 4))], rows)


def speed_table(found: Mapping[str, list[Result]]) -> list[str]:
    """Return how many steps a network needs to come near the best F1 of any."""
    curves = {name: runs[0]["history"] for name, runs in found.items() if runs}
    curves = {
        name: history
        for name, history in curves.items()
        if history and SYSTEMS[name][0] != "transformer"  # another score
    }
    if not curves:
        return []
    best = max(convergence(history)["best"] for history in curves.values())
    rows = []
    for name, history in curves.items():
        near = [convergence(history, share=share, best=best)["steps"] for share in (0.8, 0.9, 0.95)]
        told = ["never" if np.isnan(steps) else f"{steps:.0f}" for steps in near]
        rows.append([name, *told, f"{100 * convergence(history)['best']:.1f}"])
    return table(["system", "80 %", "90 %", "95 % of the best", "its own best F1"], rows)


def panels(work: Path) -> list[Panel]:
    """Return micro-F1 of held-out documents against steps."""
    found = []
    for where in TRAIN:
        lines = {}
        for name, runs in results(work, where).items():
            if runs and runs[0]["history"] and name in DRAWN:
                curve = convergence_curve(runs[0]["history"])
                lines[name] = (curve.steps.tolist(), (100 * curve.scores).tolist())
        if len(lines) > 1:
            found.append(Panel(where, "held-out micro-F1, %", lines, "steps", "curves"))
    return found


def report(work: Path, encoder: str) -> str:
    sizes = "; ".join(
        f"{where} {TRAIN[where]:,} documents, {TOKENS[where]} tokens" for where in TRAIN
    )
    lines = [
        "# Labels that go together",
        "",
        f"{Path(encoder).parent.name or encoder}, fine-tuned for 3 epochs: {sizes}; of arxiv its "
        f"{MOST['arxiv']} most frequent labels. A tenth of the documents is held out, {TEST:,} are "
        "tested, all drawn at random, one seed. Labels begin as the words "
        "of their names. On debtags and congress LACO judges the 64 best "
        "candidates of bonsai. Labels are given from a calibrated probability of 0.5, or from the "
        "threshold with the best micro-F1 on held-out documents. bonsai and its like read whole "
        "texts. Per cent, but for counts, Hamming loss and divergences. Made with `python "
        "benchmarks/quality/correlation.py --data DIR --work DIR --encoder FOLDER`, on "
        + told_machine()
        + " Times with one thread for each of two runs at once: good for their ratios only.",
        "",
        f"![held-out micro-F1 as training goes on]({FIGURE})",
        "",
    ]
    for where in TRAIN:
        found = results(work, where)
        if any(found.values()):
            lines += [f"## {where}", "", *score_table(found)]
            for threshold, told in (
                ("tuned", "the tuned threshold"),
                ("0.5", "a threshold of 0.5"),
            ):
                lines += [f"With {told}:", "", *set_table(found, threshold)]
            lines += [
                "Different sets of labels given, those that no training document has, and how many "
                "of these are some document's own; divergence of label pairs from training and "
                "test documents, whole and as printed in equation 8; macro-F1 by frequency, a "
                "quarter of all uses each, the most frequent labels first; tuned threshold:",
                "",
                *analysis_table(found, "tuned"),
                "Steps until the held-out micro-F1 comes near the best that any of these reached:",
                "",
                *speed_table(found),
            ]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--work", type=Path, required=True, help="folder of this benchmark alone")
    parser.add_argument("--encoder", required=True, help="folder or name of the encoder")
    parser.add_argument("--sets", default=",".join(TRAIN), help="default: %(default)s")
    parser.add_argument("--systems", default=";".join(SYSTEMS), help="default: %(default)s")
    parser.add_argument("--threads", type=int, help="default: all cores")
    parser.add_argument("--out", type=Path, default=HERE / "correlation.md", help="the tables")
    asked = parser.parse_args()
    for where in asked.sets.split(","):
        case = Few(where, 0, TRAIN[where], asked.data, asked.work, asked.threads)
        for name in asked.systems.split(";"):
            if name in WANTED[where]:
                own = settings(where, name, asked.encoder)
                own_case = replace(case, named=name != NAMELESS)
                make = partial(trained, own_case, name, SYSTEMS[name][0], own)
                measure(case, name, make, partial(judged, case))
                asked.out.write_text(report(asked.work, asked.encoder), encoding="utf-8")
                drawn = draw("Learning with labels in view", panels(asked.work))
                asked.out.with_name(FIGURE).write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
