"""``labelgrove explain``: the words behind a label."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelgrove.cli import options
from labelgrove.report.page import Section, page
from labelgrove.report.reasons import FAINTEST, heaviest, marked, runs, shares_of, similar

if TYPE_CHECKING:
    from rich.text import Text


def explain(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A saved tagger.")],
    text: Annotated[str, typer.Option(help="The text.")],
    label: Annotated[
        list[str] | None,
        typer.Option(help="A label's id or name; the best ones by default. Repeatable."),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="So many of the best labels.", min=1)] = 3,
    html: Annotated[Path | None, typer.Option(help="Write a page to this file too.")] = None,
) -> None:
    """Show which words of a text spoke for a label (green) and which against it (red).

    Below them stand the documents that are most like the text, if the model remembers any.
    """
    from rich.console import Console

    from labelgrove.cli.tables import print_table
    from labelgrove.tagger import Tagger

    options.check_output("--html", html)
    tagger = Tagger.load(folder)
    ranked = tagger.tag(text, k=max(k, 100))
    scores = {tag.label: tag.score for tag in ranked}
    if label:
        numbers = [tagger.labels_.find(each) for each in label]
    else:
        numbers = [tagger.labels_.find(tag.label) for tag in ranked[:k]]
    console, sections = Console(highlight=False), []
    for number in numbers:
        chosen, name = tagger.labels_.ids[number], tagger.labels_.names[number]
        evidence = tagger.explain(text, chosen)
        shares = shares_of(evidence, len(text))
        known = f"{scores[chosen]:.2f}" if chosen in scores else "not among the best 100"
        console.print(f"{name}  {known}", style="bold", markup=False)
        console.print(coloured(text, shares))
        console.print(heaviest(evidence), markup=False)
        body = marked(text, shares)
        if evidence.neighbours:
            table = similar(evidence.neighbours)
            print_table(table.title, table.columns, table.rows, words=table.words)
            body += table.html()
        sections.append(Section(f"{name}: {known}", body))
    if html is not None:
        options.write_output(html, page("Why these labels", sections))
        print(f"written to {html}")


def coloured(text: str, shares: Sequence[float]) -> Text:
    """Return the text for a terminal, darker where it spoke louder."""
    from rich.style import Style
    from rich.text import Text

    found = Text()
    for piece, share in runs(text, shares):
        depth = round(255 - 175 * abs(share))
        colour = f"#{depth:02x}ff{depth:02x}" if share > 0 else f"#ff{depth:02x}{depth:02x}"
        visible = abs(share) >= FAINTEST
        found.append(piece, Style(color="black", bgcolor=colour) if visible else Style())
    return found
