"""Files of documents whose rows are divided between two new files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.durability import make_folders
from labelgrove.core.errors import InputError
from labelgrove.core.progress import Progress
from labelgrove.core.recoding import UTF8
from labelgrove.core.storage import writing_file
from labelgrove.corpus.base import Corpus
from labelgrove.corpus.row_survey import surveyed
from labelgrove.corpus.row_writers import TABLES, row_writer, written_layout
from labelgrove.corpus.source_rows import Row, RowReader, layout_of, named_values, rows_of


def check_alike(corpora: Sequence[Corpus]) -> None:
    """Raise an error for files whose rows cannot stand in one file."""
    for corpus in corpora:
        if corpus.featurizer is not None:
            raise InputError(
                f"{corpus.name} holds features instead of texts: divide the texts, and make "
                "features of both parts"
            )
    first, *others = [layout_of(corpus) for corpus in corpora]
    for corpus, layout in zip(corpora[1:], others, strict=True):
        if (layout.kind, layout.columns) != (first.kind, first.columns):
            raise InputError(
                f"{corpora[0].name} and {corpus.name} have other columns or another form: divide "
                "each alone, or write both alike"
            )


def field_values(corpora: Sequence[Corpus], field: str) -> list[Any]:
    """Return the value of a field of each document; none may be empty."""
    found: list[Any] = []
    for corpus in corpora:
        columns = layout_of(corpus).columns
        for _, row in rows_of(corpus):
            values = named_values(row, columns)
            if values.get(field) in (None, ""):
                what = "an empty" if field in values else "no"
                raise InputError(
                    f"document {corpus.position:,} of {corpus.name} has {what} field {field!r}; "
                    f"its fields are {', '.join(values)}"
                )
            found.append(values[field])
    return found


def write_parts(
    corpora: Sequence[Corpus],
    chosen: NDArray[np.bool_],
    targets: Sequence[Path],
    progress: Progress,
) -> None:
    """Write rows to one of two files; either both are there afterwards, or none is new.

    Parameters
    ----------
    corpora
        The documents, n in all.
    chosen
        Which of them go to the second file, shape (n,).
    targets
        Both files, in the form of the first corpus, or JSON lines where that has no columns.
    progress
        Where progress is shown.
    """
    layout = surveyed(corpora[0], written_layout(layout_of(corpora[0]), targets[0].name))
    if len({layout_of(corpus).encoding for corpus in corpora}) > 1:  # UTF-8 has all letters
        layout = replace(layout, encoding=UTF8, mark=layout.kind in TABLES)
    make_folders(targets[0].parent)
    with ExitStack() as stack:
        writers = []
        for target in targets:
            temporary = stack.enter_context(writing_file(target))
            compression = target.suffix.lower()
            writers.append(
                stack.enter_context(row_writer(temporary, layout, compression=compression))
            )
        rows = chain.from_iterable(map(_rows_with_labels, corpora))
        tracked = progress.track(rows, "writing", total=len(chosen))
        for row, to_second in zip(tracked, chosen.tolist(), strict=True):
            writers[to_second].write(row)


def _rows_with_labels(corpus: Corpus) -> Iterator[Row]:
    """Yield the rows of a file; those of a form without columns get one of the labels."""
    for document, row in rows_of(corpus):
        if isinstance(corpus, RowReader):
            yield row
        else:
            yield {**named_values(row, None), "labels": [*document.labels]}
