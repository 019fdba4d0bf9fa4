"""``labelgrove tag``: labels for new documents, as JSON lines."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from labelgrove.cli import options


@options.reads_documents
def tag(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A saved tagger.")],
    source: Annotated[
        Path | None, typer.Argument(metavar="DOCS", help="Documents, with or without labels.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="One text, instead of a file.")] = None,
    k: Annotated[int, typer.Option("-k", help="Labels per document at most.", min=1)] = 5,
    threshold: options.Threshold = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    *,
    reading: options.Reading,
) -> None:
    """Tag documents; prints a line {"id": ..., "labels": [...]} for each, in their order.

    A document without an id gets its number, counted from 1.
    """
    if (source is None) == (text is None):
        raise typer.BadParameter("give either a file of documents or --text")
    from labelgrove.corpus import Corpus
    from labelgrove.tagger import Tagger

    progress = options.open_progress(quiet or text is not None)
    tagger = Tagger.load(folder)
    tagger.set_threads(threads)
    corpus = reading.open(source, labelled=False) if source else Corpus.from_lists([text or ""])
    documents = progress.track(corpus, "tagging")
    tagged = tagger.stream(documents, k, threshold=options.read_threshold(threshold))
    for number, (document, tags) in enumerate(tagged, start=1):
        labels = [
            {"label": tag.label, "name": tag.name, "score": round(tag.score, 6)} for tag in tags
        ]
        line = {"id": document.id or str(number), "labels": labels}
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
    sys.stdout.flush()
    options.say_skipped(corpus)
