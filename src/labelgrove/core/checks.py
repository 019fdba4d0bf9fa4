"""Checks of what a saved folder holds, made once when it is loaded.

Kernels do not look where they read and write: an offset or an index that is wrong would crash the
process or read what is not theirs. Checksums find what was damaged by accident; these checks also
refuse what was altered on purpose. Each takes the name of a value for its message, and
`reading` adds the folder and the way out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from labelgrove.core.errors import DamagedError, InputError, LabelgroveError

BLOCK = 1 << 22  # items of an array that are compared at once
SHOWN = 60  # characters of a wrong value that fit into a message
_FILE_NAME = re.compile(r"(?!\.)[^/\\\0:]+")


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Turn every failure to make sense of a folder's values into an error that names the folder."""
    try:
        yield
    except KeyError as error:
        raise DamagedError(
            f"{folder} comes without {str(*error.args[:1]):.60}, as another version of labelgrove "
            "wrote it: train it again"
        ) from error
    except MemoryError as error:
        raise DamagedError(
            f"{folder} asks for more memory than there is: free some, or save the model again if "
            "it is damaged"
        ) from error
    except LabelgroveError as error:
        if not isinstance(error, InputError):
            raise
        raise _damaged(folder, error) from error
    except Exception as error:  # a wrong value may break any line behind it
        raise _damaged(folder, error) from error


def _damaged(folder: Path, error: Exception) -> DamagedError:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return DamagedError(f"{folder} is damaged: {lines[0][:300]}; save the model again")


def array(
    name: str, value: Any, kind: DTypeLike | tuple[DTypeLike, ...], shape: Sequence[int | None]
) -> NDArray[Any]:
    """Return an array if it has a type, or one of several, and a shape.

    Parameters
    ----------
    name
        What it is called in messages.
    value
        What should be the array.
    kind
        Types of numbers that are allowed.
    shape
        A length for each axis; None for any.

    Examples
    --------
    >>> array("bias", np.zeros(3, np.float32), np.float32, (None,)).shape
    (3,)
    >>> array("bias", np.zeros(3), np.float32, (2,))
    Traceback (most recent call last):
    ValueError: bias is float64 of shape (3,) instead of float32 of shape (2,)
    """
    kinds = [np.dtype(each) for each in (kind if isinstance(kind, tuple) else (kind,))]
    if not isinstance(value, np.ndarray):
        raise ValueError(f"{name} is {_cut(value)} instead of an array")
    fits = value.ndim == len(shape) and all(
        wanted is None or length == wanted
        for length, wanted in zip(value.shape, shape, strict=True)
    )
    if value.dtype not in kinds or not fits:
        asked = ", ".join("any" if each is None else f"{each}" for each in shape)
        raise ValueError(
            f"{name} is {value.dtype} of shape {value.shape} instead of "
            f"{' or '.join(map(str, kinds))} of shape ({asked}{',' if len(shape) == 1 else ''})"
        )
    return value


def offsets(name: str, value: Any, total: int, n: int | None = None) -> NDArray[np.int64]:
    """Return offsets, shape (n + 1,), int64, if they rise from 0 to ``total``.

    Examples
    --------
    >>> offsets("rows", np.array([0, 2, 2, 5]), 5).tolist()
    [0, 2, 2, 5]
    >>> offsets("rows", np.array([0, 7, 5]), 5)
    Traceback (most recent call last):
    ValueError: rows must rise from 0 to 5, and does not
    """
    found = array(name, value, np.int64, (None if n is None else n + 1,))
    rising(name, found, total)
    return found


def rising(name: str, value: NDArray[Any], total: int) -> None:
    """Refuse offsets (n + 1,) of any whole type that do not rise from 0 to ``total``."""
    if value.dtype.kind not in "iu" or value.ndim != 1:
        raise ValueError(f"{name} is {value.dtype} of shape {value.shape}, not a list of offsets")
    if not len(value) or value[0] != 0 or value[-1] != total or falls(value):
        raise ValueError(f"{name} must rise from 0 to {total:,}, and does not")


def falls(value: NDArray[Any]) -> int:
    """Return how often a number of an array (n,) is below the one before it."""
    return sum(
        int(np.count_nonzero(value[first + 1 : first + BLOCK + 1] < value[first : first + BLOCK]))
        if first + BLOCK < len(value)
        else int(np.count_nonzero(value[first + 1 :] < value[first:-1]))
        for first in range(0, max(len(value) - 1, 0), BLOCK)
    )


def below(name: str, value: NDArray[Any], limit: int, least: int = 0) -> None:
    """Refuse numbers of any shape that are not from ``least`` to before ``limit``.

    Examples
    --------
    >>> below("labels", np.array([0, 4]), 4)
    Traceback (most recent call last):
    ValueError: labels must lie from 0 to 3, and goes from 0 to 4
    """
    if value.dtype.kind not in "iu":
        raise ValueError(f"{name} is {value.dtype}, not whole numbers")
    if not value.size:
        return
    low, high = int(value.min()), int(value.max())
    if low < least or high >= limit:
        raise ValueError(
            f"{name} must lie from {least:,} to {limit - 1:,}, and goes from {low:,} to {high:,}"
        )


def finite(name: str, value: NDArray[Any]) -> None:
    """Refuse numbers of any shape that are not finite."""
    # the least and the greatest of numbers are none if one of them is none
    if value.size and not (np.isfinite(value.min()) and np.isfinite(value.max())):
        raise ValueError(f"{name} holds numbers that are not finite")


def whole(name: str, value: Any, least: int = 0, most: int = 2**53) -> int:
    """Return a whole number if it is one from ``least`` to ``most``.

    Examples
    --------
    >>> whole("n_labels", 3, least=1)
    3
    >>> whole("n_labels", "3", least=1)
    Traceback (most recent call last):
    ValueError: n_labels must be a whole number from 1, got '3'
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number from {least:,}, got {_cut(value)}")
    if not least <= value <= most:
        raise ValueError(f"{name} must be from {least:,} to {most:,}, got {_cut(value)}")
    return int(value)


def number(name: str, value: Any) -> float:
    """Return a number if it is one and finite."""
    if not isinstance(value, int | float | np.number) or isinstance(value, bool):
        raise ValueError(f"{name} must be a number, got {_cut(value)}")
    if not np.isfinite(float(value)):
        raise ValueError(f"{name} must be finite, got {_cut(value)}")
    return float(value)


def texts(name: str, value: Any) -> list[str]:
    """Return a list if all in it are strings."""
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{name} must be a list of strings, got {_cut(value)}")
    return list(value)


def names(name: str, value: Any, needed: Iterable[str] = ()) -> dict[str, str]:
    """Return a table of names by name if it is one, and lacks none of those that are needed."""
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise ValueError(f"{name} must be a table of names, got {_cut(value)}")
    if missing := [each for each in needed if each not in value]:
        raise ValueError(f"{name} lack {missing[0]!r}")
    return value


def file_names(name: str, value: Any) -> list[str]:
    """Return the keys of a table if each can be the name of a file that lies in a folder.

    Examples
    --------
    >>> file_names("features", {"text": {}})
    ['text']
    >>> file_names("features", {"../text": {}})
    Traceback (most recent call last):
    ValueError: features must be a table by names of files, got {'../text': {}}
    """
    if not isinstance(value, dict) or not all(map(_FILE_NAME.fullmatch, value)):
        raise ValueError(f"{name} must be a table by names of files, got {_cut(value)}")
    return list(value)


def _cut(value: Any) -> str:
    try:
        shown = repr(value)
    except ValueError:  # a whole number of thousands of digits
        shown = f"a very long {type(value).__name__}"
    return shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}..."
