"""``labelgrove compare``: which tagger is better, where, and whether it is luck."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelgrove.cli import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labelgrove.report.tables import Table


@options.reads_documents
def compare(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR... | JSON...",
            help="Saved taggers, with --test; or records that evaluate --json wrote.",
        ),
    ],
    test: Annotated[
        Path | None, typer.Option(help="Documents with labels that every tagger is asked about.")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="Metrics separated by commas, such as P@1,nDCG@10,micro-F1."),
    ] = None,
    threshold: options.Threshold = "auto",
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write all that is found to this file.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the tables to this Markdown file.")
    ] = None,
    latex: Annotated[
        Path | None,
        typer.Option(help="Write the tables to this LaTeX file; they need the package booktabs."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a page with tables and figures to this HTML file.")
    ] = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    *,
    reading: options.Reading,
) -> None:
    """Compare taggers on the same documents, or records of several data sets.

    Differences come with intervals and p-values: of the paired bootstrap and of the Wilcoxon test
    on one test set, of the Wilcoxon and Friedman tests over data sets.
    """
    outputs = {"--json": json_file, "--markdown": markdown, "--latex": latex, "--report": report}
    for option, path in outputs.items():
        options.check_output(path, option)
    metrics = None if metric is None else [part.strip() for part in metric.split(",")]
    folders = [source for source in sources if source.is_dir()]
    if len(folders) not in (0, len(sources)):
        other = next(source for source in sources if source not in folders)
        raise typer.BadParameter(
            f"give folders of taggers or records, not both: {folders[0]} is a folder, {other} is not"
        )
    if folders or test is not None:
        found = _on_one_set(sources, test, metrics, threshold, seed, threads, quiet, reading)
    else:
        found = _over_sets(sources, metrics)
    _show(found)
    _write(found, outputs)
