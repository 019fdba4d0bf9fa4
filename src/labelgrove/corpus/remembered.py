"""Files are read as those were that a tagger learned from, where that fits them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from labelgrove.core import checks
from labelgrove.core.files import suffix
from labelgrove.core.reader_words import either
from labelgrove.corpus.base import Corpus, LayoutError
from labelgrove.corpus.formats import FORMATS, SUFFIXES
from labelgrove.corpus.layout import write_columns
from labelgrove.corpus.reading import MERGED, read_corpus

COLUMNS = ("text", "labels", "id", "header")
OPTIONS = {  # how the command line says the same
    **{"format": "--format", "text": "--text-field", "labels": "--labels-field"},
    **{"id": "--id-field", "separator": "--separator", "encoding": "--encoding"},
    **{"sheet": "--sheet", "merge": "--merge"},
}
FLAGS = {"quote": "--no-quotes", "header": "--no-header"}


def read_like(
    source: str | os.PathLike[str],
    remembered: Mapping[str, Any],
    given: Mapping[str, Any],
    **others: Any,
) -> Corpus:
    """Return the corpus over a file, read as the files of a training were.

    What does not fit the file is left out, which the corpus says in its ``notes``; if the
    defaults do not fit either, the error is raised that came first.

    Parameters
    ----------
    source
        A path.
    remembered
        The `Corpus.reading` of what a tagger learned from.
    given
        Arguments of `read_corpus` that were asked for; they win over what is remembered.
    others
        Arguments that are never remembered, such as ``labelled``.
    """
    usable = {name: remembered[name] for name in _usable(Path(source), remembered, given)}
    asked = _said(usable)
    wrong: list[LayoutError] = []
    for kept in _attempts(usable):
        try:
            corpus = _opened(source, kept, given, others)
        except LayoutError as problem:
            wrong.insert(0 if kept == usable else len(wrong), problem)
            continue
        if kept != usable:
            words = _said(corpus.reading) or "the defaults"
            corpus.notes += (f"it is not laid out as in the training ({asked}): read with {words}",)
        return corpus
    if not usable:
        raise wrong[0]
    raise LayoutError(
        f"{wrong[0].problem}. The tagger reads files as in its training ({asked}), and the "
        "defaults do not fit either: say how to read this one",
        wrong[0].file,
        wrong[0].line,
    ) from wrong[0]


def _usable(path: Path, remembered: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of what is remembered and can concern a file."""
    kind = suffix(path)
    for name in remembered:
        concerns = True
        if name == "sheet":
            concerns = SUFFIXES.get(kind) == "xlsx"
        elif name == "format":  # where the suffix does not tell
            concerns = kind not in SUFFIXES or kind == ".txt"
        elif name == "merge":
            forms = (SUFFIXES.get(kind), remembered.get("format"), given.get("format"))
            concerns = any(form in MERGED for form in forms)
        if concerns and name not in given:
            yield name


def option_words(reading: Mapping[str, Any]) -> list[str]:
    """Return the options of the command line that say how a file is read.

    Examples
    --------
    >>> option_words({"text": "title", "labels": "subjects", "header": False})
    ['--text-field title', '--labels-field subjects', '--no-header']
    """
    words = []
    for name, value in reading.items():
        shown = write_columns(value) if name == "text" else value
        if name == "merge":  # the file that they came from may be gone
            shown = f"({len(value):,} labels)"
        words.append(FLAGS[name] if name in FLAGS else f"{OPTIONS[name]} {shown!s}")
    return words


def _said(reading: Mapping[str, Any]) -> str:
    """Return the same for a message, as arguments where Python shows it."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in reading.items())
    return either(arguments, " ".join(option_words(reading)))


def check_reading(reading: Any) -> dict[str, Any]:
    """Return what a saved folder holds of how files were read, or raise a `ValueError`."""
    checked: dict[str, Any] = {}
    for name, value in dict(reading).items():
        if name not in OPTIONS and name not in FLAGS:
            continue  # of a later version
        if name == "merge":
            checked[name] = checks.names("reading merge", value)
            continue
        texts = value if name == "text" and isinstance(value, list) and value else [value]
        is_text = all(isinstance(each, str) and each for each in texts)
        if not (is_text or (name == "id" and value is None) or (name in FLAGS and not value)):
            raise ValueError(f"reading {name} {value!r}")
        if name == "format" and value not in FORMATS:
            raise ValueError(f"reading format {value!r}")
        checked[name] = value
    return checked


def _attempts(remembered: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what is tried: all that is remembered, without some of it, without its columns."""
    tried: list[dict[str, Any]] = []
    without: list[tuple[str, ...]] = [(), ("sheet",), ("id",), ("id", "sheet"), (*COLUMNS, "sheet")]
    if remembered.get("header") is False:  # anything has a first and a second column
        without.insert(0, (*COLUMNS, "sheet"))
    for left_out in without:
        kept = {name: value for name, value in remembered.items() if name not in left_out}
        if kept not in tried:
            tried.append(kept)
            yield kept


def _opened(
    source: str | os.PathLike[str],
    kept: Mapping[str, Any],
    given: Mapping[str, Any],
    others: Mapping[str, Any],
) -> Corpus:
    options = {**kept, **given}
    if "encoding" in kept:  # a file may be UTF-8 nonetheless
        options["likely_encoding"] = options.pop("encoding")
    corpus = read_corpus(source, **options, **others)
    corpus.look()
    return corpus
