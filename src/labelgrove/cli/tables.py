"""Tables on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from labelgrove.cli.terminal import show
from labelgrove.core.printable import one_line

if TYPE_CHECKING:
    from labelgrove.report.before_after import BeforeAfter
    from labelgrove.report.tables import Table as ReportTable

BEST = "*"  # in front of what a terminal shows in bold and a pipe cannot


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    words: int = 1,
    bold: Set[tuple[int, int]] = frozenset(),
) -> None:
    """Print a table to standard output; all but the first ``words`` columns align right.

    The cells of ``bold``, pairs of a row and a column, are in bold; in a pipe they have a star.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if title:
        show(title)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(
            Text(one_line(column)), justify="left" if number < words else "right", overflow="fold"
        )
    console = Console(highlight=False)
    star = "" if console.is_terminal else BEST
    for i, row in enumerate(rows):
        cells = enumerate(map(one_line, row))
        table.add_row(
            *(Text(star + cell, "bold") if (i, j) in bold else Text(cell) for j, cell in cells)
        )
    if not console.is_terminal:  # a pipe has no width: let no line be wrapped
        console = Console(highlight=False, width=10_000)
    console.print(table)


def print_report_table(table: ReportTable) -> None:
    """Print a table of a report."""
    print_table(table.title, table.columns, table.rows, words=table.words, bold=table.bold)


def print_scores(title: str, scores: Mapping[str, float]) -> None:
    """Print metrics as percentages: those at k side by side, the others below one another."""
    ranked: dict[str, dict[str, float]] = {}
    others: list[tuple[str, float]] = []
    for key, value in scores.items():
        metric, at, k = key.partition("@")
        if at:
            ranked.setdefault(metric, {})[k] = value
        else:
            others.append((key, value))
    if ranked:
        ks = list(dict.fromkeys(k for row in ranked.values() for k in row))
        print_table(
            title,
            ["", *(f"@{k}" for k in ks)],
            [
                [metric, *(_percent(row[k]) if k in row else "" for k in ks)]
                for metric, row in ranked.items()
            ],
        )
    if others:
        print_table("", ["", "%"], [[name, _percent(value)] for name, value in others])


def print_before_and_after(title: str, judged: BeforeAfter) -> None:
    """Print the scores of two taggers on the same documents, and what to know of each."""
    print_report_table(judged.table(title))
    before, after = judged.before.notes, judged.after.notes
    for note in before:
        show(note if note in after else f"before: {note}")
    for note in after:
        if note not in before:
            show(f"after: {note}")


def _percent(value: Any) -> str:
    return f"{100 * value:.2f}"
