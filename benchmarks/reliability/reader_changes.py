"""Small corpora and label files of every kind, altered at random, and what reads them."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from random import Random

import zstandard

from labelgrove.corpus import read_corpus
from labelgrove.labels import read_vocabulary

SEEDS = Path(__file__).parent / "seeds"
MOST = 1000  # documents that are read of a file
PIECES = (b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b'"', b"'", b"{", b"}", b"[", b"]", b"\t", b"\n",
          b"\r", b",", b":", b"-1", b"1e999", b"NaN", b"null", b"9" * 5000, b"[" * 5000, b"&a;",
          b"<", b">", b"<!DOCTYPE a [<!ENTITY a 'b'>]>", b"\xef\xbb\xbf", b"\xe2\x80\xa8",
          b"@prefix", b"\\u0000", b"\\ud800", b" " * 2000)  # fmt: skip
PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}


def _corpus(path: Path) -> None:
    for document in islice(read_corpus(path, on_bad="skip"), MOST):
        assert isinstance(document.text, str)


def _labels(path: Path) -> None:
    read_vocabulary(path)


# what reads a seed, by the name of the seed
READERS: dict[str, Callable[[Path], None]] = {
    path.name: _labels if path.name.startswith("labels") else _corpus
    for path in sorted(SEEDS.iterdir())
}


def change_file(name: str, folder: Path, random: Random) -> Path:
    """Write an altered copy of a seed into a folder and return its path."""
    data = bytearray((SEEDS / name).read_bytes())
    for _ in range(random.choice((1, 1, 2, 4))):
        data = _changed(data, random)
    ending = random.choice(("", "", "", *PACKED))
    packed = PACKED[ending](bytes(data)) if ending else bytes(data)
    if ending and random.random() < 0.5:
        packed = bytes(_changed(bytearray(packed), random))
    path = folder / f"{name}{ending}"
    path.write_bytes(packed)
    return path


def _changed(data: bytearray, random: Random) -> bytearray:
    at, to = sorted(random.randrange(len(data) + 1) for _ in range(2))
    how = random.randrange(6)
    if how == 0:
        return data[:at] + random.choice(PIECES) + data[at:]
    if how == 1:
        return data[:at] + data[to:]
    if how == 2:
        return data[:to] + data[at:to] * random.randrange(1, 5) + data[to:]
    if how == 3:
        return data[:at]
    for _ in range(random.randrange(1, 8)):
        if data:
            data[random.randrange(len(data))] = random.randrange(256)
    return data
