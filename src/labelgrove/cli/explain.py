"""``labelgrove explain``: the words behind a label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelgrove.cli import json_file, options

if TYPE_CHECKING:
    from rich.text import Text

    from labelgrove.core.progress import Progress
    from labelgrove.tagger import Evidence, Reasons, SimilarDocument, Tagger

BEST = 100  # labels among which one has a probability
NEIGHBOURS = 5  # similar documents that are shown
LABELS = 60  # characters of their labels
HEADS = ("like it", "has it", "document", "labels")
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>labelgrove: why</title><style>
:root {{ color-scheme: light dark }}
body {{ font: 1.05rem/1.7 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto;
  padding: 0 1rem }}
p {{ white-space: pre-wrap }} mark {{ border-radius: .2em; color: inherit }}
h2 small {{ font-weight: normal; opacity: .7 }}
table {{ font-size: .85rem; line-height: 1.4; border-spacing: 1em .2em; margin-left: -1em }}
th, caption {{ text-align: left; opacity: .7 }} td {{ vertical-align: top }}
</style></head><body>
{body}
</body></html>
"""


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

    if html is not None and (html.is_dir() or not html.parent.is_dir()):
        raise typer.BadParameter(f"--html needs a file in a folder that exists, got {html}")
    json_file.check(json_to)
    progress = options.open_progress(quiet)
    found = _explained(Tagger.load(folder, progress=progress), text, label or [], k, progress)
    json_file.write(json_to, {"text": text, "labels": [each.record() for each in found]})
    if not json_file.alone(json_to):
        for each in found:
            _print(each, text)
    if html is not None:
        body = "\n".join(_section(each, text) for each in found)
        html.write_text(PAGE.format(body=body), "utf-8", "surrogateescape")
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

    console = Console(highlight=False)
    console.print(f"{explained.name}  {explained.known}", style="bold", markup=False)
    console.print(coloured(text, shares_of(explained.reasons, len(text))))
    console.print(heaviest(explained.reasons), markup=False)
    print_neighbours(explained.reasons.neighbours)


def _section(explained: Explained, text: str) -> str:
    """Return the same for a page."""
    head = f"<h2>{escape(explained.name)} <small>{explained.known}</small></h2>"
    shares = shares_of(explained.reasons, len(text))
    return f"{head}\n{marked(text, shares)}{tabled(explained.reasons.neighbours)}"


def heaviest(evidence: list[Evidence], most: int = 8) -> str:
    """Return the words that spoke loudest with their weights, for where there are no colours."""
    if not evidence:
        return "(no word spoke for it or against it)"
    return "  ".join(f"{each.text} {each.weight:+.2f}" for each in evidence[:most])


def print_neighbours(neighbours: Sequence[SimilarDocument]) -> None:
    """Print how like the text each remembered document is, and whether it has the label."""
    from labelgrove.cli.tables import print_table

    if neighbours:
        rows = map(_cells, neighbours[:NEIGHBOURS])
        print_table(_share(neighbours), HEADS, rows, words=len(HEADS))


def tabled(neighbours: Sequence[SimilarDocument]) -> str:
    """Return the same table for a page."""
    if not neighbours:
        return ""
    head = "".join(f"<th>{name}</th>" for name in HEADS)
    rows = (
        "".join(f"<td>{escape(cell)}</td>" for cell in _cells(neighbour))
        for neighbour in neighbours[:NEIGHBOURS]
    )
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    share = _share(neighbours)
    return f"\n<table><caption>{share}</caption>\n<tr>{head}</tr>\n{body}</table>"


def _share(neighbours: Sequence[SimilarDocument]) -> str:
    with_it = sum(neighbour.has_label for neighbour in neighbours)
    return f"{with_it} of the {len(neighbours)} most similar documents have it"


def _cells(neighbour: SimilarDocument) -> tuple[str, str, str, str]:
    from textwrap import shorten

    labels = shorten(", ".join(neighbour.labels), LABELS, placeholder=" …")
    has_it = "yes" if neighbour.has_label else "no"
    return f"{neighbour.similarity:.2f}", has_it, neighbour.text or "(not known)", labels


def shares_of(evidence: list[Evidence], length: int) -> list[float]:
    """Return for each character how strongly its word spoke, from -1 to 1, the heaviest being 1."""
    shares = [0.0] * length
    most = max((abs(each.weight) for each in evidence), default=0.0) or 1.0
    for each in reversed(evidence):  # the heaviest last: it is on top where words overlap
        for start, end in each.places:
            shares[start:end] = [each.weight / most] * (end - start)
    return shares


def runs(text: str, shares: list[float]) -> list[tuple[str, float]]:
    """Return the text in pieces of one share each."""
    pieces: list[tuple[str, float]] = []
    for character, share in zip(text, shares, strict=True):
        if pieces and pieces[-1][1] == share:
            pieces[-1] = (pieces[-1][0] + character, share)
        else:
            pieces.append((character, share))
    return pieces


def coloured(text: str, shares: list[float]) -> Text:
    """Return the text for a terminal, darker where it spoke louder."""
    from rich.style import Style
    from rich.text import Text

    found = Text()
    for piece, share in runs(text, shares):
        depth = round(255 - 175 * abs(share))
        colour = f"#{depth:02x}ff{depth:02x}" if share > 0 else f"#ff{depth:02x}{depth:02x}"
        visible = abs(share) >= 0.05
        found.append(piece, Style(color="black", bgcolor=colour) if visible else Style())
    return found


def marked(text: str, shares: list[float]) -> str:
    """Return the text for a page, with marks on the words that spoke."""
    found = []
    for piece, share in runs(text, shares):
        if abs(share) < 0.05:
            found.append(escape(piece))
            continue
        colour = "34, 150, 80" if share > 0 else "210, 60, 50"
        style = f"background: rgba({colour}, {abs(share) * 0.7:.2f})"
        found.append(f'<mark style="{style}" title="{share:+.2f}">{escape(piece)}</mark>')
    return f"<p>{''.join(found)}</p>"
