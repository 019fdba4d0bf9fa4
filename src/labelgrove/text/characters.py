"""What a character is to a word, looked up once per block of 256, and how a text is folded.

Folding is NFC (so that a letter and its accent are one, however they were typed) and lower case.
Almost every character folds alone, which the kernels do through a table; a text with one of the
few that do not (combining marks, capital sigma, dotted capital I) is folded by Python first.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
from numpy.typing import NDArray

SEPARATOR, WORD, MARK, UNSPACED, ODD = 1, 2, 3, 4, 8  # as in kernels.py
BLOCK = 256
N_CODES = 0x110000

UNSPACED_RANGES = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19DF),  # Tai Le, New Tai Lue
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x3005, 0x312F),  # Han marks, Hiragana, Katakana, Bopomofo
    (0x31A0, 0x31FF),  # more Bopomofo and Katakana
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),  # Han
    (0xA9E0, 0xA9FF),  # Myanmar
    (0xAA60, 0xAADF),  # Myanmar, Tai Viet
    (0xF900, 0xFAFF),  # Han
    (0xFF66, 0xFF9F),  # half-width Katakana
    (0x1AFF0, 0x1B16F),  # Kana
    (0x20000, 0x3FFFF),  # Han
)
_JOINERS = (0x200C, 0x200D)  # invisible, but inside words of Persian and of India's scripts
# letters that melt into the one before: Hangul's vowels and finals, Kirat Rai's vowel signs
_COMBINING_LETTERS = frozenset((*range(0x1160, 0x1200), *range(0x16D63, 0x16D6B)))


class CharacterTable:
    """Entries of all code points, filled block by block as texts bring them.

    Parameters
    ----------
    lowercase
        Whether entries fold to lower case.

    Attributes
    ----------
    entries
        ``folded code point << 4 | ODD? | kind``, or 0 where nobody has looked yet; shape
        (0x110000,), uint32, read-only. Untouched parts take no memory.
    """

    def __init__(self, lowercase: bool) -> None:
        self._lowercase = lowercase
        self._entries = np.zeros(N_CODES, np.uint32)
        self.entries = self._entries.view()
        self.entries.flags.writeable = False
        self._fill(0)

    def learn(self, codes: NDArray[np.uint32]) -> None:
        """Look up the blocks of ``codes`` that are still missing."""
        missing = codes[self._entries[codes] == 0]
        for block in np.unique(missing // BLOCK).tolist():
            self._fill(block)

    def _fill(self, block: int) -> None:
        first = block * BLOCK
        found = [_entry(code, self._lowercase) for code in range(first, first + BLOCK)]
        self._entries[first : first + BLOCK] = found


@cache
def table(lowercase: bool) -> CharacterTable:
    """Return the process's table; texts of all featurizers fill the same."""
    return CharacterTable(lowercase)


def _entry(code: int, lowercase: bool) -> int:
    character = chr(code)
    category = unicodedata.category(character)
    lower = character.lower() if lowercase else character
    odd = len(lower) > 1 or (lowercase and character == "Σ")  # a last sigma has its own form
    if category[0] == "M" or code in _COMBINING_LETTERS:
        odd = True
    if category != "Cs" and not unicodedata.is_normalized("NFC", character):
        odd = True
    if category[0] == "M" or code in _JOINERS:
        kind = MARK
    elif not (character.isalnum() or character == "_"):
        kind = SEPARATOR
    elif category != "Nd" and any(low <= code <= high for low, high in UNSPACED_RANGES):
        kind = UNSPACED
    else:
        kind = WORD
    return (code if odd else ord(lower)) << 4 | (ODD if odd else 0) | kind


def fold(text: str, lowercase: bool = True) -> str:
    r"""Return ``text`` in NFC and, if wanted, in lower case.

    Examples
    --------
    >>> fold("ΟΔΟΣ"), len(fold("A\N{COMBINING DIAERESIS}"))
    ('οδος', 1)
    """
    text = unicodedata.normalize("NFC", text)
    return text.lower() if lowercase else text


def origins(text: str, lowercase: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Tell where each character of ``fold(text)`` comes from.

    Returns
    -------
    starts, ends
        Character i comes from ``text[starts[i]:ends[i]]``; shapes (len(fold(text)),).
    """
    starts: list[int] = []
    ends: list[int] = []
    begin = 0
    for end in range(1, len(text) + 1):
        # a character that nothing before it can combine with begins a new piece
        if end < len(text) and _combines(text[end]):
            continue
        piece = text[begin:end]
        folded = fold(piece, lowercase)
        if len(folded) == len(piece):
            starts.extend(range(begin, end))
            ends.extend(range(begin + 1, end + 1))
        else:
            starts.extend([begin] * len(folded))
            ends.extend([end] * len(folded))
        begin = end
    return np.array(starts, np.int64), np.array(ends, np.int64)


def _combines(character: str) -> bool:
    is_mark = unicodedata.category(character)[0] == "M"
    return is_mark or ord(character) in _COMBINING_LETTERS
