"""Text for a terminal: characters that a terminal would obey are shown, not sent.

Labels, texts and file names come from elsewhere. An escape sequence in them could clear the screen,
rewrite lines above it or set the clipboard; a mark of direction could show a line in another order.
"""

from __future__ import annotations

import re

_OBEYED = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, but for tabs and line ends
    "\u2028\u2029"  # separators of lines and paragraphs
    "\u202a-\u202e\u2066-\u2069"  # what turns the direction of the text behind it
    "\ud800-\udfff"  # bytes of a file name that are not UTF-8
    "]"
)


def printable(text: str) -> str:
    r"""Return a text with control characters as visible escapes; tabs and line ends stay.

    Examples
    --------
    >>> print(printable("red \x1b[31malert"))
    red \x1b[31malert
    """
    return text if text.isprintable() else _OBEYED.sub(_escape, text)


def one_line(text: str) -> str:
    r"""Return the same with tabs and line ends as escapes too, for a cell of a table.

    Examples
    --------
    >>> print(one_line("solar\npower"))
    solar\npower
    """
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def printable_json(text: str) -> str:
    r"""Return JSON in which control characters are escapes of JSON, so that it says the same.

    Examples
    --------
    >>> import json
    >>> written = printable_json(json.dumps("\x9b2J", ensure_ascii=False))
    >>> print(written, json.loads(written) == "\x9b2J")
    "\u009b2J" True
    """
    return text if text.isprintable() else _OBEYED.sub(_json_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _json_escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
