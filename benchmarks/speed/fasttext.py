"""Training of our fasttext against the program fastText, in the same run, one thread each.

    python benchmarks/speed/fasttext.py --data DIR --work DIR --python VENV/bin/python

DIR of --data holds debtags, arxiv and finna, each with train.jsonl.xz and test.jsonl.xz; VENV has
fasttext-wheel and numpy below 2. Both sides get the same words (those of our tokenizer, in small
letters) and the same labels, epochs, rate, size of vectors and loss, and train by turns; the best
of the turns counts. Time is from texts to the trained model: the program reads a file and counts
its words, ours counts the words of texts in memory. The table goes to fasttext.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import lzma
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from machine import installed, machine
from scipy.sparse import csr_array

from labelgrove import models
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import evaluate
from labelgrove.labels import LabelSpace
from labelgrove.text import Words, tokenize

HERE = Path(__file__).parent
PEER = HERE / "peers" / "run_fasttext.py"
NAMES = {"one-vs-all": "ova", "hierarchical": "hs", "softmax": "softmax"}  # as the program has them
CASES = (  # set, loss, epochs
    ("debtags", "one-vs-all", 10),
    ("arxiv", "one-vs-all", 5),
    ("finna", "hierarchical", 5),
)
RATE, SIZE, DEPTH = 0.5, 100, 5
THEIR_WAY = {"prior": "none", "quiet": 0.0}


@dataclass
class Case:
    """Texts and labels of a set, and a folder for what the program reads and writes."""

    texts: dict[str, list[str]]
    Y: csr_array
    truth: csr_array
    folder: Path

    def scores(self, labels: np.ndarray) -> dict[str, float]:
        """Return P@1 and nDCG@5 in per cent of the best labels (n, 5)."""
        falling = np.tile(np.linspace(1, 0.5, labels.shape[1]), (len(labels), 1))
        found = evaluate(self.truth, Ranking(labels, np.where(labels < 0, 0, falling)))
        return {name: 100 * float(found[name]) for name in ("P@1", "nDCG@5")}


def read(path: Path) -> list[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def prepared(data: Path, work: Path, name: str) -> Case:
    """Read a set, write it for the program, and return it."""
    rows = {part: read(data / name / f"{part}.jsonl.xz") for part in ("train", "test")}
    space = LabelSpace.from_labels([row["labels"] for row in rows["train"]])
    Y = space.encode([row["labels"] for row in rows["train"]])
    truth = space.encode([row["labels"] for row in rows["test"]], unseen="append")
    texts = {
        part: [" ".join(tokenize(row["text"])).lower() for row in own] for part, own in rows.items()
    }
    folder = work / name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "fasttext_train.txt").open("w", encoding="utf-8") as file:
        for text, first, last in zip(texts["train"], Y.indptr[:-1], Y.indptr[1:], strict=True):
            marks = [f"__label__{label}" for label in Y.indices[first:last]]
            print(*marks, text, file=file)
    (folder / "fasttext_test.txt").write_text(
        "".join(f"{text}\n" for text in texts["test"]), encoding="utf-8"
    )
    return Case(texts, Y, truth, folder)


def theirs(case: Case, python: Path, loss: str, epochs: int) -> dict[str, Any]:
    """Train the program, in a process of its own."""
    settings = {"lr": RATE, "epoch": epochs, "dim": SIZE, "loss": NAMES[loss], "wordNgrams": 1}
    out = case.folder / "result.json"
    words = ["--data", case.folder, "--model", case.folder / "model.bin", "--out", out]
    words += ["--threads", 1, "--settings", json.dumps(settings)]
    subprocess.run([python, PEER, *map(str, words)], check=True)
    found: dict[str, Any] = json.loads(out.read_text("utf-8"))
    (case.folder / "model.bin").unlink()
    return found | case.scores(np.load(out.with_suffix(".npy")))


def ours(case: Case, loss: str, **settings: Any) -> dict[str, Any]:
    """Train our model."""
    words = Words(length=1000, threads=1)
    model = models.create("fasttext", loss=loss, dimension=SIZE, threads=1, **settings)
    began = time.perf_counter()
    model.fit(words.fit_transform(case.texts["train"]), case.Y)
    spent = time.perf_counter() - began
    test = words.transform(case.texts["test"])
    return {"train_s": spent} | case.scores(model.rank(test, DEPTH).labels)


def compare(case: Case, python: Path, loss: str, epochs: int, turns: int) -> list[list[str]]:
    """Return what is in the table about a set: three rows of cells."""
    same = {"epochs": epochs, "learning_rate": RATE}
    sides = {
        "fastText": lambda: theirs(case, python, loss, epochs),
        "labelgrove, its way": lambda: ours(case, loss, **THEIR_WAY, **same),
        "labelgrove": lambda: ours(case, loss),
    }
    best: dict[str, dict[str, Any]] = {}
    for _ in range(turns):
        for name, side in sides.items():
            found = side()
            if name not in best or found["train_s"] < best[name]["train_s"]:
                best[name] = found
    reference = best["fastText"]["train_s"]
    return [
        [
            name,
            f"{found['train_s']:.1f}",
            f"{reference / found['train_s']:.1f} x",
            f"{found['P@1']:.1f}",
            f"{found['nDCG@5']:.1f}",
        ]
        for name, found in best.items()
    ]


def warm_up() -> None:
    """Compile, or read what was compiled."""
    X = Words().fit_transform(["one two", "two three"] * 20)
    Y = csr_array(np.tile(np.eye(2, dtype=np.float32), (20, 1)))
    for loss in NAMES:
        models.create("fasttext", loss=loss, threads=1).fit(X, Y).rank(X, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--work", type=Path, required=True, help="folder for the program's files")
    parser.add_argument("--python", type=Path, required=True, help="Python with fasttext-wheel")
    parser.add_argument("--turns", type=int, default=2, help="turns of which the best counts")
    asked = parser.parse_args()
    warm_up()
    lines = [
        "# fasttext: labelgrove against the program",
        "",
        f"One thread each, by turns, the best of {asked.turns}; {SIZE} numbers a vector, words "
        f"alone, rate {RATE}, the epochs of the second column on both sides, all training and test "
        'documents. "Its way" is the same in every setting (prior=none, quiet=0); the last row of '
        "each three is our model as it comes, with epochs and a rate of its own. Seconds are from "
        "texts to the trained model. Scores in per cent, one seed.",
        "",
        "| set, loss | epochs | system | train s | speed | P@1 | nDCG@5 |",
        "|---|---:|---|---:|---:|---:|---:|",
    ]
    cases: dict[str, Case] = {}
    for name, loss, epochs in CASES:
        if name not in cases:
            cases = {name: prepared(asked.data, asked.work, name)}
        for cells in compare(cases[name], asked.python, loss, epochs, asked.turns):
            lines.append(f"| {name}, {loss} | {epochs} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    versions = installed("labelgrove", "numba", "numpy") | {"fasttext-wheel": "0.9.2"}
    lines += [
        "",
        f"{machine(versions)} Made with `python benchmarks/speed/fasttext.py --data DIR --work DIR "
        f"--python VENV/bin/python --turns {asked.turns}`.",
        "",
    ]
    (HERE / "fasttext.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
