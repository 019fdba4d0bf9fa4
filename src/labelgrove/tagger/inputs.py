"""What `Tagger` accepts as texts: lists, corpora, tables, files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from labelgrove.core.errors import InputError
from labelgrove.corpus import Corpus, read_corpus, read_like
from labelgrove.labels import Vocabulary, read_vocabulary

VocabularyLike = Vocabulary | str | os.PathLike[str]


def as_corpus(texts: Any, labels: Any = None, reading: Mapping[str, Any] | None = None) -> Corpus:
    """Return documents with labels that come as a corpus, a file, a table or two lists.

    A file is read as ``reading`` says, the `Corpus.reading` of a training, where that fits it.
    """
    if reading and labels is None and isinstance(texts, str | os.PathLike):
        return read_like(texts, reading, {})
    return read_corpus(texts if labels is None else (texts, labels))


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
