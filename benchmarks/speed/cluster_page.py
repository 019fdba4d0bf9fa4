"""Pages of results whose sections are measured one by one."""

from __future__ import annotations

import re
from pathlib import Path

from machine import installed, machine


def write_section(page: Path, title: str, lines: list[str], command: str, *packages: str) -> None:
    """Write a section of a page, which has a heading, in place of the old one of the same title.

    Parameters
    ----------
    page
        The file.
    title
        Of the section.
    lines
        What it says.
    command
        What made it.
    packages
        Further ones whose versions matter.
    """
    text = page.read_text(encoding="utf-8") if page.exists() else f"# {page.stem}\n"
    about = machine(installed("labelgrove", "ray", "numpy", *packages))
    made = ["", f"## {title}", "", f"{about} Made with `{command}`.", "", *lines]
    section = "\n".join(made).rstrip() + "\n"
    old = re.compile(rf"\n## {re.escape(title)}\n.*?(?=\n## |\Z)", re.S)
    text = old.sub(lambda _: section, text) if old.search(text) else text + section
    page.write_text(text, encoding="utf-8")


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return a table of Markdown; the first column has words, the others numbers."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return [f"| {' | '.join(line)} |" for line in lines] + [""]
