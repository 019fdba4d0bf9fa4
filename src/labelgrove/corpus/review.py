"""Files of suggestions that a person accepts or rejects: JSON lines, a document each.

``labelgrove audit`` and ``labelgrove next`` write them, ``labelgrove serve --review`` shows them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from labelgrove.core.errors import BadRowError
from labelgrove.core.files import check_file, lines
from labelgrove.core.storage import write_text
from labelgrove.corpus.jsonl import parsed
from labelgrove.corpus.rows import (
    RowError,
    clean_id,
    clean_label,
    clean_labels,
    clean_text,
    is_missing,
    shown,
)

MISSING, WRONG, PROPOSED = KINDS = ("missing", "wrong", "proposed")


@dataclass(frozen=True)
class Suggestion:
    """A label of a document that a person should judge.

    Parameters
    ----------
    label, name
        Its id and its name.
    score
        How probable it is that the suggestion is right, from 0 to 1.
    kind
        ``"missing"``: the document lacks the label and should have it; ``"wrong"``: it has the
        label and should not; ``"proposed"``: the document has no labels yet, and this may be one.
    reasons
        Sentences that say why.
    """

    label: str
    name: str
    score: float
    kind: str
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReviewItem:
    """A document with suggestions.

    Parameters
    ----------
    text
        The text, every character of it: feedback finds its document by the text.
    labels
        The ids of its labels as they are now; empty for a document without labels.
    suggestions
        What is to be judged, each label once.
    id
        The document's own id, or None.
    """

    text: str
    labels: tuple[str, ...]
    suggestions: tuple[Suggestion, ...]
    id: str | None = None

    def to_json(self) -> str:
        """Return the line of a review file, without its end.

        Examples
        --------
        >>> ReviewItem("Wind", (), (Suggestion("e", "energy", 0.5, "proposed"),)).to_json()
        '{"id": null, "text": "Wind", "labels": [], "suggestions": [{"label": "e", "name": \
"energy", "score": 0.5, "kind": "proposed", "reasons": []}]}'
        """
        values = {
            "id": self.id,
            "text": self.text,
            "labels": self.labels,
            "suggestions": [asdict(each) for each in self.suggestions],
        }
        return json.dumps(values, ensure_ascii=False)

    @classmethod
    def from_json(cls, line: bytes) -> ReviewItem:
        """Return the document of a line, or raise a `RowError`.

        Examples
        --------
        >>> ReviewItem.from_json(b'{"text": "Wind", "suggestions": []}')
        ReviewItem(text='Wind', labels=(), suggestions=(), id=None)
        """
        return _item(parsed(line))


def read_review(path: Path) -> Iterator[ReviewItem]:
    """Read a review file, one document at a time; a bad line is an error.

    Parameters
    ----------
    path
        JSON lines, also compressed, as `ReviewItem.to_json` writes them. ``text`` and
        ``suggestions`` must be there; of a suggestion ``label`` and ``kind``.
    """
    check_file(path)
    for number, line in enumerate(lines(path), 1):
        if line.isspace():
            continue
        try:
            yield ReviewItem.from_json(line)
        except RowError as problem:
            raise BadRowError(str(problem), str(path), number) from problem


def write_review(path: Path, items: Iterable[ReviewItem]) -> None:
    """Write a review file, whole or not at all."""
    write_text(path, "".join(f"{item.to_json()}\n" for item in items))


def _item(row: Mapping[str, Any]) -> ReviewItem:
    for name in ("text", "suggestions"):
        if name not in row:
            raise RowError(
                f"there is no field {name!r}: a review file has text, labels and suggestions; "
                "'labelgrove audit' writes one"
            )
    text = clean_text(row["text"])
    if not text.strip():
        raise RowError("the text is empty, so nobody can judge its labels; remove the line")
    given = row["suggestions"]
    if not isinstance(given, list):
        raise RowError(f"suggestions must be a list, got {shown(given)}")
    labels = clean_labels(row.get("labels") or [])
    suggestions = tuple(_suggestion(each, labels) for each in given)
    if len({each.label for each in suggestions}) < len(suggestions):
        raise RowError("a label is suggested twice; keep one of the two")
    own = row.get("id")
    return ReviewItem(text, labels, suggestions, None if is_missing(own) else clean_id(own))


def _suggestion(given: Any, labels: tuple[str, ...]) -> Suggestion:
    if not isinstance(given, dict):
        raise RowError(f"a suggestion must be an object, got {shown(given)}")
    label, kind = clean_label(given.get("label")), given.get("kind")
    if kind not in KINDS:
        raise RowError(f"the kind of a suggestion is one of {', '.join(KINDS)}, got {shown(kind)}")
    if (kind == WRONG) != (label in labels):
        there = "is among its labels" if label in labels else "is not among its labels"
        raise RowError(f"{shown(label)} is suggested as {kind}, but {there}")
    score, name, reasons = given.get("score", 0.0), given.get("name"), given.get("reasons") or []
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        raise RowError(f"a score is a number from 0 to 1, got {shown(score)}")
    if not isinstance(reasons, list):
        raise RowError(f"reasons must be a list of sentences, got {shown(reasons)}")
    return Suggestion(
        label,
        clean_text(name) if name else label,
        float(score),
        kind,
        tuple(clean_text(each) for each in reasons),
    )
