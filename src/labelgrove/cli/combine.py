"""``labelgrove combine``: two or more taggers become one, asked together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelgrove.cli import json_file, options
from labelgrove.cli.folders import check_apart, check_different
from labelgrove.cli.terminal import show

if TYPE_CHECKING:
    from labelgrove.core.progress import Progress
    from labelgrove.corpus import Corpus
    from labelgrove.report.contestants import Agreement
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
    overwrite: options.Overwrite = False,
    json_to: json_file.Option = None,
    threads: options.Threads = None,
    require_signature: options.RequireSignature = None,
    quiet: options.Quiet = False,
    *,
    reading: options.ReadingOptions,
) -> None:
    """Combine taggers: a label is as probable as that not all of them are wrong about it.

    They may be of any kind; labels are matched by id.
    """
    from labelgrove.cli.tables import print_report_table
    from labelgrove.core import storage
    from labelgrove.report.contestants import overlap_table
    from labelgrove.tagger import Tagger, training_record

    if len(folders) < 2:
        raise typer.BadParameter("give two taggers or more")
    json_file.check(json_to)
    check_different(folders)
    for folder in folders:
        check_apart(folder, out, "combine")
    storage.check_free(out, overwrite=overwrite)
    progress = options.open_progress(quiet)
    taggers = {
        str(folder): Tagger.load(folder, progress=progress, require_signature=require_signature)
        for folder in folders
    }
    combined = Tagger.combine([*taggers.values()])
    combined.set_threads(threads)
    opened = partial(reading.open, remembered=combined.learned_.reading, progress=progress)
    held = opened(valid) if valid else None
    documents = opened(test, labelled=False) if test else None
    if held is not None:
        combined.calibrate(held, progress=progress)
    combined.save(out, overwrite=overwrite, progress=progress)
    agreements = _agreements(taggers, documents, progress) if documents is not None else []
    options.say_skipped(held, documents)
    overlap = [each._asdict() for each in agreements]
    record = {"partners": [*taggers], "overlap": overlap if documents is not None else None}
    json_file.write(json_to, training_record(combined, out) | record)
    if json_file.alone(json_to):
        return
    if agreements:
        print_report_table(overlap_table(agreements))
    if held is not None:
        show(combined.learned_.told_thresholds())
    show(f"saved to {out}")
    if held is None:
        show("its probabilities are not calibrated, and may be too high: give --valid FILE")


def _agreements(
    taggers: Mapping[str, Tagger], documents: Corpus, progress: Progress
) -> list[Agreement]:
    """Return which share of their best labels each two taggers have in common."""
    from labelgrove.report.contestants import SHARED, agreements, alike, ask

    asked = []
    for name, tagger in taggers.items():
        progress.say(f"tagging with {name}")
        asked.append(ask(tagger, documents, name=name, k=max(SHARED), progress=progress))
    return agreements(alike(asked))
