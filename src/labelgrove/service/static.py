"""The files of the page, held in memory: no path of a request ever reaches the disk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastapi import Response

FOLDER = Path(__file__).with_name("page")
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class File:
    """A file of the page."""

    content: bytes
    type: str

    def response(self) -> Response:
        """Return the answer that brings it."""
        return Response(self.content, headers={"cache-control": "no-cache"}, media_type=self.type)


@cache
def files() -> dict[str, File]:
    """Return all files of the page by their names."""
    return {
        path.name: File(path.read_bytes(), TYPES[path.suffix])
        for path in sorted(FOLDER.iterdir())
        if path.suffix in TYPES
    }
