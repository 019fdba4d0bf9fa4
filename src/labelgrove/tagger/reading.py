"""Texts of a corpus for the featurizers; what else is needed of the documents is collected."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from labelgrove.core.errors import EmptyCorpusError, InputError
from labelgrove.core.progress import Progress
from labelgrove.core.random import text_fraction
from labelgrove.core.types import Document
from labelgrove.corpus import Corpus
from labelgrove.labels import LabelCollector, LabelMatcher, Vocabulary
from labelgrove.text.copies import text_hash

BEGINNING = 100  # characters of a text by which a reader knows it again


class ValidationTexts:
    """Texts of a corpus; each reading collects labels, names among them as ids, and text hashes."""

    def __init__(self, corpus: Corpus, match: LabelMatcher, progress: Progress) -> None:
        self.truth: list[Sequence[str]] = []
        self.text_hashes = array("Q")
        self._corpus, self._match, self._progress = corpus, match, progress

    def __iter__(self) -> Iterator[str]:
        self.truth, self.text_hashes = [], array("Q")
        for document in self._progress.track(self._corpus, "reading validation"):
            self.truth.append(self._match(document.labels))
            self.text_hashes.append(text_hash(document.text))
            yield document.text


class TrainingTexts:
    """Texts of a corpus for the featurizers; the first reading collects labels and text hashes.

    With ``hashed`` each text gets a number in [0, 1) by a hash, by which some can be held out;
    with ``beginnings`` the first characters of each text are kept. A corpus without documents is
    refused unless it ``may_be_empty``. ``match`` turns names of labels into ids.
    """

    def __init__(
        self,
        corpus: Corpus,
        seed: int,
        progress: Progress,
        *,
        hashed: bool,
        beginnings: bool,
        match: LabelMatcher,
        may_be_empty: bool = False,
    ) -> None:
        self.labels = LabelCollector()
        self.empty = 0
        self.hash_fractions: list[float] = []
        self.text_hashes = array("Q")
        self.beginnings: list[str] = []
        self._hashed, self._keep, self._may_be_empty = hashed, beginnings, may_be_empty
        self._corpus, self._seed, self._progress = corpus, seed, progress
        self._match, self._collected = match, False

    def __iter__(self) -> Iterator[str]:
        if self._collected:
            yield from (document.text for document in self._documents())
            return
        for document in self._documents():
            self.labels.add(self._match(document.labels))
            self.empty += not document.text or document.text.isspace()
            self.text_hashes.append(text_hash(document.text))
            if self._hashed:
                self.hash_fractions.append(text_fraction(document.text, self._seed))
            if self._keep:
                self.beginnings.append(beginning(document.text))
            yield document.text
        self._collected = True
        if not len(self.labels) and not self._may_be_empty:
            raise InputError(f"{self._corpus.name} holds no documents to learn from")

    def _documents(self) -> Iterator[Document]:
        try:
            yield from self._progress.track(self._corpus, "reading")
        except EmptyCorpusError:
            if not self._may_be_empty:
                raise


class TextsAndNames:
    """The texts of a reader, and behind them the names of all labels.

    A model that ranks labels by their names needs a number for each word of them, also for a
    word that no training text has.
    """

    def __init__(self, reader: TrainingTexts, vocabulary: Vocabulary | None) -> None:
        self._reader, self._vocabulary = reader, vocabulary

    def __iter__(self) -> Iterator[str]:
        yield from self._reader
        space, _ = self._reader.labels.finish(self._vocabulary)
        for name, others in zip(space.names, space.alternatives, strict=True):
            yield name
            yield from others


def beginning(text: str) -> str:
    r"""Return how a text begins: one line, cut at a word.

    Examples
    --------
    >>> beginning("  A title\n\nand a text")
    'A title and a text'
    >>> beginning("a word " * 50)[-20:]
    'word a word a word …'
    """
    words = " ".join(text[: 10 * BEGINNING].split())
    if len(words) <= BEGINNING:
        return words
    head, space, _ = words[: BEGINNING - 1].rpartition(" ")
    return f"{head if space else words[: BEGINNING - 2]} …"
