"""How findings name documents and commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.checking.facts import FileFacts
from labelgrove.checking.findings import LISTED, Place

TEXT = 70  # characters of a text that are shown
NAME = 60


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
    merges
        The file that labels to merge are written to; None if there is none.
    """

    train: str
    test: str | None = None
    options: Sequence[str] = ()
    merges: str | None = None

    def command(self, name: str, *arguments: str) -> str:
        """Return a command of ours as it is typed; its options win over those of reading."""
        kept: list[str] = []
        replaced = False
        for word in self.options:
            replaced = word in arguments if word.startswith("--") else replaced
            kept += [] if replaced else [word]
        return shlex.join(["labelgrove", name, *arguments, *kept])

    def merging(self) -> tuple[str, str]:
        """Return how to merge labels, and the command that comes first; empty if it has run."""
        file = self.merges or "merges.tsv"
        advice = f"delete the lines that are wrong, train with --merge {shlex.quote(file)}"
        if self.merges:
            return f"look through {file}, {advice}", ""
        files = [self.train, *([] if self.test is None else [self.test])]
        command = self.command("check", *files, "--merge-out", file)
        return f"write a file of them, {advice}", command

    def split(self, *more: str) -> str:
        """Return the command that divides the documents of all files."""
        files = [self.train, *([] if self.test is None else [self.test])]
        return self.command("split", *files, *more, "--out", "parts")

    def places(
        self, facts: FileFacts, rows: Sequence[int] | NDArray[np.integer]
    ) -> list[list[Place]]:
        """Return documents of a file that are to be named, the first 1,000."""
        return [[(facts.number, int(row))] for row in rows[:LISTED]]

    def pairs(self, facts: FileFacts, pairs: NDArray[np.integer]) -> list[list[Place]]:
        """Return the first 1,000 of m pairs of documents of a file, shape (m, 2)."""
        number = facts.number
        return [[(number, int(one)), (number, int(two))] for one, two in pairs[:LISTED]]
