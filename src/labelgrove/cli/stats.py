"""``labelgrove stats``: the papers' statistics table of a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelgrove.cli import json_file, options


@options.reads_documents
def stats(
    train: Annotated[Path, typer.Argument(metavar="TRAIN", help="Documents with labels.")],
    test: Annotated[
        Path | None, typer.Argument(metavar="TEST", help="Test documents with labels.")
    ] = None,
    json_to: json_file.Option = None,
    quiet: options.Quiet = False,
    *,
    reading: options.ReadingOptions,
) -> None:
    """Count documents, words and labels, and show how frequent the labels are."""
    from labelgrove.cli.tables import print_table
    from labelgrove.corpus import statistics
    from labelgrove.text import tokenize

    json_file.check(json_to)
    progress = options.open_progress(quiet)
    corpus = reading.open(train, progress=progress)
    held = reading.open(test, progress=progress) if test else None
    result = statistics(corpus, held, words=tokenize, progress=progress)
    options.say_skipped(corpus, held)
    names = {"train": str(train), "test": str(test) if test else None}
    json_file.write(json_to, names | result.record())
    if json_file.alone(json_to):
        return
    print_table(f"{train}", ["", "", ""], result.rows(), words=2)
    print_table(
        "\nHow frequent labels are in training",
        ["label at rank", "documents", "labels with at most that many"],
        [[f"{p.rank:,}", f"{p.documents:,}", f"{p.share:.1%}"] for p in result.curve()],
        words=0,
    )
