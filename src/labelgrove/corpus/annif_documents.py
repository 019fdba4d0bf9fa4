"""Documents of Annif 1.4 in JSON and CSV, with ids and metadata, beside its older forms.

See https://github.com/NatLibFi/Annif/wiki/Document-corpus-formats
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from labelgrove.core.errors import BadRowError, InputError
from labelgrove.core.files import LINE, check_file, content, lines, suffix
from labelgrove.core.types import Document
from labelgrove.corpus.annif import AnnifFolder
from labelgrove.corpus.base import Corpus, CorpusReader, LayoutError
from labelgrove.corpus.jsonl import parsed
from labelgrove.corpus.reading import OnBad, read_corpus
from labelgrove.corpus.rows import RowError, clean_id, clean_labels, clean_text, decoded, shown

URIS, ID = "subject_uris", "document_id"


def read_annif_corpus(path: Path, *, on_bad: OnBad = "stop", **reading: Any) -> Corpus:
    """Return the documents of Annif's forms, or of any file that `read_corpus` takes.

    Beside what that knows of Annif (short texts as TSV, a folder of text files), it takes JSON
    lines with ``subjects``, CSV with ``subject_uris``, and folders that hold JSON documents. A
    document without a text has the values of its metadata as lines of one.

    Parameters
    ----------
    path
        The file or folder.
    on_bad
        ``"stop"`` or ``"skip"``.
    reading
        More arguments of `read_corpus`; a file for which there are some has no form of Annif's.
    """
    if reading:
        return read_corpus(path, on_bad=on_bad, **reading)
    if path.is_dir():
        if any(path.glob("*.json")):
            return AnnifJsonFolder(path, on_bad)
        return AnnifFolder(path, True, on_bad)
    check_file(path)
    kind = suffix(path)
    first = next(lines(path), b"")
    if kind == ".csv" and URIS.encode() in first:
        return AnnifCsv(path, on_bad)
    if kind in (".jsonl", ".json") and (b'"subjects"' in first or b'"document_id"' in first):
        return AnnifJsonLines(path, on_bad)
    corpus = read_corpus(path, on_bad=on_bad)
    try:
        corpus.look()
    except LayoutError as error:
        if kind != ".csv":
            raise
        raise InputError(
            f"{error}. It is no CSV of Annif's, whose columns are text and {URIS}"
        ) from error
    return corpus


class AnnifJsonLines(CorpusReader):
    """JSON lines with the fields text, document_id, metadata and subjects (uri, label)."""

    def __init__(self, path: Path, on_bad: str = "stop") -> None:
        super().__init__(str(path), on_bad)
        self._path = path

    def _rows(self) -> Iterator[Document | BadRowError]:
        for number, line in enumerate(lines(self._path), 1):
            if line.isspace():
                continue
            try:
                yield _document(parsed(line))
            except RowError as problem:
                yield BadRowError(str(problem), self.name, number)


class AnnifJsonFolder(CorpusReader):
    """A folder of JSON documents, and of text files with their labels; texts come first."""

    def __init__(self, path: Path, on_bad: str = "stop") -> None:
        super().__init__(str(path), on_bad)
        self._path = path
        self.notes += AnnifFolder(path).notes

    def _rows(self) -> Iterator[Document | BadRowError]:
        if any(self._path.glob("*.txt")):
            yield from AnnifFolder(self._path)._rows()
        for file in sorted(self._path.glob("*.json")):
            try:
                # a file may have line ends within its one object
                record = json.loads(content(file, LINE).decode())
                yield _document(record, file.stem)
            except (ValueError, RecursionError) as error:
                yield BadRowError(f"not JSON that can be read: {error}", str(file))
            except RowError as problem:
                yield BadRowError(str(problem), str(file))


class AnnifCsv(CorpusReader):
    """CSV with the columns text, subject_uris, and perhaps document_id; others are metadata."""

    def __init__(self, path: Path, on_bad: str = "stop") -> None:
        super().__init__(str(path), on_bad)
        self._path = path

    def _rows(self) -> Iterator[Document | BadRowError]:
        rows = csv.reader(self._texts(), strict=True)
        try:
            columns = next(rows, [])
            if not {"text", URIS} <= {*columns}:
                raise InputError(
                    f"{self.name} has no columns text and {URIS}, which a CSV of Annif has; its "
                    f"columns are {', '.join(map(repr, columns))}"
                )
            for cells in rows:
                row = {**dict.fromkeys(columns, ""), **dict(zip(columns, cells, strict=False))}
                if not cells:
                    continue
                labels = [{"uri": uri} for uri in row.pop(URIS, "").split()]
                record: dict[str, Any] = {"text": row.pop("text"), "subjects": labels}
                if given := row.pop(ID, ""):
                    record[ID] = given
                try:
                    yield _document({**record, "metadata": row})
                except RowError as problem:
                    yield BadRowError(str(problem), self.name, rows.line_num)
        except csv.Error as error:
            raise BadRowError(f"this is no CSV: {error}", self.name, rows.line_num) from error

    def _texts(self) -> Iterator[str]:
        for number, line in enumerate(lines(self._path), 1):
            try:
                yield decoded(line)
            except RowError as problem:
                raise BadRowError(str(problem), self.name, number) from problem


def _document(record: Any, name: str | None = None) -> Document:
    """Return a document of Annif's JSON; ``name`` is its id if it has none."""
    if not isinstance(record, Mapping):
        raise RowError(f"a document is a JSON object, got {shown(record)}")
    metadata = record.get("metadata", {})
    if not isinstance(metadata, Mapping):
        raise RowError(f"metadata must be an object, got {shown(metadata)}")
    text = record.get("text")
    if text is None and metadata:
        text = "\n".join(str(value) for value in metadata.values())
    subjects = record.get("subjects", [])
    if not isinstance(subjects, list):
        raise RowError(f"subjects must be a list, got {shown(subjects)}")
    given = record.get(ID, name)
    return Document(
        clean_text(text),
        clean_labels([_label(each) for each in subjects]),
        None if given is None else clean_id(given),
    )


def _label(subject: Any) -> Any:
    if not isinstance(subject, Mapping) or not (subject.get("uri") or subject.get("label")):
        raise RowError(f"a subject has a uri or a label, got {shown(subject)}")
    uri = subject.get("uri")
    if not isinstance(uri, str):
        return subject["label"]
    return uri[1:-1] if uri.startswith("<") and uri.endswith(">") else uri
