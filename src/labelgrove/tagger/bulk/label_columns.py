"""The labels of documents as columns behind those of their file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from labelgrove.core.types import Tag
from labelgrove.corpus.encodings import shown
from labelgrove.corpus.row_writers import LABELS, NESTED, TABLES, TEXT, free_name
from labelgrove.corpus.source_rows import FileLayout
from labelgrove.labels import LabelSpace
from labelgrove.tagger.bulk.writers import tag_values

NAMES, IDS, SCORES = "suggested_labels", "suggested_label_ids", "suggested_scores"
MARKS = (";", "|")  # between labels; a line end where both are in names
DIGITS = 4  # of a score that people read
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet calculates a cell that begins so


class SuggestionColumns:
    """What is written of labels: one column of lists, or two or three of texts.

    Parameters
    ----------
    labels
        All labels of the tagger.
    layout
        Of the file that is written.
    separator
        What stands between labels in a cell; one that no label holds when None.
    taken
        Names that other columns have.
    """

    def __init__(
        self,
        labels: LabelSpace,
        layout: FileLayout,
        separator: str | None = None,
        taken: Collection[str] = (),
    ) -> None:
        self._nested = layout.kind in NESTED
        self._guarded = layout.kind in TABLES
        # most tables have labels that are their own names
        self._with_ids = labels.names != labels.ids
        if self._nested:
            self.columns: Mapping[str, str] = {free_name(NAMES, taken): LABELS}
        else:
            names = (NAMES, IDS, SCORES) if self._with_ids else (NAMES, SCORES)
            self.columns = dict.fromkeys(_free_names(names, taken), TEXT)
        marks = [mark for mark in MARKS if layout.quote is not None or mark != layout.delimiter]
        mark = separator or _free_mark(marks, [*labels.names, *labels.ids])
        self._between = f"{mark} " if mark in ";," else mark

    def values(self, tags: Sequence[Tag]) -> list[Any]:
        """Return the values of a document's labels, one for each column."""
        if self._nested:
            return [[tag_values(tag) for tag in tags]]
        scores = self._between.join(str(round(tag.score, DIGITS)) for tag in tags)
        cells = [self._joined(tag.name for tag in tags)]
        if self._with_ids:
            cells.append(self._joined(tag.label for tag in tags))
        return [*cells, scores]

    def _joined(self, labels: Iterable[str]) -> str:
        text = self._between.join(labels)
        return f"'{text}" if self._guarded and text.startswith(FORMULA) else text


def _free_names(names: Sequence[str], taken: Collection[str]) -> list[str]:
    """Return names that no column has; if one is taken, all get the same number."""
    number = 1
    while True:
        tried = [name if number == 1 else f"{name}_{number}" for name in names]
        if not set(tried) & set(taken):
            return tried
        number += 1


def _free_mark(marks: Sequence[str], labels: Sequence[str]) -> str:
    free = (mark for mark in marks if not any(mark in label for label in labels))
    return next(free, "\n")


def layout_for_labels(layout: FileLayout, labels: LabelSpace) -> tuple[FileLayout, str]:
    """Return a layout whose encoding has all letters of the labels, and a note if it is another."""
    for label in (*labels.names, *labels.ids) if layout.kind in TABLES else ():
        try:
            label.encode(layout.encoding)
        except UnicodeEncodeError:
            note = f"written as UTF-8: {shown(layout.encoding)} cannot hold the label {label!r}"
            return replace(layout, encoding="utf-8", mark=True), note
    return layout, ""
