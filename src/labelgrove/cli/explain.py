"""``labelgrove explain``: the words behind a label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelgrove.cli import json_file, options
from labelgrove.cli.small_jobs import begin_small_job
from labelgrove.cli.terminal import show
from labelgrove.core.errors import InputError
from labelgrove.core.printable import one_line, printable
from labelgrove.report.page import Section, page, paragraph
from labelgrove.report.reasons import (
    FAINTEST,
    heaviest,
    learned_words,
    legend,
    marked,
    parts_of_score,
    runs,
    shares_of,
    similar,
    taught_by,
    weights,
)
from labelgrove.report.shaded_text import shaded_text

if TYPE_CHECKING:
    from rich.text import Text

    from labelgrove.core.progress import Progress
    from labelgrove.tagger import Explained, Reasons, Tagger


@options.reads_documents
def explain(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A saved tagger.")],
    text: Annotated[
        str | None,
        typer.Option(help="The text. Without it, the words that --label has learned are shown."),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="A label's id or name; the best ones by default. Repeatable."),
    ] = None,
    k: Annotated[
        int, typer.Option("-k", help="How many of the best labels are explained.", min=1)
    ] = 3,
    neighbours: Annotated[
        Path | None,
        typer.Option(
            help="Documents with labels, such as those of the training: those most like the text "
            "are shown. A tagger keeps no texts itself."
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page to this file too.")] = None,
    svg: Annotated[
        Path | None,
        typer.Option(help="Draw the text with its shaded words to this SVG file too."),
    ] = None,
    json_to: json_file.Option = None,
    require_signature: options.RequireSignature = None,
    quiet: options.Quiet = False,
    *,
    reading: options.ReadingOptions,
) -> None:
    """Show which words of a text spoke for a label (green) and which against it (red).

    Below them stand the documents that are most like the text, if the model remembers any or
    --neighbours has some. Without --text, show the words that speak for a label in any text.
    """
    from labelgrove.tagger import Tagger, explained
    from labelgrove.tagger.outside import told_outside

    options.check_output("--html", html)
    options.check_output("--svg", svg)
    json_file.check(json_to)
    if text is None and (not label or neighbours or svg):
        raise InputError(
            "give --text with a text to explain, or --label alone to see the words of a label"
        )
    progress = options.open_progress(quiet)
    if neighbours is None:
        begin_small_job(folder, [text or ""])
    tagger = Tagger.load(folder, progress=progress, require_signature=require_signature)
    if text is None:
        _explain_labels(tagger, label or [], html, json_to)
        return
    beside = _neighbours(tagger, text, neighbours, reading, progress)
    explanations = []
    bar = progress.task("explaining", len(label or ()) or k, "labels")
    with told_outside(tagger.model_, progress), bar as shown:
        for each in explained(tagger, text, label or [], k, beside):
            explanations.append(each)
            shown.advance()
    json_file.write(json_to, {"text": text, "labels": [each.record() for each in explanations]})
    if not json_file.alone(json_to):
        for each in explanations:
            _print(each, text)
    if html is not None:
        sections = [_section(each, text) for each in explanations]
        options.write_output(html, page("Why these labels", sections, lead=legend()))
    if svg is not None:
        options.write_output(svg, shaded_text(text, explanations))
    for file in filter(None, (html, svg)):
        if not json_file.alone(json_to):
            show(f"written to {file}")


def _explain_labels(
    tagger: Tagger, labels: Sequence[str], html: Path | None, json_to: Path | None
) -> None:
    """Show the words that speak for labels in any text."""
    from labelgrove.cli.tables import print_report_table

    learned = [tagger.explain_label(label) for label in labels]
    json_file.write(json_to, {"labels": [each.record() for each in learned]})
    tables = [learned_words(each) for each in learned]
    if not json_file.alone(json_to):
        for table in tables:
            print_report_table(table)
    if html is not None:
        sections = [
            Section(each.name, table.html()) for each, table in zip(learned, tables, strict=True)
        ]
        options.write_output(html, page("What speaks for these labels", sections))
        if not json_file.alone(json_to):
            show(f"written to {html}")


def _neighbours(
    tagger: Tagger,
    text: str,
    file: Path | None,
    reading: options.ReadingOptions,
    progress: Progress,
) -> Callable[[Reasons, str], Reasons] | None:
    """Return what adds the documents of a file that are most like a text; None without a file."""
    if file is None:
        return None
    from labelgrove.tagger.similar import similar_documents, with_neighbours

    learned = tagger.learned_
    corpus = reading.open(file, remembered=learned.reading, progress=progress)
    near = similar_documents(learned, text, corpus, progress)
    options.say_skipped(corpus)
    if not near:
        progress.say(f"no document of {file} shares a word with the text")
    return lambda reasons, label: with_neighbours(learned, reasons, near, label)


def _print(explained: Explained, text: str) -> None:
    from rich.console import Console

    from labelgrove.cli.tables import print_report_table

    console = Console(highlight=False)
    console.print(one_line(f"{explained.name}  {explained.known}"), style="bold", markup=False)
    console.print(coloured(text, shares_of(explained.reasons, len(text))))
    console.print(one_line(heaviest(explained.reasons)), markup=False)
    if explained.reasons.parts:
        console.print(parts_of_score(explained.reasons.parts), markup=False)
    if explained.reasons.neighbours:
        print_report_table(similar(explained.reasons.neighbours))


def _section(explained: Explained, text: str) -> Section:
    """Return the same for a page."""
    body = paragraph(taught_by(explained.documents), kind="quiet")
    body += marked(text, shares_of(explained.reasons, len(text)))
    if explained.reasons:
        body += weights(explained.reasons).html()
    if explained.reasons.parts:
        body += paragraph(parts_of_score(explained.reasons.parts), kind="quiet")
    if explained.reasons.neighbours:
        body += similar(explained.reasons.neighbours).html()
    return Section(f"{explained.name}: {explained.known}", body)


def coloured(text: str, shares: Sequence[float]) -> Text:
    """Return the text for a terminal, darker where it spoke louder."""
    from rich.style import Style
    from rich.text import Text

    shown = Text()
    for piece, share in runs(text, shares):
        depth = round(255 - 175 * abs(share))
        colour = f"#{depth:02x}ff{depth:02x}" if share > 0 else f"#ff{depth:02x}{depth:02x}"
        visible = abs(share) >= FAINTEST
        shown.append(printable(piece), Style(color="black", bgcolor=colour) if visible else Style())
    return shown
