"""``labelgrove combine``: two or more taggers become one, asked together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelgrove.cli import options

if TYPE_CHECKING:
    from labelgrove.core.progress import Progress
    from labelgrove.corpus import Corpus
    from labelgrove.tagger import Tagger


@options.reads_documents
def combine(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Saved taggers.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the combined tagger.")],
    valid: Annotated[
        Path | None,
        typer.Option(
            help="Documents with labels that none of them has seen, to calibrate on and to tune "
            "the threshold; without them it is 0.5."
        ),
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="Documents to show on how far the taggers agree.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a tagger in the --out folder.")
    ] = False,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    *,
    reading: options.Reading,
) -> None:
    """Combine taggers: a label is as probable as that not all of them are wrong about it.

    They may be of any kind; labels are matched by id.
    """
    from labelgrove.core import storage
    from labelgrove.tagger import Tagger

    if len(folders) < 2:
        raise typer.BadParameter("give two taggers or more")
    storage.check_free(out, overwrite=overwrite)
    taggers = [Tagger.load(folder) for folder in folders]
    combined = Tagger.combine(taggers)
    combined.set_threads(threads)
    progress = options.open_progress(quiet)
    if valid is not None:
        combined.calibrate(reading.open(valid), progress=progress)
    combined.save(out, overwrite=overwrite)
    if test is not None:
        documents = reading.open(test, labelled=False)
        _show_overlap([str(folder) for folder in folders], taggers, documents, progress)
    print(f"saved to {out}")
    if valid is None:
        print("its probabilities are not calibrated, and may be too high: give --valid FILE")


def _show_overlap(
    names: list[str], taggers: list[Tagger], documents: Corpus, progress: Progress
) -> None:
    """Print which share of their best labels each two taggers have in common."""
    from labelgrove.cli.tables import print_report_table
    from labelgrove.report.contestants import SHARED, alike, ask, overlap_table

    asked = []
    for name, tagger in zip(names, taggers, strict=True):
        progress.say(f"tagging with {name}")
        asked.append(ask(tagger, documents, name=name, k=max(SHARED), progress=progress))
    print_report_table(overlap_table(alike(asked)))
