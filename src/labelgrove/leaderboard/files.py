"""The documents of a leaderboard: where they are, what they hold, whether they can be used."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError
from labelgrove.core.progress import Progress
from labelgrove.core.types import Document
from labelgrove.core.wording import several
from labelgrove.corpus import Corpus, read_like
from labelgrove.evaluation import labels_in_use
from labelgrove.labels import LabelMatcher, LabelSpace, read_vocabulary
from labelgrove.labels.collecting import LabelCollector
from labelgrove.text.copies import are_among, distinct_hashes, text_hash


@dataclass(frozen=True)
class DataFiles:
    """Files to train and to test on.

    Parameters
    ----------
    train, test
        Documents with labels; the test file is read as the training file was, where that fits.
    labels
        File of names and hierarchy of the labels.
    reading
        How the files are read: keyword arguments of `labelgrove.corpus.read_corpus`.
    """

    train: str
    test: str
    labels: str | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)

    def open(self) -> tuple[Corpus, Corpus]:
        """Return both as corpora."""
        train = read_like(self.train, {}, self.reading)
        return train, read_like(self.test, train.reading, self.reading)

    def record(self) -> dict[str, Any]:
        """Return the same as plain values."""
        reading = {name: _plain(value) for name, value in self.reading.items()}
        return {"train": self.train, "test": self.test, "labels": self.labels, "reading": reading}


@dataclass(frozen=True, eq=False)
class Survey:
    """What the files hold.

    Parameters
    ----------
    space
        The labels of the training documents, and concepts.
    Y
        True labels of the test documents, shape (n, M); columns as of `LabelSpace.encode`.
    facts
        Numbers of documents and labels, and a checksum of each file's content.
    notes
        What a reader of the scores should know.
    """

    space: LabelSpace
    Y: csr_array
    facts: Mapping[str, Any]
    notes: tuple[str, ...]


def survey(files: DataFiles, progress: Progress) -> Survey:
    """Read all documents once; refuse files that make no sense together."""
    train, test = files.open()
    vocabulary = None if files.labels is None else read_vocabulary(files.labels)
    collector, match = LabelCollector(), LabelMatcher.of_vocabulary(vocabulary)
    learned = _Reading(train, progress)
    for document in learned:
        collector.add(match(document.labels))
    if not len(collector):
        raise InputError(f"{files.train} holds no documents to train on")
    space, _ = collector.finish(vocabulary)
    if not space.n_labels:
        raise InputError(f"{files.train}: no training document has a label")
    asked, of_space = _Reading(test, progress), LabelMatcher.of_space(space)
    Y = space.encode((of_space(document.labels) for document in asked), unseen="append")
    copies = _copies(files, learned, asked, Y)
    unseen = labels_in_use(Y, space.n_labels) - space.n_labels
    facts = {
        "name": data_name(files),
        "train": {"documents": len(learned.hashes), "checksum": learned.checksum},
        "test": {"documents": len(asked.hashes), "checksum": asked.checksum},
        "labels": space.n_labels,
        "labels_file": None if files.labels is None else _checksum(files.labels),
        "labels_a_document": float(space.counts[: space.n_labels].sum() / len(learned.hashes)),
        "copies": copies,
        "labels_only_in_test": int(unseen),
    }
    skipped = [
        f"{several(corpus.skipped, 'bad row')} of {corpus.name} skipped"
        for corpus in (train, test)
        if corpus.skipped
    ]
    return Survey(space, Y, facts, (*_notes(files, space, Y, copies, unseen), *skipped))


def _checksum(file: str) -> str:
    return blake2b(Path(file).read_bytes(), digest_size=16).hexdigest()


def data_name(files: DataFiles) -> str:
    """Return a name for the data: that of the test file, with its folder where it says little.

    Examples
    --------
    >>> data_name(DataFiles("/x/reuters/train.csv", "/x/reuters/test.csv"))
    'reuters/test.csv'
    >>> data_name(DataFiles("reuters-train.csv", "reuters-test.csv"))
    'reuters-test.csv'
    """
    test = Path(files.test)
    return f"{test.parent.name}/{test.name}" if test.stem == "test" else test.name


class _Reading:
    """Reads documents, and keeps hashes of their texts and a checksum of all."""

    def __init__(self, corpus: Corpus, progress: Progress) -> None:
        self._corpus, self._progress = corpus, progress
        self._sum = blake2b(digest_size=16)
        self.hashes = array("Q")

    def __iter__(self) -> Iterator[Document]:
        title = f"reading {Path(self._corpus.name).name}"
        for document in self._progress.track(self._corpus, title):
            told = "\0".join([document.text, *document.labels, ""])
            self._sum.update(told.encode("utf-8", "surrogatepass"))
            self.hashes.append(text_hash(document.text))
            yield document

    @property
    def checksum(self) -> str:
        return self._sum.hexdigest()


def _copies(files: DataFiles, learned: _Reading, asked: _Reading, Y: csr_array) -> int:
    """Return how many test documents have a training text; refuse a test that tests nothing."""
    if not len(asked.hashes):
        raise InputError(f"{files.test} holds no documents to test on")
    if learned.checksum == asked.checksum:
        raise InputError(
            f"{files.test} holds the same documents as {files.train}: test on others, which "
            "'labelgrove split' can hold out"
        )
    if not Y.nnz:
        raise InputError(f"{files.test}: no test document has a label, so nothing can be scored")
    known = are_among(np.array(asked.hashes, np.uint64), distinct_hashes(learned.hashes))
    if known.all():
        raise InputError(
            f"all texts of {files.test} are in {files.train} too, so scores would say nothing: "
            "'labelgrove split' divides documents, copies on one side"
        )
    return int(known.sum())


def _notes(
    files: DataFiles, space: LabelSpace, Y: csr_array, copies: int, unseen: int
) -> Iterator[str]:
    n = Y.shape[0]
    if copies:
        yield (
            f"{copies:,} of the {n:,} test documents ({copies / n:.1%}) have a text of the "
            f"training documents: scores on them are too high. 'labelgrove check {files.train} "
            f"{files.test}' names them"
        )
    if unseen:
        share = (Y.indices >= space.n_labels).mean()
        yield (
            f"{several(unseen, 'label')} of the test documents ({share:.1%} of the occurrences) "
            "not in the training documents: misses for every model"
        )
    if bare := int((np.diff(Y.indptr) == 0).sum()):
        yield f"{bare:,} test documents have no label and count 0 in P and nDCG"


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value
