"""The Parameters section of docstrings in numpy's style: read, and written from settings."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Mapping

from labelgrove.core.settings import Setting

WIDTH = 92  # of a line, with room for the indentation that `help` adds
LATER = re.compile(r"^(Attributes|Notes|References|Examples)\n-+$", re.MULTILINE)
PARAMETERS = re.compile(r"^\s*Parameters\n\s*-+$", re.MULTILINE)


def parameters(docstring: str) -> dict[str, str]:
    """Return the text of each parameter of a docstring.

    Examples
    --------
    >>> parameters('''Search.
    ...
    ...     Parameters
    ...     ----------
    ...     width
    ...         Nodes that are
    ...         kept.
    ...     ''')
    {'width': 'Nodes that are kept.'}
    """
    lines = inspect.cleandoc(docstring).splitlines()
    texts: dict[str, list[str]] = {}
    names: list[str] = []
    inside = False
    for number, line in enumerate(lines):
        if lines[number + 1 : number + 2] == ["-" * len(line)] and line:  # a heading
            inside = line == "Parameters"
        elif inside and line and not line.startswith((" ", "-")):
            names = line.replace("*", "").split(", ")
            texts |= {name: [] for name in names}
        elif inside and line.startswith(" "):
            for name in names:
                texts[name].append(line.strip())
    return {name: " ".join(text).replace("``", "") for name, text in texts.items()}


def with_parameters(docstring: str, settings: Mapping[str, Setting]) -> str:
    """Return a docstring with a Parameters section, written from settings unless it has one."""
    if not settings or PARAMETERS.search(docstring):
        return docstring
    docstring = inspect.cleandoc(docstring)
    later = LATER.search(docstring)
    place = later.start() if later else len(docstring)
    parts = [docstring[:place].rstrip(), _section(settings), docstring[place:]]
    return "\n\n".join(filter(None, parts)) + "\n"


def _section(settings: Mapping[str, Setting]) -> str:
    lines = ["Parameters", "----------"]
    for name, each in settings.items():
        text = f"{each.help or ''} Allowed: {each.words}. Default: {each.default!r}."
        indent = "    "
        lines += [
            name,
            textwrap.fill(
                text.strip(),
                WIDTH,
                initial_indent=indent,
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            ),
        ]
    return "\n".join(lines)
