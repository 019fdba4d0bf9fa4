"""Text files to write, compressed on the way where their name says so."""

from __future__ import annotations

import gzip
import io
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from labelgrove.core.extras import need


@contextmanager
def opened_to_write(path: Path, compression: str, encoding: str) -> Iterator[TextIO]:
    """Give a new text file, in which line ends stay as they are written.

    Parameters
    ----------
    path
        The file, whatever its name.
    compression
        ``".gz"``, ``".xz"``, ``".zst"``, or anything else for none.
    encoding
        Of the text.
    """
    with path.open("wb") as file:
        if compression == ".gz":  # without name and time, so that equal rows are equal files
            stream: Any = gzip.GzipFile("", "wb", fileobj=file, mtime=0)
        elif compression == ".xz":
            stream = lzma.LZMAFile(file, "wb")  # noqa: SIM115 - closed with the text below
        elif compression == ".zst":
            library = need("zstandard", "zstd", "writing .zst files")
            stream = library.ZstdCompressor().stream_writer(file, closefd=False)
        else:
            stream = file
        with io.TextIOWrapper(stream, encoding=encoding, newline="") as text:
            yield text
