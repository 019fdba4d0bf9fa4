"""Features and labels for the systems: from texts, or planted.

python make_data.py texts SOURCE TARGET [--documents N]
python make_data.py planted TARGET --documents N --labels L
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, csr_matrix, diags_array, save_npz

from labelgrove.corpus import read_corpus
from labelgrove.labels import LabelCollector
from labelgrove.text import Tfidf

TOPIC = 50  # labels that occur together
TEST = 10_000  # planted test documents
SLOTS = 6  # labels of a planted document at most


def from_texts(source: Path, documents: int | None) -> dict[str, csr_array]:
    """Return tf-idf features and labels; labels that only the test set has come last in Y_test."""
    train = list(read_corpus(source / "train.jsonl.xz"))
    test = read_corpus(source / "test.jsonl.xz")
    if documents is not None:
        chosen = np.random.default_rng(0).permutation(len(train))[:documents]
        train = [train[i] for i in np.sort(chosen)]
    collector = LabelCollector()
    for document in train:
        collector.add(document.labels)
    space, Y = collector.finish()
    tfidf = Tfidf()
    X = tfidf.fit_transform([document.text for document in train])
    return {
        "X_train": X,
        "Y_train": Y,
        "X_test": tfidf.transform(test.texts()),
        "Y_test": space.encode(test.labels(), unseen="append"),
    }


def planted(documents: int, labels: int, seed: int = 0) -> dict[str, csr_array]:
    """Return documents whose words tell their labels, with label frequencies after Zipf.

    Labels belong to topics of 50. A document has a first label and some others of its topic, the
    frequent ones rather; the first documents see to it that every label is used. Every label
    owns four words and every topic ten. A document has a third of the words of its labels, some
    of its topic, some frequent ones, and ten of any labels, which mislead. The vocabulary grows
    with the root of the number of labels.
    """
    rng = np.random.default_rng(seed)
    n, topics = documents + TEST, max(labels // TOPIC, 1)
    words = int(1000 * np.sqrt(labels))

    def zipf(most: int, shape: tuple[int, ...]) -> np.ndarray:
        """Draw from 0 to most - 1, r with a chance of about 1 / (r + 1)."""
        return np.minimum((most + 1) ** rng.random(shape) - 1, most - 1).astype(np.int64)

    first = zipf(labels, (n,))
    others = (first % topics)[:, None] + topics * zipf(labels // topics, (n, SLOTS - 1))
    others[rng.random(others.shape) < 0.4] = -1
    given = np.column_stack([first, others])
    every = all_labels(labels, topics)
    given[: len(every)] = every
    topic = given[:, 0] % topics
    own = rng.integers(words, size=(labels, 4))
    shared = rng.integers(words, size=(topics, 10))
    said = own[given]
    said[(given < 0)[:, :, None] | (rng.random(said.shape) > 1 / 3)] = -1
    parts = [
        said.reshape(n, -1),
        shared[topic[:, None], rng.integers(10, size=(n, 4))],
        own[rng.integers(labels, size=(n, 10)), rng.integers(4, size=(n, 10))],
        zipf(words, (n, 20)),
    ]
    X, Y = _ones(np.column_stack(parts), words), _ones(given, labels)
    known = np.bincount(X[:documents].indices, minlength=words)
    X = X @ diags_array((np.log((1 + documents) / (1 + known)) + 1).astype(np.float32))
    X = csr_array(diags_array((1 / np.sqrt(X.power(2).sum(axis=1))).astype(np.float32)) @ X)
    train, test = slice(documents), slice(documents, n)
    return {"X_train": X[train], "Y_train": Y[train], "X_test": X[test], "Y_test": Y[test]}


def all_labels(labels: int, topics: int) -> np.ndarray:
    """Return rows of labels of one topic in which every label stands once, -1 for none."""
    blocks = int(np.ceil(labels / topics / SLOTS))
    member = np.arange(blocks * SLOTS).reshape(blocks, 1, SLOTS)
    found = (np.arange(topics)[:, None] + topics * member).reshape(-1, SLOTS)
    return np.where(found < labels, found, -1)


def _ones(columns: np.ndarray, width: int) -> csr_array:
    """Return a row for each row of column numbers, -1 left out, 1 where a column is named."""
    kept = columns >= 0
    ends = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int32)
    indices = columns[kept].astype(np.int32)
    found = csr_array((np.ones(len(indices), np.float32), indices, ends), (len(columns), width))
    found.sum_duplicates()
    found.data[:] = 1
    return found


def write(target: Path, made: dict[str, csr_array], *, text: bool) -> None:
    """Write all matrices as .npz, the training data as text too, and the sizes last."""
    target.mkdir(parents=True, exist_ok=True)
    for name, matrix in made.items():
        save_npz(target / f"{name}.npz", csr_matrix(matrix), compressed=False)
    X, Y = made["X_train"], made["Y_train"]
    if text:
        _write_text(target / "train.txt", X, Y)
    sizes = {
        "documents": X.shape[0],
        "test": made["X_test"].shape[0],
        "features": X.shape[1],
        "labels": Y.shape[1],
        "unseen": made["Y_test"].shape[1] - Y.shape[1],
        "words": X.nnz / X.shape[0],
        "per_document": Y.nnz / Y.shape[0],
    }
    (target / "sizes.json").write_text(json.dumps(sizes), encoding="utf-8")


def _write_text(path: Path, X: csr_array, Y: csr_array) -> None:
    """Write rows as ``label,label feature:value ...`` below a line with the sizes."""
    with path.open("w", encoding="utf-8") as file:
        print(*X.shape, Y.shape[1], file=file)
        for i in range(X.shape[0]):
            here = slice(X.indptr[i], X.indptr[i + 1])
            pairs = zip(X.indices[here].tolist(), X.data[here].tolist(), strict=True)
            labels = ",".join(map(str, Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist()))
            print(labels, *(f"{feature}:{value:.9g}" for feature, value in pairs), file=file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=["texts", "planted"])
    parser.add_argument("--source", type=Path, help="folder of train.jsonl.xz and test.jsonl.xz")
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--documents", type=int, help="of training")
    parser.add_argument("--labels", type=int)
    asked = parser.parse_args()
    if asked.kind == "texts":
        write(asked.target, from_texts(asked.source, asked.documents), text=True)
    else:
        write(asked.target, planted(asked.documents, asked.labels), text=False)


if __name__ == "__main__":
    main()
