"""`read_corpus`: one call for everything that can be read as a corpus."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.files import check_file
from labelgrove.core.recoding import UTF8, codec_name
from labelgrove.corpus.annif import AnnifFolder, AnnifTable
from labelgrove.corpus.base import Corpus, LayoutError
from labelgrove.corpus.encodings import AUTO, FoundEncoding, find_encoding
from labelgrove.corpus.excel import ExcelSheet
from labelgrove.corpus.formats import FORMATS, format_of
from labelgrove.corpus.jsonl import JsonLines
from labelgrove.corpus.lshtc import LshtcFeatures, LshtcTexts
from labelgrove.corpus.memory import Frame, HuggingFace, Lists
from labelgrove.corpus.merging import read_merges
from labelgrove.corpus.multi_hot import MultiHot, is_matrix, label_columns, read_matrix
from labelgrove.corpus.parquet import Parquet
from labelgrove.corpus.rcv1 import Rcv1
from labelgrove.corpus.repository import FeatureLines, RawTexts
from labelgrove.corpus.rows import Fields
from labelgrove.corpus.tables import TableFile

ENCODED = ("jsonl", "csv", "tsv")  # forms that come in other encodings than UTF-8
GUESSED = ("csv", "tsv")  # of which nothing says that they are UTF-8
MERGED = ("jsonl", "csv", "tsv", "xlsx", "parquet")  # forms in which labels have names
DELIMITERS = (",", ";", "\t")
USUAL: dict[str, Any] = {
    **{"format": None, "text": "text", "labels": "labels", "id": "id", "separator": None},
    **{"quote": '"', "encoding": UTF8, "sheet": None, "header": True},
    "merge": None,
}
OnBad: TypeAlias = Literal["stop", "skip"]


def read_corpus(
    source: Any,
    *,
    format: str | None = None,  # noqa: A002
    text: str | Sequence[str] = "text",
    labels: str | Sequence[str] = "labels",
    id: str | None = "id",  # noqa: A002
    separator: str | None = None,
    quote: str | None = '"',
    matrix: str | os.PathLike[str] | None = None,
    on_bad: OnBad = "stop",
    labelled: bool = True,
    encoding: str | None = None,
    likely_encoding: str | None = None,
    sheet: str | None = None,
    header: bool = True,
    merge: Mapping[str, str] | str | os.PathLike[str] | None = None,
    label_names: Iterable[Any] | None = None,
) -> Corpus:
    r"""Return a corpus over a file, a folder or data in memory; documents are read on demand.

    Without ``format`` the suffix decides, before ``.gz``, ``.xz`` or ``.zst``: ``.jsonl``,
    ``.ndjson`` and ``.json`` are JSON lines, ``.csv``, ``.tsv`` and ``.xlsx`` tables with a header,
    ``.parquet`` and ``.pq`` Parquet, ``.svm``, ``.svmlight`` and ``.libsvm`` the extreme
    classification repository's features. Two suffixes need a look at the first line: a ``.tsv``
    whose first line has URIs in angle brackets as its second field is Annif's, and a ``.txt``
    whose first line is three numbers holds features, one whose first line has tabs and is UTF-16
    or names the field of the text is a table, as Excel writes it, any other holds raw texts, one
    a line. A folder is Annif's. The files of RCV1 and of the LSHTC challenges are read only by
    ``format``: see `labelgrove.corpus.rcv1.Rcv1` and `labelgrove.corpus.lshtc`.

    Parameters
    ----------
    source
        A path, a pandas data frame, a ``datasets.Dataset``, a pair (texts, labels), or a corpus,
        which is returned as it is. In a pair, labels are a list for each text, or a matrix of
        zeros and ones with a column for each label: sparse, an array or a data frame.
    format
        One of ``jsonl``, ``csv``, ``tsv``, ``xlsx``, ``parquet``, ``annif``, ``annif-folder``,
        ``svmlight``, ``raw``, ``rcv1-train``, ``rcv1-test``, ``lshtc``, ``lshtc-text``.
    text
        The field of the text, or a list of fields, which become lines of one text.
    labels
        The field of the labels. Of a data frame also a list of columns, one for each label, of
        zeros and ones; without a field ``labels`` these are all columns but text and id.
    id
        The field of the id, or None to read none. Only the field ``id`` may be missing.
    separator
        What stands between labels that share a string. Tables guess it when None, see
        `labelgrove.corpus.tables.TableFile`; JSON lines and a pair take strings only if it is
        given.
    quote
        The character that encloses fields of a table, or None if there is none.
    matrix
        The ``.npz`` file with the labels of raw texts; found by its name when None.
    on_bad
        What happens at a bad row: ``"stop"`` raises, ``"skip"`` leaves it out and counts it.
    labelled
        False where labels are not wanted, as for tagging: they may be missing and are not read.
    encoding
        The encoding of a file of JSON lines or a table. When None, a byte order mark tells, or
        the file is UTF-8, or, if the first MiB of a table is not, its letters tell; what was
        found is in `Corpus.notes`. ``"auto"`` reads the whole file to be sure.
    likely_encoding
        What is tried first where a file is not UTF-8.
    sheet
        The name of the sheet of an Excel workbook; the first when None.
    header
        False for a table whose first row is a document; fields are called ``"1"``, ``"2"``, ...
    merge
        Labels that are replaced by others, or a file of them: see
        `labelgrove.corpus.merging.read_merges`.
    label_names
        The label of each column of a matrix, such as ``MultiLabelBinarizer.classes_``.

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
    merges = read_merges(merge) if isinstance(merge, str | os.PathLike) else dict(merge or {})
    one = labels if isinstance(labels, str) else "labels"
    fields = Fields(names, one, id, labelled, merges or None)
    if not isinstance(source, (str, os.PathLike)):
        if merges and isinstance(source, tuple):
            raise InputError("lists of labels are not merged: replace labels in the lists")
        return _in_memory(source, fields, labels, label_names, separator, on_bad)
    if not isinstance(labels, str):
        raise InputError(f"labels in several columns are read from a data frame, not from {source}")
    path = Path(source)
    kind = format or format_of(path, fields, encoding, header=header)
    if merges and kind not in MERGED:
        raise InputError(
            f"labels are merged in files of the forms {', '.join(MERGED)}, and {path} is of the "
            f"form {kind}: change its labels, or write it in one of these"
        )
    found = _encoding(path, kind, encoding, likely_encoding)
    if sheet is not None and kind != "xlsx":
        raise LayoutError(f"there are no sheets in a file of the form {kind}", str(path))
    npz = None if matrix is None else Path(matrix)
    how = _Options(fields, separator, quote, npz, on_bad, found.name, sheet, header)
    corpus = _of_kind(kind, path, how)
    told: dict[str, Any] = {"format": format}
    told |= {
        "text": text if isinstance(text, str) else list(text),
        "labels": labels,
        "id": id,
        "separator": separator,
    }
    told |= {"quote": quote, "encoding": found.name, "sheet": sheet, "header": header}
    told["merge"] = merges or None
    if kind.startswith("rcv1"):  # which names one of two files
        told["format"] = None
    corpus.reading = {name: value for name, value in told.items() if value != USUAL[name]}
    corpus.notes = (found.note,) if found.note else ()
    return corpus


def _encoding(path: Path, kind: str, wanted: str | None, likely: str | None) -> FoundEncoding:
    if kind in ENCODED:
        check_file(path)
        return find_encoding(path, wanted, expected=likely, guess=kind in GUESSED)
    if wanted is not None and wanted != AUTO and codec_name(wanted) != UTF8:
        raise InputError(
            f"{path} is of the form {kind}, of which the encoding is known; --encoding is for "
            "tables and JSON lines"
        )
    return FoundEncoding(UTF8)


@dataclass(frozen=True)
class _Options:
    """How a file is read, whatever its form; see `read_corpus`."""

    fields: Fields
    separator: str | None
    quote: str | None
    matrix: Path | None
    on_bad: OnBad
    encoding: str
    sheet: str | None
    header: bool


def _of_kind(kind: str, path: Path, how: _Options) -> Corpus:
    """Return the corpus over a file or folder of a form."""
    labelled = how.fields.labelled
    if kind == "jsonl":
        return JsonLines(path, how.fields, how.separator, how.on_bad, how.encoding)
    if kind in ("csv", "tsv"):
        return TableFile(
            path,
            DELIMITERS if kind == "csv" else ("\t",),
            how.fields,
            how.separator,
            how.quote,
            how.on_bad,
            how.encoding,
            how.header,
        )
    if kind == "xlsx":
        return ExcelSheet(path, how.fields, how.separator, how.on_bad, how.sheet, how.header)
    if kind == "parquet":
        return Parquet(path, how.fields, how.separator, how.on_bad)
    if kind == "annif":
        return AnnifTable(path, labelled, how.on_bad)
    if kind == "annif-folder":
        return AnnifFolder(path, labelled, how.on_bad)
    if kind == "svmlight":
        return FeatureLines(path, how.on_bad)
    if kind in ("rcv1-train", "rcv1-test"):
        return Rcv1(path, kind.removeprefix("rcv1-"), labelled, how.on_bad)
    if kind == "lshtc":
        return LshtcFeatures(path, how.on_bad)
    if kind == "lshtc-text":
        return LshtcTexts(path, labelled, how.on_bad)
    return RawTexts(path, how.matrix, labelled, how.on_bad)


def _in_memory(
    source: Any,
    fields: Fields,
    labels: str | Sequence[str],
    label_names: Iterable[Any] | None,
    separator: str | None,
    on_bad: OnBad,
) -> Corpus:
    library = type(source).__module__.partition(".")[0]  # without importing either
    if library == "pandas" and hasattr(source, "columns"):
        columns = label_columns(source, fields, labels) if fields.labelled else None
        if columns is None:
            return Frame(source, fields, separator, on_bad)
        if fields.merges:
            raise InputError("labels in several columns are not merged: rename the columns")
        matrix = read_matrix(source[columns], label_names)
        texts = Frame(source, replace(fields, labelled=False), separator, on_bad)
        return MultiHot(texts, *matrix, on_bad)
    if library == "datasets":
        return HuggingFace(source, fields, separator, on_bad)
    if isinstance(source, tuple) and len(source) == 2 and is_matrix(source[1]):
        return MultiHot(Lists(source[0]), *read_matrix(source[1], label_names), on_bad)
    if label_names is not None:
        raise InputError("label_names are for labels that come as a matrix or a data frame")
    if isinstance(source, tuple) and len(source) == 2:
        return Lists(*source, on_bad=on_bad, separator=separator)
    raise InputError(
        f"cannot read a corpus from a {type(source).__name__}; give a path, a pandas data frame, "
        "a datasets.Dataset or a pair (texts, labels)"
    )
