"""What benchmarks found, as lines of JSON: one a run, so that what is there is not run again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import labelgrove

Line = dict[str, Any]


class ResultLines:
    """A file of results; the last line of each run counts.

    Several processes may append to one file. ``keys`` are what identifies a run.
    """

    def __init__(self, file: Path, keys: Sequence[str]) -> None:
        self.file, self.keys = file, keys

    def read(self) -> dict[tuple[Any, ...], Line]:
        """Return the last result of each run; half a line, which a kill may leave, is none."""
        text = self.file.read_text(encoding="utf-8") if self.file.exists() else ""
        found = [line for line in map(_whole, text.split("\n")) if line is not None]
        return {tuple(each[key] for key in self.keys): each for each in found}

    def add(self, line: Line) -> None:
        """Append a result, on a line of its own."""
        written = self.file.read_bytes() if self.file.exists() else b""
        before = "\n" if written and not written.endswith(b"\n") else ""
        with self.file.open("a", encoding="utf-8") as file:
            file.write(before + json.dumps(line) + "\n")


def _whole(text: str) -> Line | None:
    try:
        found: Line = json.loads(text)
    except ValueError:
        return None
    return found


def source() -> str:
    """Return a checksum of labelgrove's own source."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(Path(labelgrove.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
