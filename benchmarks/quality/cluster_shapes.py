"""APLC's two ablations: how many clusters, and how many labels in the head.

    python benchmarks/quality/cluster_shapes.py --data DIR --work DIR --encoder FOLDER

Hidden layer and output layer learn from vectors that the encoder, as it was pretrained, gives
once for each text. DIR of --data holds a folder for each set with train.jsonl.xz and
test.jsonl.xz. Vectors and results are kept in DIR of --work; what is there is not made again. The
tables and the figure cluster_shapes.svg grow as results come.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn
from trial import TEST, Case, Panel, cell, draw, pairs, table, told_machine

from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking, ndcg
from labelgrove.core.types import Run
from labelgrove.evaluation import evaluate
from labelgrove.labels import LabelSpace
from labelgrove.models.neural.readers.base import Batch
from labelgrove.models.neural.readers.huggingface import load_encoder, pooling_for
from labelgrove.models.neural.readers.transformer import TransformerReader
from labelgrove.models.neural.scorers.base import Positives
from labelgrove.models.neural.scorers.cluster_sizes import sizes_for
from labelgrove.models.neural.scorers.label_clusters import LabelClusters
from labelgrove.models.neural.scorers.pooled import bottleneck
from labelgrove.models.neural.texts import as_ranking
from labelgrove.models.neural.training.batches import by_length, padded
from labelgrove.models.neural.training.loop import Objective
from labelgrove.models.neural.training.processes import train
from labelgrove.models.neural.training.settings import Training
from labelgrove.text import FEATURIZERS
from labelgrove.text.pretrained import load_tokenizer, specials_of

HERE = Path(__file__).parent
FIGURE = "cluster_shapes.svg"
TRAIN, LENGTH, HIDDEN, EPOCHS, BATCH = 6000, 64, 384, 20, 32
SETS = ("congress",)
SEEDS = (0, 1)
NAMES = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
NUMBERS = {f"{n} even": [1 / n] * n for n in range(1, 7)}
PARTITIONS = {
    "70, 20, 10 %": [0.7, 0.2, 0.1],
    "thirds": [1 / 3] * 3,
    "10, 20, 70 %": [0.1, 0.2, 0.7],
    "auto": "auto",
}
UNBIASED = {"2 even, no bias": [0.5, 0.5]}  # as published
SHAPES: dict[str, Any] = {**NUMBERS, **PARTITIONS, **UNBIASED}


class Heads(nn.Module):
    """A hidden layer and an output layer over given vectors."""

    def __init__(
        self, vectors: Tensor, counts: NDArray[np.int64], sizes: list[int], bias: bool, n: int
    ) -> None:
        super().__init__()
        self.register_buffer("vectors", vectors, persistent=False)
        self.between = bottleneck(vectors.shape[1], HIDDEN, nn.Tanh(), 0.1)
        order = torch.from_numpy(np.argsort(-counts, kind="stable"))
        self.output = LabelClusters(HIDDEN, order, sizes, bias=bias)
        if bias:
            self.output.begin(torch.from_numpy(counts), n)

    def forward(self, texts: Tensor, rows: Tensor, labels: Tensor) -> Tensor:
        return self.output.loss(self.between(self.vectors[texts]), Positives(rows, labels))

    def ranked(self, vectors: Tensor, k: int) -> Ranking:
        with torch.inference_mode():
            return as_ranking(*self.output.rank(self.between(vectors), k))


class Vectors(Objective):
    """Learn from vectors of texts; the last tenth is held out."""

    def __init__(self, vectors: Tensor, Y: csr_array, seed: int) -> None:
        self.n = 9 * len(vectors) // 10
        self.vectors, self.Y, self.seed = vectors, Y, seed

    @property
    def n_validation(self) -> int:
        return len(self.vectors) - self.n

    def batches(self, epoch: int) -> list[NDArray[np.int64]]:
        order = generator(self.seed, "batches", epoch).permutation(self.n)
        return np.split(order, range(BATCH, self.n, BATCH))

    def loss(self, network: nn.Module, rows: NDArray[np.int64]) -> Tensor:
        truth = self.Y[rows]
        texts = np.repeat(np.arange(len(rows)), np.diff(truth.indptr))
        given = (rows, texts, truth.indices.astype(np.int64))
        loss: Tensor = network(*map(torch.from_numpy, given))
        return loss

    def score(self, network: nn.Module) -> float:
        assert isinstance(network, Heads)
        ranking = network.ranked(self.vectors[self.n :], 5)
        return float(ndcg(ranking, self.Y[self.n :], 5).mean())


def vectors(case: Case, part: str, encoder: str) -> Tensor:
    """Return what the encoder makes of the texts, shape (n, d), made once."""
    path = case.work / f"{case.where}-{part}.npy"
    if not path.exists():
        print(f"{time.strftime('%H:%M:%S')} reading {case.where}, {part}", flush=True)
        specials = specials_of(load_tokenizer(encoder))
        reader = TransformerReader(load_encoder(encoder), specials, pooling_for(encoder, specials))
        room = LENGTH - len(specials.before) - len(specials.behind)
        texts, _ = pairs(case.documents(part))
        X = FEATURIZERS.create("subwords", tokenizer=encoder, length=room).fit_transform(texts)
        found = np.zeros((len(X), reader.n_pooled), np.float32)
        reader.eval()
        with torch.inference_mode():
            for rows in by_length(X.lengths, 64):
                found[rows] = reader(Batch(*padded(X, rows))).pooled.numpy()
        case.work.mkdir(parents=True, exist_ok=True)
        np.save(path, found)
    return torch.from_numpy(np.load(path))


def measure(case: Case, shape: str, seed: int, encoder: str) -> None:
    target = case.work / f"{case.where}-{seed}-{shape}.json"
    if target.exists():
        return
    train_vectors, test_vectors = (vectors(case, part, encoder) for part in ("train", "test"))
    (_, train_labels), (_, test_labels) = (pairs(case.documents(x)) for x in ("train", "test"))
    space = LabelSpace.from_labels(train_labels)
    Y, truth = space.encode(train_labels), space.encode(test_labels, unseen="append")
    n = 9 * len(train_labels) // 10
    counts = np.bincount(Y[:n].indices, minlength=Y.shape[1])
    sizes = sizes_for(SHAPES[shape], counts, HIDDEN, 2.0, BATCH, n)
    torch.manual_seed(seed)
    network = Heads(train_vectors, counts, sizes, shape not in UNBIASED, n)
    training = Training(
        batch=BATCH, epochs=EPOCHS, learning_rate=2e-3, schedule="linear", patience=1000,
        weight_decay=0.01, clip=1.0, clip_recent=None, seed=seed,
    )  # fmt: skip
    history = train(network, Vectors(train_vectors, Y, seed), training, Run(), {})
    ranking = network.eval().ranked(test_vectors, 5)
    chances = space.propensities(n_columns=truth.shape[1])
    scores = evaluate(truth, ranking, ks=(1, 3, 5), threshold=0.5, propensities=chances)
    result = {
        "sizes": sizes,
        "seconds": history[-1]["seconds"],
        "scores": {name: scores[name] for name in NAMES},
    }
    target.write_text(json.dumps(result), encoding="utf-8")
    print(f"  {case.where} {seed} {shape}: {100 * scores['P@1']:.2f}", flush=True)


def read(work: Path, where: str, shape: str) -> list[dict[str, Any]]:
    found = [work / f"{where}-{seed}-{shape}.json" for seed in SEEDS]
    return [json.loads(path.read_text(encoding="utf-8")) for path in found if path.exists()]


def report(work: Path, encoder: str) -> str:
    lines = [
        "# How many label clusters, and of which sizes",
        "",
        f"Hidden layer of {HIDDEN} and output layer, trained for {EPOCHS} epochs on vectors that "
        f"{Path(encoder).parent.name or encoder} gives as it was pretrained, for the first "
        f"{LENGTH} tokens of at most {TRAIN:,} documents, of which a tenth is held out; {TEST:,} "
        "test documents. The best epoch on held-out documents counts. Mean of two seeds (first "
        "weights, order of batches) with their standard deviation; per cent. *1 even* is a linear "
        "layer to all labels. Labels and gates have a bias that begins with their frequency, but "
        "for the last line. The paper's own: EURLex P@1 "
        "falls from 87.7 with two even clusters to 85.7 with six, by about 3 points from a head of "
        "70 to one of 10 %; Wiki10 loses little. Made with `python "
        "benchmarks/quality/cluster_shapes.py --data DIR --work DIR --encoder FOLDER`, on "
        + told_machine(),
        "",
        f"![P@1 and time over the number of clusters]({FIGURE})",
        "",
    ]
    for where in SETS:
        rows = []
        for shape in SHAPES:
            found = read(work, where, shape)
            if found:
                scores = [cell([100 * each["scores"][name] for each in found]) for name in NAMES]
                sizes = ", ".join(f"{size:,}" for size in found[0]["sizes"]) or "-"
                spent = np.mean([each["seconds"] for each in found])
                rows.append([shape, sizes, *scores, f"{spent:.0f}"])
        if rows:
            lines += [f"## {where}", "", *table(["clusters", "labels", *NAMES, "train s"], rows)]
    return "\n".join(lines).rstrip() + "\n"


def panels(work: Path) -> list[Panel]:
    found = []
    for where in SETS:
        means = {n: read(work, where, f"{n} even") for n in range(1, 7)}
        means = {n: runs for n, runs in means.items() if runs}
        if means:
            for name in ("P@1", "PSP@5"):
                values = [
                    float(np.mean([100 * r["scores"][name] for r in x])) for x in means.values()
                ]
                line = {"even clusters": (list(map(float, means)), values)}
                found.append(Panel(where, f"{name}, %", line, "clusters", "curves"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--work", type=Path, required=True, help="folder for all that is made")
    parser.add_argument("--encoder", required=True, help="folder or name of the encoder")
    parser.add_argument("--sets", default=",".join(SETS), help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=Path, default=HERE / "cluster_shapes.md", help="the tables")
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    for seed in SEEDS:
        for where in asked.sets.split(","):
            case = Case(where, 0, TRAIN, asked.data, asked.work, asked.threads)
            for shape in SHAPES:
                measure(case, shape, seed, asked.encoder)
                asked.out.write_text(report(asked.work, asked.encoder), encoding="utf-8")
                drawn = draw("Even label clusters", panels(asked.work))
                asked.out.with_name(FIGURE).write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
