"""``labelgrove compare``: which tagger is better, where, and whether it is luck."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelgrove.cli import json_file, options
from labelgrove.cli.folders import check_different
from labelgrove.cli.terminal import show

if TYPE_CHECKING:
    from labelgrove.report.comparison import Comparison
    from labelgrove.report.records import OverSetsComparison


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
    pool_metrics: Annotated[
        bool,
        typer.Option(
            "--pool-metrics",
            help="With records: also rank and test over all metrics of all data sets at once.",
        ),
    ] = False,
    threshold: options.Threshold = "auto",
    json_to: json_file.Option = None,
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
    require_signature: options.RequireSignature = None,
    quiet: options.Quiet = False,
    *,
    context: typer.Context,
    reading: options.ReadingOptions,
) -> None:
    """Compare taggers on the same documents, or records of several data sets.

    Differences come with intervals and p-values: of the paired bootstrap and of the Wilcoxon test
    on one test set, of the Wilcoxon and Friedman tests over data sets.
    """
    from labelgrove.cli.tables import print_report_table
    from labelgrove.core.extras import need
    from labelgrove.report.findings import findings

    json_file.check(json_to)
    outputs = {"--markdown": markdown, "--latex": latex, "--report": report}
    for option, file in outputs.items():
        options.check_output(option, file)
    if report is not None:
        need("matplotlib", "report", "a page with figures")  # before the work
    metrics = None if metric is None else [part.strip() for part in metric.split(",")]
    taggers = _are_taggers(sources, test)
    if taggers and pool_metrics:
        raise typer.BadParameter("--pool-metrics is for records of several data sets")
    if taggers:
        asked = _Asked(metrics, threshold, seed, threads, require_signature, quiet)
        results = findings(_on_one_set(sources, test, asked, reading))
    else:
        results = findings(_over_sets(sources, metrics, pool_metrics))
    json_file.write(json_to, results.record)
    if markdown is not None:
        options.write_output(markdown, results.markdown())
    if latex is not None:
        options.write_output(latex, results.latex())
    if report is not None:
        command = shlex.join(["labelgrove", *context.obj])
        options.write_output(report, results.page(command))
    if json_file.alone(json_to):
        return
    show(results.verdict)
    show()
    for table in results.tables:
        print_report_table(table)
        show()
    for note in results.notes:
        show(note)
    for file in filter(None, outputs.values()):
        show(f"written to {file}")


@dataclass(frozen=True)
class _Asked:
    """The options of a comparison on one test set."""

    metrics: list[str] | None
    threshold: str | None
    seed: int
    threads: int | None
    require_signature: Path | None
    quiet: bool


def _are_taggers(sources: list[Path], test: Path | None) -> bool:
    """Tell whether folders are given, not records; refuse both together."""
    folders = [source for source in sources if source.is_dir()]
    if folders and len(folders) < len(sources):
        other = next(source for source in sources if source not in folders)
        raise typer.BadParameter(
            f"give folders of taggers, or records: {folders[0]} is a folder, {other} is not"
        )
    if folders and test is None:
        raise typer.BadParameter("give the documents to compare the taggers on: --test FILE")
    if test is not None and not folders:
        raise typer.BadParameter(f"--test is for folders of taggers, and {sources[0]} is none")
    return bool(folders)


def _on_one_set(
    folders: list[Path], test: Path | None, asked: _Asked, reading: options.ReadingOptions
) -> Comparison:
    from labelgrove.evaluation import check_metrics
    from labelgrove.report.comparison import METRICS, compare, ranking_depth
    from labelgrove.report.contestants import ask_saved
    from labelgrove.tagger.saving import read_reading

    assert test is not None
    if len(folders) < 2:
        raise typer.BadParameter(
            f"give two taggers or more; labelgrove evaluate {folders[0]} {test} scores one"
        )
    check_different(folders)
    metrics = check_metrics(asked.metrics or METRICS)
    progress = options.open_progress(asked.quiet)
    readings = [read_reading(folder) for folder in folders]
    # one way for all, of the first tagger that does not take files as they usually are
    remembered = next(filter(None, readings), {})
    corpus = reading.open(test, remembered=remembered, progress=progress)
    contestants = ask_saved(
        folders,
        corpus,
        k=ranking_depth(metrics),
        threshold=options.read_threshold(asked.threshold),
        threads=asked.threads,
        progress=progress,
        require_signature=asked.require_signature,
    )
    comparison = compare(contestants, corpus, metrics=metrics, seed=asked.seed, progress=progress)
    options.say_skipped(corpus)
    return comparison


def _over_sets(
    files: list[Path], metrics: list[str] | None, pool_metrics: bool
) -> OverSetsComparison:
    from labelgrove.report.records import compare_records, read_record

    records = [read_record(file) for file in files]
    return compare_records(records, metrics, pool_metrics=pool_metrics)
