"""Messages in the words of those who read them: options of a command, or arguments in Python.

A message is written once, with options of the command line. Unless a command shows it, these
become the arguments that do the same in Python.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

READER = "LABELGROVE_READER"  # in the environment, so that processes of a command know it too
COMMAND = "command"
VALUES = {  # options with a value, and the arguments that take it
    "--at": "ks",
    "--cluster": "run=Run(workers=...)",
    "--encoding": "encoding",
    "--format": "format",
    "--hierarchy": "hierarchy",
    "--id-field": "id",
    "--labels": "vocabulary",
    "--language": "languages",
    "--license": "license",
    "--labels-field": "labels",
    "--map": "mapping",
    "--matrix": "matrix",
    "--merge": "merge",
    "--model": "model",
    "--neighbours": "neighbours",
    "--revision": "revision",
    "--separator": "separator",
    "--sheet": "sheet",
    "--text-field": "text",
    "--threshold": "threshold",
    "--valid": "validation",
    "--validation": "validation",
}
FLAGS = {
    "--header": "header=True",
    "--no-header": "header=False",
    "--no-quotes": "quote=None",
    "--overwrite": "overwrite=True",
    "--private": "private=True",
    "--quotes": "quote='\"'",
    "--resume": "resume=True",
    "--skip-bad": "on_bad='skip'",
}
# what stands behind an option in a message: a placeholder, a number, or the name of an encoding
VALUE = r"[A-Z]{2,}\b|\d[\w.]*|auto\b|closed\b|leaf\b|windows-\d+|utf-\d+"
OPTION = re.compile(rf"(?<![\w-])(--[a-z]+(?:-[a-z]+)*)(?: ({VALUE}))?(?![\w=-])")
# both ways already: "(resume=False; --overwrite without --resume)"
BOTH = re.compile(r"(\b\w+=[\w.]+)[,;] --[a-z-]+(?: without --[a-z-]+)?")

IN_A_ROW = re.compile(r"(\b\w+=(?:'[^']*'|[\w.]+)) (?=\w+=['\w])")


@contextmanager
def of_command() -> Iterator[None]:
    """Leave the options in all messages while a command runs, also in processes that it starts."""
    before = os.environ.get(READER)
    os.environ[READER] = COMMAND
    try:
        yield
    finally:
        if before is None:
            del os.environ[READER]
        else:
            os.environ[READER] = before


def reads_options() -> bool:
    """Tell whether the reader of messages called a command, and not Python."""
    return os.environ.get(READER) == COMMAND


def for_reader(message: str) -> str:
    """Return a message in the words of its reader.

    Examples
    --------
    >>> for_reader("name the field (text=..., --text-field), or the sheet (--sheet NAME)")
    'name the field (text=...), or the sheet (sheet=NAME)'
    >>> for_reader("skip such rows (--skip-bad), or read it with --no-header --text-field 1")
    "skip such rows (on_bad='skip'), or read it with header=False, text='1'"
    >>> with of_command():
    ...     for_reader("skip such rows (--skip-bad)")
    'skip such rows (--skip-bad)'
    """
    return message if reads_options() else as_arguments(message)


def as_arguments(message: str) -> str:
    """Return a message whose options are arguments, whoever reads it."""
    if "--" not in message:
        return message
    said = OPTION.sub(_argument, BOTH.sub(r"\1", message))
    return IN_A_ROW.sub(r"\1, ", said)


def either(python: str, options: str) -> str:
    """Return one of two wordings, where Python has another way than the command line."""
    return options if reads_options() else python


def _argument(found: re.Match[str]) -> str:
    option, value = found.groups()
    if option in FLAGS and value is None:
        return FLAGS[option]
    if option not in VALUES:
        return found[0]
    name = VALUES[option]
    if value is None or "=" in name:
        return name if "=" in name else f"{name}="
    plain = value.isupper() or name == "validation"  # a placeholder, or a number
    return f"{name}={value}" if plain else f"{name}={value!r}"
