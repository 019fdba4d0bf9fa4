"""``labelgrove tag``: labels for new documents, as JSON lines, one file or a folder of parts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelgrove.cli import options
from labelgrove.cli.small_jobs import begin_small_job
from labelgrove.cli.terminal import show, warn
from labelgrove.core.errors import PartlyDoneError, StoppedError

if TYPE_CHECKING:
    from labelgrove.core.progress import Progress
    from labelgrove.corpus import Corpus
    from labelgrove.tagger import Tagger
    from labelgrove.tagger.bulk import Outcome

NAMED = 20  # inputs that could not be read of which each is named

Out = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="FILE|FOLDER",
        help="Instead of printing, write the rows of the input, with all columns and the labels "
        "behind them, to a file (.csv, .tsv, .xlsx, .parquet, .jsonl; text also with .gz, .xz, "
        ".zst); or a part for each input to a folder or URL.",
        show_default=False,
    ),
]
Form = Annotated[
    str | None,
    typer.Option(
        "--out-format",
        help="Form of the parts in a folder: jsonl (the default), csv or parquet.",
        show_default=False,
    ),
]
Again = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace the --out file, or the parts in the --out folder."),
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
    text: Annotated[
        list[str] | None,
        typer.Option(help="A text, instead of a file; may be given several times."),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Labels per document at most.", min=1)] = 5,
    threshold: options.Threshold = None,
    hierarchy: options.Hierarchy = None,
    out: Out = None,
    out_format: Form = None,
    overwrite: Again = False,
    cluster: options.Cluster = None,
    threads: options.Threads = None,
    require_signature: options.RequireSignature = None,
    quiet: options.Quiet = False,
    *,
    reading: options.ReadingOptions,
) -> None:
    """Tag documents; prints a line {"id": ..., "labels": [...]} for each, in their order.

    A document without an id gets the number of its row, counted from 1. With --out FILE the labels
    come behind the columns of the input, as suggested_labels and suggested_scores. With --out
    FOLDER each input becomes a part; the same command goes on with what is missing there, and
    --cluster shares the inputs among the CPUs of a cluster.
    """
    texts, inputs = text or [], sources or []
    if bool(inputs) == bool(texts):
        raise typer.BadParameter("give either files of documents or --text")
    if texts and out is not None:
        raise typer.BadParameter("--text is printed; --out needs files of documents")
    to_file = out is not None and _is_file(out)
    if out is None or to_file:
        _check_single(inputs, out, out_format, cluster, overwrite)
    progress = options.open_progress(quiet, hidden=bool(texts))
    if not all(map(str.strip, texts)):
        warn("--text without a text gets no labels")
    chosen = options.read_threshold(threshold)
    if out is None or to_file:
        if out is not None:
            _check_file(out, inputs[0], overwrite)
        if texts:
            begin_small_job(folder, texts)
        from labelgrove.tagger import Tagger

        tagger = Tagger.load(folder, progress=progress, require_signature=require_signature)
        tagger.set_threads(threads)
        if texts and not quiet:
            say_where_texts_go(tagger)
        with opened(tagger, inputs, texts, reading, progress) as corpus:
            if out is None:
                _print(tagger, corpus, k, chosen, hierarchy, progress)
            else:
                how = {"k": k, "threshold": chosen, "separator": reading.separator}
                how["hierarchy"] = hierarchy
                _write(tagger, corpus, Path(out), progress, overwrite=overwrite, **how)
        if texts and not quiet:
            for note in tagger.model_.take_notes():  # there was no progress to say them
                warn(note)
        return
    from labelgrove.tagger.bulk import TagParts, one_by_one, tag_files

    tag_parts: TagParts = one_by_one
    if cluster is not None:
        from labelgrove.cluster.tagging import tag_parts_on

        tag_parts = tag_parts_on(cluster)
    try:
        outcome = tag_files(
            folder,
            inputs,
            out,
            k=k,
            threshold=chosen,
            hierarchy=hierarchy,
            form=out_format or "jsonl",
            reading=reading.arguments(),
            overwrite=overwrite,
            tag_parts=tag_parts,
            threads=threads,
            require_signature=require_signature,
            progress=progress,
        )
    except KeyboardInterrupt:
        raise StoppedError(
            f"stopped; finished parts stay in {out}, and the same command goes on"
        ) from None
    _tell(outcome, out)


def _is_file(out: str) -> bool:
    """Tell whether --out names a file of rows; a folder that is there stays a folder."""
    from labelgrove.corpus.row_writers import check_no_file, is_row_file

    if Path(out).is_dir():
        return False
    check_no_file(out)
    return is_row_file(out)


def _check_single(
    inputs: list[str], out: str | None, out_format: str | None, cluster: str | None, overwrite: bool
) -> None:
    """Refuse what only a folder of parts can take."""
    if out is None and (cluster is not None or overwrite or out_format is not None):
        raise typer.BadParameter("--cluster, --overwrite and --out-format need --out FOLDER")
    if cluster is not None or out_format is not None:
        raise typer.BadParameter(
            f"--cluster and --out-format need a folder; {out} is a file, whose suffix says its form"
        )
    if len(inputs) > 1:
        raise typer.BadParameter("several inputs need --out FOLDER, which takes their parts")


def _check_file(out: str, source: str, overwrite: bool) -> None:
    from labelgrove.core.remote_files import is_url
    from labelgrove.tagger.bulk import check_target

    if is_url(out):
        raise typer.BadParameter(f"{out} is a URL: give a file of this machine, or a folder")
    check_target(Path(out), Path(source), overwrite=overwrite)


def say_where_texts_go(tagger: Tagger) -> None:
    """Say where texts are sent when there is no progress to say it."""
    from labelgrove.tagger.outside import lines_before

    for line in lines_before(tagger.model_):
        warn(line)


@contextmanager
def opened(
    tagger: Tagger,
    inputs: list[str],
    texts: list[str],
    reading: options.ReadingOptions,
    progress: Progress,
) -> Iterator[Corpus]:
    """Open what is to be tagged, and say at the end how many bad rows were skipped."""
    from labelgrove.core.remote_files import local_copy
    from labelgrove.corpus import Corpus

    if not inputs:
        yield Corpus.from_lists(texts)
        return
    with local_copy(inputs[0]) as path:
        remembered = tagger.learned_.reading
        corpus = reading.open(path, labelled=False, remembered=remembered, progress=progress)
        yield corpus
        options.say_skipped(corpus)


def _print(
    tagger: Tagger,
    corpus: Corpus,
    k: int,
    threshold: Any,
    hierarchy: str | None,
    progress: Progress,
) -> None:
    """Tag documents, and print a line for each."""
    from labelgrove.tagger.bulk import numbered
    from labelgrove.tagger.bulk.writers import as_line
    from labelgrove.tagger.thresholds import threshold_note

    if note := threshold_note(tagger.learned_, threshold):
        progress.say(note)
    how: dict[str, Any] = {"threshold": threshold, "hierarchy": hierarchy}
    tagged = tagger.stream(numbered(corpus), k, progress=progress, **how)
    for document, tags in tagged:
        sys.stdout.write(as_line(document.id, tags))
    sys.stdout.flush()


def _write(
    tagger: Tagger, corpus: Corpus, out: Path, progress: Progress, *, threshold: Any, **how: Any
) -> None:
    """Tag a file into another one with the same columns."""
    from labelgrove.tagger.bulk import tag_file
    from labelgrove.tagger.thresholds import threshold_note

    if note := threshold_note(tagger.learned_, threshold):
        progress.say(note)
    try:
        done = tag_file(tagger, corpus, out, threshold=threshold, progress=progress, **how)
    except KeyboardInterrupt:
        raise StoppedError(f"stopped; {out} was not written") from None
    from labelgrove.core.wording import several

    *first, last = done.columns
    columns = f"{', '.join(first)} and {last}" if first else last
    show(f"{several(done.documents, 'document')}, written to {out} with {columns}")


def _tell(outcome: Outcome, out: str) -> None:
    """Print what a run came to; inputs that could not be read make the command fail."""
    from labelgrove.core.wording import several

    if outcome.skipped:
        warn(f"{several(outcome.skipped, 'bad row')} skipped")
    parts = several(outcome.parts, "part")
    show(f"{several(outcome.documents, 'document')} in {parts}, written to {out}")
    for name, problem in list({**outcome.problems, **outcome.left_out}.items())[:NAMED]:
        warn(f"not tagged: {problem if name in problem else f'{name}: {problem}'}")
    if outcome.left_out:
        warn(
            f"{len(outcome.left_out):,} of {outcome.inputs:,} inputs left out as --skip-bad asks; "
            "once they are repaired, the same command tags them"
        )
        if not outcome.parts:
            raise PartlyDoneError("no input could be read")
    if outcome.problems:
        raise PartlyDoneError(
            f"{len(outcome.problems):,} of {outcome.inputs:,} inputs could not be read, the others "
            "are tagged: repair them and give the same command again"
        )
