"""A text as a picture, its words shaded by how loudly they spoke for a label (SVG)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

from labelgrove.core.printable import printable
from labelgrove.report.page import text as escaped
from labelgrove.report.reasons import FAINTEST, heaviest, runs, shares_of

if TYPE_CHECKING:
    from labelgrove.tagger import Explained

COLUMNS = 72  # characters of a line
CELL, LINE, GAP, EDGE = 8.4, 24, 12, 16  # pixels: a character, a line, between labels, the border
STYLE = (
    "svg { color-scheme: light dark } .paper { fill: #ffffff } .for { fill: #22964f } "
    ".against { fill: #d23c32 } text { font: 14px ui-monospace, Menlo, Consolas, monospace; "
    "fill: #1b1f24; white-space: pre } .name { font-weight: bold } "
    "@media (prefers-color-scheme: dark) { .paper { fill: #14181c } text { fill: #e7eaed } "
    ".for { fill: #1f8a4a } .against { fill: #b93a32 } }"
)
LOUDEST = 0.7  # opacity behind the word that spoke loudest

Piece = tuple[str, float]  # characters and their share


def shaded_text(text: str, explained: Sequence[Explained]) -> str:
    """Return an SVG of a text once for each label, its words shaded by their weights.

    Green words spoke for the label, red ones against it; the heaviest word of each label is the
    darkest. The picture has colours of its own for light and dark screens, and a title and a
    description for those who do not see it.

    Parameters
    ----------
    text
        The text that was explained.
    explained
        Its labels, as `labelgrove.tagger.explained` returns them.
    """
    parts, top = [], EDGE
    for each in explained:
        name = _shortened(f"{each.name}: {each.known}")
        parts.append(f'<text class="name" x="{EDGE}" y="{top + 17}">{_characters(name)}</text>')
        for number, line in enumerate(_lines(text, shares_of(each.reasons, len(text)))):
            parts += _drawn(line, top + LINE * (number + 1))
        top += LINE * (number + 2) + GAP
    width, height = round(COLUMNS * CELL) + 2 * EDGE, top - GAP + EDGE
    told = "; ".join(f"{each.name}: {heaviest(each.reasons, 5, ', ')}" for each in explained)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img">',
            "<title>Words of a text, shaded by how loudly they spoke for a label</title>",
            f"<desc>The heaviest words. {_characters(told)}</desc>",
            f"<style>{STYLE}</style>",
            f'<rect class="paper" width="{width}" height="{height}" rx="8"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _lines(text: str, shares: Sequence[float]) -> Iterator[list[Piece]]:
    """Yield the lines of a text, each in pieces of one share; a line breaks between words."""
    line: list[Piece] = []
    used = end = 0
    for word in text.split():
        start = text.index(word, end)
        end = start + len(word)
        pieces = [(printable(piece), share) for piece, share in runs(word, shares[start:end])]
        room = sum(_width(piece) for piece, _ in pieces)
        if line and used + 1 + room > COLUMNS:
            yield line
            line, used = [], 0
        if line:
            line.append((" ", 0.0))
            used += 1
        for piece in _broken(pieces):
            if used + _width(piece[0]) > COLUMNS:
                yield line
                line, used = [], 0
            line.append(piece)
            used += _width(piece[0])
    yield line


def _broken(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Yield pieces that fit into a line: a text without spaces is one word."""
    for piece, share in pieces:
        start = used = 0
        for end, character in enumerate(piece):
            if used + _width(character) > COLUMNS:
                yield piece[start:end], share
                start, used = end, 0
            used += _width(character)
        yield piece[start:], share


def _drawn(line: Sequence[Piece], top: float) -> Iterator[str]:
    """Yield the marks of a line, and its words; each is as wide as its place, in any font."""
    left = 0
    for piece, share in line:
        x, width = EDGE + left * CELL, _width(piece) * CELL
        left += _width(piece)
        if piece == " ":
            continue
        if abs(share) >= FAINTEST:
            side = "for" if share > 0 else "against"
            yield (
                f'<rect class="{side}" x="{x - 1:.1f}" y="{top:.0f}" width="{width + 2:.1f}" '
                f'height="{LINE - 2}" rx="3" fill-opacity="{LOUDEST * abs(share):.2f}"/>'
            )
        yield (
            f'<text x="{x:.1f}" y="{top + 16:.0f}" textLength="{width:.1f}" '
            f'lengthAdjust="spacingAndGlyphs">{_characters(piece)}</text>'
        )


def _width(piece: str) -> int:
    """Return how many columns characters take.

    Examples
    --------
    >>> _width("tea"), _width("茶")
    (3, 2)
    """
    return sum(0 if combining(each) else 1 + (east_asian_width(each) in "WF") for each in piece)


def _shortened(name: str) -> str:
    return name if len(name) <= COLUMNS else name[: COLUMNS - 1] + "…"


def _characters(text: str) -> str:
    """Return characters for XML, which has no control characters."""
    return escaped(printable(text))
