"""A finding of a check: what is wrong, how much it matters, what to do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SERIOUS, CHECK, NOTE = "serious", "check", "note"
LEVELS = (SERIOUS, CHECK, NOTE)
Place = tuple[int, int]  # the file, 0 or 1, and the number of a document


@dataclass(frozen=True)
class FileFinding:
    """Something about a file that a reader should know before training.

    Parameters
    ----------
    kind
        A name for machines, such as ``"in-both-files"``.
    level
        ``"serious"`` (scores would be wrong, or documents or labels are lost), ``"check"``
        (worth a look) or ``"note"`` (good to know).
    share
        How much of the file it concerns, 0 to 1: the larger come first.
    title
        What was found, in one line.
    advice
        What to do about it.
    command
        The command that does it; empty where there is none.
    examples
        Lines that show it.
    places
        Documents that show it: their texts are put behind the examples, those of a pair in one
        line.
    numbers
        The figures, for JSON.
    """

    kind: str
    level: str
    share: float
    title: str
    advice: str
    command: str = ""
    examples: Sequence[str] = ()
    places: Sequence[Sequence[Place]] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON."""
        return {
            "kind": self.kind,
            "level": self.level,
            "title": self.title,
            "advice": self.advice,
            "command": self.command or None,
            "examples": list(self.examples),
            **self.numbers,
        }


def by_weight(findings: Sequence[FileFinding]) -> list[FileFinding]:
    """Return findings, those that matter most first."""
    return sorted(findings, key=lambda each: (LEVELS.index(each.level), -each.share))
