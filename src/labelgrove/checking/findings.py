"""A finding of a check: what is wrong, how much it matters, what to do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

SERIOUS, CHECK, NOTE = "serious", "check", "note"
LEVELS = (SERIOUS, CHECK, NOTE)
Place = tuple[int, int]  # the file, 0 or 1, and the number of a document
LISTED = 1000  # documents, or pairs of them, that a finding names


class NamedDocument(NamedTuple):
    """A document as a reader finds it.

    Parameters
    ----------
    file
        What findings call its file.
    document
        The row of the file, from 1, without the header and empty rows.
    id
        Its id, None if it has none.
    """

    file: str
    document: int
    id: str | None


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
        The documents that it concerns, or pairs of them; 1,000 at most.
    shown
        So many of these are shown with their texts, behind the examples, a pair in one line.
    documents
        The same documents as ``places``, named.
    total
        How many there are, also beyond the 1,000.
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
    shown: int = 2
    documents: Sequence[Sequence[NamedDocument]] = ()
    total: int = 0
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
            **self._places(),
        }

    def _places(self) -> dict[str, Any]:
        """Return the documents for JSON; nothing where a finding is not about documents."""
        places = [[each._asdict() for each in one] for one in self.documents]
        return {"places": places} if places else {}


def by_weight(findings: Sequence[FileFinding]) -> list[FileFinding]:
    """Return findings, those that matter most first."""
    return sorted(findings, key=lambda each: (LEVELS.index(each.level), -each.share))
