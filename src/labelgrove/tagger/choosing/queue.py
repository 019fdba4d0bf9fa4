"""A chosen batch as a file to work on: a review file, or a table for a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

from labelgrove.core.storage import writing_file
from labelgrove.corpus import ReviewItem, Suggestion
from labelgrove.corpus.review import PROPOSED
from labelgrove.corpus.row_survey import check_cell
from labelgrove.corpus.row_writers import row_writer
from labelgrove.corpus.rows import MARKS
from labelgrove.corpus.source_rows import FileLayout
from labelgrove.tagger.choosing.choose import NextDocument

COLUMNS = ("id", "text", "labels", "proposed", "names")
SHEET = "to label"
BYTE_ORDER_MARK = "\ufeff"  # without it Excel takes UTF-8 for the encoding of the country
DIGITS = 6  # of a score


def as_review_items(chosen: Iterable[NextDocument]) -> Iterator[ReviewItem]:
    """Yield documents as `labelgrove.corpus.write_review` writes them for the review page."""
    for document, tags, _ in chosen:
        suggestions = tuple(
            Suggestion(label, name, round(min(max(score, 0.0), 1.0), DIGITS), PROPOSED)
            for label, name, score in tags
        )
        yield ReviewItem(document.text, (), suggestions, document.id)


def as_table(chosen: Iterable[NextDocument]) -> str:
    r"""Return documents as a CSV with an empty column of labels to fill in.

    ``proposed`` has the ids of labels that may be right, best first, and ``names`` their names
    where these differ.

    Examples
    --------
    >>> from labelgrove.core.types import Document, Tag
    >>> tags = (Tag("e", "energy", 0.8), Tag("w", "wind", 0.4))
    >>> print(as_table([NextDocument(Document("Turbines", id="7"), tags, 0.3)])[1:])
    id,text,labels,proposed,names
    7,Turbines,,e;w,energy;wind
    <BLANKLINE>
    """
    rows = table_rows(chosen)
    # csv gives no quotes to half a line end where line ends are "\n"
    halves = any("\r" in cell for row in rows for cell in row if cell)
    written = io.StringIO(newline="")
    csv.writer(
        written, lineterminator="\n", quoting=csv.QUOTE_ALL if halves else csv.QUOTE_MINIMAL
    ).writerows([COLUMNS, *rows])
    return BYTE_ORDER_MARK + written.getvalue()


def write_workbook(path: Path, chosen: Iterable[NextDocument]) -> None:
    """Write the same table as an Excel workbook; the file is there once it is whole."""
    rows = table_rows(chosen)
    for number, row in enumerate(rows, 1):
        check_cell(row[1], "the text", f"document {row[0] or number}")
    layout = FileLayout("xlsx", COLUMNS, sheet=SHEET)
    with writing_file(path) as temporary, row_writer(temporary, layout) as writer:
        for row in rows:
            writer.write(row)


def table_rows(chosen: Iterable[NextDocument]) -> list[list[str | None]]:
    """Return the cells of the table, a row a document; the column of labels is empty."""
    kept = list(chosen)
    labels = {tag.label for _, tags, _ in kept for tag in tags}
    free = (mark for mark in MARKS if not any(mark in label for label in labels))
    mark = next(free, MARKS[0])
    rows: list[list[str | None]] = []
    for document, tags, _ in kept:
        ids = [tag.label for tag in tags]
        names = [tag.name for tag in tags]
        told = mark.join(names) if names != ids else ""
        rows.append([document.id, document.text, "", mark.join(ids), told])
    return rows
