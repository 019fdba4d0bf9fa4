"""`read_corpus`: one call for everything that can be read as a corpus."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.files import check_file, lines, suffix
from labelgrove.corpus.annif import AnnifFolder, AnnifTable, is_annif_line
from labelgrove.corpus.base import Corpus
from labelgrove.corpus.jsonl import JsonLines
from labelgrove.corpus.lshtc import LshtcFeatures, LshtcTexts
from labelgrove.corpus.memory import Frame, HuggingFace, Lists
from labelgrove.corpus.parquet import Parquet
from labelgrove.corpus.rcv1 import Rcv1
from labelgrove.corpus.repository import FeatureLines, RawTexts, is_header
from labelgrove.corpus.rows import Fields
from labelgrove.corpus.tables import TableFile

FORMATS = (
    *("jsonl", "csv", "tsv", "parquet", "annif", "annif-folder", "svmlight", "raw"),
    *("rcv1-train", "rcv1-test", "lshtc", "lshtc-text"),
)
SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".txt": "raw",
}
OnBad: TypeAlias = Literal["stop", "skip"]


def read_corpus(
    source: Any,
    *,
    format: str | None = None,  # noqa: A002
    text: str | Sequence[str] = "text",
    labels: str = "labels",
    id: str | None = "id",  # noqa: A002
    separator: str | None = None,
    quote: str | None = '"',
    matrix: str | os.PathLike[str] | None = None,
    on_bad: OnBad = "stop",
    labelled: bool = True,
) -> Corpus:
    r"""Return a corpus over a file, a folder or data in memory; documents are read on demand.

    Without ``format`` the suffix decides, before ``.gz``, ``.xz`` or ``.zst``: ``.jsonl``,
    ``.ndjson`` and ``.json`` are JSON lines, ``.csv`` and ``.tsv`` tables with a header,
    ``.parquet`` and ``.pq`` Parquet, ``.svm``, ``.svmlight`` and ``.libsvm`` the extreme
    classification repository's features. Two suffixes need a look at the first line: a ``.tsv``
    whose first line has URIs in angle brackets as its second field is Annif's, and a ``.txt``
    whose first line is three numbers holds features, any other raw texts, one a line. A folder
    is Annif's. The files of RCV1 and of the LSHTC challenges are read only by ``format``: see
    `labelgrove.corpus.rcv1.Rcv1` and `labelgrove.corpus.lshtc`.

    Parameters
    ----------
    source
        A path, a pandas data frame, a ``datasets.Dataset``, a pair (texts, labels), or a corpus,
        which is returned as it is.
    format
        One of ``jsonl``, ``csv``, ``tsv``, ``parquet``, ``annif``, ``annif-folder``,
        ``svmlight``, ``raw``, ``rcv1-train``, ``rcv1-test``, ``lshtc``, ``lshtc-text``.
    text
        The field of the text, or a list of fields whose texts are joined by line ends.
    labels
        The field of the labels.
    id
        The field of the id, or None to read none. Only the field ``id`` may be missing.
    separator
        What stands between labels that share a string. Tables guess it when None, see
        `labelgrove.corpus.tables.TableFile`; JSON lines take strings only if it is given.
    quote
        The character that encloses fields of a table, or None if there is none.
    matrix
        The ``.npz`` file with the labels of raw texts; found by its name when None.
    on_bad
        What happens at a bad row: ``"stop"`` raises, ``"skip"`` leaves it out and counts it.
    labelled
        False where labels are not wanted, as for tagging: they may be missing and are not read.

    Examples
    --------
    >>> corpus = read_corpus((["Wind", "Sun"], [["energy"], ["energy", "sky"]]))
    >>> [document.labels for document in corpus]
    [('energy',), ('energy', 'sky')]
    """
    if isinstance(source, Corpus):
        return source
    if on_bad not in ("stop", "skip"):
        raise UnknownNameError("way to treat bad rows", on_bad, ("stop", "skip"))
    if separator == "":
        raise InputError("the separator of labels is empty; give a character such as ';'")
    if format is not None and format not in FORMATS:
        raise UnknownNameError("format", format, FORMATS)
    names = text if isinstance(text, str) else tuple(text)
    if not names:
        raise InputError("no field for the text was given")
    fields = Fields(names, labels, id, labelled)
    if not isinstance(source, (str, os.PathLike)):
        return _in_memory(source, fields, separator, on_bad)
    path = Path(source)
    kind = format or _format(path)
    if kind == "jsonl":
        return JsonLines(path, fields, separator, on_bad)
    if kind == "csv":
        return TableFile(path, (",", ";", "\t"), fields, separator, quote, on_bad)
    if kind == "tsv":
        return TableFile(path, ("\t",), fields, separator, quote, on_bad)
    if kind == "parquet":
        return Parquet(path, fields, separator, on_bad)
    if kind == "annif":
        return AnnifTable(path, labelled, on_bad)
    if kind == "annif-folder":
        return AnnifFolder(path, labelled, on_bad)
    if kind == "svmlight":
        return FeatureLines(path, on_bad)
    if kind in ("rcv1-train", "rcv1-test"):
        return Rcv1(path, kind.removeprefix("rcv1-"), labelled, on_bad)
    if kind == "lshtc":
        return LshtcFeatures(path, on_bad)
    if kind == "lshtc-text":
        return LshtcTexts(path, labelled, on_bad)
    return RawTexts(path, None if matrix is None else Path(matrix), labelled, on_bad)


def _format(path: Path) -> str:
    if path.is_dir():
        if any(path.glob("*.txt")) and not any(path.glob("*.npz")):
            return "annif-folder"
        raise InputError(
            f"{path} is a folder without .txt and .key files; name a file in it, or the format "
            "of the folder: rcv1-train, rcv1-test"
        )
    check_file(path)
    kind = SUFFIXES.get(suffix(path))
    if kind is None:
        raise InputError(
            f"the suffix of {path} is not known; rename it (known: {', '.join(SUFFIXES)}, "
            f"also with .gz, .xz, .zst) or give the format: {', '.join(FORMATS)}"
        )
    if kind in ("tsv", "raw"):
        first = next(lines(path), b"").decode("utf-8", "replace").rstrip("\r\n")
        if kind == "tsv" and is_annif_line(first):
            return "annif"
        if kind == "raw" and is_header(first):
            return "svmlight"
    return kind


def _in_memory(source: Any, fields: Fields, separator: str | None, on_bad: OnBad) -> Corpus:
    library = type(source).__module__.partition(".")[0]  # without importing either
    if library == "pandas" and hasattr(source, "columns"):
        return Frame(source, fields, separator, on_bad)
    if library == "datasets":
        return HuggingFace(source, fields, separator, on_bad)
    if isinstance(source, tuple) and len(source) == 2:
        return Lists(*source, on_bad=on_bad)
    raise InputError(
        f"cannot read a corpus from a {type(source).__name__}; give a path, a pandas data frame, "
        "a datasets.Dataset or a pair (texts, labels)"
    )
