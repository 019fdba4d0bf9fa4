"""From the fields of a row to a `Document`, with the rules that all formats share.

- An empty text and an empty list of labels are kept as they are.
- A label is a string or a whole number, which becomes a string; an empty one is an error in a
  list and is left out of separated labels. Labels that come twice are kept once.
- A NUL character or half a surrogate pair becomes a space or U+FFFD in a text, and is an error
  in a label or id. All other characters, tabs and line ends included, are kept.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from numbers import Integral
from typing import Any

from labelgrove.core.files import LINE
from labelgrove.core.recoding import UTF8
from labelgrove.core.types import Document

DIGITS = 100  # of a number; no label, feature or document needs more


class RowError(Exception):
    """What is wrong with a row, to be completed by its file and line."""


class MissingFieldError(RowError):
    """A field that should be there is not: the file is of another layout, no row is bad."""


def decoded(line: bytes, encoding: str | None = None) -> str:
    """Return a line as text, or raise a `RowError` that names the first bad byte.

    Parameters
    ----------
    line
        A line in UTF-8, as `labelgrove.core.files.lines` yields it.
    encoding
        What it was before; None where the file must be UTF-8.
    """
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise RowError(undecodable(line, error.start, encoding)) from error


def undecodable(line: bytes, start: int, encoding: str | None) -> str:
    """Return the error message for a byte that is not of an encoding."""
    column = len(line[:start].decode("utf-8", "replace")) + 1
    way_out = "convert the file to UTF-8"
    if encoding is not None:
        way_out = (
            "name the encoding of the file (--encoding windows-1252), let it be found "
            "(--encoding auto), or skip such rows (--skip-bad)"
        )
    name = "UTF-8" if encoding in (None, UTF8) else encoding
    return f"the byte 0x{line[start]:02x} in column {column:,} is not {name}; {way_out}"


def whole_number(digits: str | bytes) -> int:
    """Return digits as a number, or raise a `RowError` if there are far too many."""
    if len(digits) > DIGITS:
        raise RowError(f"a number of {len(digits):,} digits is too long; at most {DIGITS} are read")
    return int(digits)


@dataclass(frozen=True)
class Fields:
    """Where the parts of a document are found in a row.

    Parameters
    ----------
    text
        The field of the text, or several, which become lines of one text: the first is its first
        line, whatever it holds.
    labels
        The field of the labels.
    id
        The field of the id, or None. The field ``"id"`` need not be there.
    labelled
        False where labels are not wanted: they may be missing, and are not read.
    merges
        Labels that are replaced by others.
    """

    text: str | tuple[str, ...] = "text"
    labels: str = "labels"
    id: str | None = "id"
    labelled: bool = True
    merges: Mapping[str, str] | None = None

    def names(self) -> list[str]:
        """Return all fields."""
        texts = [self.text] if isinstance(self.text, str) else list(self.text)
        return [*texts, self.labels, *([self.id] if self.id is not None else [])]

    def missing(self, present: Collection[str]) -> str | None:
        """Return the first field that should be there and is not."""
        for name in self.names():
            optional = (name == self.labels and not self.labelled) or (name == self.id == "id")
            if name not in present and not optional:
                return name
        return None

    def check(self, present: Collection[str]) -> None:
        """Raise a `MissingFieldError` for the first field that should be there and is not."""
        missing = self.missing(present)
        for name in self.names():
            if name == missing:
                option = "labels" if name == self.labels else "id" if name == self.id else "text"
                raise MissingFieldError(
                    f"there is no field {name!r}; {_hint(name, present)}he fields are "
                    f"{_listed(present)}; "
                    f"name the one that holds the {option} ({option}=..., --{option}-field)"
                )
            if list(present).count(name) > 1:
                raise RowError(f"there are two fields {name!r}; rename one")

    def document(self, row: Mapping[str, Any], separator: Separator | None = None) -> Document:
        """Return the document of a row, or raise a `RowError`."""
        try:
            labels = row[self.labels]
            text = row[self.text] if isinstance(self.text, str) else self._joined(row)
        except KeyError:
            self.check(row)
            labels = row.get(self.labels)  # only labels may be missing
            text = row[self.text] if isinstance(self.text, str) else self._joined(row)
        own = None if self.id is None else row.get(self.id)
        if own is None and self.id not in (None, "id"):
            self.check(row)
        return Document(
            clean_text(text),
            self._labels(labels, separator) if self.labelled else (),
            None if own is None or is_missing(own) else clean_id(own),
        )

    def _labels(self, value: object, separator: Separator | None) -> tuple[str, ...]:
        labels = clean_labels(value, separator)
        return merged(labels, self.merges) if self.merges else labels

    def _joined(self, row: Mapping[str, Any]) -> str:
        found = [row[name] for name in self.text]
        if all(map(is_missing, found)):
            return clean_text(found[0])  # which says what to do
        *lines, last = ["" if is_missing(text) else clean_text(text) for text in found]
        # an empty field keeps its line, or another would be taken for it
        return "\n".join([*(" ".join(text.splitlines()) for text in lines), last])


def _hint(name: str, present: Collection[str]) -> str:
    """Return what begins the list of fields: the one that differs in case or blanks, if any is."""
    wanted = name.casefold().split()
    near = next((each for each in present if each.casefold().split() == wanted), None)
    return "t" if near is None else f"did you mean {near!r}? T"


def _listed(names: Collection[str]) -> str:
    """Return the names of fields, cut to fit a message: they may be a document."""
    cut = [repr(name if len(name) <= 60 else f"{name[:57]}...") for name in islice(names, 20)]
    more = f" and {len(names) - 20:,} more" if len(names) > 20 else ""
    return (", ".join(cut) or "none") + more


def clean_text(value: object) -> str:
    """Return a text that every later step can use, or raise a `RowError`."""
    if not isinstance(value, str):
        hint = "; write an empty string for an empty text" if is_missing(value) else ""
        raise RowError(f"the text must be a string, got {shown(value)}{hint}")
    text = str(value)  # numpy's strings are str and more
    if "\0" in text:
        text = text.replace("\0", " ")
    return text if text.isascii() or _is_unicode(text) else _mended(text)


def clean_labels(value: object, separator: Separator | None = None) -> tuple[str, ...]:
    """Return labels, each once and in their order, or raise a `RowError`."""
    if isinstance(value, list):
        items = value
    elif isinstance(value, str):
        if separator is None:
            raise RowError(
                f"labels must be a list such as [{shown(value)}], got the string {shown(value)}; "
                "write a list, or give the separator of the labels (--separator)"
            )
        items = separator.split(value)
    else:
        items = _as_list(value)
    return tuple(dict.fromkeys([clean_label(item) for item in items]))


def clean_label(value: object) -> str:
    """Return a label, or raise a `RowError`."""
    if type(value) is str and value.isprintable() and value.strip():
        return value  # nearly all; neither NUL nor a surrogate is printable
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise RowError(f"a label must be a string, got {shown(value)}")
    if not value or value.isspace():
        raise RowError("a label is empty; remove it from the list")
    return _clean_name(value, "label")


def clean_id(value: object) -> str:
    """Return an id, or raise a `RowError`."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise RowError(f"an id must be a string or a whole number, got {shown(value)}")
    return _clean_name(value, "id")


def merged(labels: Iterable[str], merges: Mapping[str, str]) -> tuple[str, ...]:
    """Return labels, each once, after some are replaced.

    Examples
    --------
    >>> merged(("Energy", "sun", "energy"), {"Energy": "energy"})
    ('energy', 'sun')
    """
    return tuple(dict.fromkeys([merges.get(label, label) for label in labels]))


def is_missing(value: object) -> bool:
    """Tell whether a value stands for nothing: None, or the NaN of a data frame."""
    return value is None or (isinstance(value, float) and value != value)


def shown(value: object) -> str:
    """Return a value as JSON would write it, cut to fit a line."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    text = text.replace("\n", " ").encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= 60 else text[:57] + "..."


def _as_list(value: object) -> list[Any]:
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)  # a set of strings has another order in every process
    if is_missing(value):
        raise RowError("labels are missing; write an empty list for a document without labels")
    items = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(items, list):
        raise RowError(f"labels must be a list, got {shown(value)}")
    return items


def _clean_name(value: str, what: str) -> str:
    if "\0" in value or not _is_unicode(value):
        wrong = "a NUL character" if "\0" in value else "half a surrogate pair"
        raise RowError(f"the {what} {shown(value)} holds {wrong}")
    return str(value)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _mended(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


MARKS = (";", "|", ",")
SAMPLE = 10_000  # rows that a separator is guessed from


@dataclass(frozen=True)
class Separator:
    """What stands between labels that share one string.

    Parameters
    ----------
    mark
        The separator; None if no string seen so far held one, so that each is a single label.
    """

    mark: str | None

    def split(self, cell: str) -> list[str]:
        """Return the labels in a string, without the blanks around them and without empty ones."""
        if self.mark is None:
            for mark in MARKS:
                if mark in cell:
                    raise RowError(
                        f"the labels {shown(cell)} hold {mark!r}, which the first {SAMPLE:,} rows "
                        f"do not: give the separator of the labels, such as {mark!r}"
                    )
            pieces = [cell]
        else:
            pieces = cell.split(self.mark)
        return [piece for piece in map(str.strip, pieces) if piece]


def sampled(cells: Iterable[object]) -> list[object]:
    """Return the cells that a separator is guessed from; few if they are very long."""
    taken: list[object] = []
    size = 0
    for cell in islice(cells, SAMPLE):
        if isinstance(cell, str):
            size += len(cell)
            taken.append(cell)
        if size > LINE:
            break
    return taken


def guess_separator(cells: Sequence[object]) -> Separator:
    """Choose between ``;`` and ``|``, whichever is in more cells, ``;`` if equally many.

    A comma is never chosen, since it is common inside labels; where it is in most cells a
    `RowError` asks for the separator.
    """
    strings = [cell for cell in cells if isinstance(cell, str)]
    counts = {mark: sum(mark in cell for cell in strings) for mark in MARKS}
    best = max(MARKS, key=lambda mark: counts[mark])  # of equals the first
    if not counts[best]:
        return Separator(None)
    if best == ",":
        example = next(cell for cell in strings if "," in cell)
        raise RowError(
            f"cannot tell what separates labels such as {shown(example)}: "
            "give the separator (--separator), ',' to divide them at commas or ';' to leave them "
            "whole"
        )
    return Separator(best)
