"""Commands with so little to do that loading numba would be most of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from labelgrove.core.jit import interpret

# Up to here plain Python was quicker with each of five linear models (benchmarks/LOG.md):
# characters of all texts, and bytes of the tagger's files.
CHARACTERS, BYTES = 4_000, 16_000_000


def begin_small_job(folder: Path, texts: Iterable[str]) -> None:
    """Leave numba alone where a few texts meet a small tagger."""
    if sum(map(len, texts)) <= CHARACTERS and _size(folder) <= BYTES:
        interpret()


def _size(folder: Path) -> int:
    """Return the bytes of the files in a folder and below."""
    try:
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    except OSError:  # it is being replaced, or cannot be read; who loads it tells
        return 0
