"""The words behind a label, marked in the text, and the documents that a model thought of."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from textwrap import shorten
from typing import TYPE_CHECKING

from labelgrove.core.wording import several
from labelgrove.report.page import text as escaped
from labelgrove.report.tables import Table
from labelgrove.report.wording import named

if TYPE_CHECKING:
    from labelgrove.tagger import Evidence, LabelWords, SimilarDocument

NEIGHBOURS = 5  # similar documents that are shown
LABELS = 60  # characters of their labels
WORDS = 20  # heaviest words on a page
WORD = 40  # characters of a word; a text without spaces is one
FAINTEST = 0.05  # share of the heaviest word's weight from which on a word is marked
HEADS = ("similarity", "has it", "document", "labels")


def shares_of(evidence: Sequence[Evidence], length: int) -> list[float]:
    """Return for each character how strongly its word spoke, from -1 to 1, the heaviest being 1."""
    shares = [0.0] * length
    most = max((abs(each.weight) for each in evidence), default=0.0) or 1.0
    for each in reversed(evidence):  # the heaviest last: it is on top where words overlap
        for start, end in each.places:
            shares[start:end] = [each.weight / most] * (end - start)
    return shares


def runs(text: str, shares: Sequence[float]) -> list[tuple[str, float]]:
    """Return the text in pieces of one share each."""
    pieces: list[tuple[str, float]] = []
    start = 0
    for end in range(1, len(text) + 1):
        if end == len(text) or shares[end] != shares[start]:
            pieces.append((text[start:end], shares[start]))
            start = end
    return pieces


def marked(text: str, shares: Sequence[float]) -> str:
    """Return the text for a page, with marks on the words that spoke."""
    parts = []
    for piece, share in runs(text, shares):
        if abs(share) < FAINTEST:
            parts.append(escaped(piece))
            continue
        side = "for" if share > 0 else "against"
        parts.append(
            f'<mark class="{side}" style="--share: {abs(share):.2f}" title="{share:+.2f}">'
            f"{escaped(piece)}</mark>"
        )
    return f'<p class="document" dir="auto">{"".join(parts)}</p>'


def passage(text: str, evidence: Sequence[Evidence], most: int) -> tuple[int, int]:
    """Return where the stretch of at most ``most`` characters is in which words spoke loudest.

    Examples
    --------
    >>> from labelgrove.tagger import Evidence
    >>> passage("one two three four", [Evidence("four", 0.5, ((14, 18),))], 10)
    (8, 18)
    """
    if len(text) <= most:
        return 0, len(text)
    spots = sorted((*place, abs(each.weight)) for each in evidence for place in each.places)
    if not spots:
        return 0, most
    starts = [start for start, _, _ in spots]
    sums = list(accumulate((weight for _, _, weight in spots), initial=0.0))
    ends = [bisect_left(starts, start + most) for start in starts]
    best = max(range(len(spots)), key=lambda i: sums[ends[i]] - sums[i])
    around = most - (spots[ends[best] - 1][1] - starts[best])  # what is left for its neighbourhood
    start = min(max(starts[best] - around // 2, 0), len(text) - most)
    return start, start + most


def heaviest(evidence: Sequence[Evidence], most: int = 8, between: str = "  ") -> str:
    """Return the words that spoke loudest with their weights, for where there are no colours."""
    if not evidence:
        return "(no word spoke for it or against it)"
    return between.join(f"{named(each.text, WORD)} {each.weight:+.2f}" for each in evidence[:most])


def weights(evidence: Sequence[Evidence]) -> Table:
    """Return the words that spoke loudest, each with its weight and how often it stands there."""
    rows = [
        (named(each.text, WORD), f"{each.weight:+.3f}", f"{len(each.places):,}")
        for each in evidence[:WORDS]
    ]
    return Table(("word", "weight", "times"), rows, title="The heaviest words")


def legend() -> str:
    """Return what the colours of words mean, as HTML."""
    return (
        f"<p>{_example('for', 'Green words')} spoke for a label, {_example('against', 'red ones')} "
        "against it; the darker, the heavier. A weight is what the word adds to the model's score "
        "of the label, 0 being nothing; weights of different models do not compare.</p>"
    )


def _example(side: str, words: str) -> str:
    return f'<mark class="{side}" style="--share: 0.8">{words}</mark>'


def learned_words(told: LabelWords) -> Table:
    """Return the words with the greatest weights for a label."""
    rows = [(named(each.text, WORD), f"{each.weight:+.2f}") for each in told.words]
    return Table(("word", "weight"), rows, title=f"{told.name}: {taught_by(told.documents)}")


def taught_by(documents: int) -> str:
    """Return how many training documents a label has.

    Examples
    --------
    >>> taught_by(1), taught_by(1234)
    ('1 training document has it', '1,234 training documents have it')
    """
    return f"{several(documents, 'training document')} {'has' if documents == 1 else 'have'} it"


def parts_of_score(parts: Sequence[tuple[str, float]]) -> str:
    """Return the named parts of a score with their weights; empty if there are none.

    Examples
    --------
    >>> parts_of_score([("tree", 8.36), ("the label itself", -0.25)])
    'parts of the score: tree +8.36, the label itself -0.25'
    """
    told = ", ".join(f"{name} {weight:+.2f}" for name, weight in parts)
    return f"parts of the score: {told}" if told else ""


def similar(neighbours: Sequence[SimilarDocument]) -> Table:
    """Return how like the text each remembered document is, and whether it has the label."""
    with_it = sum(neighbour.has_label for neighbour in neighbours)
    title = f"{with_it} of the {len(neighbours)} most similar documents have it"
    rows = list(map(_cells, neighbours[:NEIGHBOURS]))
    return Table(HEADS, rows, title=title, words=len(HEADS))


def _cells(neighbour: SimilarDocument) -> tuple[str, str, str, str]:
    labels = shorten(", ".join(neighbour.labels), LABELS, placeholder=" …")
    has_it = "yes" if neighbour.has_label else "no"
    return f"{neighbour.similarity:.2f}", has_it, neighbour.text or "(not known)", labels
