"""Tables of benchmarks as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, all columns but the first to the right, and an empty line."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]


def cell(values: Sequence[float], digits: int = 1) -> str:
    """Return the mean, and the spread if there are several."""
    if not values:
        return ""
    spread = f" ± {np.std(values):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{spread}"


def write_below(page: Path, mark: str, lines: Sequence[str]) -> None:
    """Write lines below a mark of a page; what stands above it is written by hand and stays."""
    before = page.read_text("utf-8").partition(mark)[0] if page.exists() else ""
    page.write_text("\n".join([before + mark, "", *lines]).rstrip() + "\n", "utf-8")
