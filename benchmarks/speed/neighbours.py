"""Nearest documents by tf-idf: labelgrove against scikit-learn and a sparse product, in one run.

    python benchmarks/speed/neighbours.py --data DIR

DIR holds debtags and congress, each with train.jsonl.xz. Every document asks for its ten
neighbours among all others: ours leave out the document and near copies (cosine above 0.95),
scikit-learn's and the product's are eleven, the document among them. The best of a few turns
counts, taken by turns so that a busy machine is busy for all. The table goes to neighbours.md
beside this file.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from machine import installed, machine
from scipy.sparse import csr_array
from sklearn.neighbors import NearestNeighbors
from tfidf import best, read

from labelgrove.models.neighbours import Memory
from labelgrove.models.neighbours.memory import unit_rows
from labelgrove.text import Tfidf

SETS = ("debtags", "congress")
K = 10
COPIES = 0.95
BLOCK = 512  # rows of the product that are held at once
HERE = Path(__file__).parent


def by_product(X: csr_array, queries: csr_array) -> Any:
    """The plain way: blocks of the product with all documents, and the best of each row."""
    found = []
    for first in range(0, queries.shape[0], BLOCK):
        cosines = (queries[first : first + BLOCK] @ X.T).toarray()
        found.append(np.argpartition(cosines, -K - 1, axis=1)[:, -K - 1 :])
    return np.concatenate(found)


def compare(texts: list[str], queries: int, turns: int) -> tuple[str, dict[str, float]]:
    X = unit_rows(Tfidf().fit_transform(texts))
    memory = Memory(X, csr_array((X.shape[0], 1)))
    memory.prepare()
    asked = X[: queries or X.shape[0]]
    own = np.arange(asked.shape[0])
    theirs = NearestNeighbors(n_neighbors=K + 1, metric="cosine", algorithm="brute").fit(X)

    def ours(threads: int | None) -> Any:
        return memory.nearest(asked, K, own=own, copies=COPIES, threads=threads)

    memory.nearest(asked[:16], K, own=own[:16], copies=COPIES)  # compile, or read what was
    spent = best(
        {
            "one": lambda: ours(1),
            "all": lambda: ours(None),
            "scikit-learn": lambda: theirs.kneighbors(asked),
            "product": lambda: by_product(X, asked),
        },
        turns,
    )
    return f"{asked.shape[0]:,} of {X.shape[0]:,}", spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--turns", type=int, default=3, help="turns of which the best counts")
    parser.add_argument("--queries", type=int, default=0, help="documents that ask; 0 for all")
    arguments = parser.parse_args()
    lines = [
        "# Nearest documents: labelgrove against scikit-learn",
        "",
        "Seconds until documents know their ten neighbours by tf-idf, the best of a few turns; the "
        "ratio is scikit-learn's time by ours on all cores. scikit-learn: `NearestNeighbors` by "
        "cosine, brute force; product: blocks of scipy's sparse product, and `argpartition`.",
        "",
        "| data | documents | labelgrove, 1 thread | labelgrove, all | scikit-learn | product | "
        "ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in SETS:
        many, spent = compare(
            read(arguments.data / name / "train.jsonl.xz"), arguments.queries, arguments.turns
        )
        seconds = " | ".join(f"{each:.2f} s" for each in spent.values())
        ratio = spent["scikit-learn"] / spent["all"]
        lines.append(f"| {name} | {many} | {seconds} | **{ratio:.1f} x** |")
        print(lines[-1], flush=True)
    lines += [
        "",
        machine(installed("labelgrove", "numba", "numpy", "scipy", "scikit-learn"))
        + " Made with `python benchmarks/speed/neighbours.py --data DIR`.",
        "",
    ]
    (HERE / "neighbours.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
