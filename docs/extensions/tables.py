"""Tables for pages that are written while the site is built."""

from __future__ import annotations

from collections.abc import Sequence

from docutils import nodes

Cell = nodes.Node | str


def table(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> nodes.table:
    """Return a table; a cell is a text, or a node such as `literal`."""
    group = nodes.tgroup(cols=len(columns))
    group += [nodes.colspec(colwidth=1) for _ in columns]
    head, body = nodes.thead(), nodes.tbody()
    head += _row(columns)
    body += [_row(row) for row in rows]
    group += [head, body]
    found = nodes.table(classes=["colwidths-auto"])
    found += group
    return found


def literal(text: str) -> nodes.literal:
    """Return text as code."""
    return nodes.literal(text, text)


def _row(cells: Sequence[Cell]) -> nodes.row:
    row = nodes.row()
    for cell in cells:
        inner = nodes.Text(cell) if isinstance(cell, str) else cell
        row += nodes.entry("", nodes.paragraph("", "", inner))
    return row
