"""Words of messages that every room needs."""

from __future__ import annotations


def several(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> several(1, "label"), several(2000, "label")
    ('1 label', '2,000 labels')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
