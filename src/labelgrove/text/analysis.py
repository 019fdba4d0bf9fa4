"""From texts to terms: what an analyzer's name means, and the tokens of a batch of texts."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import InputError
from labelgrove.core.settings import Rule
from labelgrove.core.types import Span
from labelgrove.text import characters

Ints = NDArray[np.integer[Any]]


class Tokens(NamedTuple):
    """The tokens of a batch of n texts.

    Parameters
    ----------
    codes
        Code points that hold the tokens' strings, uint32.
    begins, stops
        Token i reads ``codes[begins[i]:stops[i]]``; shapes (m,).
    starts, ends
        Its place in the folded texts, one after the other; shapes (m,).
    hashes
        64 bits that stand for its string, shape (m,), uint64.
    kinds
        Bits UNIT, PAD_LEFT and PAD_RIGHT of the kernels, shape (m,), uint8.
    offsets
        Tokens of text d are ``offsets[d]:offsets[d + 1]``; shape (n + 1,), int64.
    """

    codes: NDArray[np.uint32]
    begins: Ints
    stops: Ints
    starts: Ints
    ends: Ints
    hashes: NDArray[np.uint64]
    kinds: NDArray[np.uint8]
    offsets: NDArray[np.int64]


@dataclass(frozen=True)
class Analyzer:
    """How texts become terms; `parse` makes one from a name.

    Parameters
    ----------
    characters
        Sizes of character n-grams, or None for words.
    language
        Snowball's language, or None.
    lowercase
        Fold to lower case.
    min_length
        Shorter words are dropped.
    """

    characters: tuple[int, int] | None = None
    language: str | None = None
    lowercase: bool = True
    min_length: int = 1

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """Return the tokens of a batch of texts."""
        from labelgrove.text import kernels

        if self.characters is None:
            found = self.run(kernels.tokenize, texts, self.min_length)
        else:
            found = self.run(kernels.character_ngrams, texts, *self.characters)
        codes, starts, ends, hashes, kinds, offsets = found
        tokens = Tokens(codes, starts, ends, starts, ends, hashes, kinds, offsets)
        if self.language is not None:
            from labelgrove.text.snowball import stems

            return stems(self.language).apply(tokens)
        return tokens

    def run(self, kernel: Any, texts: Sequence[str], *settings: Any) -> tuple[Any, ...]:
        """Call a kernel on the code points of texts; do what it asks for until it is content."""
        from labelgrove.text import kernels

        table = characters.table(self.lowercase)
        codes, bounds = encode(texts)
        folded = False
        while True:
            status, *found = kernel(codes, bounds, table.entries, folded, *settings)
            if status == kernels.DONE:
                return tuple(found)
            if status == kernels.UNKNOWN:
                table.learn(codes)
            else:
                codes, bounds = self._fold(texts, codes, bounds)
                folded = True

    def _fold(
        self, texts: Sequence[str], codes: NDArray[np.uint32], bounds: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return codes and bounds in which the odd texts, mostly few, are folded."""
        from labelgrove.text import kernels

        odd = kernels.odd_texts(codes, bounds, characters.table(self.lowercase).entries)
        lengths = np.diff(bounds)
        parts, done = [], 0
        for i in np.flatnonzero(odd).tolist():
            folded, _ = encode([characters.fold(texts[i], self.lowercase)])
            parts += [codes[done : bounds[i]], folded]
            done = bounds[i + 1]
            lengths[i] = len(folded)
        joined = np.concatenate([*parts, codes[done:]])
        joined.flags.writeable = False  # as those of encode, or kernels are compiled twice
        return joined, np.concatenate([bounds[:1], np.cumsum(lengths)])

    def spans(self, text: str, ids: Ints, starts: Ints, ends: Ints) -> list[Span]:
        """Return the characters of ``text`` behind the features ``ids`` that are not below 0.

        Parameters
        ----------
        text
            As it was given.
        ids, starts, ends
            Features and their places in the folded text, shapes (p,).
        """
        known = ids >= 0
        ids, starts, ends = ids[known], starts[known], ends[known]
        if characters.fold(text, False) != text or len(text.lower()) != len(text):
            from_start, from_end = characters.origins(text, self.lowercase)
            starts, ends = from_start[starts], from_end[ends - 1]
        return list(map(Span, ids.tolist(), starts.tolist(), ends.tolist()))


def encode(texts: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the code points of texts one after the other, and the n + 1 bounds between them."""
    joined = "".join(texts)
    bounds = np.fromiter(accumulate(map(len, texts), initial=0), np.int64, len(texts) + 1)
    return np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32), bounds


def parse(name: str, *, lowercase: bool = True, min_length: int = 1) -> Analyzer:
    """Return the analyzer of a name.

    Parameters
    ----------
    name
        ``"word"``, ``"char:2-4"`` (n-grams of 2 to 4 characters inside words, with a space
        before and after the word) or ``"snowball:de"`` (stems; a language's ISO code or
        Snowball's name for it).
    lowercase
        Fold to lower case.
    min_length
        Shorter words are dropped.

    Examples
    --------
    >>> parse("char:2-4").characters
    (2, 4)
    """
    kind, _, detail = name.partition(":") if isinstance(name, str) else ("", "", "")
    if kind == "word" and not detail:
        return Analyzer(None, None, lowercase, min_length)
    if kind == "char" and (sizes := re.fullmatch(r"(\d+)(?:-(\d+))?", detail, re.ASCII)):
        low, high = int(sizes[1]), int(sizes[2] or sizes[1])
        if 1 <= low <= high:
            return Analyzer((low, high), None, lowercase, min_length)
    if kind == "snowball":
        from labelgrove.text.snowball import language

        return Analyzer(None, language(detail), lowercase, min_length)
    raise InputError(
        f"unknown analyzer {name!r}; known: 'word', 'char:2-4' (any sizes), 'snowball:de' (any "
        "language of Snowball)"
    )


def tokenize(text: str, analyzer: str = "word") -> list[str]:
    """Return the words of a text as `Words` sees them.

    A word is a run of letters, digits, underscores and combining marks, in lower case and NFC.
    In a script without spaces (Chinese, Japanese, Thai, ...) each character is a word.

    Examples
    --------
    >>> tokenize("Don't panic: 東京 2024!")
    ['don', 't', 'panic', '東', '京', '2024']
    """
    return strings(parse(analyzer).tokens([check_text(text)]))


def strings(tokens: Tokens) -> list[str]:
    """Return the tokens' strings."""
    if not len(tokens.begins):
        return []
    first, last = int(tokens.begins.min()), int(tokens.stops.max())
    text = tokens.codes[first:last].tobytes().decode("utf-32-le")
    begins, stops = (tokens.begins - first).tolist(), (tokens.stops - first).tolist()
    return [text[begin:stop] for begin, stop in zip(begins, stops, strict=True)]


def check_text(text: object, what: str = "a text") -> str:
    """Return ``text`` if it is one."""
    if not isinstance(text, str):
        shown = " ".join(reprlib.repr(text).split())
        raise InputError(f"{what} must be a string, got {shown} ({type(text).__name__})")
    return text


def _are_sizes(sizes: Any) -> bool:
    if not isinstance(sizes, list | tuple | np.ndarray) or len(sizes) != 2:
        return False
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in sizes)
    return whole and bool(1 <= sizes[0] <= sizes[1])


SIZES = Rule(_are_sizes, "two whole numbers from 1, the smaller first, such as [1, 2]")
