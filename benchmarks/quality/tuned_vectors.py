"""What it costs that xr-transformer's encoder has learned from the documents of its linear half.

python benchmarks/quality/tuned_vectors.py --data DIR --encoder FOLDER [--seeds 0,1]

The encoder is fine-tuned on documents A. bonsai then learns from tf-idf beside its vectors of A, as
xr-transformer does, and of as many documents B, which the encoder has not seen; both are judged by
the same other training documents. The same with the vectors of the encoder as it is tells how much
of the difference is that of the documents. Nothing here reads a test set.
"""

import argparse
from pathlib import Path

import numpy as np
from networks import features

from labelgrove import models, read_corpus
from labelgrove.core.features import Views
from labelgrove.evaluation import evaluate
from labelgrove.labels import LabelCollector
from labelgrove.models.neural.readers.sentences import SentenceEncoder

DOCUMENTS, LENGTH = 600, 32
TUNED = {"frozen": 4, "batch": 16, "epochs": 2, "level_epochs": 1, "threads": 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of data sets")
    parser.add_argument("--set", default="debtags", help="default: %(default)s")
    parser.add_argument("--encoder", required=True, help="folder or name of the encoder")
    parser.add_argument("--seeds", default="0,1", help="separated by commas")
    asked = parser.parse_args()
    documents = list(read_corpus(asked.data / asked.set / "train.jsonl.xz"))
    for seed in map(int, asked.seeds.split(",")):
        order = np.random.default_rng(seed).permutation(len(documents))[: 3 * DOCUMENTS]
        compare([documents[row] for row in order], asked.encoder, seed)


def compare(documents, encoder: str, seed: int) -> None:
    """Print nDCG@5 for both kinds of vectors, both sets of documents and several weights."""
    labels = LabelCollector()
    for document in documents:
        labels.add(document.labels)
    Y = labels.finish()[1]
    model = models.create("xr-transformer", encoder=encoder, length=LENGTH, seed=seed, **TUNED)
    X = features(model, [document.text for document in documents], len(documents))
    A, held, B = (slice(n * DOCUMENTS, (n + 1) * DOCUMENTS) for n in range(3))
    model.fit(X[A], Y[A])
    plain = SentenceEncoder.load(encoder, LENGTH).encode(X["text"], threads=1)
    plain /= np.maximum(np.linalg.norm(plain, axis=1, keepdims=True), 1e-9)
    tuned = np.concatenate([model.encode(X[part]) for part in (A, held, B)])
    for name, vectors in (("tuned on A", tuned), ("as it is", plain)):
        sides = Views({"text": X["linear"], "dense": vectors})
        for weight in (0.0, 0.25, 0.5, 1.0, 2.0):
            settings = {"dense": encoder, "dense_weight": weight, "seed": seed, "threads": 1}
            told = []
            for part in (A, B):
                linear = models.create("bonsai", **settings).fit(sides[part], Y[part])
                told.append(100 * evaluate(Y[held], linear.rank(sides[held], 5))["nDCG@5"])
            print(f"seed {seed}, {name}, weight {weight}: A {told[0]:.1f}, B {told[1]:.1f}")


if __name__ == "__main__":
    main()
