"""How findings name documents and commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.checking.facts import FileFacts
from labelgrove.checking.findings import Place

TEXT = 70  # characters of a text that are shown
NAME = 60


def some(number: int, one: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else one + 's'}"


def verb(number: int, one: str, many: str) -> str:
    """Return the form of a verb that goes with a number.

    Examples
    --------
    >>> verb(1, "has", "have"), verb(2, "has", "have")
    ('has', 'have')
    """
    return one if number == 1 else many


def shortened(text: str, most: int = TEXT) -> str:
    """Return a text in one line, cut where it is long."""
    line = " ".join(text[: 10 * most].split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def names_of(labels: Iterable[str], most: int = 3) -> str:
    """Return the first few labels, in quotes."""
    return ", ".join(
        f"'{shortened(label, NAME)}'" for _, label in zip(range(most), labels, strict=False)
    )


@dataclass(frozen=True)
class Wording:
    """The names of both files and how they are read.

    Parameters
    ----------
    train, test
        The files; ``test`` is None if there is one only.
    options
        Options of the command line by which they are read.
    """

    train: str
    test: str | None = None
    options: Sequence[str] = ()

    def command(self, name: str, *arguments: str) -> str:
        """Return a command of ours as it is typed."""
        return shlex.join(["labelgrove", name, *arguments, *self.options])

    def split(self, *more: str) -> str:
        """Return the command that divides the documents of all files."""
        files = [self.train, *([] if self.test is None else [self.test])]
        return self.command("split", *files, *more, "--out", "parts")

    def place(self, facts: FileFacts, row: int) -> str:
        """Return where a document is."""
        return f"document {facts.positions[row]:,} of {facts.title}"

    def places(self, facts: FileFacts, rows: Sequence[int]) -> list[list[Place]]:
        """Return documents whose texts are to be shown."""
        return [[(facts.number, int(row))] for row in rows]

    def pairs(self, facts: FileFacts, pairs: NDArray[np.integer]) -> list[list[Place]]:
        """Return pairs of documents of a file, shape (m, 2), to be shown side by side."""
        return [[(facts.number, int(one)), (facts.number, int(two))] for one, two in pairs]
