"""The table that papers print of a data set, and how its labels are distributed."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple
from unicodedata import combining

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.progress import Progress, Silent
from labelgrove.core.types import Document
from labelgrove.corpus.base import Corpus

Words = Callable[[str], Iterable[str]]


class CurvePoint(NamedTuple):
    """A point of the label-frequency curve.

    Parameters
    ----------
    rank
        Place of a label among all, the most frequent first, counted from 1.
    documents
        Its number of training documents.
    share
        Share of the labels that have at most that many.
    """

    rank: int
    documents: int
    share: float


@dataclass(frozen=True, eq=False)
class Statistics:
    """What papers say of a data set; the letters are those of AttentionXML's Table 1.

    Parameters
    ----------
    n_train, n_test
        Numbers of documents; ``n_test`` is None without test set, as are all others of it.
    n_features
        D, the number of different words (or given features) in the training texts.
    n_labels
        L, the number of different labels in both sets.
    labels_per_document
        Mean over the training set.
    documents_per_label
        Mean number of training documents over the labels that have any.
    words_per_train_document, words_per_test_document
        Mean numbers of words, or of given features.
    labels_only_in_test
        Number of labels that no training document has.
    unlabelled_train, unlabelled_test
        Numbers of documents without labels.
    copies_train
        Number of training documents whose text came before in the training set.
    copies_test
        Number of test documents whose text is in the training set.
    counts
        Training documents of each label, the most frequent first, shape (labels in training,).
    """

    n_train: int
    n_test: int | None
    n_features: int
    n_labels: int
    labels_per_document: float
    documents_per_label: float
    words_per_train_document: float
    words_per_test_document: float | None
    labels_only_in_test: int | None
    unlabelled_train: int
    unlabelled_test: int | None
    copies_train: int
    copies_test: int | None
    counts: NDArray[np.int64]

    def rows(self) -> list[tuple[str, str, str]]:
        """Return the table: letter, meaning and value of each line."""
        lines: list[tuple[str, str, int | float | None]] = [
            ("N_train", "training documents", self.n_train),
            ("N_test", "test documents", self.n_test),
            ("D", "different words", self.n_features),
            ("L", "labels", self.n_labels),
            ("L̄", "labels per training document", self.labels_per_document),
            ("L̂", "training documents per label", self.documents_per_label),
            ("W̄_train", "words per training document", self.words_per_train_document),
            ("W̄_test", "words per test document", self.words_per_test_document),
            ("", "labels only in test", self.labels_only_in_test),
            ("", "training documents without labels", self.unlabelled_train),
            ("", "test documents without labels", self.unlabelled_test),
            ("", "training documents that repeat another's text", self.copies_train),
            ("", "test documents whose text is in training", self.copies_test),
        ]
        return [
            (letter, meaning, f"{value:,.2f}" if isinstance(value, float) else f"{value:,}")
            for letter, meaning, value in lines
            if value is not None
        ]

    def curve(self) -> list[CurvePoint]:
        """Return the label-frequency curve at the ranks 1, 3, 10, 30, 100, ... and the last."""
        total = len(self.counts)
        ranks = [step * 10**power for power in range(len(str(total))) for step in (1, 3)]
        ranks = [rank for rank in ranks if rank < total] + ([total] if total else [])
        rising = self.counts[::-1]
        points = []
        for rank in ranks:
            count = int(self.counts[rank - 1])
            at_most = int(np.searchsorted(rising, count, side="right"))
            points.append(CurvePoint(rank, count, at_most / total))
        return points

    def record(self) -> dict[str, Any]:
        """Return all values by name, for JSON; the curve instead of every label's count."""
        facts = {each.name: getattr(self, each.name) for each in fields(self)}
        del facts["counts"]
        return facts | {"curve": [point._asdict() for point in self.curve()]}

    def __str__(self) -> str:
        lines = [
            f"{_padded(letter, 9)}{meaning:<46}{value:>12}"
            for letter, meaning, value in self.rows()
        ]
        lines += ["", f"{'rank':>12}{'documents':>12}{'labels with at most that many':>32}"]
        lines += [f"{p.rank:>12,}{p.documents:>12,}{p.share:>32.1%}" for p in self.curve()]
        return "\n".join(lines)


def statistics(
    train: Corpus,
    test: Corpus | None = None,
    words: Words = str.split,
    progress: Progress | None = None,
) -> Statistics:
    """Read each corpus once and describe it.

    Memory holds the different words and labels, and 8 bytes a document to find copies.

    Parameters
    ----------
    train
        The training set.
    test
        The test set, or None.
    words
        Divides a text into words. Of a corpus whose features are given, these are counted instead.
    progress
        Where progress is shown.

    Examples
    --------
    >>> train = Corpus.from_lists(["a b", "a c", "a b"], [["x", "y"], ["x"], ["x"]])
    >>> found = statistics(train)
    >>> found.n_features, found.n_labels, found.copies_train
    (3, 2, 1)
    >>> found.curve()
    [CurvePoint(rank=1, documents=3, share=1.0), CurvePoint(rank=2, documents=1, share=0.5)]
    """
    progress = progress or Silent()
    seen = _Tally(words, vocabulary=set())
    seen.read(train, progress)
    copies = seen.hashes()
    distinct = np.unique(copies)
    counts = np.array(sorted(seen.labels.values(), reverse=True), np.int64)
    other: _Tally | None = None
    if test is not None:
        other = _Tally(words)
        other.read(test, progress)
    only_in_test = 0 if other is None else len(other.labels.keys() - seen.labels.keys())
    n_positive = int(counts.sum())
    return Statistics(
        n_train=seen.n,
        n_test=other.n if other else None,
        n_features=len(seen.vocabulary or ()),
        n_labels=len(counts) + only_in_test,
        labels_per_document=n_positive / max(seen.n, 1),
        documents_per_label=n_positive / max(len(counts), 1),
        words_per_train_document=seen.n_words / max(seen.n, 1),
        words_per_test_document=other.n_words / max(other.n, 1) if other else None,
        labels_only_in_test=only_in_test if other else None,
        unlabelled_train=seen.unlabelled,
        unlabelled_test=other.unlabelled if other else None,
        copies_train=len(copies) - len(distinct),
        copies_test=int(np.isin(other.hashes(), distinct).sum()) if other else None,
        counts=counts,
    )


class _Tally:
    """What one reading of a corpus counts."""

    def __init__(self, words: Words, vocabulary: set[str] | None = None) -> None:
        self.vocabulary = vocabulary
        self.labels: Counter[str] = Counter()
        self.n = self.n_words = self.unlabelled = 0
        self._words = words
        self._hashes = array("q")

    def read(self, corpus: Corpus, progress: Progress) -> None:
        words = _features if corpus.featurizer == "given" else self._words
        documents: Iterator[Document] = progress.track(corpus, f"reading {corpus.name}")
        for document in documents:
            tokens = list(words(document.text))
            if self.vocabulary is not None:
                self.vocabulary.update(tokens)
            self.n += 1
            self.n_words += len(tokens)
            self.unlabelled += not document.labels
            self.labels.update(document.labels)
            # equal texts have equal hashes; that is all that is asked of them
            self._hashes.append(hash(document.text))

    def hashes(self) -> NDArray[np.int64]:
        return np.array(self._hashes, np.int64)


def _padded(letter: str, width: int) -> str:
    """Fill up with blanks; a bar over a letter takes no place of its own."""
    return letter + " " * (width - sum(not combining(char) for char in letter))


def _features(text: str) -> Iterator[str]:
    return (pair.partition(":")[0] for pair in text.split())
