"""``labelgrove next``: which documents to label next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelgrove.cli import json_file, options
from labelgrove.cli.terminal import show
from labelgrove.core.errors import InputError
from labelgrove.core.extras import need

if TYPE_CHECKING:
    from labelgrove.core.progress import Progress
    from labelgrove.tagger import Tagger
    from labelgrove.tagger.choosing import NextBatch

TABLE, WORKBOOK, REVIEW = ".csv", ".xlsx", ".jsonl"  # suffixes of what is written


@options.reads_documents
def next_documents(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="[DIR] POOL",
            help="A saved tagger, if there is one already, and the documents to choose from, with "
            "or without labels.",
        ),
    ],
    queue: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where the documents are written: .jsonl for 'labelgrove serve --review', .csv "
            "or .xlsx for a spreadsheet.",
        ),
    ],
    n: Annotated[int, typer.Option("-n", help="How many documents.", min=1)] = 50,
    by: Annotated[
        str | None,
        typer.Option(
            help="labels (probable labels that differ), mixed (the same, and uncertain), "
            "uncertainty, rare (labels with few documents), diversity (words that differ) or "
            "random. By default labels, and diversity without a trained tagger.",
            show_default=False,
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Labels proposed per document at most.", min=1)] = 10,
    labelled: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Documents that have labels already, besides those that the tagger has learned "
            "from: their texts are left out. Repeatable.",
        ),
    ] = None,
    labels: options.Labels = None,
    sample: Annotated[
        int | None,
        typer.Option(
            help="Documents of POOL, drawn at random, among which to choose; by default 20 for "
            "each of -n, at least 2,000.",
            min=1,
            show_default=False,
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file, and the labels filled in there.")
    ] = False,
    json_to: json_file.Option = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    require_signature: options.RequireSignature = None,
    quiet: options.Quiet = False,
    *,
    reading: options.ReadingOptions,
) -> None:
    """Choose the documents from which a tagger should learn most, for a person to label.

    With a tagger each document comes with the labels that it proposes. Texts that it has learned
    from, and those that users have judged already (DIR.feedback.jsonl), are left out. Without a
    tagger a diverse batch is chosen; --labels then proposes labels whose names are in the text.
    """
    from labelgrove.core.manifest import MANIFEST
    from labelgrove.tagger.choosing import choose_documents, strategy_for

    if len(sources) > 2:
        raise typer.BadParameter(f"expected [DIR] POOL, got {len(sources)} files: give one pool")
    *folders, pool = sources
    folder = folders[0] if folders else None
    json_file.check(json_to)
    _check_queue(queue, overwrite)
    if folder is not None and labels is not None:
        raise typer.BadParameter(f"{folder} has names of its labels: --labels is for no tagger")
    if (pool / MANIFEST).is_file():
        raise typer.BadParameter(f"{pool} is a saved tagger: name the documents to choose from too")
    progress = options.open_progress(quiet)
    tagger = _tagger(folder, labels, threads, require_signature, progress)
    by = strategy_for(tagger, by)
    remembered = tagger.learned_.reading if tagger else {}
    corpus = reading.open(pool, labelled=False, remembered=remembered, progress=progress)
    known = _known_texts(folder, labelled or [], reading, tagger, progress)
    batch = choose_documents(
        tagger, corpus, n, by=by, k=k, known=known, sample=sample, seed=seed, progress=progress
    )
    options.say_skipped(corpus)
    if not batch.documents:
        raise InputError(f"there is nothing to choose from in {pool}: {_left_out(batch)}")
    _write(queue, batch)
    json_file.write(json_to, _record(batch, queue, folder, pool))
    if not json_file.alone(json_to):
        _tell(batch, n, queue, folder)


def _check_queue(queue: Path, overwrite: bool) -> None:
    """Refuse, before any work, a file that cannot be written or may hold somebody's labels."""
    options.check_output("--out", queue)
    if queue.suffix.lower() not in (TABLE, WORKBOOK, REVIEW):
        raise typer.BadParameter(
            f"--out {queue}: the name must end in {REVIEW} (to review), {TABLE} or {WORKBOOK} "
            "(to fill in)"
        )
    if queue.suffix.lower() == WORKBOOK:
        need("openpyxl", "excel", "writing .xlsx files")
    if queue.exists() and not overwrite:
        raise typer.BadParameter(f"--out {queue} exists already; --overwrite replaces it")


def _tagger(
    folder: Path | None,
    labels: Path | None,
    threads: int | None,
    require_signature: Path | None,
    progress: Progress,
) -> Tagger | None:
    """Return the tagger that proposes labels: a saved one, one that knows names only, or none."""
    from labelgrove.core.types import Run
    from labelgrove.tagger import Tagger

    if folder is not None:
        tagger = Tagger.load(folder, progress=progress, require_signature=require_signature)
        tagger.set_threads(threads)
        return tagger
    if labels is None:
        return None
    blank = Tagger(options.DEFAULT_MODEL, threads=threads)
    return blank.fit([], [], vocabulary=labels, run=Run(progress=progress))


def _known_texts(
    folder: Path | None,
    labelled: list[Path],
    reading: options.ReadingOptions,
    tagger: Tagger | None,
    progress: Progress,
) -> Iterator[str]:
    """Yield texts that have labels already, or were judged; rows to be filled in are neither."""
    from labelgrove.corpus import read_feedback
    from labelgrove.tagger.feedback import feedback_file

    remembered = tagger.learned_.reading if tagger else {}
    for file in labelled:
        corpus = reading.open(file, remembered=remembered, progress=progress)
        for document in progress.track(corpus, f"reading {file.name}"):
            if document.labels:
                yield document.text
        options.say_skipped(corpus)
    if folder is not None and (judged := feedback_file(folder)).exists():
        yield from read_feedback(judged).documents


def _write(queue: Path, batch: NextBatch) -> None:
    from labelgrove.corpus import write_review
    from labelgrove.tagger.choosing import as_review_items, as_table, write_workbook

    if queue.suffix.lower() == TABLE:
        options.write_output(queue, as_table(batch))
    elif queue.suffix.lower() == WORKBOOK:
        write_workbook(queue, batch)
    else:
        write_review(queue, as_review_items(batch))


def _record(batch: NextBatch, queue: Path, folder: Path | None, pool: Path) -> dict[str, Any]:
    """Return what was chosen among what as plain values, for JSON."""
    found = batch.sample
    return {
        "file": str(queue),
        "folder": None if folder is None else str(folder),
        "pool": str(pool),
        "by": batch.by,
        "documents": len(batch),
        "read": found.read,
        "considered": len(found.documents),
        "known": found.known,
        "empty": found.empty,
        "scores": [round(chosen.score, 6) for chosen in batch],
    }


def _tell(batch: NextBatch, wanted: int, queue: Path, folder: Path | None) -> None:
    """Print what was chosen, what was left out, and what comes next."""
    from labelgrove.core.wording import several

    show(f"{several(len(batch), 'document')} chosen by {batch.by}: {queue}")
    if left := _left_out(batch):
        show(f"left out: {left}")
    if len(batch) < wanted:
        show(f"{wanted:,} were asked for: no others are left that are not copies of these")
    if queue.suffix.lower() != REVIEW:
        again = f"labelgrove retrain {folder} TRAIN --feedback {queue} --out NEW"
        first = f"labelgrove train {queue} --out NEW"
        show(f"fill in the column 'labels', then '{again if folder else first}'")
    else:
        any_other = "" if folder else ", with any tagger as DIR"
        show(f"'labelgrove serve {folder or 'DIR'} --review {queue}' shows them{any_other}")


def _left_out(batch: NextBatch) -> str:
    """Return in words what of the pool was left out."""
    found = batch.sample
    told = {"with labels already": found.known, "without text": found.empty}
    return ", ".join(f"{n:,} {what}" for what, n in told.items() if n)
