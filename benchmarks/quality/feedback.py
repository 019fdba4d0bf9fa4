"""What feedback is worth: a tagger before and after it learns from documents that users judged.

    python benchmarks/quality/feedback.py --data DIR [--set debtags] [--seeds 3]

DIR holds a folder for each set with train.jsonl.xz and test.jsonl.xz. bonsai learns from
1,000 or 4,000 random training documents and is judged by 3,000 random test documents. Feedback is
simulated: the labels of the data stand in for users who name all that is right. They judge other
documents, which are added, or training documents of which a third of the labels had been taken
away. Prints percentages, the mean of all seeds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from labelgrove import Tagger, read_corpus
from labelgrove.core.random import generator
from labelgrove.corpus import Corpus, Corrected, Document

FEW, TRAIN, TEST, SAID = 1000, 4000, 3000, (500, 1000)
TAKEN = 1 / 3  # of the label assignments
METRICS = ("P@1", "P@5", "R@5", "nDCG@5", "micro-F1", "macro-F1")


def corpus(documents: list[Document]) -> Corpus:
    """Return documents in memory as a corpus."""
    return Corpus.from_lists([each.text for each in documents], [each.labels for each in documents])


def incomplete(documents: list[Document], seed: int) -> list[Document]:
    """Return the documents without a third of their labels."""
    random = generator(seed, "taken")
    return [
        each._replace(labels=tuple(x for x in each.labels if random.random() >= TAKEN))
        for each in documents
    ]


def judged(folder: Path, seed: int) -> dict[str, list[float]]:
    """Return the scores before and after feedback of each kind and size."""
    random = generator(seed, "feedback")
    others = list(read_corpus(folder / "test.jsonl.xz"))
    test = corpus([others[i] for i in random.permutation(len(others))[:TEST]])
    unique = list({each.text: each for each in read_corpus(folder / "train.jsonl.xz")}.values())
    order = random.permutation(len(unique))
    train = [unique[i] for i in order[:TRAIN]]
    added = [unique[i] for i in order[TRAIN : TRAIN + max(SAID)]]
    found: dict[str, list[float]] = {}
    for about, documents, said in (
        (f"{FEW:,} documents", train[:FEW], added),
        (f"{TRAIN:,} documents", train, added),
        (f"{TRAIN:,} without a third of their labels", incomplete(train, seed), train),
    ):
        known = corpus(documents)
        before = Tagger("bonsai", seed=seed).fit(known)
        found[about] = scores(before, test)
        word = "corrected" if said is train else "added"
        for n in SAID:
            after = before.retrain(Corrected(known, {each.text: each for each in said[:n]}))
            found[f"{about}, {n:,} {word}"] = scores(after, test)
    return found


def scores(tagger: Tagger, test: Corpus) -> list[float]:
    """Return the metrics of one tagger; none of them goes by the labels that it knows."""
    found = tagger.evaluate(test)
    return [found[metric] for metric in METRICS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", default="debtags")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    runs = [judged(given.data / given.set, seed) for seed in range(given.seeds)]
    print("| feedback |", *(f"{metric} |" for metric in METRICS))
    print("|---|", *("---|" for _ in METRICS))
    for row in runs[0]:
        means = np.mean([run[row] for run in runs], axis=0)
        print(f"| {row} |", *(f"{100 * mean:.1f} |" for mean in means))


if __name__ == "__main__":
    main()
