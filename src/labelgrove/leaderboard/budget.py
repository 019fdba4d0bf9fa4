"""Time that is given, and what is left of it."""

from __future__ import annotations

import re
import time

from labelgrove.core.errors import InputError

UNITS = {"h": 3600, "m": 60, "min": 60, "s": 1}


def parse_time(text: str, option: str = "--budget") -> float:
    """Return seconds for a text such as 2h, 90m or 1h30m.

    Examples
    --------
    >>> parse_time("1h30m"), parse_time("1.5 min"), parse_time("20s")
    (5400.0, 90.0, 20.0)
    """
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(h|min|m|s)", text.strip().lower())
    told = "".join(number + unit for number, unit in parts)
    seconds = sum(float(number) * UNITS[unit] for number, unit in parts)
    if not parts or told != re.sub(r"\s", "", text.lower()) or not seconds > 0:
        raise InputError(f"{option} takes a time such as 2h, 90m, 1h30m or 45s, got {text!r}")
    return float(seconds)


class Clock:
    """What is left of a budget.

    Parameters
    ----------
    seconds
        The whole budget.
    spent
        What was spent before, by a run that is resumed.
    """

    def __init__(self, seconds: float, spent: float = 0.0) -> None:
        self.seconds = seconds
        self._ends = time.monotonic() + seconds - spent

    def left(self) -> float:
        """Return the seconds that are left, at least 0."""
        return max(self._ends - time.monotonic(), 0.0)

    @property
    def spent(self) -> float:
        """The seconds that were spent, those before a resume included."""
        return self.seconds - (self._ends - time.monotonic())
