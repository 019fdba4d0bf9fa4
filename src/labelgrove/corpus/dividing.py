"""Dividing documents in two where some belong together, or by their time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError
from labelgrove.core.random import generator
from labelgrove.corpus.splits import iterative_stratification

# of the small part: larger groups go to the large part, before all others; the second where the
# others do not fill both parts
LARGE = (0.5, 1.5)
_ISO = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-\d\d([T ].*)?)?)?")


def rows_of_groups(
    groups: NDArray[np.integer], fraction: float, seed: int = 0, Y: csr_array | None = None
) -> NDArray[np.bool_]:
    """Choose groups that hold a share of n documents between them; return shape (n,).

    Parameters
    ----------
    groups
        The number of each document's group, shape (n,).
    fraction
        Share of the documents to choose, between 0 and 1.
    seed
        Another seed chooses others.
    Y
        Labels of the documents, shape (n, L): each label is divided by the share too, as far as
        groups allow. By default groups are chosen at random.

    Examples
    --------
    >>> chosen = rows_of_groups(np.array([7, 7, 3, 3, 5, 5, 9, 9]), 0.25)
    >>> int(chosen.sum()), bool((chosen[::2] == chosen[1::2]).all())
    (2, True)
    """
    _, numbers, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    n, wanted = len(groups), len(groups) * fraction
    if len(sizes) < 2:
        raise InputError(
            f"all {n:,} documents belong to one group, so they cannot be divided by groups"
        )
    for most in LARGE:
        small = np.flatnonzero(sizes <= max(most * wanted, sizes.min()))
        left = int(sizes[small].sum())
        if left >= 2 * wanted:
            break
    share = min(wanted / left, max(fraction, 0.5))
    chosen = np.zeros(len(sizes), np.bool_)
    if Y is None:
        order = generator(seed, "groups").permutation(small)
        ends = np.cumsum(sizes[order])
        chosen[order[: int(np.argmin(np.abs(ends - share * left))) + 1]] = True
    else:
        members = csr_array((np.ones(n, np.int32), (numbers, np.arange(n))), shape=(len(sizes), n))
        has = csr_array(csr_array(members @ Y.astype(np.int32))[small] > 0)
        folds = iterative_stratification(has, (1 - share, share), seed)
        chosen[small[folds == 1]] = True
    if chosen.all() or not chosen.any():
        raise InputError(f"{len(sizes):,} groups cannot be divided so; choose another share")
    return np.asarray(chosen[numbers])


def latest_rows(times: Sequence[object], fraction: float, source: str) -> NDArray[np.bool_]:
    """Choose the latest documents, nearest to a share of them; return shape (n,).

    Documents of one time are on one side.

    Parameters
    ----------
    times
        Numbers, dates, or ISO dates as text, such as ``"2020"`` or ``"2020-05-31"``.
    fraction
        Share of the documents to choose, between 0 and 1.
    source
        What messages call the file.

    Examples
    --------
    >>> latest_rows(["2001", "2003", "2002", "2003"], 0.5, "docs.csv").tolist()
    [False, True, False, True]
    """
    keys = _comparable(times, source)
    distinct, numbers, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    if len(distinct) < 2:
        raise InputError(f"all documents of {source} have the time {times[0]!r}")
    later = len(times) - np.cumsum(sizes)[:-1]  # documents behind each time but the last
    cut = int(np.argmin(np.abs(later - fraction * len(times))))
    return np.asarray(numbers > cut)


def _comparable(times: Sequence[object], source: str) -> NDArray[np.generic]:
    """Return the times as numbers, or as texts that sort as they do, shape (n,)."""
    try:
        numbers = np.array([float(str(time)) for time in times])
    except ValueError:
        return np.array([_sortable(time, i, source) for i, time in enumerate(times, 1)])
    if not np.isfinite(numbers).all():  # NaN would be the latest time
        first = int(np.argmin(np.isfinite(numbers)))
        raise _no_time(times[first], first + 1, source)
    return numbers


def _sortable(time: object, number: int, source: str) -> str:
    text = time.isoformat(" ") if isinstance(time, datetime) else str(time).strip()
    if not _ISO.fullmatch(text):
        raise _no_time(time, number, source)
    if len(text) <= len("2020-12"):
        return text
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise _no_time(time, number, source) from error
    if parsed.tzinfo is not None:
        text = parsed.astimezone(UTC).replace(tzinfo=None).isoformat(" ")
    return text.replace("T", " ")


def _no_time(time: object, number: int, source: str) -> InputError:
    return InputError(
        f"document {number:,} of {source} has the time {str(time)[:40]!r}: write dates as "
        "2020-12-31 or years, or numbers that grow with time"
    )
