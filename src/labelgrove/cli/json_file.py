"""``--json FILE`` of every command: the result for machines, whole or not at all."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

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
    if json_file is None or json_file == STANDARD_OUTPUT:
        return
    if json_file.is_dir() or not json_file.parent.is_dir():
        raise typer.BadParameter(f"--json needs a file in a folder that exists, got {json_file}")


def alone(json_file: Path | None) -> bool:
    """Tell whether standard output is to hold the JSON and nothing else."""
    return json_file == STANDARD_OUTPUT


def write(json_file: Path | None, record: Any) -> None:
    """Write a record; whoever reads the file finds the old one or all of the new one."""
    from labelgrove.core.errors import StorageError
    from labelgrove.core.storage import as_json

    if json_file is None:
        return
    text = as_json(record)
    if alone(json_file):
        sys.stdout.write(text)
        return
    temporary = json_file.with_name(f".{json_file.name}.part")
    try:
        temporary.write_text(text, "utf-8", "surrogateescape")
        temporary.replace(json_file)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StorageError(f"cannot write {json_file}: {error.strerror or error}") from error
