"""``labelgrove migrate``: a new version of the vocabulary for a tagger, without training."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from labelgrove.cli import json_file, options
from labelgrove.cli.folders import check_apart
from labelgrove.cli.terminal import show, warn


def migrate(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A saved tagger.")],
    vocabulary: Annotated[
        Path,
        typer.Argument(
            metavar="VOCABULARY", help="The new version: a TSV, or SKOS (.ttl, .rdf, .xml, .nt)."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the new tagger; DIR stays as it is.")
    ],
    pairs: Annotated[
        Path | None,
        typer.Option(
            "--map",
            metavar="FILE",
            help="What became of ids: a table of old and new ids between tabs. Several lines of an "
            "old id split it, several of a new id merge into it, an empty new id removes.",
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    json_to: json_file.Option = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a page with all lists to this HTML file.")
    ] = None,
    require_signature: options.RequireSignature = None,
    quiet: options.Quiet = False,
    *,
    context: typer.Context,
) -> None:
    """Carry a new version of the vocabulary over to a tagger, without training.

    Labels are matched by id. Names and hierarchy are those of the new version; labels that were
    replaced, merged or split there pass their scores on, and those that are gone are never given
    any more.
    """
    from labelgrove.cli.tables import print_table
    from labelgrove.core import storage
    from labelgrove.tagger import Tagger, training_record

    json_file.check(json_to)
    options.check_output("--report", report)
    check_apart(folder, out, "migrate")
    storage.check_free(out, overwrite=overwrite)
    progress = options.open_progress(quiet)
    before = Tagger.load(folder, progress=progress, require_signature=require_signature)
    after, migration = before.migrate(vocabulary, pairs)
    after.save(out, overwrite=overwrite, progress=progress)
    record = training_record(after, out) | {"migration": migration.record()}
    json_file.write(json_to, record)
    if report is not None:
        from labelgrove.report.migration import migration_page

        command = shlex.join(["labelgrove", *context.obj])
        made = migration_page(migration, before.labels_, after.labels_, str(vocabulary), command)
        options.write_output(report, made)
    if migration.warning:
        warn(migration.warning)
    if json_file.alone(json_to):
        return
    title = f"{before.labels_.n_labels:,} labels under {vocabulary}"
    print_table(title, ["", "labels", "such as"], migration.rows())
    if before.learned_.places is not None and after.learned_.places is None:
        show(
            "labels were merged, split or removed, so precision=... and recall=... promise nothing "
            "any more: train again, or use Tagger.calibrate"
        )
    if report is not None:
        show(f"written to {report}")
    show(f"saved to {out}")
