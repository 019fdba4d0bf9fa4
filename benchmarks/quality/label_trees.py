"""What label trees of neural models are grown from, judged by a linear ranker of their clusters.

python benchmarks/quality/label_trees.py --data DIR --sets congress,tibkat

Trees of `attentionxml` (leaves of 64) are grown from 4,000 training documents, in three ways: from
counts of the first words, from tf-idf of the first words, and from tf-idf of whole texts. For each
tree one-vs-rest learns its clusters from tf-idf of whole texts, and ranks those of 1,000 other
training documents. What counts is the share of their labels below the best 15 clusters. Nothing
here reads a test set.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from labelgrove import models, read_corpus
from labelgrove.labels import LabelCollector, LabelTree, label_vectors
from labelgrove.text import Tfidf, Words
from labelgrove.text.token_weights import rarity_of, tfidf_of

TRAIN, HELD, LEAF, KEPT = 4_000, 1_000, 64, 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of data sets")
    parser.add_argument("--sets", default="congress,tibkat", help="separated by commas")
    parser.add_argument("--lengths", default="64,500", help="numbers of first words")
    parser.add_argument("--seeds", type=int, default=3, help="other documents and trees")
    arguments = parser.parse_args()
    lengths = [int(length) for length in arguments.lengths.split(",")]
    for name in arguments.sets.split(","):
        corpus = read_corpus(arguments.data / name / "train.jsonl.xz")
        documents = list(corpus)
        for seed in range(arguments.seeds):
            chosen = np.random.default_rng(seed).permutation(len(documents))[: TRAIN + HELD]
            for told, found in compared([documents[i] for i in chosen], lengths, seed).items():
                print(name, seed, told, found, flush=True)


def compared(documents, lengths, seed):
    """Return for each way to grow a tree how its clusters are found."""
    texts, labels = [document.text for document in documents], LabelCollector()
    for document in documents:
        labels.add(document.labels)
    _, Y = labels.finish()
    known = np.flatnonzero(np.bincount(Y[:TRAIN].indices, minlength=Y.shape[1]))
    Y = csr_array(Y[:, known])
    X = Tfidf().fit(texts[:TRAIN]).transform(texts)
    features = {"whole texts, tf-idf": X[:TRAIN]}
    for length in lengths:
        words = Words(length=length).fit_transform(texts[:TRAIN])
        counts = words.bag()
        counts.data = np.log1p(counts.data)
        features |= {
            f"{length} words, counts": counts,
            f"{length} words, tf-idf": tfidf_of(words, rarity_of(words)),
        }
    return {told: judged(own, X, Y, seed) for told, own in features.items()}


def judged(features, X, Y, seed) -> str:
    tree = LabelTree.balanced(label_vectors(features, Y[:TRAIN]), LEAF, seed=seed)
    level = tree.depth - 1
    clusters = csr_array(tree.indicators(Y, level))
    model = models.create("one-vs-rest").fit(X[:TRAIN], clusters[:TRAIN])
    ranking = model.rank(X[TRAIN:], KEPT)
    held, above = Y[TRAIN:], tree.levels[-1]
    found = sum(
        np.isin(above[held[[i]].indices], ranking.labels[i]).sum() for i in range(held.shape[0])
    )
    spread = np.diff(clusters[TRAIN:].indptr).mean()
    return (
        f"{100 * found / held.nnz:.1f} % of the labels below {KEPT} of {tree.n_nodes(level)} "
        f"clusters; a document has labels in {spread:.2f}"
    )


if __name__ == "__main__":
    main()
