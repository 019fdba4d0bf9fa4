"""The inputs of a run: files, patterns and URLs, each looked at once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from labelgrove.core import remote_files
from labelgrove.core.errors import InputError

WILD = "*?["  # characters of a pattern


@dataclass(frozen=True)
class InputFile:
    """A file of documents.

    Parameters
    ----------
    name
        Its absolute path, or its URL.
    mark
        Changes when its content does; empty if there is no such file.
    """

    name: str
    mark: str


def find_inputs(names: Iterable[str]) -> list[InputFile]:
    """Return the files that paths, URLs and patterns name; matches of a pattern are sorted.

    A file that is not there is kept, so that the others can be tagged; a pattern without any
    match, or a file that is named twice, raises an error.
    """
    found: dict[str, InputFile] = {}
    for name in names:
        for each, mark in _matches(name).items():
            if each in found:
                raise InputError(f"the input {each} is named twice; name it once")
            found[each] = InputFile(each, mark)
    if not found:
        raise InputError("there is no input; name files, patterns or URLs of documents")
    if not any(each.mark for each in found.values()):
        first, *others = found
        more = f", and neither of the other {len(others):,} inputs exists" if others else ""
        raise InputError(f"there is no file {first}{more}")
    return list(found.values())


def _matches(name: str) -> dict[str, str]:
    """Return the files that a path, URL or pattern names, each with its mark."""
    name = name.removeprefix("file://")
    wild = any(character in name for character in WILD)
    if remote_files.is_url(name):
        matches = remote_files.expanded(name) if wild else {name: _remote_mark(name)}
    elif wild and not Path(name).exists():
        found = glob(name, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
        files = sorted(os.path.abspath(each) for each in found if Path(each).is_file())  # noqa: PTH100
        matches = {each: _mark(each) for each in files}
    else:
        place = os.path.abspath(name)  # noqa: PTH100 - resolve() would follow links
        matches = {place: _mark(place)}
    if not matches:
        raise InputError(f"no file matches {name}")
    return matches


def _remote_mark(url: str) -> str:
    try:
        return remote_files.mark_of(url)
    except InputError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return ""
        raise


def _mark(name: str) -> str:
    path = Path(name)
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    try:
        facts = [each.stat() for each in files]
    except FileNotFoundError:
        return ""
    size, time = sum(each.st_size for each in facts), max(each.st_mtime_ns for each in facts)
    return f"{size} {time}"
