"""Where it is worth looking for a setting: plain data, for whatever searches there.

A range is written as it is given on the command line: ``5..50`` for whole numbers,
``0.05..1:log`` for others, here by their logarithm, and ``hinge,logistic`` for a choice.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from labelgrove.core.errors import InputError

LOG = ":log"
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
SPAN = re.compile(rf"({NUMBER})\.\.({NUMBER})({LOG})?")


@dataclass(frozen=True)
class Choice:
    """One of several values.

    Parameters
    ----------
    values
        Each as JSON knows it: a word, a number, true or false, a list.

    Examples
    --------
    >>> str(Choice(("hinge", [1, 2])))
    'hinge,[1, 2]'
    """

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise InputError("a choice needs at least one value")

    def __str__(self) -> str:
        return ",".join(map(as_text, self.values))

    @property
    def size(self) -> float:
        """How many values there are."""
        return len(self.values)

    def ends(self) -> tuple[Any, ...]:
        """Return all values: each is an end."""
        return self.values

    def holds(self, value: Any) -> bool:
        """Tell whether a value is among them."""
        return as_text(value) in map(as_text, self.values)


@dataclass(frozen=True)
class _Span:
    """What ranges of numbers share."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InputError(f"a range goes from less to more, got {self.low}..{self.high}")
        if self.log and self.low <= 0:
            raise InputError(f"a range by logarithm begins above 0, got {self}")

    def __str__(self) -> str:
        return f"{_short(self.low)}..{_short(self.high)}{LOG if self.log else ''}"

    def ends(self) -> tuple[Any, ...]:
        """Return the least and the largest value."""
        return (self.low, self.high)


@dataclass(frozen=True)
class Whole(_Span):
    """A whole number from ``low`` to ``high``, both included; ``log`` looks by its logarithm.

    Examples
    --------
    >>> Whole(5, 50).holds(5), Whole(5, 50).holds(5.5), str(Whole(5, 50, log=True))
    (True, False, '5..50:log')
    """

    low: int
    high: int

    @property
    def size(self) -> float:
        """How many values there are."""
        return self.high - self.low + 1

    def holds(self, value: Any) -> bool:
        """Tell whether a value is in it."""
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole and self.low <= value <= self.high


@dataclass(frozen=True)
class Real(_Span):
    """A number from ``low`` to ``high``; ``log`` looks by its logarithm.

    Examples
    --------
    >>> Real(0.05, 1, log=True).holds(0.2), str(Real(0.05, 1, log=True))
    (True, '0.05..1:log')
    """

    @property
    def size(self) -> float:
        """How many values there are: no end of them."""
        return math.inf

    def holds(self, value: Any) -> bool:
        """Tell whether a value is in it."""
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and self.low <= value <= self.high


Range = Choice | Whole | Real


def parse_range(text: str) -> Range:
    """Return the range that a text means; a single value is a choice of one.

    Examples
    --------
    >>> parse_range("5..50"), parse_range("0.05..1:log")
    (Whole(low=5, high=50, log=False), Real(low=0.05, high=1.0, log=True))
    >>> parse_range("hinge,logistic"), parse_range("[1, 1],[1, 2]")
    (Choice(values=('hinge', 'logistic')), Choice(values=([1, 1], [1, 2])))
    """
    if not text.strip():
        raise InputError("a range is low..high, low..high:log, or values separated by commas")
    if match := SPAN.fullmatch(text.strip()):
        low, high, log = match[1], match[2], match[3] is not None
        if re.fullmatch(r"[+-]?\d+", low) and re.fullmatch(r"[+-]?\d+", high):
            return Whole(int(low), int(high), log)
        return Real(float(low), float(high), log)
    if ".." in text:
        raise InputError(f"{text!r} is no range: write low..high, such as 5..50 or 0.05..1:log")
    try:
        return Choice(tuple(json.loads(f"[{text}]")))
    except ValueError:
        return Choice(tuple(map(parse_value, text.split(","))))


def parse_value(text: str) -> Any:
    """Return a setting's value as a user writes it: JSON, or a bare word."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def as_text(value: Any) -> str:
    """Return a value as `parse_value` reads it."""
    if isinstance(value, str) and value and parse_value(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False)


def _short(number: float) -> str:
    return repr(number) if isinstance(number, int) else f"{number:g}"
