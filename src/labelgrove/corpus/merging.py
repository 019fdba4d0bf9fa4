"""Labels that are spelled in several ways become one: a file says which."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from labelgrove.core.errors import BadRowError
from labelgrove.core.files import SHORTER_LINES, check_file, lines
from labelgrove.corpus.rows import RowError, clean_label, decoded, shown

HEADER = ("from", "to")
_CELL = re.compile(r'(?:^|\t) *(?:"((?:[^"]|"")*)" *(?=\t|$)|([^\t]*))')


def read_merges(path: str | os.PathLike[str]) -> dict[str, str]:
    r"""Read a file of labels to replace: two columns, ``from`` and ``to``, separated by a tab.

    Further columns, blank lines, comments (lines that begin with ``#`` and have one column) and a
    first line ``from``, ``to`` are passed over. A label may stand in quotes, as spreadsheets write
    it. What a label becomes may itself become another one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "merges.tsv")
    ...     _ = file.write_text("from\tto\nEnergy\tenergy\nenergys\tEnergy\n")
    ...     read_merges(file)
    {'Energy': 'energy', 'energys': 'energy'}
    """
    file = Path(path)
    check_file(file)
    merges: dict[str, str] = {}
    for number, line in enumerate(lines(file, SHORTER_LINES), 1):
        try:
            cells = _cells(decoded(line).rstrip("\r\n"))
            has_rule = any(cell.strip() for cell in cells[1:2])
            if not "".join(cells).strip() or (cells[0].startswith("#") and not has_rule):
                continue  # a label may begin with # too
            if tuple(cell.lower() for cell in cells[:2]) == HEADER:
                continue
            if len(cells) < 2:
                raise RowError(
                    "a line has a label, a tab, and the label that replaces it; got "
                    f"{shown(cells[0])}"
                )
            old, new = clean_label(cells[0]), clean_label(cells[1])
            if merges.setdefault(old, new) != new:
                raise RowError(
                    f"{shown(old)} is replaced by {shown(merges[old])} above; remove one of both"
                )
        except RowError as problem:
            raise BadRowError(str(problem), str(file), number) from problem
    return {old: _last(old, merges, str(file)) for old, new in merges.items() if old != new}


def as_cell(label: str) -> str:
    r"""Return a label as `read_merges` reads it from a column, without a line end.

    Examples
    --------
    >>> as_cell("Energy"), as_cell(" Energy"), as_cell('the "A"\tteam')
    ('Energy', '" Energy"', '"the ""A""\tteam"')
    """
    label = " ".join(label.splitlines())
    if label == label.strip() and "\t" not in label and '"' not in label:
        return label
    return '"' + label.replace('"', '""') + '"'


def _cells(line: str) -> list[str]:
    """Return the columns of a line; blanks around one do not count unless it is in quotes."""
    return [
        plain.strip() if quoted is None else quoted.replace('""', '"')
        for quoted, plain in (found.groups() for found in _CELL.finditer(line))
    ]


def _last(label: str, merges: Mapping[str, str], file: str) -> str:
    """Follow replacements to their end."""
    met = {label}
    while (new := merges.get(label, label)) != label:
        if new in met:
            raise BadRowError(f"{shown(new)} is replaced by itself in a circle", file)
        met.add(new)
        label = new
    return label
