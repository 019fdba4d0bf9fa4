"""``labelgrove combine``: two or more taggers become one, asked together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from labelgrove.cli import json_file, options
from labelgrove.cli.folders import check_apart, check_different

if TYPE_CHECKING:
    from labelgrove.core.progress import Progress
    from labelgrove.corpus import Corpus
    from labelgrove.tagger import Tagger

PLACES = (1, 2, 3, 4, 5)


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
    json_to: json_file.Option = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    *,
    reading: options.Reading,
) -> None:
    """Combine taggers: a label is as probable as that not all of them are wrong about it.

    They may be of any kind; labels are matched by id.
    """
    from labelgrove.cli.tables import print_table
    from labelgrove.core import storage
    from labelgrove.tagger import Tagger, training_record

    if len(folders) < 2:
        raise typer.BadParameter("give two taggers or more")
    json_file.check(json_to)
    check_different(folders)
    for folder in folders:
        check_apart(folder, out, "combine")
    storage.check_free(out, overwrite=overwrite)
    progress = options.open_progress(quiet)
    taggers = {str(folder): Tagger.load(folder, progress=progress) for folder in folders}
    combined = Tagger.combine([*taggers.values()])
    combined.set_threads(threads)
    held = reading.open(valid) if valid else None
    documents = reading.open(test, labelled=False) if test else None
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
        rows = [
            [" and ".join(each.taggers), *(f"{100 * share:.0f}" for share in each.top.values())]
            for each in agreements
        ]
        print_table("Labels that both name, %", ["", *(f"top {k}" for k in PLACES)], rows)
    if held is not None:
        print(combined.learned_.told_thresholds())
    print(f"saved to {out}")
    if held is None:
        print("its probabilities are not calibrated, and may be too high: give --valid FILE")


class Agreement(NamedTuple):
    """Two taggers, and which share of their best labels both name, by number of places."""

    taggers: tuple[str, str]
    top: dict[int, float]


def _agreements(
    taggers: Mapping[str, Tagger], documents: Corpus, progress: Progress
) -> list[Agreement]:
    from itertools import combinations

    from labelgrove.core.ranking import Ranking
    from labelgrove.evaluation import overlap

    numbers: dict[str, int] = {}
    rankings = {}
    for name, tagger in taggers.items():
        progress.say(f"tagging with {name}")
        best = [
            [numbers.setdefault(tag.label, len(numbers)) for tag in tags]
            for _, tags in tagger.stream(documents, max(PLACES), progress=progress)
        ]
        found = Ranking.empty(len(best), max(PLACES))
        for i, row in enumerate(best):
            found.labels[i, : len(row)] = row
        rankings[name] = found
    return [
        Agreement(
            (one, other),
            dict(zip(PLACES, overlap(rankings[one], rankings[other], PLACES), strict=True)),
        )
        for one, other in combinations(taggers, 2)
    ]
