"""Thresholds of single labels: how far each is drawn towards the threshold of all.

    python benchmarks/quality/thresholds.py --data DIR [--sets ...] [--seeds 3]

DIR holds a folder for each set with train.jsonl.xz; no test document is read. bonsai learns from
4,000 random training documents, thresholds are tuned on the tenth of them that it holds out, and
judged on up to 5,000 other training documents. Prints micro-F1/macro-F1, the mean of all seeds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labelgrove import Tagger, read_corpus
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import Decision, evaluate, tune_label_thresholds

TRAIN, JUDGED, PLACES = 4000, 5000, 100
SETS = ("reuters", "debtags", "arxiv", "congress")
STRENGTHS = (0, 2, 3, 5, 8, 10, 20, 50)
FEWEST = (2, 5, 10, 20, 50)


def thresholds(tagger: Tagger) -> dict[str, float | NDArray[np.floating]]:
    """Return the thresholds that each rule finds, by its name."""
    assert tagger.learned_.held_out is not None
    ranking, Y = tagger.learned_.held_out
    n_labels, true = tagger.labels_.n_labels, np.asarray(Y.sum(axis=0), np.int64)
    found: dict[str, float | NDArray[np.floating]] = {**tagger.thresholds_}
    for goal in ("macro", "micro"):
        common = tagger.thresholds_[goal]
        for strength in STRENGTHS:
            rule = f"drawn to {goal}, strength {strength}"
            found[rule] = tune_label_thresholds(Y, ranking, n_labels, common, strength=strength)
        own = tune_label_thresholds(Y, ranking, n_labels, common, strength=0)
        for fewest in FEWEST:
            found[f"own from {fewest} documents on, else {goal}"] = np.where(
                true[:n_labels] >= fewest, own, common
            )
    return found


def judged(source: Path, seed: int) -> dict[str, tuple[float, float]]:
    """Return micro- and macro-F1 of each rule on documents that neither was fitted to."""
    documents = list(read_corpus(source))
    order = generator(seed, "thresholds").permutation(len(documents))
    train = [documents[i] for i in order[:TRAIN]]
    known = {document.text for document in train}
    others = [documents[i] for i in order[TRAIN : TRAIN + JUDGED]]
    others = [document for document in others if document.text not in known]
    tagger = Tagger("bonsai", seed=seed)
    tagger.fit([each.text for each in train], [each.labels for each in train])
    ranking: Ranking = tagger.rank([each.text for each in others], PLACES)
    Y = tagger.labels_.encode([each.labels for each in others], unseen="append")
    found = {}
    for rule, threshold in thresholds(tagger).items():
        scores = evaluate(Y, ranking, ks=(1,), threshold=Decision(threshold=threshold))
        found[rule] = (scores["micro-F1"], scores["macro-F1"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    results = {}
    for name in given.sets:
        runs = [judged(given.data / name / "train.jsonl.xz", seed) for seed in range(given.seeds)]
        results[name] = {rule: np.mean([run[rule] for run in runs], axis=0) for rule in runs[0]}
    print("| rule |", *(f"{name} |" for name in results), "mean |")
    print("|---|", *("---|" for _ in results), "---|")
    for rule in next(iter(results.values())):
        values = [each[rule] for each in results.values()]
        cells = [f"{100 * f1[0]:.1f}/{100 * f1[1]:.1f}" for f1 in [*values, np.mean(values, 0)]]
        print(f"| {rule} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
