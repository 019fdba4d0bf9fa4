"""The files of the pages, held in memory: no path of a request ever reaches the disk.

The page about the API is Swagger UI, which draws the OpenAPI document and sends requests. Its
files come from the package fastapi-offline: that is kept up to date (swagger-ui-bundle has stood
at a release of 2022), comes from PyPI like all else, and its 1.7 MB need no other host and no
weaker Content-Security-Policy. A page of our own would have to grow up to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from fastapi import Response

SWAGGER = ("swagger-ui-bundle.js", "swagger-ui.css")
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
    """Return all files of the pages by their names."""
    paths = [path for path in sorted(FOLDER.iterdir()) if path.suffix in TYPES]
    paths += _swagger()
    return {path.name: File(path.read_bytes(), TYPES[path.suffix]) for path in paths}


def _swagger() -> list[Path]:
    """Return the files of Swagger UI, or none where its package is missing."""
    package = find_spec("fastapi_offline")  # which is not imported: its files are wanted, no more
    if package is None or package.origin is None:
        return []
    found = [Path(package.origin).with_name("static") / name for name in SWAGGER]
    return found if all(path.is_file() for path in found) else []
