"""Draw attention-of-labels.svg: the words that AttentionXML's labels look at (Figure 2 there).

    python docs/pictures/attention_of_labels.py --out docs/pictures/attention-of-labels.svg

It learns ten frequent labels from the demo's documents, which come with the package, in minutes
on two cores. The text is the first test document of at most 60 words whose two best labels are
both right.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import labelgrove
from labelgrove import Tagger, read_corpus
from labelgrove.core.progress import Lines
from labelgrove.core.types import Document, Run
from labelgrove.report.shaded_text import shaded_text
from labelgrove.tagger import explained

SAMPLE = Path(labelgrove.__file__).parent / "samples" / "arxiv"
SETTINGS = {
    "units": 32, "layers": [32], "length": 60, "batch": 16, "learning_rate": 0.01, "threads": 1,
    "vectors": "random", "vector_size": 100, "dropout": 0.2, "vector_dropout": 0.0,
    "prior": "frequency", "tree": "never", "first": "none",
}  # fmt: skip
WORDS = 60
LABELS = 10  # the most frequent


def trained(documents: int, epochs: int) -> Tagger:
    """Return an AttentionXML that has learned from the first documents of the sample."""
    train = frequent(list(read_corpus(SAMPLE / "train.jsonl.gz")))[:documents]
    tagger = Tagger(labelgrove.models.create("attentionxml", epochs=epochs, **SETTINGS))
    texts, labels = [each.text for each in train], [list(each.labels) for each in train]
    return tagger.fit(texts, labels, vocabulary=SAMPLE / "labels.tsv", run=Run(progress=Lines()))


def frequent(documents: list[Document]) -> list[Document]:
    """Return documents with their frequent labels, where they have any."""
    counts = Counter(label for each in documents for label in each.labels)
    kept = {label for label, _ in counts.most_common(LABELS)}
    fewer = [
        each._replace(labels=tuple(label for label in each.labels if label in kept))
        for each in documents
    ]
    return [each for each in fewer if each.labels]


def chosen(tagger: Tagger, test: list[Document]) -> Document:
    """Return the first short document whose two best labels are right; else the first short one."""
    short = [each for each in test if len(each.text.split()) <= WORDS]
    for each in short:
        if {tag.label for tag in tagger.tag(each.text, k=2)} <= set(each.labels):
            return each
    return short[0]


def main() -> None:
    """Train, choose a text and draw it."""
    parser = argparse.ArgumentParser(description="Draw the attention of two labels.")
    parser.add_argument("--out", type=Path, required=True, help="the SVG file")
    parser.add_argument("--documents", type=int, default=3000, help="default: %(default)s")
    parser.add_argument("--epochs", type=int, default=12, help="default: %(default)s")
    asked = parser.parse_args()
    tagger = trained(asked.documents, asked.epochs)
    document = chosen(tagger, list(read_corpus(SAMPLE / "test.jsonl.gz")))
    labels = list(explained(tagger, document.text, k=2))
    asked.out.write_text(shaded_text(document.text, labels), encoding="utf-8")
    for each in labels:
        right = "right" if each.label in document.labels else "wrong"
        print(f"{each.name}, {each.known}, {right}")


if __name__ == "__main__":
    main()
