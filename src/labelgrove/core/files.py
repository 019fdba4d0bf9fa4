"""Files as lines of bytes, decompressed on the way.

A small file can hold a very long line once it is decompressed, so the length of a line is limited,
and so is the size of a file that is read whole.
"""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from labelgrove.core.errors import BadRowError, InputError
from labelgrove.core.extras import need
from labelgrove.core.recoding import UTF8, Recoded

COMPRESSIONS = (".gz", ".xz", ".zst")
CHUNK = 1 << 18
LINE = 1 << 26  # bytes of a line; a book has a million or two
WHOLE = 1 << 30  # bytes of a file that is read whole
ZSTD_PIECE = 1 << 10  # a block of 4 bytes may hold 128 KiB, so this many bytes give 32 MiB at most
ONE_DOCUMENT = "write each document on a line of its own, and cut longer texts"
SHORTER_LINES = "break the file into shorter lines, and leave out what is not needed"
_BOM = b"\xef\xbb\xbf"


def suffix(path: Path) -> str:
    """Return the suffix in small letters, without that of a compression.

    Examples
    --------
    >>> suffix(Path("train.JSONL.xz"))
    '.jsonl'
    """
    name = Path(path.stem) if path.suffix.lower() in COMPRESSIONS else path
    return name.suffix.lower()


def check_file(path: Path) -> None:
    """Raise unless ``path`` is a file."""
    if not path.exists():
        raise InputError(f"there is no file {path}")
    if not path.is_file():
        raise InputError(f"{path} is not a file; it must be one, since it is read more than once")


def lines(path: Path, advice: str = ONE_DOCUMENT, encoding: str = UTF8) -> Iterator[bytes]:
    """Yield the lines of a file as UTF-8, with their line ends, without a byte order mark.

    A file that cannot be opened or decompressed raises, and so does one with a line of more than
    `LINE` bytes; the error has the number of the line, and ``advice`` what to do about it.
    """
    number = 0
    try:
        with _opened(path, encoding) as stream:
            for line in iter(partial(stream.readline, LINE + 1), b""):
                if len(line) > LINE:
                    raise _too_long(path, number + 1, advice)
                if number == 0:
                    line = _without_mark(line, path)
                number += 1
                yield line
    except EOFError as error:
        raise BadRowError(
            "the file ends in the middle: it was cut short, copy or download it again",
            str(path),
        ) from error
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError, _DamagedError) as error:
        raise BadRowError(
            f"the file cannot be decompressed ({error}): it is damaged or not {path.suffix}",
            str(path),
            number + 1,
        ) from error
    except UnicodeDecodeError as error:
        byte = f"the byte 0x{error.object[error.start]:02x}" if error.object else "the end"
        raise BadRowError(
            f"{byte} is not {encoding} ({error.reason}): the file is cut short or of another "
            "encoding; name that (--encoding NAME), or let it be found (--encoding auto)",
            str(path),
            number + 1,
        ) from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def pieces(path: Path) -> Iterator[bytes]:
    """Yield a file in pieces of `CHUNK` bytes, decompressed; what is damaged ends it.

    It is for a look at a file that is read as a whole behind that, and then raises.
    """
    try:
        with _opened(path) as stream:
            yield from iter(partial(stream.read, CHUNK), b"")
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, _DamagedError, OSError):
        return


def content(path: Path, most: int = WHOLE) -> bytes:
    """Return a whole file, decompressed; one of more than ``most`` bytes raises."""
    pieces, size = [], 0
    for line in lines(path, SHORTER_LINES):
        size += len(line)
        if size > most:
            packed = " once it is decompressed" if path.suffix.lower() in COMPRESSIONS else ""
            raise BadRowError(
                f"the file has more than {most:,} bytes{packed}; it is read into memory as a "
                "whole, so divide it, or leave out what is not needed",
                str(path),
            )
        pieces.append(line)
    return b"".join(pieces)


def _too_long(path: Path, number: int, advice: str) -> BadRowError:
    return BadRowError(f"the line has more than {LINE:,} bytes; {advice}", str(path), number)


def _without_mark(line: bytes, path: Path) -> bytes:
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadRowError("the file is UTF-16; convert it to UTF-8", str(path), 1)
    return line.removeprefix(_BOM)


@contextmanager
def _opened(path: Path, encoding: str = UTF8) -> Iterator[IO[bytes]]:
    with _unpacked(path) as stream:
        if encoding == UTF8:
            yield stream
            return
        with io.BufferedReader(Recoded(stream, encoding), CHUNK) as recoded:
            yield recoded


@contextmanager
def _unpacked(path: Path) -> Iterator[IO[bytes]]:
    kind = path.suffix.lower()
    with path.open("rb") as file:
        raw: Any
        if kind == ".gz":
            raw = gzip.GzipFile(fileobj=file)
        elif kind == ".xz":
            raw = lzma.LZMAFile(file)  # noqa: SIM115 - closed by the buffer below
        elif kind == ".zst":
            raw = _Zstd(file)
        else:
            yield file
            return
        # the buffer splits lines in C; gzip and lzma would do it in Python
        with io.BufferedReader(cast(io.RawIOBase, raw), CHUNK) as stream:
            yield stream


class _DamagedError(Exception):
    """zstandard's own error, which is known only once it is imported."""


class _Zstd(io.RawIOBase):
    """Decompressed zstandard frames; unlike the library's reader it notices a missing end."""

    def __init__(self, file: IO[bytes]) -> None:
        self._library: Any = need("zstandard", "zstd", "reading .zst files")
        self._file = file
        self._frame: Any = None
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            compressed = b"" if self._frame is None else self._frame.unused_data
            if self._frame is None or self._frame.eof:
                compressed = compressed or self._file.read(ZSTD_PIECE)
                if not compressed:
                    return 0
                self._frame = self._library.ZstdDecompressor().decompressobj()
            else:
                compressed = self._file.read(ZSTD_PIECE)
                if not compressed:
                    raise EOFError("the last frame has no end")
            try:
                self._ready = memoryview(self._frame.decompress(compressed))
            except self._library.ZstdError as error:
                raise _DamagedError(str(error)) from error
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size
