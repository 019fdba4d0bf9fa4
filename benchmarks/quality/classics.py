"""Published methods without networks beside bonsai and one-vs-rest, all with their defaults.

python benchmarks/quality/classics.py --data DIR [--sets debtags,reuters,congress] [--models ...]

Random training documents of each set, judged by random test documents. Results are added to
classics.jsonl, and classics.md shows the newest.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from machine import installed, machine
from markdown_tables import table, write_below

from labelgrove import models, read_corpus
from labelgrove.evaluation import evaluate
from labelgrove.labels import LabelSpace, propensities
from labelgrove.text import Tfidf

SETS = ("debtags", "reuters", "congress")
MODELS = (
    *("bonsai", "one-vs-rest", "knn", "label-powerset", "fastxml", "pfastrexml"),
    *("annexml", "sleec", "pd-sparse"),
)
SHOWN = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5")
MARK = "<!-- below: classics.py -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of data sets")
    parser.add_argument("--sets", default=",".join(SETS), help="separated by commas")
    parser.add_argument("--models", default=",".join(MODELS), help="separated by commas")
    parser.add_argument("--documents", type=int, default=3000, help="to learn from")
    parser.add_argument("--test", type=int, default=1500, help="to judge by")
    arguments = parser.parse_args()
    kept = Path(__file__).with_suffix(".jsonl")
    for name in arguments.sets.split(","):
        data = some(arguments.data / name, arguments.documents, arguments.test)
        for model in arguments.models.split(","):
            found = {"set": name, "model": model, **judged(model, *data)}
            print(json.dumps(found), flush=True)
            with kept.open("a") as file:
                file.write(json.dumps(found) + "\n")
    write_page(kept)


def write_page(kept: Path) -> None:
    """Write the newest result of each model on each set as tables."""
    known = [json.loads(line) for line in kept.read_text("utf-8").splitlines()]
    newest = {(each["set"], each["model"]): each for each in known}
    lines = [machine(installed("numpy", "numba", "scipy")), ""]
    for name in SETS:
        rows = [newest[name, model] for model in MODELS if (name, model) in newest]
        cells = [[row["model"], *(f"{row[each]:.1f}" for each in SHOWN)] for row in rows]
        if rows:
            about = f"{rows[0]['documents']:,} documents, {rows[0]['labels']:,} labels."
            lines += [f"## {name}", "", about, "", *table(["model", *SHOWN], cells)]
    write_below(kept.with_suffix(".md"), MARK, lines)


def some(folder: Path, n_train: int, n_test: int):
    """Return features and labels of random documents of both files, labels of training first."""
    chance = np.random.default_rng(0)
    parts = []
    for part, n in (("train", n_train), ("test", n_test)):
        documents = list(read_corpus(folder / f"{part}.jsonl.xz"))
        parts.append([documents[i] for i in chance.permutation(len(documents))[:n]])
    train, test = parts
    space = LabelSpace.from_labels([document.labels for document in train])
    text = Tfidf().fit([document.text for document in train])
    rows = [text.transform([document.text for document in part]) for part in parts]
    Y = space.encode([document.labels for document in train])
    return rows[0], Y, rows[1], space.with_more([document.labels for document in test])[1]


def judged(name, X, Y, texts, truth):
    model = models.create(name).fit(X, Y)
    counts = np.bincount(Y.indices, minlength=truth.shape[1])
    found = evaluate(truth, model.rank(texts, 5), propensities=propensities(counts, X.shape[0]))
    shown = {each: round(100 * found[each], 2) for each in SHOWN}
    return {"documents": X.shape[0], "labels": Y.shape[1], **shown}


if __name__ == "__main__":
    main()
