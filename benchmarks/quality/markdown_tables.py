"""Tables of benchmarks as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

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
