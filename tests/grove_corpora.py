"""Corpora on which it is known which makers of a grove are useful."""

import numpy as np

from labelgrove.core.progress import Silent
from labelgrove.labels import Concept, Vocabulary


class Said(Silent):
    """Keeps what is said."""

    def __init__(self):
        self.lines = []

    def say(self, message):
        self.lines.append(message)


def squares(n, seed=0, size=5):
    """Return texts whose label no single word tells: it depends on a pair of words.

    So neighbours, which share both words, know it, and linear classifiers do not.
    """
    random = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        row, column = random.integers(size, size=2)
        words = [f"row{row}", f"column{column}"] * 2 + [f"filler{random.integers(6)}"]
        texts.append(" ".join(random.permutation(words)))
        labels.append([f"sum{(row + column) % size}"])
    return texts, labels


def named(n, seed=0, size=80):
    """Return texts with the name of their label, labels of few documents, and the vocabulary.

    The last ten labels of the vocabulary have no document.
    """
    random = np.random.default_rng(seed)
    concepts = {f"c{i:03d}": Concept(f"plant{i} leaf{i}") for i in range(size + 10)}
    texts, labels = [], []
    for _ in range(n):
        own = int(random.integers(size))
        filler = [f"filler{i}" for i in random.integers(40, size=6)]
        texts.append(" ".join([*filler[:3], f"plant{own} leaf{own}", *filler[3:]]))
        labels.append([f"c{own:03d}"])
    return texts, labels, Vocabulary(concepts)
