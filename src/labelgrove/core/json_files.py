"""JSON as saved folders hold it: plain values, one file each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from labelgrove.core.errors import DamagedError, StorageError
from labelgrove.core.regular_files import read_regular

LARGEST = 1 << 28  # bytes of a file; all that is long is in arrays
Json: TypeAlias = Any


def as_json(value: Json) -> str:
    """Return a value as lines of JSON; numpy's numbers become plain ones."""
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False, default=plain) + "\n"


def write_json(path: Path, value: Json) -> None:
    """Write JSON; a value that JSON does not know is an error that names it."""
    try:
        text = as_json(value)
    except (TypeError, ValueError) as error:
        raise StorageError(f"{path.name} cannot hold this value: {error}") from error
    path.write_text(text, encoding="utf-8", errors="surrogatepass")


def read_json(path: Path) -> Json:
    """Return what a JSON file of a saved folder holds."""
    try:
        return json.loads(read_regular(path, LARGEST).decode("utf-8", "surrogatepass"))
    except (OSError, ValueError) as error:
        raise DamagedError(f"{path} is damaged: {error}; save the model again") from error
    except RecursionError as error:
        raise DamagedError(f"{path} is damaged: it nests too deep; save the model again") from error


def plain(value: Any) -> Any:
    """Return a numpy number as a plain one, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} {value!r}")
