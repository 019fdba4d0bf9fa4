"""What one reading of a file finds out about its documents; no text is kept."""

from __future__ import annotations

import heapq
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.checking.near_copies import SIZE, sketch
from labelgrove.core.errors import BadRowError
from labelgrove.core.progress import Progress
from labelgrove.corpus import Corpus
from labelgrove.text.analysis import Tokens, parse, strings
from labelgrove.text.batches import batches
from labelgrove.text.copies import BLANK, text_hash
from labelgrove.text.language import TEXTS as LANGUAGE_TEXTS

SLOTS = 1 << 22  # for words, by their hashes: two of a million words rarely share one
ASIDE = 10  # one of so many documents is set aside, as a file of the same kind to compare with
NEW_WORDS = 100_000  # different ones that are counted by name
# UTF-8 that was read as windows-1252, such as "Ã¼" for "ü" and "â€™" for an apostrophe
_TWICE_ENCODED = re.compile("[ÃÂ][\u0080-\u00bf\u0152-\u017e\u02c6-\u02dc\u2013-\u2122]|â€")
REPLACED = "\ufffd"
NO_ID = -1  # no hash of Python is


@dataclass
class FileFacts:
    """What is known of the n documents of a file.

    Parameters
    ----------
    name
        The file.
    Y
        Their labels, shape (n, L); columns as in the `LabelNumbers` they were read with.
    hashes
        Of their texts, shape (n,), uint64.
    sketches
        Of their texts, shape (n, 64), uint16.
    words
        Numbers of words, shape (n,).
    positions
        Rows of the file, from 1, shape (n,).
    replaced, twice_encoded
        Numbers of documents whose text has a replacement character, or letters that were
        decoded twice.
    ids
        Hashes of the documents' ids within this process, -1 for none, shape (n,).
    sample
        Some hundred of the texts, chosen by their hashes.
    skipped, first_bad
        Number of bad rows, and what is wrong with the first.
    word_counts
        Occurrences of words by slot, shape (SLOTS,); those of the documents that are set aside.
    known_words
        Slots of words in the other documents, shape (SLOTS,).
    new_words
        Words that the file it is compared with does not know, and how often they occur.
    title
        What findings call the file: its name, or the end of it.
    number
        0 for the first file, 1 for the second.
    """

    name: str
    Y: csr_array
    hashes: NDArray[np.uint64]
    sketches: NDArray[np.uint16]
    words: NDArray[np.int64]
    positions: NDArray[np.int64]
    replaced: list[int]
    twice_encoded: list[int]
    ids: NDArray[np.int64]
    sample: list[str]
    skipped: int
    first_bad: BadRowError | None
    word_counts: NDArray[np.int64]
    known_words: NDArray[np.bool_]
    new_words: Counter[str] = field(default_factory=Counter)
    title: str = ""
    number: int = 0

    def __post_init__(self) -> None:
        self.title = self.title or self.name

    def __len__(self) -> int:
        return len(self.hashes)


class LabelNumbers:
    """Numbers for labels in the order in which they are first seen."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self._numbers: dict[str, int] = {}

    def of(self, labels: Iterable[str]) -> list[int]:
        """Return the numbers of labels; a new label gets the next one."""
        found = []
        for label in labels:
            number = self._numbers.setdefault(label, len(self._numbers))
            if number == len(self.ids):
                self.ids.append(label)
            found.append(number)
        return found


def read_facts(
    corpus: Corpus,
    labels: LabelNumbers,
    progress: Progress,
    known_words: NDArray[np.bool_] | None = None,
) -> FileFacts:
    """Read a corpus once.

    Memory holds some 150 bytes a document, its labels' numbers, and the words that are new.

    Parameters
    ----------
    corpus
        The documents.
    labels
        Numbers the labels.
    progress
        Where progress is shown.
    known_words
        Slots of the words of the file that this one is compared with.
    """
    reader = _Reader(corpus, labels, progress)
    parts, words = [np.empty((0, SIZE), np.uint16)], [np.empty(0, np.int64)]
    counts, known = np.zeros(SLOTS, np.int64), np.zeros(SLOTS, np.bool_)
    new: Counter[str] = Counter()
    analyzer, done = parse("word"), 0
    for batch in batches(reader):
        tokens = analyzer.tokens(batch)
        parts.append(sketch(tokens))
        words.append(np.diff(tokens.offsets))
        slots = tokens.hashes & np.uint64(SLOTS - 1)
        if known_words is None:
            # by the text, so that copies are on one side
            aside = np.array(reader.hashes[done : done + len(batch)], np.uint64) % ASIDE == 0
            is_aside = np.repeat(aside, words[-1])
            known[slots[~is_aside]] = True
            slots = slots[is_aside]
        elif len(new) < NEW_WORDS:
            new.update(_strings_at(tokens, ~known_words[slots]))
        np.add.at(counts, slots, 1)  # a batch has few of all slots
        done += len(batch)
    return FileFacts(
        corpus.name,
        reader.label_matrix(),
        np.array(reader.hashes, np.uint64),
        np.concatenate(parts),
        np.concatenate(words),
        np.array(reader.positions, np.int64),
        reader.replaced,
        reader.twice_encoded,
        np.array(reader.ids, np.int64),
        reader.sample(),
        corpus.skipped,
        corpus.first_bad,
        counts,
        known,
        new,
    )


def _strings_at(tokens: Tokens, wanted: NDArray[np.bool_]) -> list[str]:
    return strings(tokens._replace(begins=tokens.begins[wanted], stops=tokens.stops[wanted]))


class _Reader:
    """Texts of a corpus; what is not about words is collected on the way."""

    def __init__(self, corpus: Corpus, labels: LabelNumbers, progress: Progress) -> None:
        self.hashes, self.positions, self.ids = array("Q"), array("q"), array("q")
        self.replaced: list[int] = []
        self.twice_encoded: list[int] = []
        self._corpus, self._labels, self._progress = corpus, labels, progress
        self._numbers, self._ends = array("i"), array("q", [0])
        self._sample: list[tuple[int, str]] = []  # a heap, the largest hash first
        self._sampled: set[int] = set()  # hashes there

    def __iter__(self) -> Iterator[str]:
        title = f"reading {self._corpus.name}"
        for number, document in enumerate(self._progress.track(self._corpus, title)):
            text, hashed = document.text, text_hash(document.text)
            self.hashes.append(hashed)
            self.positions.append(self._corpus.position or number + 1)
            self.ids.append(hash(document.id) if document.id else NO_ID)
            self._numbers.extend(self._labels.of(document.labels))
            self._ends.append(len(self._numbers))
            if not text.isascii():
                if REPLACED in text:
                    self.replaced.append(number)
                if _TWICE_ENCODED.search(text):
                    self.twice_encoded.append(number)
            self._consider(hashed, text)
            yield text

    def _consider(self, hashed: int, text: str) -> None:
        """Keep the texts with the smallest hashes, copies once."""
        if hashed == BLANK or hashed in self._sampled:
            return
        if len(self._sample) < LANGUAGE_TEXTS:
            heapq.heappush(self._sample, (-hashed, text[:1000]))
        elif -hashed > self._sample[0][0]:
            gone, _ = heapq.heapreplace(self._sample, (-hashed, text[:1000]))
            self._sampled.remove(-gone)
        else:
            return
        self._sampled.add(hashed)

    def sample(self) -> list[str]:
        return [text for _, text in sorted(self._sample, reverse=True)]

    def label_matrix(self) -> csr_array:
        indices = np.array(self._numbers, np.int32)
        return csr_array(
            (np.ones(len(indices), np.int8), indices, np.array(self._ends, np.int64)),
            shape=(len(self.hashes), len(self._labels.ids)),
        )
