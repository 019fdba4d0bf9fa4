"""What dense columns cost a linear model, beside the same model without them in the same run.

    python benchmarks/speed/dense.py --data DIR --vectors DIR [--documents 4000]

DIR of --data holds a folder for each set with train.jsonl.xz; --vectors is a folder of static
vectors that model2vec loads. Nothing here reads a test set: the documents that are ranked are
other training documents. The best of a few turns counts, taken by turns so that a busy machine is
busy for both. Encoding the texts is not counted. The table goes to dense.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import installed, machine
from model2vec import StaticModel

from labelgrove import models
from labelgrove.core.features import Views
from labelgrove.evaluation import evaluate
from labelgrove.labels import LabelCollector
from labelgrove.text import Tfidf

HERE = Path(__file__).parent
SETS = ("debtags", "arxiv", "reuters", "congress")
HELD_OUT = 2_000
ONE_BY_ONE = 300


def read(path: Path, n: int) -> list[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    return [documents[i] for i in np.random.default_rng(5).permutation(len(documents))[:n]]


def features(documents: list[dict[str, Any]], vectors: Path, n: int) -> tuple[Views, Any]:
    texts, labels = [each["text"] for each in documents], LabelCollector()
    for each in documents:
        labels.add(each["labels"])
    dense = StaticModel.from_pretrained(vectors).encode(texts).astype(np.float32)
    dense /= np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1e-9)
    text = Tfidf().fit(texts[:n]).transform(texts)
    return Views({"text": text, "dense": dense}), labels.finish()[1]


def best(calls: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    """Return the least processor seconds of each call, the calls taken by turns.

    Others work on the machine: seconds of its clock would count them too.
    """
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(turns):
        for name, call in calls.items():
            start = time.process_time()
            call()
            least[name] = min(least[name], time.process_time() - start)
    return least


def compare(name: str, X: Views, Y: Any, n: int, turns: int) -> list[str]:
    given = {"without": X["text"], "with": X}
    made = {
        "without": models.create("bonsai", threads=1),
        "with": models.create("bonsai", threads=1, dense="static:given", dense_weight=0.5),
    }
    held = slice(X.shape[0] - HELD_OUT, None)
    for side, model in made.items():  # compiles
        model.fit(given[side][:n], Y[:n])
    fitted = best({s: lambda s=s: made[s].fit(given[s][:n], Y[:n]) for s in made}, turns)
    batch = best({s: lambda s=s: made[s].rank(given[s][held], 5) for s in made}, turns)
    singles = {s: [given[s][i : i + 1] for i in range(ONE_BY_ONE)] for s in made}
    single = best({s: lambda s=s: [made[s].rank(x, 5) for x in singles[s]] for s in made}, turns)
    scores = {s: evaluate(Y[held], made[s].rank(given[s][held], 5)) for s in made}
    shown = {s: "/".join(f"{100 * scores[s][f'P@{k}']:.1f}" for k in (1, 3, 5)) for s in made}
    return [
        row(name, f"training, {n:,} documents", fitted, 1.0, "s"),
        row(name, f"ranking {HELD_OUT:,} documents, each", batch, 1e3 / HELD_OUT, "ms"),
        row(name, "ranking one document", single, 1e3 / ONE_BY_ONE, "ms"),
        f"| {name} | P@1/3/5 held out | {shown['without']} | {shown['with']} | |",
    ]


def row(name: str, what: str, spent: dict[str, float], factor: float, unit: str) -> str:
    without, with_dense = spent["without"] * factor, spent["with"] * factor
    ratio = f"{with_dense / without:.2f} x"
    return f"| {name} | {what} | {without:.3f} {unit} | {with_dense:.3f} {unit} | {ratio} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--vectors", type=Path, required=True, help="folder of static vectors")
    parser.add_argument("--documents", type=int, default=4_000, help="documents to learn from")
    parser.add_argument("--turns", type=int, default=5, help="turns of which the best counts")
    arguments = parser.parse_args()
    lines = [
        "# Dense columns beside tf-idf",
        "",
        "`bonsai` with and without dense columns, the 256 numbers of static vectors "
        "(potion-base-8M), one thread, processor time, the best of a few turns. Encoding the texts "
        "is not counted.",
        "",
        "| data | what | without | with | ratio |",
        "|---|---|---|---|---|",
    ]
    for name in SETS:
        documents = read(arguments.data / name / "train.jsonl.xz", arguments.documents + HELD_OUT)
        X, Y = features(documents, arguments.vectors, arguments.documents)
        for line in compare(name, X, Y, arguments.documents, arguments.turns):
            lines.append(line)
            print(line, flush=True)
    packages = installed("labelgrove", "llvmlite", "model2vec", "numba", "numpy", "scipy")
    command = "`python benchmarks/speed/dense.py --data DIR --vectors DIR`"
    lines += ["", f"{machine(packages)} Made with {command}.", ""]
    (HERE / "dense.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
