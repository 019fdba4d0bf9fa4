"""Which encoding a file of texts has: by its mark, by being UTF-8, or by its letters."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from labelgrove.core.files import pieces
from labelgrove.core.reader_words import either
from labelgrove.core.recoding import UTF8, codec_name

AUTO = "auto"
HEAD = 1 << 20  # bytes that are looked at where nobody asks for more
TELLING = 1 << 16  # bytes of lines with other letters than ASCII; detection is slow
MARKS = (
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What spreadsheets write, the most frequent first: of encodings that fit alike the first is taken.
# All that exist would be too many: Finnish in Windows-1252 fits best to Icelandic of old Macs.
LIKELY = (
    *("windows-1252", "windows-1250", "windows-1251", "windows-1254", "windows-1253"),
    *("windows-1257", "cp932", "gb18030", "big5", "cp949", "windows-1255", "windows-1256"),
)
LATIN = ("windows-1252", "windows-1250", "windows-1254", "windows-1257")
ACCENTS = 0.3  # share of letters that have one, at most, in languages of Latin letters
ALIKE = 0.01  # difference of two measures of disorder that says nothing


class FoundEncoding(NamedTuple):
    """The encoding of a file.

    Parameters
    ----------
    name
        What Python calls it, but for ``windows-1252`` and those like it.
    note
        What a user should know of how it was found; empty where that is sure.
    """

    name: str
    note: str = ""


def find_encoding(
    path: Path, wanted: str | None = None, *, expected: str | None = None, guess: bool = True
) -> FoundEncoding:
    """Return the encoding of a file.

    Parameters
    ----------
    path
        The file, also compressed.
    wanted
        The name of an encoding, which is taken; ``"auto"`` reads the whole file to be sure that
        it is UTF-8, None only its first MiB.
    expected
        What is tried first where the file is not UTF-8.
    guess
        False where a file that is neither UTF-8 nor UTF-16 is left as it is, to raise at its
        first bad row.
    """
    if wanted not in (None, AUTO):
        name = codec_name(str(wanted))
        if name in ("utf-16", "utf-32"):  # with a mark or without
            name = _marked(_head(path)) or _wide(_head(path)) or f"{name}-le"
        return FoundEncoding(name)
    head = _head(path)
    mark = _marked(head)
    if mark is not None or (wide := _wide(head)) is None:
        if mark not in (None, UTF8):
            return FoundEncoding(str(mark), f"it is {shown(str(mark))}, by its byte order mark")
    else:
        return FoundEncoding(wide, f"it has no byte order mark; read as {shown(wide)}")
    wrong = _not_utf8(path, None if wanted == AUTO else HEAD)
    if not wrong or not (guess or wanted == AUTO):
        return FoundEncoding(UTF8)
    return _by_letters(wrong, expected)


def shown(encoding: str) -> str:
    """Return the name of an encoding as people write it.

    Examples
    --------
    >>> shown("windows-1252"), shown("utf-16-le")
    ('Windows-1252', 'UTF-16-LE')
    """
    return encoding.replace("windows", "Windows") if encoding[0] == "w" else encoding.upper()


def has_mark(path: Path) -> bool:
    """Tell whether a file begins with a byte order mark."""
    return _marked(_head(path)) is not None


def _head(path: Path) -> bytes:
    return next(pieces(path), b"")


def _marked(head: bytes) -> str | None:
    return next((name for mark, name in MARKS if head.startswith(mark)), None)


def _wide(head: bytes) -> str | None:
    """Return UTF-16 if every other byte of the line ends and blanks is zero, as only there."""
    zeros = head[0::2].count(0), head[1::2].count(0)
    if 20 * sum(zeros) < len(head) or not head:
        return None
    name = "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"
    try:
        text = codecs.getincrementaldecoder(name)().decode(head)
    except UnicodeDecodeError:
        return None
    return name if "\n" in text and "\0" not in text else None


def _not_utf8(path: Path, most: int | None) -> bytes:
    """Return lines with other letters than ASCII, from where a file is not UTF-8 on.

    A file that has more characters of UTF-8 than wrong bytes is UTF-8 with damaged rows.
    """
    decoder = codecs.getincrementaldecoder(UTF8)()
    read, good, source = 0, False, pieces(path)
    for piece in source:
        try:
            text = decoder.decode(piece)
        except UnicodeDecodeError as error:
            found = _other_lines(chain([error.object], source))
            return b"" if good or _is_damaged(found) else found
        good = good or not text.isascii()
        read += len(piece)
        if most is not None and read >= most:
            break
    return b""


def _other_lines(source: Iterator[bytes]) -> bytes:
    """Return the first lines of some pieces that are not all ASCII."""
    taken: list[bytes] = []
    size, read, rest = 0, 0, b""
    for piece in chain(source, [b"\n"]):
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            if size < TELLING and not line.isascii():
                taken.append(line[:TELLING])
                size += len(taken[-1])
        read += len(piece)
        if size >= TELLING or read > 4 * HEAD:
            break
    return b"\n".join(taken) or rest[:TELLING]


def _is_damaged(sample: bytes) -> bool:
    text = sample.decode(UTF8, "surrogateescape")
    others = [char for char in text if not char.isascii()]
    bad = sum("\udc80" <= char <= "\udcff" for char in others)
    return bad <= len(others) - bad


def _by_letters(sample: bytes, expected: str | None) -> FoundEncoding:
    if expected is not None and _fits(sample, expected):
        note = f"it is not UTF-8; read as {shown(expected)}, as the documents of the training were"
        return FoundEncoding(expected, note)
    # a few words with many accents look like no language; all that can be decoded is left then
    fitting = _detected(sample) or [name for name in LIKELY if _fits(sample, name)]
    if not fitting:
        return FoundEncoding(UTF8)
    best, *others = fitting
    also = f" ({' or '.join(map(shown, others[:3]))} would fit too)" if others else ""
    return FoundEncoding(
        best,
        f"it is not UTF-8; read as {shown(best)}, by its letters{also}: look whether these are "
        f"right, {either('encoding=', '--encoding')} names another",
    )


def _fits(sample: bytes, encoding: str) -> bool:
    try:
        sample.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _detected(sample: bytes) -> list[str]:
    """Return the likely encodings with the least disorder, the most frequent first."""
    from charset_normalizer import from_bytes

    # a likely one alone at a time: asked for all at once it hides those that read the same
    matches = {}
    letters = sum(chr(byte).isalpha() for byte in sample if byte < 128)
    others = sum(byte >= 128 for byte in sample)
    few = others <= ACCENTS * (letters + others)  # a word with one Greek letter is no word
    for name in LATIN if few else LIKELY:
        found = from_bytes(sample, cp_isolation=[codecs.lookup(name).name]).best()
        if found is not None:
            matches[name] = (found.chaos, found.coherence, str(found))
    if not matches:
        return []
    least = min(chaos for chaos, _, _ in matches.values())
    near = {name: found for name, found in matches.items() if found[0] <= least + ALIKE}
    most = max(coherence for _, coherence, _ in near.values())
    best = next(name for name, found in near.items() if found[1] >= most - ALIKE)
    texts = {near[best][2]}
    also = [
        name
        for name, (_, coherence, text) in near.items()
        if name != best and coherence >= most - ALIKE and text not in texts
    ]
    return [best, *also]
