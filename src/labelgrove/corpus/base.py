"""`Corpus`: documents that can be read again and again, one at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import BadRowError, EmptyCorpusError, InputError
from labelgrove.core.types import Document

if TYPE_CHECKING:
    from labelgrove.corpus.memory import Lists
    from labelgrove.corpus.multi_hot import MatrixColumns

T = TypeVar("T")


class Corpus(ABC):
    """A stream of documents that starts anew each time it is iterated over.

    Attributes
    ----------
    name
        What messages call it, such as the path of its file.
    featurizer
        None where the documents hold text; ``"given"`` where their text is a list of features,
        ``number:value`` separated by spaces.
    position
        While it is read, the row of the latest document, counted from 1 with the bad ones.
    notes
        What was found out about its file and may be wrong, such as the encoding.
    reading
        The arguments of `read_corpus` by which its file was read, without those that are as by
        default; a tagger keeps them for files that come later.
    columns
        What the columns of the matrix are in which its labels came; None for lists of labels.

    Examples
    --------
    >>> corpus = Corpus.from_lists(["Solar panels", "Wind"], [["energy", "sun"], ["energy"]])
    >>> [document.labels for document in corpus]
    [('energy', 'sun'), ('energy',)]
    >>> list(corpus.where(lambda document: "sun" in document.labels).texts())
    ['Solar panels']
    """

    name: str
    featurizer: str | None = None
    position: int = 0
    notes: tuple[str, ...] = ()
    reading: Mapping[str, Any] = MappingProxyType({})
    columns: MatrixColumns | None = None
    _skipped: int = 0
    _first_bad: BadRowError | None = None

    @abstractmethod
    def __iter__(self) -> Iterator[Document]:
        """Read from the first document on."""

    def look(self) -> None:  # noqa: B027 - most corpora have nothing to find out
        """Find out how the file is laid out; a `LayoutError` tells that a column is missing.

        What is found is in ``notes``. Reading does the same; this comes before any work.
        """

    @property
    def skipped(self) -> int:
        """Number of bad rows that the last full reading left out."""
        return self._skipped

    @property
    def first_bad(self) -> BadRowError | None:
        """What is wrong with the first bad row that the last full reading left out."""
        return self._first_bad

    def texts(self) -> Iterable[str]:
        """Return the texts, which can be read as often as the corpus."""
        return _Field(self, lambda document: document.text)

    def labels(self) -> Iterable[tuple[str, ...]]:
        """Return the labels of each document, which can be read as often as the corpus."""
        return _Field(self, lambda document: document.labels)

    def where(
        self, keep: NDArray[np.bool_] | Callable[[Document], bool], name: str | None = None
    ) -> Corpus:
        """Return the part of the corpus that is to be kept, streamed as well.

        Parameters
        ----------
        keep
            True for the documents to keep: an array of shape (n,), or a function of a document.
        name
            What messages call the part; the corpus's own name when None.
        """
        return _Part(self, keep, name or self.name)

    @staticmethod
    def from_lists(
        texts: Sequence[str],
        labels: Sequence[Iterable[str]] | None = None,
        ids: Sequence[str] | None = None,
    ) -> Lists:
        """Return a corpus over texts and labels in memory: lists, arrays or pandas series."""
        from labelgrove.corpus.memory import Lists

        return Lists(texts, labels, ids)


class _Field(Generic[T]):
    """One field of each document; an iterator would be used up after the first reading."""

    def __init__(self, corpus: Corpus, field: Callable[[Document], T]) -> None:
        self._corpus, self._field = corpus, field

    def __iter__(self) -> Iterator[T]:
        return map(self._field, self._corpus)


class _Part(Corpus):
    def __init__(
        self, whole: Corpus, keep: NDArray[np.bool_] | Callable[[Document], bool], name: str
    ) -> None:
        self.name = name
        self.featurizer = whole.featurizer
        self.reading = whole.reading
        self._whole, self._keep = whole, keep

    @property
    def skipped(self) -> int:
        return self._whole.skipped

    def __iter__(self) -> Iterator[Document]:
        if callable(self._keep):
            yield from filter(self._keep, self._whole)
            return
        number = 0
        for document in self._whole:
            if number == len(self._keep):
                raise self._other_length(f"more than the {number:,}")
            if self._keep[number]:
                yield document
            number += 1
        if number < len(self._keep):
            raise self._other_length(f"{number:,} documents instead of the {len(self._keep):,}")

    def _other_length(self, length: str) -> InputError:
        return InputError(f"{self._whole.name} has {length} it was divided by; divide it again")


class LayoutError(BadRowError):
    """A file has not the columns, or the sheet, that were asked for."""


class CorpusReader(Corpus):
    """A corpus whose rows may be bad.

    Parameters
    ----------
    name
        What messages call it.
    on_bad
        ``"stop"`` raises at the first bad row, ``"skip"`` counts bad rows and leaves them out.
    """

    def __init__(self, name: str, on_bad: str = "stop") -> None:
        self.name = name
        self._on_bad = on_bad

    @abstractmethod
    def _rows(self) -> Iterator[Document | BadRowError]:
        """Yield documents, and an error for a row that is bad.

        What makes the rest of the source unreadable is raised instead: it is not skipped.
        """

    def __iter__(self) -> Iterator[Document]:
        return self._without_bad(self._rows())

    def _without_bad(self, rows: Iterable[T | BadRowError]) -> Iterator[T]:
        """Yield the good rows, and count or raise the bad ones."""
        skipped, empty = 0, True
        first: BadRowError | None = None
        for number, row in enumerate(rows, 1):
            self.position = number
            if isinstance(row, BadRowError):
                if self._on_bad == "stop":
                    raise row
                first = first or row
                skipped += 1
            else:
                empty = False
                yield row
        self._skipped, self._first_bad = skipped, first
        if first and empty:
            raise InputError(f"{self.name}: all {skipped:,} rows are bad; the first: {first}")
        if empty:
            raise EmptyCorpusError(f"{self.name} is empty: there is no document to read in it")
