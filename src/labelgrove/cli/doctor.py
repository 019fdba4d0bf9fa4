"""``labelgrove doctor``: whether saved taggers are whole, and what killed processes left."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelgrove.cli import json_file, options
from labelgrove.cli.terminal import show


def doctor(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[DIR]...",
            help="Saved taggers, or folders that hold some; the current folder by default.",
        ),
    ] = None,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Remove what killed processes left, and bring back taggers that they had moved "
            "aside. What a running process works on, and files that labelgrove did not write, "
            "are never touched.",
        ),
    ] = False,
    sizes_only: Annotated[
        bool,
        typer.Option("--sizes-only", help="Compare sizes and not checksums, which is faster."),
    ] = False,
    json_to: json_file.Option = None,
    quiet: options.Quiet = False,
) -> None:
    """Check saved taggers, and list what killed processes left beside them.

    The exit code is 1 if something is damaged or left over, else 0.
    """
    from labelgrove.core.checkup import check_up

    json_file.check(json_to)
    progress = options.open_progress(quiet)
    findings = [
        finding
        for folder in folders or [Path()]
        for finding in check_up(folder, repair=repair, verify=not sizes_only, progress=progress)
    ]
    record = [
        {"folder": str(each.path), "state": each.state, "detail": each.detail} for each in findings
    ]
    json_file.write(json_to, {"folders": record})
    if not json_file.alone(json_to):
        for each in findings:
            show(f"{each.state}: {each.path} ({each.detail})")
        if not findings:
            show("no saved tagger, and nothing left over")
    if any(each.wrong for each in findings):
        raise typer.Exit(1)
