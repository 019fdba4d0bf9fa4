"""Differences in words: who is better, by how much, and whether it may be luck."""

from __future__ import annotations

from labelgrove.evaluation import LOWER_IS_BETTER, Difference

LEVEL = 0.05
MAIN = "nDCG@5"  # the metric of a verdict, unless metrics are asked for


def is_luck(found: Difference) -> bool:
    """Whether a difference may be luck."""
    return found.p >= LEVEL


def better_by(metric: str, found: Difference) -> Difference:
    """Return a difference with a plus where the first system is better, whatever the metric."""
    if metric not in LOWER_IS_BETTER:
        return found
    return Difference(-found.value, -found.high, -found.low, found.p)


def points(metric: str, found: Difference, *, sign: bool = False) -> str:
    """Return the size of a difference with its interval.

    Ends have a sign where the interval holds 0, or if ``sign`` is true.

    Examples
    --------
    >>> points("P@1", Difference(0.012, 0.004, 0.02, 0.01))
    '1.2 points P@1 (95% interval 0.4 to 2.0)'
    >>> points("P@1", Difference(0.0002, -0.0011, 0.0015, 0.7))
    '0.02 points P@1 (95% interval -0.11 to +0.15)'
    """
    signs = "+" if sign or found.low * found.high <= 0 else ""
    digits = 1 if abs(found.value) >= 0.001 else 2
    value, low, high = (round(100 * each, digits) + 0.0 for each in found[:3])  # no -0.0
    ends = f"{low:{signs}.{digits}f} to {high:{signs}.{digits}f}"
    return f"{value:{'+' if sign else ''}.{digits}f} points {metric} (95% interval {ends})"
