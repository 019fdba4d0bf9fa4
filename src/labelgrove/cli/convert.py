"""``labelgrove convert``: documents and vocabularies of Annif in our form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelgrove.cli import json_file, options
from labelgrove.cli.terminal import show

if TYPE_CHECKING:
    from labelgrove.tagger.converting import Conversion

SHOWN = 3  # examples in a message


@options.reads_documents
def convert(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Documents of Annif: TSV, CSV, JSON lines, folders; or any other file of "
            "documents.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the files in our form.")],
    labels: Annotated[
        Path | None,
        typer.Option(
            help="Vocabulary: Annif's TSV or CSV, SKOS, or a folder of its data/vocabs; becomes "
            "labels.tsv.",
            show_default=False,
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            metavar="CODE",
            help="Language of the names, where the vocabulary has several; English by default.",
            show_default=False,
        ),
    ] = None,
    include: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="URIs, one a line, that are kept though excluded; without --exclude only these "
            "are kept.",
            show_default=False,
        ),
    ] = None,
    exclude: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="URIs, one a line, that are left out of documents and vocabulary; * for all.",
            show_default=False,
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files of an earlier conversion.")
    ] = False,
    json_to: json_file.Option = None,
    quiet: options.Quiet = False,
    *,
    reading: options.ReadingOptions,
) -> None:
    """Write Annif's documents as JSON lines and its vocabulary as labels.tsv.

    A label that is a MARC heading (650 _7 $a Solar energy $z Finland) becomes the concepts that
    the vocabulary names so. Options for the input are for files that have no form of Annif's.
    """
    from labelgrove.labels import read_vocabulary
    from labelgrove.labels.annif import SubjectFilter, read_subjects
    from labelgrove.tagger.converting import convert_documents

    json_file.check(json_to)
    if labels is None and language is not None:
        raise typer.BadParameter("--language chooses names of a vocabulary: give it by --labels")
    vocabulary = None if labels is None else read_vocabulary(labels, language=language)
    keeps = SubjectFilter(
        None if include is None else read_subjects(include),
        None if exclude is None else read_subjects(exclude),
    )
    done = convert_documents(
        sources,
        out,
        vocabulary=vocabulary,
        keeps=keeps,
        reading=reading.arguments(),
        overwrite=overwrite,
        progress=options.open_progress(quiet),
    )
    json_file.write(json_to, asdict(done))
    if not json_file.alone(json_to):
        _show(done, out)


def _show(done: Conversion, out: Path) -> None:
    from labelgrove.core.wording import several

    for file, number in done.documents.items():
        show(f"{file}: {several(number, 'document')}")
    if done.skipped:
        show(f"{several(done.skipped, 'bad row was', 'bad rows were')} left out")
    for note in done.notes:
        show(note)
    if done.labels:
        show(f"{out / 'labels.tsv'}: {several(done.labels, 'label')}")
    if done.left_out:
        show(f"labels of documents that the lists left out: {done.left_out:,}")
    if done.unlisted:
        of = "the vocabulary does not have" if done.labels else "no document has"
        show(f"URIs of --include and --exclude that {of}: {_some(done.unlisted)}")
    if done.without:
        show(f"{several(done.without, 'document has', 'documents have')} no label")
    if done.headings:
        show(f"{several(done.headings, 'MARC heading')} read")
    if done.empty:
        show(f"MARC headings without a name, left out: {_some(done.empty)}")
    if done.unmatched:
        show(f"parts of headings that are no concept, left out: {_some(done.unmatched)}")
    if done.unknown:
        show(f"labels that the vocabulary does not have, kept: {_some(done.unknown)}")


def _some(labels: Sequence[str]) -> str:
    once = dict.fromkeys(labels)
    shown = ", ".join(map(repr, islice(once, SHOWN)))
    return f"{len(once):,} ({shown}{', ...' if len(once) > SHOWN else ''})"
