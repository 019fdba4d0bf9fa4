"""The neural half: training against a plain PyTorch loop, ranking and memory as labels grow.

    python benchmarks/speed/neural.py --data DIR [--sets debtags,arxiv] [--labels 1000,10000,100000]

DIR holds a folder for each set with train.jsonl.xz, and glove/ with GloVe vectors. Every figure
comes from a process of its own. The tables go to neural.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from machine import installed, machine

HERE = Path(__file__).parent
DOCUMENTS, HELD, BATCH, UNITS, RATE = 1600, 1000, 40, 128, 0.01
GROWN = 10_000  # documents of the planted sets


# --- training against a plain loop --------------------------------------------------------------


def task(data: Path, name: str, length: int) -> tuple[Any, ...]:
    """Return words and labels of training and held-out documents, and vectors of the words."""
    from itertools import islice

    from labelgrove import read_corpus
    from labelgrove.labels import LabelSpace
    from labelgrove.text import Words, vectors_for

    found = list(islice(read_corpus(data / name / "train.jsonl.xz"), DOCUMENTS + HELD))
    words = Words(length=length)
    X = words.fit_transform([each.text for each in found])
    space = LabelSpace.from_labels([each.labels for each in found])
    Y = space.encode([each.labels for each in found])
    glove = next(iter((data / "glove").glob("*.txt*")))
    vectors = vectors_for(words, glove).matrix
    return X[:DOCUMENTS], Y[:DOCUMENTS], X[DOCUMENTS:], Y[DOCUMENTS:], vectors


def network(vectors: Any, n_labels: int, sparse: bool) -> Any:
    import numpy as np
    import torch

    from labelgrove.models.neural.network import Network
    from labelgrove.models.neural.priors.start import LabelStart
    from labelgrove.models.neural.readers.word_networks import BiLSTM
    from labelgrove.models.neural.readers.words import WordEmbedding, WordReader
    from labelgrove.models.neural.scorers.label_attention import LabelAttentionScorer

    torch.manual_seed(0)
    words = WordEmbedding(torch.from_numpy(vectors))
    words.lookup.sparse = sparse
    reader = WordReader(words, BiLSTM(vectors.shape[1], UNITS))
    start = LabelStart(np.zeros(n_labels, np.int64), 0)
    return Network(reader, LabelAttentionScorer(start, reader.n_vector, [UNITS]))


def objective_of(X: Any, Y: Any, held: Any, settings: Any) -> Any:
    """Return the loss over all labels, and nDCG@5 of held-out documents."""
    from labelgrove.models.neural.candidates.all import rank_all
    from labelgrove.models.neural.candidates.samplers import Everything
    from labelgrove.models.neural.learning import LabelObjective
    from labelgrove.models.neural.texts import Texts

    def rank(net: Any, texts: Any, k: int) -> Any:
        return rank_all([net], texts, k, settings.batch)

    held = held and (Texts(held[0]), held[1])
    return LabelObjective(Texts(X), Y, Everything(), None, held, rank, "nDCG@5", settings)


def ours(data: Path, name: str, length: int, epochs: int) -> dict[str, float]:
    from labelgrove.core.types import Run
    from labelgrove.models.neural.training.batches import padding_share
    from labelgrove.models.neural.training.processes import train
    from labelgrove.models.neural.training.settings import Training

    X, Y, held_X, held_Y, vectors = task(data, name, length)
    net = network(vectors, Y.shape[1], sparse=True)
    settings = Training(batch=BATCH, epochs=epochs, learning_rate=RATE, device="cpu")
    objective = objective_of(X, Y, None, settings)
    began = time.perf_counter()
    train(net, objective, settings, Run(), {})
    spent = time.perf_counter() - began
    padding = padding_share(X.lengths, objective.batches(0))
    return {
        **judged(net, held_X, held_Y, spent / epochs),
        "padding": padding,
        "words": float(X.lengths.mean()),
    }


def plain(data: Path, name: str, length: int, epochs: int) -> dict[str, float]:
    """Train as a tutorial would: batches at random, padded to the full length, dense Adam."""
    import numpy as np
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits

    from labelgrove.models.neural.readers.base import Batch

    X, Y, held_X, held_Y, vectors = task(data, name, length)
    net = network(vectors, Y.shape[1], sparse=False).train()
    optimizer = torch.optim.Adam(net.parameters(), RATE)
    tokens = np.zeros((len(X), length), np.int64)
    for i in range(len(X)):
        own = X.sequence(i)
        tokens[i, : len(own)] = own
    inputs, lengths = torch.from_numpy(tokens), torch.from_numpy(X.lengths)
    random = np.random.default_rng(0)
    began = time.perf_counter()
    for _ in range(epochs):
        order = random.permutation(len(X))
        for first in range(0, len(order), BATCH):
            rows = order[first : first + BATCH]
            logits = net.logits(Batch(inputs[rows], lengths[rows]))
            loss = binary_cross_entropy_with_logits(logits, torch.from_numpy(Y[rows].toarray()))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    spent = time.perf_counter() - began
    padding = 1 - X.lengths.sum() / tokens.size
    return {**judged(net, held_X, held_Y, spent / epochs), "padding": float(padding)}


def judged(net: Any, X: Any, Y: Any, seconds: float) -> dict[str, float]:
    import torch

    from labelgrove.models.neural.training.settings import Training

    net.eval()
    with torch.no_grad():
        score = objective_of(X, Y, (X, Y), Training(batch=BATCH)).score(net)
    return {"documents_per_s": DOCUMENTS / seconds, "nDCG@5": float(score or 0.0)}


# --- growth -------------------------------------------------------------------------------------


def planted(n_labels: int) -> tuple[Any, Any]:
    """Return 10,000 documents of five labels each, drawn by a power law, and two words of each."""
    import numpy as np
    from scipy.sparse import csr_array

    from labelgrove.core.features import TokenSequences

    random = np.random.default_rng(0)
    chance = 1.0 / np.arange(1, n_labels + 1) ** 0.7
    ends = np.cumsum(chance / chance.sum())
    labels = np.minimum(np.searchsorted(ends, random.random((GROWN, 5))), n_labels - 1)
    n_words = 30_000
    own = (labels[:, :, None] * 2 + np.arange(2)) * 7919 % n_words
    noise = random.integers(0, n_words, (GROWN, 20))
    tokens = np.hstack([own.reshape(GROWN, -1), noise]) + 2
    X = TokenSequences(tokens.ravel(), np.arange(GROWN + 1) * tokens.shape[1], n_words + 2)
    rows = np.repeat(np.arange(GROWN), 5)
    Y = csr_array((np.ones(labels.size, np.float32), (rows, labels.ravel())), (GROWN, n_labels))
    Y.data[:] = 1
    return X, Y


def grown(n_labels: int, tree: str) -> dict[str, float]:
    """Train one short epoch, then rank."""
    from labelgrove import models

    X, Y = planted(n_labels)
    few = 1000
    model = models.create(
        *("attentionxml",), units=64, layers=[64], vector_size=64, epochs=1, batch=BATCH,
        tree=tree, device="cpu",
    )  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    model.fit(X, Y) if tree == "always" else model.fit(X[:few], Y[:few])
    spent = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model.rank(X[:100], 5)
    began = time.perf_counter()
    model.rank(X[:few], 5)
    ranked = few / (time.perf_counter() - began)
    trained = len(model.networks_) * (GROWN if tree == "always" else few) / spent
    return {"train": trained, "rank": ranked, "MB": peak / 1024, "MB before": before / 1024}


# --- the tables -------------------------------------------------------------------------------


def step(*words: object) -> dict[str, float]:
    print(*words, flush=True)
    command = [sys.executable, __file__, "--step", *map(str, words)]
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print("  " + ", ".join(f"{key} {value:.4g}" for key, value in found.items()), flush=True)
    return found


def training_table(data: Path, sets: list[str], lengths: list[str], epochs: int) -> list[str]:
    lines = [
        "| data, words at most | words | ours, documents/s | plain | ratio | padding, ours | plain "
        "| nDCG@5, ours | plain |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in sets:
        for length in lengths:
            us, them = (step(way, data, name, length, epochs) for way in ("ours", "plain"))
            lines.append(
                f"| {name}, {length} | {us['words']:.0f} | {us['documents_per_s']:.1f} "
                f"| {them['documents_per_s']:.1f} "
                f"| **{us['documents_per_s'] / them['documents_per_s']:.1f} x** "
                f"| {us['padding']:.0%} | {them['padding']:.0%} "
                f"| {100 * us['nDCG@5']:.1f} | {100 * them['nDCG@5']:.1f} |"
            )
    return lines


def growth_table(sizes: list[int]) -> list[str]:
    lines = [
        "| labels | way | trains, documents/s and level | ranks, documents/s | peak MB |",
        "|---:|---|---:|---:|---:|",
    ]
    for n_labels in sizes:
        for tree in ("never", "always") if n_labels <= 10_000 else ("always",):
            found = step("grown", n_labels, tree)
            way = "tree" if tree == "always" else "flat"
            lines.append(
                f"| {n_labels:,} | {way} | {found['train']:.0f} | {found['rank']:.0f} "
                f"| {found['MB']:,.0f} |"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--sets", default="debtags,arxiv", help="default: %(default)s")
    parser.add_argument("--lengths", default="128,500", help="default: %(default)s")
    parser.add_argument("--epochs", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--labels", default="1000,10000,100000", help="default: %(default)s")
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.step:
        way, *words = asked.step
        if way == "grown":
            print(json.dumps(grown(int(words[0]), words[1])))
        else:
            run = {"ours": ours, "plain": plain}[way]
            print(json.dumps(run(Path(words[0]), words[1], int(words[2]), int(words[3]))))
        return
    lines = [
        "# The neural half",
        "",
        f"## Training against a plain loop\n\nThe flat network of AttentionXML, {UNITS} units per "
        f"direction, {DOCUMENTS:,} documents, {asked.epochs} epochs, batches of {BATCH}. Ours: "
        "batches of like length, sparse gradients of the words' vectors. Plain: batches at random, "
        f"padded to the most words, dense Adam. nDCG@5 on {HELD:,} other documents.",
        "",
        *training_table(asked.data, asked.sets.split(","), asked.lengths.split(","), asked.epochs),
        "",
        "## Growth with the labels\n\nPlanted documents of 30 words, 64 units per direction.",
        "",
        *growth_table([int(size) for size in asked.labels.split(",") if size]),
        "",
        machine(installed("labelgrove", "torch", "lightning-fabric", "numpy", "scipy"))
        + " Made with `python benchmarks/speed/neural.py --data DIR`.",
        "",
    ]
    (HERE / "neural.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
