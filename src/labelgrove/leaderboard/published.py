"""The tables of papers: their rows, columns and figures, with what was measured here in them.

Published figures are of other documents, often of other features and of models that were chosen
in another way. They stand beside ours to be looked at, not to be compared by a test.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from labelgrove.core.errors import UnknownNameError
from labelgrove.leaderboard.standings import LOSS, Leaderboard, System
from labelgrove.report.comparison_tables import NONE
from labelgrove.report.tables import Table

FOLDER = Path(__file__).with_name("papers")
HERE, THERE = "measured here", "published"
ACROSS = "methods across"
SHORT = {
    LOSS: "HL",
    **{f"{kind}-{of}": f"{k}-{of[0].upper()}" for kind, k in (("micro", "Mi"), ("macro", "Ma"))
       for of in ("precision", "recall")},
    **{"micro-F1": "Mi-F1", "macro-F1": "Ma-F1"},
}  # fmt: skip


def papers() -> list[str]:
    """Return the names of the papers whose tables are known.

    Examples
    --------
    >>> papers()
    ['aplc-xlnet', 'attentionxml', 'laco', 'treaderxml']
    """
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def check_papers(names: Sequence[str]) -> None:
    """Refuse a paper whose tables are not known."""
    for name in names:
        if name not in papers():
            raise UnknownNameError("paper", name, papers())


def published_tables(board: Leaderboard) -> list[Table]:
    """Return the tables of the papers that were asked for."""
    return [
        _table(board, _read(name), each) for name in board.papers for each in _read(name)["tables"]
    ]


def published_notes(board: Leaderboard) -> list[str]:
    """Return where the figures come from, and what they are worth beside ours."""
    told = []
    for name in board.papers:
        paper = _read(name)
        more = f"; {paper['note']}" if paper["note"] else ""
        told.append(
            f"figures marked as {THERE} are those of {paper['source']}{more}. They are of other "
            "documents than those measured here, so the two say nothing of which is better"
        )
        told += [
            f"no model of {paper['name']}, {table['number']}, has results here"
            for table in paper["tables"]
            if not _ours(board, table)
        ]
    return told


@cache
def _read(name: str) -> Mapping[str, Any]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))


def _table(board: Leaderboard, paper: Mapping[str, Any], table: Mapping[str, Any]) -> Table:
    title = f"{paper['name']}, {table['number']}: {table['what']}"
    methods = [name for name, _ in table["methods"]]
    if table["layout"] == ACROSS:
        rows = [
            [data, metric, *(cells[method][i] if method in cells else NONE for method in methods)]
            for data, cells in _blocks(board, table)
            for i, metric in enumerate(table["metrics"])
        ]
        return Table(["", "", *methods], rows, title=title, words=2)
    rows = [
        [data, method, *cells[method]]
        for data, cells in _blocks(board, table)
        for method in methods
        if method in cells
    ]
    heads = [SHORT.get(metric, metric) for metric in table["metrics"]]
    return Table(["", "", *heads], rows, title=title, words=2)


def _blocks(
    board: Leaderboard, table: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield each data set with the cells of its methods, ours first."""
    if ours := _ours(board, table):
        yield f"{board.facts['name']} ({HERE})", ours
    for data, rows in table["scores"].items():
        yield (
            f"{data} ({THERE})",
            {name: [*map(_shown, row.split())] for name, row in rows.items()},
        )


def _ours(board: Leaderboard, table: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the cells of the methods that have results here."""
    found = {name: _system(board, model) for name, model in table["methods"]}
    return {name: _own(each, table["metrics"]) for name, each in found.items() if each is not None}


def _shown(cell: str) -> str:
    return NONE if cell == "-" else cell


def _system(board: Leaderboard, model: str) -> System | None:
    """Return the system of a model, the one of its own name before those with other settings."""
    of_model = [each for each in board.systems if each.entrant.model == model]
    return next((each for each in of_model if each.name == model), next(iter(of_model), None))


def _own(system: System, metrics: Sequence[str]) -> list[str]:
    return [
        f"{system.mean(metric):.4f}" if metric == LOSS else f"{100 * system.mean(metric):.2f}"
        for metric in metrics
    ]
