"""``labelgrove check``: what would spoil a training, before anybody trains."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelgrove.cli import json_file, options
from labelgrove.cli.terminal import show

if TYPE_CHECKING:
    from labelgrove.checking.check import Check

MOST = 8  # findings on the terminal; all of them are in the page and in JSON
EXAMPLES = 2
MARKS = {"serious": "!!", "check": "! ", "note": "  "}


@options.reads_documents
def check(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="Documents with labels.")],
    test: Annotated[
        Path | None, typer.Argument(metavar="[TEST]", help="Test documents with labels.")
    ] = None,
    merge_out: Annotated[
        Path | None,
        typer.Option(
            help="Write labels that seem to be others, spelled differently, to this TSV: delete "
            "the lines that are wrong, then use it with --merge."
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write all findings to this HTML file.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if a finding is serious.")
    ] = False,
    json_to: json_file.Option = None,
    quiet: options.Quiet = False,
    *,
    context: typer.Context,
    reading: options.ReadingOptions,
) -> None:
    """Check files before training: copies, empty texts, labels spelled in two ways, drift.

    Rows that cannot be read are counted and left out. The exit code is 0, also with findings,
    unless --strict is given.
    """
    from dataclasses import replace

    from labelgrove.checking.check import check as look
    from labelgrove.core.wording import several

    json_file.check(json_to)
    options.check_output("--report", report)
    options.check_output("--merge-out", merge_out)
    progress = options.open_progress(quiet)
    tolerant = replace(reading, skip_bad=True)
    corpus = tolerant.open(source, progress=progress)
    held = tolerant.open(test, progress=progress) if test else None
    merges = None if merge_out is None else str(merge_out)
    found = look(corpus, held, options=reading.words(), merges=merges, progress=progress)
    json_file.write(json_to, found.record())
    if merge_out is not None:
        options.write_output(merge_out, found.merge_file())
    if report is not None:
        from labelgrove.report.checking import check_page

        command = shlex.join(["labelgrove", *context.obj])
        options.write_output(report, check_page(found, command))
    if not json_file.alone(json_to):
        _show(found)
        if report is None and any(each.total > each.shown for each in found.findings):
            show("--report FILE.html and --json FILE name all documents of a finding, up to 1,000")
        if merge_out is not None:
            show(f"{several(len(found.merges), 'label')} to merge: written to {merge_out}")
        if report is not None:
            show(f"written to {report}")
    if strict and found.serious:
        raise typer.Exit(1)


def _show(found: Check) -> None:
    """Show the most important findings, a few lines each."""
    for each in found.files:
        show(f"{each}")
        show(f"  read as {', '.join(each.reading)}" if each.reading else "")
    show()
    if not found.findings:
        show("nothing to correct")
        return
    for finding in found.findings[:MOST]:
        show(f"{MARKS[finding.level]} {finding.title}")
        for line in finding.examples[:EXAMPLES]:
            show(f"     {line}")
        advice = f"{finding.advice}: {finding.command}" if finding.command else finding.advice
        show(f"   > {advice}")
    more = len(found.findings) - MOST
    if more > 0:
        show(f"and {more} more of less weight: --report FILE.html has all")
