"""Bytes in any encoding become UTF-8, on the way from a file to its lines."""

from __future__ import annotations

import codecs
import io
from typing import IO, Any

from labelgrove.core.errors import InputError

UTF8 = "utf-8"
CHUNK = 1 << 18
PROBE = "a\n,;\t\"'"  # characters by which lines and fields are divided


def codec_name(name: str) -> str:
    """Return the usual name of an encoding, or raise if there is none of that name.

    Examples
    --------
    >>> codec_name("CP1252"), codec_name("utf-8-sig"), codec_name("UTF16")
    ('windows-1252', 'utf-8', 'utf-16')
    """
    try:
        codec = codecs.lookup(name)
        is_text = isinstance(PROBE.encode(name), bytes)
    except (LookupError, UnicodeError, ValueError):
        is_text = False
    if not is_text:
        raise InputError(
            f"unknown encoding {name!r}; known are auto, utf-8, utf-16, windows-1252 (Western "
            "Europe), windows-1250 (Central Europe), windows-1251 (Cyrillic) and all others that "
            "Python knows"
        )
    known = codec.name.removesuffix("-sig")
    return f"windows-{known[2:]}" if known.startswith("cp125") else known


def is_like_ascii(encoding: str) -> bool:
    """Tell whether line ends and commas are the same bytes as in ASCII."""
    return PROBE.encode(encoding) == PROBE.encode("ascii")


class Recoded(io.RawIOBase):
    """A stream of bytes in some encoding, read as UTF-8.

    A byte that cannot be decoded is kept as it is, so that only its line is not UTF-8. Where a
    character takes two bytes or more (UTF-16), such a byte raises a `UnicodeError` instead.

    Parameters
    ----------
    stream
        The bytes.
    encoding
        Their encoding.
    """

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        errors = "surrogateescape" if is_like_ascii(encoding) else "strict"
        self._stream = stream
        self._decoder: Any = codecs.getincrementaldecoder(encoding)(errors)
        self._encoding = encoding
        self._ready = memoryview(b"")
        self._ended = False
        self._broken: UnicodeError | None = None

    def readable(self) -> bool:
        """Tell that this stream is read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with UTF-8."""
        while not self._ready:
            if self._broken is not None:
                raise self._broken
            if self._ended:
                return 0
            piece = self._stream.read(CHUNK)
            self._ended = not piece
            self._ready = memoryview(self._decoded(piece).encode(UTF8, "surrogateescape"))
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _decoded(self, piece: bytes) -> str:
        try:
            return str(self._decoder.decode(piece, final=not piece))
        except UnicodeDecodeError as error:
            self._broken = error  # raised behind the lines that are whole
            return error.object[: error.start].decode(self._encoding, "replace")
