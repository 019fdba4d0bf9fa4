"""Corpora over what is in memory already: lists, pandas frames, Hugging Face datasets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from itertools import islice
from typing import Any

from labelgrove.core.errors import BadRowError, InputError
from labelgrove.core.types import Document
from labelgrove.corpus.base import CorpusReader
from labelgrove.corpus.rows import (
    SAMPLE,
    Fields,
    RowError,
    Separator,
    clean_id,
    clean_labels,
    clean_text,
    guess_separator,
    shown,
)

BATCH = 1000


class Lists(CorpusReader):
    """Texts and labels in memory.

    Parameters
    ----------
    texts
        A list, array or pandas series of n texts.
    labels
        For each text its labels, n lists; None where labels are not known.
    ids
        n ids, or None.
    on_bad
        ``"stop"`` or ``"skip"``.
    separator
        What stands between labels where those of a text are a string.

    Examples
    --------
    >>> list(Lists(["Wind"], [["energy", "weather"]]))
    [Document(text='Wind', labels=('energy', 'weather'), id=None)]
    """

    def __init__(
        self,
        texts: Sequence[str],
        labels: Sequence[Iterable[str]] | None = None,
        ids: Sequence[str] | None = None,
        on_bad: str = "stop",
        separator: str | None = None,
    ) -> None:
        super().__init__("the list of texts", on_bad)
        for name, values in (("texts", texts), ("labels", labels), ("ids", ids)):
            if values is not None:
                _check_sequence(name, values, len(texts) if isinstance(texts, Sized) else 0)
        _check_no_matrix(labels)
        self._texts, self._labels, self._ids = texts, labels, ids
        self._separator = None if separator is None else Separator(separator)

    def __len__(self) -> int:
        return len(self._texts)

    def _rows(self) -> Iterator[Document | BadRowError]:
        n = len(self._texts)
        labels: Iterable[Any] = [()] * n if self._labels is None else self._labels
        ids: Iterable[Any] = [None] * n if self._ids is None else self._ids
        for i, (text, some, own) in enumerate(zip(self._texts, labels, ids, strict=True)):
            place = f"texts[{i}]"
            try:
                cleaned = clean_text(text)
                place = f"labels[{i}]"
                known = self._clean_labels(some)
                place = f"ids[{i}]"
                yield Document(cleaned, known, None if own is None else clean_id(own))
            except RowError as problem:
                yield BadRowError(str(problem), place)

    def _clean_labels(self, value: Any) -> tuple[str, ...]:
        if isinstance(value, str) and self._separator is None:
            raise RowError(
                f"labels must be a list such as [{shown(value)}], got the string {shown(value)}; "
                "split it, as in value.split(';'), or give "
                "read_corpus((texts, labels), separator=';')"
            )
        return clean_labels(value, self._separator)


def _check_sequence(name: str, values: object, length: int) -> None:
    if getattr(values, "ndim", 1) != 1:  # a matrix of zeros and ones would pass for labels
        raise InputError(f"{name} must have one entry for each text, got a table or matrix")
    if isinstance(values, (str, bytes, Mapping, set, frozenset)) or not isinstance(values, Sized):
        raise InputError(
            f"{name} must be a list, an array or a series, got a {type(values).__name__}"
        )
    if len(values) != length:
        raise InputError(f"there are {length:,} texts, but {len(values):,} {name}")


def _check_no_matrix(labels: Iterable[Iterable[Any]] | None) -> None:
    """Refuse rows of zeros and ones, which would pass for the labels 0 and 1."""
    for i, row in enumerate(islice(labels or (), SAMPLE)) if isinstance(labels, list) else ():
        if not isinstance(row, list | tuple) or len(row) < 2:
            continue
        if all(isinstance(x, int) and x in (0, 1) for x in row) and len({*row}) < len(row):
            raise InputError(
                f"labels[{i}] looks like a row of a matrix of zeros and ones: give the matrix as "
                "numpy.array(labels), or lists of labels"
            )


class Rows(CorpusReader):
    """Rows with named fields, read in batches; what frames and datasets have in common.

    Labels are lists, or strings with a separator, which is guessed as in a CSV file.
    """

    def __init__(
        self,
        name: str,
        present: Sequence[str],
        fields: Fields,
        separator: str | None,
        on_bad: str,
    ) -> None:
        super().__init__(name, on_bad)
        try:
            fields.check(present)
        except RowError as problem:
            raise InputError(f"{name}: {problem}") from problem
        self._fields = fields
        self._used = [column for column in fields.names() if column in present]
        self._separator = None if separator is None else Separator(separator)

    def _records(self, columns: list[str]) -> Iterator[tuple[Any, ...]]:
        raise NotImplementedError

    def _rows(self) -> Iterator[Document | BadRowError]:
        separator = self._find_separator()
        for i, row in enumerate(self._records(self._used)):
            try:
                yield self._fields.document(dict(zip(self._used, row, strict=True)), separator)
            except RowError as problem:
                yield BadRowError(str(problem), f"{self.name}, row {i}")

    def _find_separator(self) -> Separator:
        if self._separator is None:
            labels = self._fields.labels
            rows = self._records([labels]) if labels in self._used else iter(())
            try:
                self._separator = guess_separator([row[0] for row in islice(rows, SAMPLE)])
            except RowError as problem:
                raise BadRowError(str(problem), self.name) from problem
        return self._separator


class Frame(Rows):
    """Rows of a pandas frame; rows are counted from 0 in messages.

    Parameters
    ----------
    frame
        The frame.
    fields
        The names of the columns.
    separator
        What stands between labels in strings; guessed as in a CSV file when None.
    on_bad
        ``"stop"`` or ``"skip"``.

    Examples
    --------
    >>> import pandas
    >>> list(Frame(pandas.DataFrame({"text": ["Wind"], "labels": ["energy;weather"]})))
    [Document(text='Wind', labels=('energy', 'weather'), id=None)]
    """

    def __init__(
        self,
        frame: Any,
        fields: Fields | None = None,
        separator: str | None = None,
        on_bad: str = "stop",
    ) -> None:
        present = [column for column in frame.columns if isinstance(column, str)]
        super().__init__("the data frame", present, fields or Fields(), separator, on_bad)
        self._frame = frame

    def __len__(self) -> int:
        return len(self._frame)

    def _records(self, columns: list[str]) -> Iterator[tuple[Any, ...]]:
        return zip(*(self._frame[column] for column in columns), strict=True)


class HuggingFace(Rows):
    """Rows of a dataset of the library ``datasets``; rows are counted from 0 in messages.

    Labels that are numbers with names (``ClassLabel``) become their names.

    Parameters
    ----------
    dataset
        A ``datasets.Dataset``.
    fields
        The names of the columns.
    separator
        What stands between labels in strings; guessed as in a CSV file when None.
    on_bad
        ``"stop"`` or ``"skip"``.

    Examples
    --------
    >>> import datasets
    >>> rows = datasets.Dataset.from_dict({"text": ["Wind"], "labels": [["energy"]]})
    >>> list(HuggingFace(rows))
    [Document(text='Wind', labels=('energy',), id=None)]
    """

    def __init__(
        self,
        dataset: Any,
        fields: Fields | None = None,
        separator: str | None = None,
        on_bad: str = "stop",
    ) -> None:
        if isinstance(dataset, Mapping):
            parts = ", ".join(repr(part) for part in dataset)
            raise InputError(f"the dataset has the parts {parts}; give one, such as dataset[part]")
        present = dataset.column_names
        if present is None:
            raise InputError("the dataset does not know its columns; give a datasets.Dataset")
        super().__init__("the dataset", present, fields or Fields(), separator, on_bad)
        self._dataset = dataset.select_columns(self._used).with_format(None)
        feature = (dataset.features or {}).get(self._fields.labels)
        inner = getattr(feature, "feature", feature)
        self._names: list[str] | None = getattr(inner, "names", None)

    def _records(self, columns: list[str]) -> Iterator[tuple[Any, ...]]:
        for batch in self._dataset.select_columns(columns).iter(BATCH):
            if self._names is not None and self._fields.labels in columns:
                batch[self._fields.labels] = list(map(self._named, batch[self._fields.labels]))
            yield from zip(*(batch[column] for column in columns), strict=True)

    def _named(self, value: Any) -> Any:
        assert self._names is not None
        numbers = value if isinstance(value, list) else [value]
        if not all(isinstance(number, int) and number >= 0 for number in numbers):
            return value  # missing: left to the check of every row
        return [self._names[number] for number in numbers]
