"""The parts of an .xlsx file, which is a zip archive of XML: none may unpack to too much.

A sheet is read row by row, all other parts are read whole. A small archive can hold gigabytes of
zeros or of empty elements, so what a part says of its size is compared with what it takes in the
archive; Python's reader gives no more bytes than a part says it has.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from labelgrove.core.errors import InputError
from labelgrove.core.files import LINE, WHOLE

SMALL = LINE  # bytes of a part for which nothing else is asked
RATIO = 100  # bytes that one of the archive may stand for; spreadsheets have 5 to 30
ELEMENTS = 1 << 24  # of XML in a part that is read whole; each takes memory even if it is empty
CHUNK = 1 << 20
TYPES = "[Content_Types].xml"
SHEET = "worksheet+xml"
ENTITIES = (b"<!DOCTYPE", b"<!ENTITY")
MERGED = re.compile(rb'<mergeCell [^>]*?ref="([A-Z]+[0-9]+:[A-Z]+[0-9]+)"')
OLD = b"\xd0\xcf\x11\xe0"  # .xls, or any document of Office with a password


def check_parts(path: Path) -> None:
    """Raise for a file that is no .xlsx, or that would fill the memory."""
    with path.open("rb") as file:
        if file.read(len(OLD)) == OLD:
            raise InputError(
                f"{path} is an old .xls file or has a password; save it in the spreadsheet "
                "program as .xlsx, without a password"
            )
    with ZipFile(path) as archive:
        names = archive.namelist()
        if TYPES not in names:
            raise BadZipFile("it has no list of its parts")
        for part in archive.infolist():
            _check_size(path, part)
        streamed = _sheets(archive)
        for part in archive.infolist():
            if part.filename.endswith((".xml", ".rels")) or part.filename in streamed:
                _check_xml(path, archive, part, whole=part.filename not in streamed)


def _check_size(path: Path, part: ZipInfo) -> None:
    packed = max(min(part.compress_size, path.stat().st_size), 1)
    if part.file_size > WHOLE:
        raise _too_much(path, part.filename, f"more than {WHOLE:,} bytes")
    if part.file_size > SMALL and part.file_size > RATIO * packed:
        raise _too_much(path, part.filename, f"more than {RATIO} bytes for each in the file")


def _check_xml(path: Path, archive: ZipFile, part: ZipInfo, *, whole: bool) -> None:
    """Refuse entities, of which workbooks have none, and in what is read whole many elements."""
    found, before = 0, b""
    with archive.open(part) as stream:
        while piece := stream.read(CHUNK):
            seen = (before + piece).replace(b"\0", b"")  # as in UTF-16
            if any(mark in seen for mark in ENTITIES):
                raise InputError(
                    f"{path} defines entities of XML in its part {part.filename!r}, as no "
                    "spreadsheet program does; save the sheet as CSV, and read that"
                )
            before = piece[-2 * len(ENTITIES[0]) :]
            found += piece.count(b"<")
            if whole and found > 2 * ELEMENTS:
                raise _too_much(path, part.filename, f"more than {ELEMENTS:,} elements of XML")


def _sheets(archive: ZipFile) -> set[str]:
    """Return the parts that are sheets and nothing else."""
    from defusedxml.ElementTree import fromstring

    kinds: dict[str, list[str]] = {}
    for each in fromstring(archive.read(TYPES)):
        node: Any = each
        name = str(node.get("PartName", "")).removeprefix("/")
        kinds.setdefault(name, []).append(str(node.get("ContentType", "")))
    return {name for name, types in kinds.items() if all(each.endswith(SHEET) for each in types)}


def merged_cells(stream: IO[bytes]) -> list[str]:
    """Return the ranges of merged cells of a sheet, such as A2:A5; stream is the part's XML."""
    found: list[str] = []
    rest = b""
    while piece := stream.read(CHUNK):
        seen = rest + piece
        found += (match.decode("ascii") for match in MERGED.findall(seen))
        rest = seen[seen.rfind(b"<") :]  # an element that is cut in two
    return found


def _too_much(path: Path, part: str, what: str) -> InputError:
    return InputError(
        f"{path} unpacks to {what} in its part {part!r}; save the sheet as CSV, and read that"
    )
