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
    from labelgrove.corpus.divided_files import check_alike, write_parts
    from labelgrove.corpus.splits import label_matrix

    json_file.check(json_to)
    way = _Way(share, by, group, group_field, time_field, seed)
    way.check()
    progress = options.open_progress(quiet)
    corpora = [reading.open(source, progress=progress) for source in sources]
    targets = _targets(sources, corpora[0], out, overwrite)
    check_alike(corpora)
    Y = label_matrix(chain.from_iterable(corpus.labels() for corpus in corpora))
    chosen = way.rows(corpora, Y, progress)
    _check_both(chosen, share)
    write_parts(corpora, chosen, targets, progress)
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
        from labelgrove.corpus.divided_files import field_values
        from labelgrove.corpus.dividing import latest_rows, rows_of_groups
        from labelgrove.corpus.splits import iterative_stratification, random_rows

        if self.time_field is not None:
            times = field_values(corpora, self.time_field)
            return latest_rows(times, self.share, " and ".join(each.name for each in corpora))
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
            from labelgrove.corpus.divided_files import field_values

            numbers: dict[str, int] = {}
            values = map(str, field_values(corpora, self.group_field))
            return np.array([numbers.setdefault(value, len(numbers)) for value in values])
        if self.group is not None:
            from labelgrove.checking.near_copies import groups_of

            return groups_of(chain.from_iterable(corpus.texts() for corpus in corpora))
        return None


def _targets(sources: Sequence[Path], corpus: Corpus, out: Path, overwrite: bool) -> list[Path]:
    """Return the files to write, which must be free; JSON lines for a form without columns."""
    from labelgrove.core.files import COMPRESSIONS
    from labelgrove.corpus.row_writers import is_row_file
    from labelgrove.corpus.source_rows import RowReader

    source = sources[0]
    has_columns = isinstance(corpus, RowReader) and is_row_file(source.name)
    ends = source.suffixes[-2:] if source.suffix.lower() in COMPRESSIONS else [source.suffix]
    end = "".join(ends) if has_columns else ".jsonl"
    targets = [out / f"{name}{end}" for name in PARTS]
    for target in targets:
        if target.exists() and not overwrite:
            raise typer.BadParameter(f"{target} is there already; --overwrite replaces it")
        if target.exists() and any(target.samefile(each) for each in sources if each.exists()):
            raise typer.BadParameter(f"{target} is what is to be divided: choose another --out")
    return targets


def _check_both(chosen: NDArray[np.bool_], share: float) -> None:
    """Refuse a division that leaves one of the files empty."""
    from labelgrove.core.errors import InputError

    if chosen.all() or not chosen.any():
        empty = "train" if chosen.any() else "test"
        raise InputError(
            f"with --share {share:g} the {empty} file would be empty (documents: {len(chosen):,}); "
            "give more documents or another share"
        )


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
