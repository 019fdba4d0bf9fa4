"""``--json FILE`` of every command: the result for machines, whole or not at all."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from labelgrove.cli import options
from labelgrove.core.printable import printable_json

STANDARD_OUTPUT = Path("-")

Option = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write the result to this file too, as JSON; - for standard output, without tables.",
    ),
]


def check(json_file: Path | None) -> None:
    """Refuse a place that cannot be written, before the work."""
    if not alone(json_file):
        options.check_output("--json", json_file)


def alone(json_file: Path | None) -> bool:
    """Tell whether standard output is to hold the JSON and nothing else."""
    return json_file == STANDARD_OUTPUT


def write(json_file: Path | None, record: Any) -> None:
    """Write a record; whoever reads the file finds the old one or all of the new one."""
    from labelgrove.core.json_files import as_json

    if json_file is None:
        return
    if alone(json_file):
        sys.stdout.write(printable_json(as_json(record)))
    else:
        options.write_output(json_file, as_json(record))
