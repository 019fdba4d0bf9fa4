"""Subject headings as MARC fields write them: ``650 _7 $a Solar energy $z Finland $2 yso``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

MARKS = "$‡ǂ"  # what stands before the code of a subfield
HEAD = re.compile(rf"\s*(?:\d{{3}}\s*)?(?:[\d_#\\]{{1,2}}\s*|[_#\\]\s[\d_#\\]\s*)?(?=[{MARKS}]a)")
SUBFIELD = re.compile(rf"[{MARKS}]([a-z0-9])\s*([^{MARKS}]*)")
NAME, DIVISIONS, IDS = "abcdgnpqt", "xyzv", "01"
DASHES = "--"  # between a heading and its subdivisions


def is_marc(label: str) -> bool:
    """Tell whether a label is a heading with subfields.

    Examples
    --------
    >>> is_marc("650 _7 $a Solar energy $2 yso"), is_marc("$a Law"), is_marc("$5 notes")
    (True, True, False)
    """
    return HEAD.match(label) is not None


def marc_labels(
    label: str, ids_of: Callable[[str], Sequence[str]], is_id: Callable[[str], bool]
) -> tuple[list[str], list[str]]:
    """Return the labels that a heading means, and the parts of it that no concept is named like.

    An address in ``$0`` or ``$1`` that is an id of the vocabulary is what is meant. Else the
    heading is one concept if one is called like all of it (``Solar energy--Finland``); else each
    of its parts that is the name of one concept is a label: the name (``$a`` to ``$t``) and the
    subdivisions (``$x``, ``$y``, ``$z``, ``$v``). Where nothing is known, the label is all of it;
    a heading without a name is none.

    Parameters
    ----------
    label
        The heading.
    ids_of
        Returns the ids of the concepts with a name.
    is_id
        Tells whether the vocabulary has an id.

    Examples
    --------
    >>> ids = {"Solar energy": ["s"], "Finland": ["f"]}
    >>> asked = "650 _7 $a Solar energy $z Finland $y 1990s $2 yso"
    >>> marc_labels(asked, lambda name: ids.get(name, []), {"s", "f"}.__contains__)
    (['s', 'f'], ['1990s'])
    >>> marc_labels("$a Law $x History.", lambda name: [], lambda id: False)
    (['Law--History'], [])
    >>> marc_labels("650 _7 $a $2 yso", lambda name: [], lambda id: False)
    ([], [])
    """
    subfields = [(code, _trimmed(text)) for code, text in SUBFIELD.findall(label)]
    for code, text in subfields:
        if code in IDS and is_id(text):
            return [text], []
    name = " ".join(text for code, text in subfields if code in NAME and text)
    divisions = [text for code, text in subfields if code in DIVISIONS and text]
    parts = [each for each in (name, *divisions) if each]
    whole = DASHES.join(parts)
    if len(found := ids_of(whole)) == 1:
        return [found[0]], []
    known: list[str] = []
    unknown: list[str] = []
    for part in parts:
        ids = ids_of(part)
        (known if len(ids) == 1 else unknown).append(ids[0] if len(ids) == 1 else part)
    return (known, unknown) if known else ([whole] if whole else [], [])


def _trimmed(text: str) -> str:
    """Return a subfield without the punctuation that ends a heading."""
    return " ".join(text.split()).rstrip(" .,;:") if text.strip() else ""
