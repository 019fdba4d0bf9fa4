"""Tf-idf of labelgrove against scikit-learn's, in the same run.

    python benchmarks/speed/tfidf.py --data DIR

DIR holds debtags, congress and finna, each with train.jsonl.xz and test.jsonl.xz. Both sides get
lists of texts, and the best of a few turns counts, taken by turns so that a busy machine is busy
for both. The table goes to tfidf.md beside this file.
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
from sklearn.feature_extraction.text import TfidfVectorizer

from labelgrove.text import Tfidf

CASES = (
    ("debtags", (1, 1)),
    ("debtags", (1, 2)),
    ("congress", (1, 1)),
    ("finna", (1, 1)),
    ("finna", (1, 2)),
)
HERE = Path(__file__).parent


def read(path: Path) -> list[str]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in file]


def best(calls: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    """Return the least seconds of each call, the calls taken by turns."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(turns):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            least[name] = min(least[name], time.perf_counter() - start)
    return least


def compare(train: list[str], test: list[str], ngrams: tuple[int, int], turns: int) -> list[str]:
    ours = {n: Tfidf(ngrams=ngrams, threads=n) for n in (1, None)}
    theirs = TfidfVectorizer(ngram_range=ngrams, sublinear_tf=True, dtype=np.float32)
    fitted = best(
        {
            "one": lambda: ours[1].fit_transform(train),
            "all": lambda: ours[None].fit_transform(train),
            "theirs": lambda: theirs.fit_transform(train),
        },
        turns,
    )
    applied = best(
        {
            "one": lambda: ours[1].transform(test),
            "all": lambda: ours[None].transform(test),
            "theirs": lambda: theirs.transform(test),
        },
        turns,
    )
    text = " ".join(" ".join(test[:100]).split()[:60])
    single = best(
        {
            "one": lambda: ours[1].transform([text]),
            "all": lambda: ours[None].transform([text]),
            "theirs": lambda: theirs.transform([text]),
        },
        500,
    )
    rows = []
    for what, spent in (
        (f"fit_transform, {len(train):,} texts", fitted),
        (f"transform, {len(test):,} texts", applied),
        ("transform, one text of 60 words", single),
    ):
        unit, scale = ("ms", 1e3) if spent["theirs"] < 0.1 else ("s", 1.0)
        seconds = [f"{spent[side] * scale:.2f} {unit}" for side in ("one", "all", "theirs")]
        rows.append(f"{what} | {' | '.join(seconds)} | **{spent['theirs'] / spent['all']:.1f} x**")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--turns", type=int, default=3, help="turns of which the best counts")
    arguments = parser.parse_args()
    Tfidf().fit(["warm up"]).transform(["warm up"])  # compile, or read what was compiled
    Tfidf().fit_transform(["warm up"])

    lines = [
        "# Tf-idf: labelgrove against scikit-learn",
        "",
        "Seconds, the best of a few turns; the ratio is scikit-learn's time by ours on all cores. "
        "Sublinear, l2, float32 on both sides.",
        "",
        "| data | n-grams | what | labelgrove, 1 thread | labelgrove, all | scikit-learn | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, ngrams in CASES:
        train = read(arguments.data / name / "train.jsonl.xz")
        test = read(arguments.data / name / "test.jsonl.xz")
        for row in compare(train, test, ngrams, arguments.turns):
            lines.append(f"| {name} | {ngrams[0]}-{ngrams[1]} | {row} |")
            print(lines[-1], flush=True)
    lines += [
        "",
        machine(installed("labelgrove", "numba", "numpy", "scipy", "scikit-learn"))
        + " Made with `python benchmarks/speed/tfidf.py --data DIR`.",
        "",
    ]
    (HERE / "tfidf.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
