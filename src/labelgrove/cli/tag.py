"""``labelgrove tag``: labels for new documents, as JSON lines or a folder of parts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelgrove.cli import options
from labelgrove.cli.terminal import show, warn
from labelgrove.core.errors import PartlyDoneError, StoppedError

if TYPE_CHECKING:
    from labelgrove.core.progress import Progress
    from labelgrove.tagger import Tagger
    from labelgrove.tagger.bulk import Outcome

NAMED = 20  # inputs that could not be read of which each is named

Out = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="FOLDER",
        help="Write a part for each input to this folder or URL, instead of printing.",
        show_default=False,
    ),
]
Form = Annotated[
    str, typer.Option("--out-format", help="Form of the parts: jsonl, csv or parquet.")
]
Again = Annotated[
    bool, typer.Option("--overwrite", help="Begin anew where the --out folder holds parts.")
]


@options.reads_documents
def tag(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A saved tagger.")],
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DOCS]...",
            help="Documents, with or without labels: a file; with --out also several, quoted "
            "patterns, and URLs such as 's3://bucket/*.jsonl'.",
            show_default=False,
        ),
    ] = None,
    text: Annotated[str | None, typer.Option(help="One text, instead of a file.")] = None,
    k: Annotated[int, typer.Option("-k", help="Labels per document at most.", min=1)] = 5,
    threshold: options.Threshold = None,
    out: Out = None,
    out_format: Form = "jsonl",
    overwrite: Again = False,
    cluster: options.Cluster = None,
    threads: options.Threads = None,
    require_signature: options.RequireSignature = None,
    quiet: options.Quiet = False,
    *,
    reading: options.ReadingOptions,
) -> None:
    """Tag documents; prints a line {"id": ..., "labels": [...]} for each, in their order.

    A document without an id gets the number of its row, counted from 1. With --out each input
    becomes a part in a folder; the same command goes on with what is missing there, and --cluster
    shares the inputs among the CPUs of a cluster.
    """
    if bool(sources) == (text is not None):
        raise typer.BadParameter("give either files of documents or --text")
    if out is None:
        if cluster is not None or overwrite or out_format != "jsonl":
            raise typer.BadParameter("--cluster, --overwrite and --out-format need --out FOLDER")
        if sources and len(sources) > 1:
            raise typer.BadParameter("several inputs need --out FOLDER, which takes their parts")
        progress = options.open_progress(quiet or text is not None)
        from labelgrove.tagger import Tagger

        tagger = Tagger.load(folder, progress=progress, require_signature=require_signature)
        tagger.set_threads(threads)
        chosen = options.read_threshold(threshold)
        _print(tagger, sources[0] if sources else None, text or "", k, chosen, reading, progress)
        return
    if text is not None:
        raise typer.BadParameter("--text is printed; --out needs files of documents")
    from labelgrove.tagger.bulk import TagParts, one_by_one, tag_files

    tag_parts: TagParts = one_by_one
    if cluster is not None:
        from labelgrove.cluster.tagging import tag_parts_on

        tag_parts = tag_parts_on(cluster)
    try:
        outcome = tag_files(
            folder,
            sources or [],
            out,
            k=k,
            threshold=options.read_threshold(threshold),
            form=out_format,
            reading=reading.arguments(),
            overwrite=overwrite,
            tag_parts=tag_parts,
            threads=threads,
            require_signature=require_signature,
            progress=options.open_progress(quiet),
        )
    except KeyboardInterrupt:
        raise StoppedError(
            f"stopped; finished parts stay in {out}, and the same command goes on"
        ) from None
    _tell(outcome, out)


def _print(
    tagger: Tagger,
    source: str | None,
    text: str,
    k: int,
    threshold: Any,
    reading: options.ReadingOptions,
    progress: Progress,
) -> None:
    """Tag a file, or a text, and print a line for each document."""
    from labelgrove.core.remote_files import local_copy
    from labelgrove.corpus import Corpus
    from labelgrove.tagger.bulk import numbered
    from labelgrove.tagger.bulk.writers import as_line
    from labelgrove.tagger.thresholds import untuned_note

    with local_copy(source or "") as path:
        corpus: Corpus = Corpus.from_lists([text])
        if source:
            remembered = tagger.learned_.reading
            corpus = reading.open(path, labelled=False, remembered=remembered, progress=progress)
        if note := untuned_note(tagger.learned_, threshold):
            progress.say(note)
        tagged = tagger.stream(numbered(corpus), k, threshold=threshold, progress=progress)
        for document, tags in tagged:
            sys.stdout.write(as_line(document.id, tags))
        sys.stdout.flush()
        options.say_skipped(corpus)


def _tell(outcome: Outcome, out: str) -> None:
    """Print what a run came to; inputs that could not be read make the command fail."""
    if outcome.skipped:
        warn(f"{outcome.skipped:,} bad rows skipped")
    show(f"{outcome.documents:,} documents in {outcome.parts:,} parts, written to {out}")
    for name, problem in list(outcome.problems.items())[:NAMED]:
        warn(f"not tagged: {problem if name in problem else f'{name}: {problem}'}")
    if outcome.problems:
        raise PartlyDoneError(
            f"{len(outcome.problems):,} of {outcome.inputs:,} inputs could not be read, the others "
            "are tagged: repair them and give the same command again"
        )
