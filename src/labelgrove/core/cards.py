"""The card of a saved folder, its README.md: generated, and left alone once somebody edits it.

The last line of a generated card is a comment that holds a checksum of the text above, and what
the card was told besides the manifest, such as a licence. A card whose text does not fit the
checksum was edited by a person, and so was one without that line: neither is ever overwritten.
Nothing that is loaded comes from a card.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labelgrove.core.errors import DamagedError
from labelgrove.core.manifest import CARD
from labelgrove.core.regular_files import read_regular

LARGEST = 1 << 20  # bytes of a card
MARK = re.compile(r"<!-- labelgrove card 1 (?P<sha256>[0-9a-f]{64}) (?P<told>\{.*\}) -->\s*\Z")


@dataclass(frozen=True)
class Card:
    """The card of a folder.

    Parameters
    ----------
    edited
        Whether a person wrote or changed it.
    told
        What a generated card was told besides the manifest; empty for an edited one.
    text
        All of it.
    """

    edited: bool
    told: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""


def generated(text: str, told: Mapping[str, Any]) -> str:
    """Return a card of a text, with the line by which it is known as generated.

    Parameters
    ----------
    text
        The text in Markdown.
    told
        What it was told besides the manifest, as JSON knows it.

    Examples
    --------
    >>> card = generated("# A tagger", {"license": "mit"})
    >>> parse_card(card).edited, parse_card(card.replace("A", "My")).edited
    (False, True)
    """
    text = text.rstrip() + "\n"
    words = json.dumps(told, ensure_ascii=True, sort_keys=True)
    safe = words.replace("--", "-\\u002d").replace(">", "\\u003e")  # neither ends a comment
    return f"{text}\n<!-- labelgrove card 1 {_checksum(text)} {safe} -->\n"


def parse_card(card: str) -> Card:
    """Return what a card is: generated, or edited by a person."""
    card = card.replace("\r\n", "\n")  # git may change line ends
    if (mark := MARK.search(card)) is None or mark["sha256"] != _checksum(card[: mark.start()]):
        return Card(edited=True, text=card)
    try:
        told = json.loads(mark["told"])
    except (ValueError, RecursionError):
        return Card(edited=True, text=card)
    return Card(edited=False, told=told, text=card)


def read_card(folder: Path) -> Card | None:
    """Return the card of a folder, or None where there is none.

    What cannot be read as a card is taken for one that was edited, and so is a link: it may lead
    to any file.
    """
    path = folder / CARD
    if path.is_symlink():
        return Card(edited=True)
    if not path.exists():
        return None
    try:
        return parse_card(read_regular(path, LARGEST).decode())
    except (OSError, ValueError, DamagedError):
        return Card(edited=True)


def _checksum(text: str) -> str:
    return hashlib.sha256((text.rstrip() + "\n").encode()).hexdigest()
