"""``labelgrove tag``: labels for new documents, as JSON lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelgrove.cli import options
from labelgrove.core.printable import printable_json

if TYPE_CHECKING:
    from labelgrove.core.types import Document
    from labelgrove.corpus import Corpus


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
    require_signature: options.RequireSignature = None,
    quiet: options.Quiet = False,
    *,
    reading: options.ReadingOptions,
) -> None:
    """Tag documents; prints a line {"id": ..., "labels": [...]} for each, in their order.

    A document without an id gets the number of its row, counted from 1.
    """
    if (source is None) == (text is None):
        raise typer.BadParameter("give either a file of documents or --text")
    from labelgrove.corpus import Corpus
    from labelgrove.tagger import Tagger
    from labelgrove.tagger.thresholds import untuned_note

    progress = options.open_progress(quiet or text is not None)
    tagger = Tagger.load(folder, progress=progress, require_signature=require_signature)
    tagger.set_threads(threads)
    if source is None:
        corpus: Corpus = Corpus.from_lists([text or ""])
    else:
        remembered = tagger.learned_.reading
        corpus = reading.open(source, labelled=False, remembered=remembered, progress=progress)
    chosen = options.read_threshold(threshold)
    if note := untuned_note(tagger.learned_, chosen):
        progress.say(note)
    tagged = tagger.stream(_numbered(corpus), k, threshold=chosen, progress=progress)
    for document, tags in tagged:
        labels = [
            {"label": tag.label, "name": tag.name, "score": round(tag.score, 6)} for tag in tags
        ]
        line = {"id": document.id, "labels": labels}
        sys.stdout.write(printable_json(json.dumps(line, ensure_ascii=False)) + "\n")
    sys.stdout.flush()
    options.say_skipped(corpus)


def _numbered(corpus: Corpus) -> Iterator[Document]:
    """Give each document without an id the number of its row; skipped rows count too."""
    for document in corpus:
        yield document if document.id else document._replace(id=str(corpus.position))
