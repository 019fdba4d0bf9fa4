"""What `Tagger` accepts as texts: lists, corpora, tables, files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias

from labelgrove.core.errors import InputError
from labelgrove.corpus import Corpus, MatrixColumns, read_corpus, read_like
from labelgrove.corpus.multi_hot import is_matrix
from labelgrove.labels import Vocabulary, read_vocabulary
from labelgrove.tagger.state import FittedState

VocabularyLike = Vocabulary | str | os.PathLike[str]


class HasColumns(Protocol):
    """A data frame: something with named columns."""

    @property
    def columns(self) -> Any:
        """Their names."""


class HasColumnNames(Protocol):
    """A dataset of the library ``datasets``."""

    @property
    def column_names(self) -> Any:
        """The names of its columns."""


Texts: TypeAlias = Iterable[str] | Corpus | HasColumns | HasColumnNames  # several texts


def as_corpus(
    texts: Any,
    labels: Any = None,
    label_names: Iterable[Any] | None = None,
    columns: MatrixColumns | None = None,
) -> Corpus:
    """Return documents with labels that come as a corpus, a file, a table, two lists or a matrix.

    Parameters
    ----------
    texts, labels, label_names
        As for `Tagger.fit`.
    columns
        Those of another matrix, whose names a matrix without names has.
    """
    if labels is None and (isinstance(texts, list) or hasattr(texts, "tolist")):
        raise InputError("the texts have no labels: give labels=, a list of labels for each text")
    source = texts if labels is None else (texts, labels)
    if label_names is None and columns is not None and _is_nameless(source):
        label_names = columns.names
    return read_corpus(source, label_names=label_names)


def as_more(
    learned: FittedState, texts: Any, labels: Any = None, label_names: Iterable[Any] | None = None
) -> Corpus:
    """Return the same for a tagger that has learned before.

    A file is read as those of the training were, where that fits it, and a matrix without names
    has the columns of the training's matrix.
    """
    if learned.reading and labels is None and isinstance(texts, str | os.PathLike):
        return read_like(texts, learned.reading, {})
    source = texts if labels is None else (texts, labels)
    if label_names is None and learned.columns is None and _is_nameless(source):
        raise InputError(
            "this tagger learned from lists of labels, so it does not know what the columns of a "
            "matrix are: give label_names=, the label of each"
        )
    return as_corpus(texts, labels, label_names, learned.columns)


def _is_nameless(source: Any) -> bool:
    """Tell whether labels are a matrix that does not say what its columns are."""
    if not isinstance(source, tuple) or len(source) != 2:
        return False
    return is_matrix(source[1]) and not hasattr(source[1], "columns")


def as_vocabulary(vocabulary: VocabularyLike | None) -> Vocabulary | None:
    """Return a vocabulary that may come as a file."""
    if isinstance(vocabulary, str | os.PathLike):
        return read_vocabulary(vocabulary)
    return vocabulary


def as_texts(texts: Any) -> Iterable[str]:
    """Return texts that come as such, as a corpus, or as a table."""
    if isinstance(texts, str):
        raise InputError(f"expected several texts, got {texts[:60]!r}: put it in a list")
    if not isinstance(texts, Iterable) or isinstance(texts, bytes):
        raise InputError(f"expected a text or several texts, got {str(texts)[:60]}")
    if isinstance(texts, Corpus) or hasattr(texts, "columns") or hasattr(texts, "column_names"):
        return read_corpus(texts, labelled=False).texts()
    return texts
