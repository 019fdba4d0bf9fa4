"""Commands with so little to do that loading numba would be most of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from labelgrove.core.jit import interpret

CHARACTERS = 4_000  # of all texts: as plain Python they are read in about 0.1 s
BYTES = 24_000_000  # of the tagger's files: what one text meets of a larger one may be much


def begin_small_job(folder: Path, texts: Iterable[str]) -> None:
    """Leave numba alone where a few texts meet a small tagger."""
    if sum(map(len, texts)) <= CHARACTERS and _size(folder) <= BYTES:
        interpret()


def _size(folder: Path) -> int:
    """Return the bytes of the files in a folder and below; 0 where it cannot be read."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
