"""The errors of labelgrove: each names the bad value, the place, and the way out.

Command line and service show the message as it is, in one line; in Python it names arguments
instead of options (`labelgrove.core.reader_words`). ``exit_code`` tells the command line whether
the call or input was wrong (2) or something failed (1).
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar

from labelgrove.core.reader_words import for_reader

SHOWN = 20  # known names that fit into a message


class LabelgroveError(Exception):
    """Base of all errors that are meant for a user's eyes."""

    exit_code: ClassVar[int] = 1

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(for_reader(x) if isinstance(x, str) else x for x in arguments))


class InputError(LabelgroveError, ValueError):
    """A wrong call or wrong input: an option, a file, a value."""

    exit_code: ClassVar[int] = 2


class EmptyCorpusError(InputError):
    """A corpus holds no documents."""


class BadRowError(InputError):
    """A row of a corpus that cannot be used.

    Parameters
    ----------
    message
        What is wrong and what would be right.
    file
        The file, or a word for where the row came from.
    line
        Line number, counted from 1, or None where there are no lines.
    """

    def __init__(self, message: str, file: str, line: int | None = None) -> None:
        place = file if line is None else f"{file}, line {line}"
        super().__init__(f"{place}: {message}")
        self.problem = for_reader(message)
        self.file = file
        self.line = line


class UnknownNameError(InputError):
    """A name that is not in a list of known ones; the message lists them, the nearest first.

    Parameters
    ----------
    kind
        What the name should be one of.
    name
        The unknown name.
    known
        Those there are.
    listed
        Where all of them are listed, to be told where the message has no room for them.
    total
        How many there are, where ``known`` has only those that come near.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        known: Iterable[str],
        *,
        listed: str = "",
        total: int | None = None,
    ) -> None:
        names = list(known)
        near = get_close_matches(name, names, n=3)
        if near:
            hint = f"did you mean {' or '.join(repr(n) for n in near)}?"
        else:
            shown = ", ".join(names[:SHOWN])
            total = len(names) if total is None else total
            if total > SHOWN:
                shown += f" and {total - SHOWN:,} more" + (f": {listed}" if listed else "")
            hint = f"known: {shown}" if names else "none is known"
        super().__init__(f"unknown {kind} {name!r}; {hint}")
        self.name = name


class MissingExtraError(LabelgroveError, ImportError):
    """A part needs a library that is not installed."""

    exit_code: ClassVar[int] = 2


class NotFittedError(LabelgroveError, ValueError, AttributeError):
    """Something was asked of a part that has not learned yet."""

    exit_code: ClassVar[int] = 2


class StoppedError(LabelgroveError):
    """The user pressed Ctrl-C."""

    exit_code: ClassVar[int] = 130


class GivenUpError(LabelgroveError):
    """A training was ended on the way: others had come further by then."""


class PartlyDoneError(LabelgroveError):
    """Some inputs could not be read; what could be done with the others was done."""


class ExportError(LabelgroveError):
    """A network cannot be exported, or the exported one does not do what the tagger does."""


class ClusterError(LabelgroveError):
    """A cluster cannot be used, or could not do a task."""


class HubError(LabelgroveError):
    """The Hugging Face hub cannot be reached, or refuses what is asked of it."""


class StorageError(LabelgroveError):
    """A folder could not be written or read."""


class FullDiskError(StorageError):
    """There was no room left to write to."""


class DamagedError(StorageError):
    """A saved folder is incomplete, cut short or altered."""


class SignatureError(StorageError):
    """A saved folder is not signed, or not by the key that is asked for."""


class NewerFormatError(StorageError):
    """A saved folder was written by a newer labelgrove."""
