"""One file tagged into another: its rows and columns, with the labels behind them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelgrove.core.errors import InputError
from labelgrove.core.manifest import saved_folder_around
from labelgrove.core.progress import Progress, Silent
from labelgrove.core.storage import writing_file
from labelgrove.core.types import Document
from labelgrove.corpus import Corpus
from labelgrove.corpus.row_survey import surveyed
from labelgrove.corpus.row_writers import row_writer, written_layout
from labelgrove.corpus.source_rows import Row, layout_of, rows_of
from labelgrove.tagger.bulk.label_columns import SuggestionColumns, layout_for_labels
from labelgrove.tagger.tagger import Tagger


@dataclass(frozen=True)
class TaggedFile:
    """What was written.

    Parameters
    ----------
    documents
        How many were tagged.
    columns
        The columns of their labels.
    """

    documents: int
    columns: tuple[str, ...]


def check_target(out: Path, source: Path | None = None, *, overwrite: bool = False) -> None:
    """Raise, before any work, for a file that must not be written.

    Parameters
    ----------
    out
        The file.
    source
        What is read, which is never replaced.
    overwrite
        Whether another file may be replaced.
    """
    if not out.parent.is_dir():
        raise InputError(f"there is no folder {out.parent} to write {out.name} to; make it first")
    if source is not None and out.resolve() == source.resolve():
        raise InputError(f"{out} holds the documents, and would be lost: give another name")
    if around := saved_folder_around(out.resolve()):
        raise InputError(f"{out} lies in the saved folder {around}: give a file elsewhere")
    if out.exists() and not overwrite:
        raise InputError(
            f"{out} exists already; choose another name, or allow overwriting (--overwrite)"
        )


def tag_file(
    tagger: Tagger,
    corpus: Corpus,
    out: Path,
    *,
    k: int = 5,
    threshold: Any = None,
    hierarchy: str | None = None,
    separator: str | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> TaggedFile:
    """Write the rows of a corpus to a file, with the labels of each document behind its columns.

    Rows keep their order, their columns and their values; a CSV keeps its separator, encoding and
    line ends too. Memory does not grow with the documents. The file is there once it is whole.

    Parameters
    ----------
    tagger
        The tagger.
    corpus
        The documents, opened with ``labelled=False``.
    out
        The file; its suffix says its form, as `labelgrove.corpus.row_writers.KINDS` lists them.
    k, threshold, hierarchy
        As for `Tagger.tag`.
    separator
        What stands between labels in a cell of a table; one that no label holds when None.
    overwrite
        Whether a file that is there may be replaced.
    progress
        Where progress is shown.
    """
    shown = progress or Silent()
    check_target(out, overwrite=overwrite)
    layout = surveyed(corpus, written_layout(layout_of(corpus), out.name))
    layout, note = layout_for_labels(layout, tagger.labels_)
    if note:
        shown.say(note)
    taken = layout.columns or next((tuple(row) for _, row in rows_of(corpus)), ())
    labels = SuggestionColumns(tagger.labels_, layout, separator, taken)
    waiting: deque[Row] = deque()  # rows of the documents in the tagger's batch
    documents = 0
    with (
        writing_file(out) as temporary,
        row_writer(temporary, layout, labels.columns, compression=out.suffix.lower()) as writer,
    ):
        read = _documents(corpus, waiting)
        how: dict[str, Any] = {"threshold": threshold, "hierarchy": hierarchy}
        for _, tags in tagger.stream(read, k, progress=shown, **how):
            writer.write(waiting.popleft(), labels.values(tags))
            documents += 1
    return TaggedFile(documents, tuple(labels.columns))


def _documents(corpus: Corpus, rows: deque[Row]) -> Iterator[Document]:
    """Yield the documents, and put their rows aside."""
    for document, row in rows_of(corpus):
        rows.append(row)
        yield document
