"""Settings of the linear models side by side, on a tenth of the training documents held out.

python benchmarks/quality/linear.py --data DIR --sets tibkat bonsai bonsai,negatives=0,carry=1.0

Each model is a name with settings behind it; nothing here reads a test set.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from labelgrove import models, read_corpus
from labelgrove.evaluation import evaluate
from labelgrove.labels import LabelCollector
from labelgrove.text import Tfidf


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of data sets")
    parser.add_argument("--sets", default="debtags,tibkat,congress", help="separated by commas")
    parser.add_argument("models", nargs="+", help="such as bonsai,beam=20")
    arguments = parser.parse_args()
    for name in arguments.sets.split(","):
        X, Y = features(arguments.data / name / "train.jsonl.xz")
        held = np.random.default_rng(1).random(X.shape[0]) < 0.1
        models.create("bonsai").fit(X[:500], Y[:500])  # compiles
        for described in arguments.models:
            print(name, described, judged(described, X, Y, held), flush=True)


def features(path: Path):
    labels = LabelCollector()
    documents = read_corpus(path)
    X = Tfidf().fit_transform(documents.texts())
    for document in documents:
        labels.add(document.labels)
    return X, labels.finish()[1]


def judged(described: str, X, Y, held) -> str:
    name, *pairs = described.split(",")
    settings = {key: json.loads(value) for key, value in (pair.split("=") for pair in pairs)}
    started = time.perf_counter()
    model = models.create(name, **settings).fit(X[~held], Y[~held])
    trained = time.perf_counter()
    ranking = model.rank(X[held], 5)
    ranked = time.perf_counter()
    scores = evaluate(Y[held], ranking)
    shown = "/".join(f"{100 * scores[f'P@{k}']:.1f}" for k in (1, 3, 5))
    return (
        f"P@1/3/5 {shown}, trained in {trained - started:.1f} s, ranked in {ranked - trained:.2f} s"
    )


if __name__ == "__main__":
    main()
