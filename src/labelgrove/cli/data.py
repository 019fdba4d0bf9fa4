"""``labelgrove data``: the published data sets, and their files in our form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelgrove.cli import json_file, options
from labelgrove.cli.terminal import show

if TYPE_CHECKING:
    from labelgrove.corpus.published import DataSet, DataVersion

UNKNOWN = "unknown"

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A data set that 'labelgrove data' lists.")
]


def list_sets(context: typer.Context, json_to: json_file.Option = None) -> None:
    """List the data sets of the papers; show tells more of one, convert writes it in our form."""
    from labelgrove.cli.tables import print_table
    from labelgrove.corpus.published import SETS

    if context.invoked_subcommand is not None:
        return
    json_file.check(json_to)
    json_file.write(json_to, [_record(each) for each in SETS])
    if json_file.alone(json_to):
        return
    rows = [
        [data.name, version.name, ", ".join(data.papers) or "-", *_sizes(version)]
        for data in SETS
        for version in data.versions
    ]
    columns = ["data set", "version", "in the papers of", "train", "test", "labels"]
    print_table("", columns, rows, words=3)
    show("\nlabelgrove data show NAME tells licence, source, files and checksums of one.")


def show_set(name: Name, json_to: json_file.Option = None) -> None:
    """Tell what is known of a data set: licence, sources, files, checksums."""
    from labelgrove.corpus.published import find_set
    from labelgrove.corpus.published.versions import FORMS

    json_file.check(json_to)
    data = find_set(name)
    json_file.write(json_to, _record(data))
    if json_file.alone(json_to):
        return
    show(f"{data.name}: {data.about}")
    show(f"licence: {data.licence}")
    show(f"in the papers of: {', '.join(data.papers) or 'none of the five'}")
    for version in data.versions:
        sizes = ", ".join(f"{part.documents:,} {part.name}" for part in version.parts)
        labels = " or ".join(f"{n:,}" for n in version.labels)
        show(f"\n{version.name}: {FORMS[version.form]}")
        show(f"  documents: {sizes}; labels: {labels}")
        show(f"  from: {version.url}")
        show(f"  files: {version.wanted()}")
        for file, checksum in version.checksums.items():
            show(f"  sha256 of {file}: {checksum}")
        if not version.checksums:
            show(f"  sha256: {UNKNOWN}, no public source tells it; numbers are compared instead")


def convert_set(
    name: Name,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Its files, or a folder with them.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the files in our form.")],
    version: Annotated[
        str | None,
        typer.Option("--version", help="Which version they are; without it, names of files tell."),
    ] = None,
    any_version: Annotated[
        bool,
        typer.Option(
            "--any-version",
            help="Take also files whose checksums, or numbers of documents and labels, are not "
            "those that are known.",
        ),
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files of an earlier conversion.")
    ] = False,
    json_to: json_file.Option = None,
    quiet: options.Quiet = False,
) -> None:
    """Write the files of a published data set in our form: train.jsonl, test.jsonl, labels.tsv."""
    from labelgrove.core.wording import several
    from labelgrove.corpus.published import convert, find_set

    json_file.check(json_to)
    found = convert(
        find_set(name),
        files,
        out,
        version=version,
        any_version=any_version,
        overwrite=overwrite,
        progress=options.open_progress(quiet),
    )
    record = {
        "set": find_set(name).name,
        "version": found.version.name,
        "files": [str(file) for file in found.files],
        "documents": found.documents,
        "labels": found.labels,
        "sha256": found.checksums,
        "differs": list(found.differs),
    }
    json_file.write(json_to, record)
    if json_file.alone(json_to):
        return
    for file in found.files:
        n = found.documents.get(file.stem)
        show(f"{file}" if n is None else f"{file}: {several(n, 'document')}")
    of = f"{record['set']}, version {found.version.name}"
    show(
        f"{several(found.labels, 'label')}; {of}"
        + (", but not as published: " if found.differs else "")
    )
    for difference in found.differs:
        show(f"  {difference}")


def _sizes(version: DataVersion) -> list[str]:
    documents = {part.name: part.documents for part in version.parts}
    return [
        f"{documents['train']:,}",
        f"{documents['test']:,}",
        " or ".join(f"{n:,}" for n in version.labels),
    ]


def _record(data: DataSet) -> dict[str, object]:
    """Return all that is known of a data set, for a program; what is unknown is null."""
    return {
        "name": data.name,
        "about": data.about,
        "papers": list(data.papers),
        "licence": data.licence,
        "versions": [
            {
                "name": version.name,
                "form": version.form,
                "url": version.url,
                "documents": {part.name: part.documents for part in version.parts},
                "labels": list(version.labels),
                "files": version.wanted(),
                "sha256": dict(version.checksums) or None,
            }
            for version in data.versions
        ],
    }
