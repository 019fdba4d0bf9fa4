"""Models of any kind side by side on few documents, judged by other training documents.

python benchmarks/quality/networks.py --data DIR --sets debtags bonsai transformer,encoder="minilm"

Each model is a name with settings behind it, values as JSON. Networks have a fixed number of
epochs, unless --held-out says how many of their documents stop them early; names of labels are
known where the set has them. Nothing here reads a test set.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from labelgrove import models, read_corpus
from labelgrove.core.features import Views
from labelgrove.core.types import FitContext
from labelgrove.evaluation import evaluate
from labelgrove.labels import LabelCollector, read_vocabulary
from labelgrove.text import FEATURIZERS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of data sets")
    parser.add_argument("--sets", default="debtags", help="separated by commas")
    parser.add_argument("--documents", type=int, default=2000, help="to learn from")
    parser.add_argument("--held-out", type=int, default=0, help="of these, to stop early by")
    parser.add_argument("--judged", type=int, default=1000, help="documents to judge by")
    parser.add_argument("--seeds", default="0,1", help="separated by commas")
    parser.add_argument("models", nargs="+", help='such as lightxml,encoder="FOLDER",epochs=3')
    asked = parser.parse_args()
    for where in asked.sets.split(","):
        documents = list(read_corpus(asked.data / where / "train.jsonl.xz"))
        names = asked.data / where / "labels.tsv"
        vocabulary = read_vocabulary(names) if names.exists() else None
        for described in asked.models:
            for seed in map(int, asked.seeds.split(",")):
                order = np.random.default_rng(seed).permutation(len(documents))
                chosen = [documents[row] for row in order[: asked.documents + asked.judged]]
                result = judged(
                    described, chosen, asked.documents, asked.held_out, vocabulary, seed
                )
                print(where, described, f"seed {seed}", result, flush=True)


def judged(described: str, documents, n: int, n_held: int, vocabulary, seed: int) -> str:
    """Learn from the first n documents, and return what is reached on the others."""
    name, *pairs = described.split(",")
    settings = {key: json.loads(value) for key, value in (pair.split("=", 1) for pair in pairs)}
    model = models.create(name, seed=seed, threads=1, **settings)
    labels = LabelCollector()
    for document in documents:
        labels.add(document.labels)
    space, Y = labels.finish(vocabulary)
    X, parts = features(model, [document.text for document in documents], n)
    fit = slice(0, n - n_held)
    held = (X[n - n_held : n], Y[n - n_held : n]) if n_held else None
    started = time.perf_counter()
    model.fit(X[fit], Y[fit], context=FitContext(space, parts, held))
    trained = time.perf_counter()
    scores = evaluate(Y[n:], model.rank(X[n:], 5))
    shown = "/".join(f"{100 * scores[f'P@{k}']:.1f}" for k in (1, 3, 5))
    return (
        f"nDCG@5 {100 * scores['nDCG@5']:.1f}, P@1/3/5 {shown}, "
        f"trained in {trained - started:.0f} s"
    )


def features(model, texts, n: int):
    """Return views of texts that a model asks for, and featurizers fitted on the first n."""
    views, parts = {}, {}
    for view, spec in model.views().items():
        parts[view] = FEATURIZERS.create(spec.featurizer, **spec.settings).fit(texts[:n])
        views[view] = parts[view].transform(texts)
    return (next(iter(views.values())) if len(views) == 1 else Views(views)), parts


if __name__ == "__main__":
    main()
