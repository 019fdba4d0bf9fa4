"""``labelgrove split``: a file becomes a training and a test file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelgrove.cli import json_file, options
from labelgrove.cli.terminal import show

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from labelgrove.core.progress import Progress
    from labelgrove.corpus import Corpus

BY = ("labels", "random", "text")
PARTS = ("train", "test")


@options.reads_documents
def split(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Documents; several files of one layout are one."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for both files.")],
    share: Annotated[float, typer.Option(help="Share of the documents in the test file.")] = 0.2,
    by: Annotated[
        str | None,
        typer.Option(
            help="labels: each label in both files by its share, rare ones first (the default); "
            "random; or text: by a hash, so that a document stays on its side whatever is added."
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(help="near: texts that are nearly the same stay on one side."),
    ] = None,
    group_field: Annotated[
        str | None,
        typer.Option(help="Documents with the same value in this field stay on one side."),
    ] = None,
    time_field: Annotated[
        str | None,
        typer.Option(help="The latest documents by this field become the test file."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files of an earlier split.")
    ] = False,
    json_to: json_file.Option = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
    *,
    reading: options.ReadingOptions,
) -> None:
    """Divide documents into a training and a test file with all columns of the input.

    The files are train and test in the folder, of the form of the input: CSV stays CSV, JSON
    lines stay JSON lines, compressed stays compressed.
    """
    from labelgrove.corpus.splits import label_matrix

    json_file.check(json_to)
    way = _Way(share, by, group, group_field, time_field, seed)
    way.check()
    targets = _targets(sources[0], out, overwrite)
    progress = options.open_progress(quiet)
    corpora = [reading.open(source, progress=progress) for source in sources]
    _check_alike(corpora)
    Y = label_matrix(chain.from_iterable(corpus.labels() for corpus in corpora))
    chosen = way.rows(corpora, Y, progress)
    _write(corpora, chosen, targets, progress)
    options.say_skipped(*corpora)
    record = {
        name: _about(target, Y, side, chosen)
        for name, target, side in zip(PARTS, targets, (False, True), strict=True)
    }
    json_file.write(json_to, record)
    if not json_file.alone(json_to):
        for each in record.values():
            only = f", {each['labels_only_here']:,} only here" if each["labels_only_here"] else ""
            show(
                f"{each['file']}: {each['documents']:,} documents, {each['labels']:,} labels{only}"
            )


@dataclass(frozen=True)
class _Way:
    """How documents are divided; each field is an option."""

    share: float
    by: str | None
    group: str | None
    group_field: str | None
    time_field: str | None
    seed: int

    def check(self) -> None:
        """Refuse what makes no sense, or not together."""
        if not 0 < self.share < 1:
            raise typer.BadParameter(f"--share is between 0 and 1, got {self.share:g}")
        if self.by is not None and self.by not in BY:
            raise typer.BadParameter(f"--by is one of {', '.join(BY)}, got {self.by!r}")
        if self.group not in (None, "near"):
            raise typer.BadParameter(
                f"--group is 'near', got {self.group!r}; --group-field names a field with groups"
            )
        ways = {
            "--by": self.by,
            "--group": self.group,
            "--group-field": self.group_field,
            "--time-field": self.time_field,
        }
        given = [option for option, value in ways.items() if value is not None]
        if self.time_field is not None and len(given) > 1:
            raise typer.BadParameter(f"give either --time-field or {given[0]}")
        if self.group is not None and self.group_field is not None:
            raise typer.BadParameter("give either --group near or --group-field")
        if self.by == "text" and len(given) > 1:
            raise typer.BadParameter(f"--by text divides without groups: leave out {given[1]}")

    def rows(
        self, corpora: Sequence[Corpus], Y: csr_array, progress: Progress
    ) -> NDArray[np.bool_]:
        """Return which documents go to the test file, shape (n,)."""
        import numpy as np

        from labelgrove.core.random import text_fraction
        from labelgrove.corpus.dividing import latest_rows, rows_of_groups
        from labelgrove.corpus.splits import iterative_stratification, random_rows

        if self.time_field is not None:
            times = _values(corpora, self.time_field)
            return latest_rows(times, self.share, corpora[0].name)
        groups = self._groups(corpora)
        if groups is not None:
            sizes = np.unique(groups, return_counts=True)[1]
            progress.say(f"{len(sizes):,} groups, {sizes.max():,} documents in the largest")
            return rows_of_groups(groups, self.share, self.seed, None if self.by == "random" else Y)
        if self.by == "text":
            texts = chain.from_iterable(corpus.texts() for corpus in corpora)
            return np.array([text_fraction(text, self.seed) < self.share for text in texts])
        if self.by == "random" or not Y.nnz:
            return random_rows(Y.shape[0], self.share, self.seed)
        return np.asarray(iterative_stratification(Y, (1 - self.share, self.share), self.seed) == 1)

    def _groups(self, corpora: Sequence[Corpus]) -> NDArray[np.integer] | None:
        """Return the group of each document, shape (n,), or None without groups."""
        import numpy as np

        if self.group_field is not None:
            values = [str(value) for value in _values(corpora, self.group_field)]
            return np.unique(np.array(values), return_inverse=True)[1]
        if self.group is not None:
            from labelgrove.checking.near_copies import groups_of

            return groups_of(chain.from_iterable(corpus.texts() for corpus in corpora))
        return None


def _targets(source: Path, out: Path, overwrite: bool) -> list[Path]:
    """Return the files to write, which must be free."""
    from labelgrove.core.files import COMPRESSIONS
    from labelgrove.corpus.row_writers import is_row_file

    ends = source.suffixes[-2:] if source.suffix.lower() in COMPRESSIONS else [source.suffix]
    end = "".join(ends) if is_row_file(source.name) else ".jsonl"
    targets = [out / f"{name}{end}" for name in PARTS]
    for target in targets:
        if target.exists() and not overwrite:
            raise typer.BadParameter(f"{target} is there already; --overwrite replaces it")
        if target.exists() and target.samefile(source):
            raise typer.BadParameter(f"{target} is what is to be divided: choose another --out")
    return targets


def _check_alike(corpora: Sequence[Corpus]) -> None:
    """Refuse files whose rows cannot stand in one file."""
    from labelgrove.core.errors import InputError
    from labelgrove.corpus.source_rows import layout_of

    first, *others = [layout_of(corpus) for corpus in corpora]
    for corpus, layout in zip(corpora[1:], others, strict=True):
        if (layout.kind, layout.columns) != (first.kind, first.columns):
            raise InputError(
                f"{corpora[0].name} and {corpus.name} have other columns or another form: divide "
                "each alone, or write both alike"
            )


def _values(corpora: Sequence[Corpus], field: str) -> list[Any]:
    """Return the value of a field of each document."""
    from labelgrove.core.errors import InputError
    from labelgrove.corpus.source_rows import layout_of, named_values, rows_of

    found: list[Any] = []
    for corpus in corpora:
        columns = layout_of(corpus).columns
        for _, row in rows_of(corpus):
            values = named_values(row, columns)
            if values.get(field) in (None, ""):
                what = "an empty" if field in values else "no"
                raise InputError(
                    f"document {len(found) + 1:,} of {corpus.name} has {what} field {field!r}; "
                    f"its fields are {', '.join(values)}"
                )
            found.append(values[field])
    return found


def _write(
    corpora: Sequence[Corpus],
    chosen: NDArray[np.bool_],
    targets: Sequence[Path],
    progress: Progress,
) -> None:
    """Write both files; either both are there afterwards, or none is new."""
    from contextlib import ExitStack

    from labelgrove.core.durability import make_folders
    from labelgrove.core.storage import writing_file
    from labelgrove.corpus.row_survey import surveyed
    from labelgrove.corpus.row_writers import row_writer, written_layout
    from labelgrove.corpus.source_rows import layout_of, rows_of

    layout = surveyed(corpora[0], written_layout(layout_of(corpora[0]), targets[0].name))
    make_folders(targets[0].parent)
    with ExitStack() as stack:
        writers = []
        for target in targets:
            temporary = stack.enter_context(writing_file(target))
            compression = target.suffix.lower()
            writers.append(
                stack.enter_context(row_writer(temporary, layout, compression=compression))
            )
        rows = chain.from_iterable(rows_of(corpus) for corpus in corpora)
        tracked = progress.track(rows, "writing", total=len(chosen))
        for (_, row), to_test in zip(tracked, chosen.tolist(), strict=True):
            writers[to_test].write(row)


def _about(target: Path, Y: csr_array, side: bool, chosen: NDArray[np.bool_]) -> dict[str, Any]:
    import numpy as np

    here, there = (
        np.unique(Y[np.flatnonzero(chosen == each)].indices) for each in (side, not side)
    )
    return {
        "file": str(target),
        "documents": int((chosen == side).sum()),
        "labels": len(here),
        "labels_only_here": len(np.setdiff1d(here, there)),
    }
