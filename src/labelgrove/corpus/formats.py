"""Which form a file has, by its suffix and, where that does not tell, by its first line."""

from __future__ import annotations

from pathlib import Path

from labelgrove.core.errors import InputError
from labelgrove.core.files import check_file, lines, suffix
from labelgrove.core.recoding import UTF8
from labelgrove.corpus.annif import is_annif_line
from labelgrove.corpus.encodings import find_encoding
from labelgrove.corpus.repository import is_header
from labelgrove.corpus.rows import Fields

FORMATS = (
    *("jsonl", "csv", "tsv", "xlsx", "parquet", "annif", "annif-folder", "svmlight", "raw"),
    *("rcv1-train", "rcv1-test", "lshtc", "lshtc-text"),
)
SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".txt": "raw",
}
OTHER_SHEETS = (".xls", ".xlsb", ".ods", ".numbers")  # of programs that write .xlsx too


def format_of(path: Path, fields: Fields, encoding: str | None, *, header: bool) -> str:
    """Return the form of a file or folder, one of `FORMATS`.

    Parameters
    ----------
    path
        The file or folder.
    fields, encoding, header
        How it will be read: a table without a suffix of its own is known by them.
    """
    if path.is_dir():
        if any(path.glob("*.txt")) and not any(path.glob("*.npz")):
            return "annif-folder"
        raise InputError(
            f"{path} is a folder without .txt and .key files; name a file in it, or the format "
            "of the folder: rcv1-train, rcv1-test"
        )
    check_file(path)
    kind = SUFFIXES.get(suffix(path))
    if suffix(path) in OTHER_SHEETS:
        raise InputError(f"{path} cannot be read; save it in the spreadsheet program as .xlsx")
    if kind is None:
        raise InputError(
            f"the suffix of {path} is not known; rename it (known: {', '.join(SUFFIXES)}, "
            f"also with .gz, .xz, .zst) or give the format: {', '.join(FORMATS)}"
        )
    if kind not in ("tsv", "raw"):
        return kind
    found = find_encoding(path, encoding, guess=False).name
    first = next(lines(path, encoding=found), b"").decode(UTF8, "replace").rstrip("\r\n")
    if kind == "tsv" and is_annif_line(first):
        return "annif"
    if kind == "raw" and is_header(first):
        return "svmlight"
    if kind == "raw" and "\t" in first:
        names = [cell.strip(' "') for cell in first.split("\t")]
        if found.startswith("utf-16") or fields.names()[0] in names or not header:
            return "tsv"  # what Excel calls Unicode text
    return kind
