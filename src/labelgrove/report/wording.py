"""How reports say numbers and names."""

from __future__ import annotations

from math import isfinite

GROUPS = ("frequent", "middle", "rare")  # labels, with equal shares of all occurrences
ABOUT_AREAS = (
    "AUC is the chance that a document with the label is ranked above one without it for that "
    "label; AUPR is the mean precision of the label's list of documents at each of its own."
)
ABOUT_GROUPS = (
    "Labels in three groups that hold equal shares of all occurrences in training: a few "
    "frequent ones, more in the middle, and the long tail of the rare, also those that "
    "training never saw."
)
NAME = 90  # characters of a label's name that are shown


def percent(value: float) -> str:
    """Return a share as a percentage, a dash where there is none.

    Examples
    --------
    >>> percent(0.8842), percent(0.0042), percent(float("nan"))
    ('88.4', '0.42', '–')
    """
    if not isfinite(value):
        return "–"
    return f"{100 * value:.2f}" if 0 < value < 0.01 else f"{100 * value:.1f}"


def named(name: str, most: int = NAME) -> str:
    """Return a name in one line, cut where it is long, also where it has no letter to show.

    Examples
    --------
    >>> named("a   long name", 8)
    'a long…'
    """
    line = " ".join(name.split()) or "(empty)"
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def size(n_bytes: float) -> str:
    """Return bytes in the unit that suits them.

    Examples
    --------
    >>> size(999), size(2_500_000)
    ('999 bytes', '2.5 MB')
    """
    for unit, power in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= power:
            return f"{n_bytes / power:.1f} {unit}"
    return f"{n_bytes:.0f} bytes"


def duration(seconds: float) -> str:
    """Return seconds as people say them.

    Examples
    --------
    >>> duration(0.0123), duration(75.2), duration(7260)
    ('0.012 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min {seconds - 60 * minutes:.0f} s"
    return f"{minutes // 60} h {minutes % 60} min"
