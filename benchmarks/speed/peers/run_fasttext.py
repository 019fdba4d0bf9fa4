"""fastText: a linear model over averaged word vectors that it learns itself, from texts.

    python run_fasttext.py --data DIR --model FILE --out FILE [--threads N] [--settings JSON]

DIR holds fasttext_train.txt, lines of labels and text, and fasttext_test.txt, lines of text. Runs
in the environment of fastText, which needs numpy below 2. Figures go to --out, the best labels of
each test document to a file of the same name that ends in .npy.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import fasttext
import numpy as np

DEPTH = 5  # labels asked for
MARK = "__label__"
# what its tutorial on several labels a text ends with (fasttext.cc/docs/en/supervised-tutorial)
RATES = (0.5, 0.1)  # the first one diverges with many labels a text; the other is the default
SETTINGS = {
    "epoch": 25,
    "wordNgrams": 2,
    "bucket": 200_000,
    "dim": 50,
    "loss": "ova",
    "verbose": 0,
}


def trained(texts: Path, threads: int, settings: dict[str, Any] | None) -> Any:
    """Train with given settings, or with the first learning rate, or where it fails the second."""
    if settings is not None:
        return fasttext.train_supervised(str(texts), thread=threads, seed=0, verbose=0, **settings)
    first, second = (
        partial(fasttext.train_supervised, str(texts), lr=rate, thread=threads, seed=0, **SETTINGS)
        for rate in RATES
    )
    try:
        return first()
    except RuntimeError as error:
        if "NaN" not in str(error):
            raise
        return second()


def measured(
    data: Path, path: Path, top: Path, threads: int, settings: dict[str, Any] | None
) -> dict[str, Any]:
    """Train, save and rank; return the figures."""
    began, cpu = time.perf_counter(), time.process_time()
    model = trained(data / "fasttext_train.txt", threads, settings)
    spent = {"train_s": time.perf_counter() - began, "cpu_s": time.process_time() - cpu}
    model.save_model(str(path))
    texts = (data / "fasttext_test.txt").read_text(encoding="utf-8").split("\n")[:-1]
    model.predict(texts[:50], k=DEPTH)  # warm up
    began = time.perf_counter()
    named, _ = model.predict(texts, k=DEPTH)
    spent["batch_s"] = time.perf_counter() - began
    labels = np.full((len(texts), DEPTH), -1, np.int32)
    for row, names in zip(labels, named, strict=True):
        row[: len(names)] = [int(name.removeprefix(MARK)) for name in names]
    np.save(top, labels)
    versions = {"fasttext-wheel": metadata.version("fasttext-wheel")}
    return {**spent, "disk": path.stat().st_size, "versions": versions}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("data", "model", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--settings", type=json.loads, help="in place of the tutorial's")
    asked = parser.parse_args()
    top = asked.out.with_suffix(".npy")
    found = measured(asked.data, asked.model, top, asked.threads, asked.settings)
    asked.out.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
