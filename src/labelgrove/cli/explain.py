"""``labelgrove explain``: the words behind a label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelgrove.cli import json_file, options
from labelgrove.report.page import Section, page
from labelgrove.report.reasons import FAINTEST, heaviest, marked, runs, shares_of, similar

if TYPE_CHECKING:
    from rich.text import Text

    from labelgrove.core.progress import Progress
    from labelgrove.tagger import Reasons, Tagger

BEST = 100  # labels among which one has a probability


def explain(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A saved tagger.")],
    text: Annotated[str, typer.Option(help="The text.")],
    label: Annotated[
        list[str] | None,
        typer.Option(help="A label's id or name; the best ones by default. Repeatable."),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="So many of the best labels.", min=1)] = 3,
    html: Annotated[Path | None, typer.Option(help="Write a page to this file too.")] = None,
    json_to: json_file.Option = None,
    quiet: options.Quiet = False,
) -> None:
    """Show which words of a text spoke for a label (green) and which against it (red).

    Below them stand the documents that are most like the text, if the model remembers any.
    """
    from labelgrove.tagger import Tagger

    options.check_output("--html", html)
    json_file.check(json_to)
    progress = options.open_progress(quiet)
    found = _explained(Tagger.load(folder, progress=progress), text, label or [], k, progress)
    json_file.write(json_to, {"text": text, "labels": [each.record() for each in found]})
    if not json_file.alone(json_to):
        for each in found:
            _print(each, text)
    if html is not None:
        sections = [_section(each, text) for each in found]
        options.write_output(html, page("Why these labels", sections))
        if not json_file.alone(json_to):
            print(f"written to {html}")


@dataclass(frozen=True)
class Explained:
    """A label with its probability (None if not among the best) and what spoke for it."""

    label: str
    name: str
    score: float | None
    reasons: Reasons

    @property
    def known(self) -> str:
        """The probability for a reader."""
        return f"not among the best {BEST}" if self.score is None else f"{self.score:.2f}"

    def record(self) -> dict[str, Any]:
        """Return the same as plain values, for JSON."""
        return {
            "label": self.label,
            "name": self.name,
            "score": self.score,
            "words": [word._asdict() for word in self.reasons],
            "documents": [near._asdict() for near in self.reasons.neighbours],
        }


def _explained(
    tagger: Tagger, text: str, labels: Sequence[str], k: int, progress: Progress
) -> list[Explained]:
    """Explain these labels of a text, or the best k."""
    ranked = tagger.tag(text, k=max(k, BEST))
    scores = {tag.label: tag.score for tag in ranked}
    space, found = tagger.labels_, []
    numbers = [space.find(each) for each in labels or [tag.label for tag in ranked[:k]]]
    with progress.task("explaining", len(numbers), "labels") as shown:
        for number in numbers:
            label = space.ids[number]
            reasons = tagger.explain(text, label)
            found.append(Explained(label, space.names[number], scores.get(label), reasons))
            shown.advance()
    return found


def _print(explained: Explained, text: str) -> None:
    from rich.console import Console

    from labelgrove.cli.tables import print_report_table

    console = Console(highlight=False)
    console.print(f"{explained.name}  {explained.known}", style="bold", markup=False)
    console.print(coloured(text, shares_of(explained.reasons, len(text))))
    console.print(heaviest(explained.reasons), markup=False)
    if explained.reasons.neighbours:
        print_report_table(similar(explained.reasons.neighbours))


def _section(explained: Explained, text: str) -> Section:
    """Return the same for a page."""
    body = marked(text, shares_of(explained.reasons, len(text)))
    if explained.reasons.neighbours:
        body += similar(explained.reasons.neighbours).html()
    return Section(f"{explained.name}: {explained.known}", body)


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
