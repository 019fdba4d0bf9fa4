"""Snowball stems: each distinct word goes to the stemmer once, after that it is a table look-up."""

from __future__ import annotations

import threading
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import InputError
from labelgrove.text.analysis import Tokens, strings
from labelgrove.text.vocabulary import empty_slots, with_room

MAX_WORDS = 2_000_000
NAMES = {  # ISO 639-1 codes of the languages that Snowball knows today
    **{"ar": "Arabic", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German"},
    **{"el": "Greek", "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian"},
    **{"eu": "Basque", "fa": "Persian", "fi": "Finnish", "fr": "French", "ga": "Irish"},
    **{"hi": "Hindi", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "it": "Italian"},
    **{"lt": "Lithuanian", "ne": "Nepali", "nl": "Dutch", "no": "Norwegian", "pl": "Polish"},
    **{"pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sr": "Serbian", "sv": "Swedish"},
    **{"ta": "Tamil", "tr": "Turkish", "yi": "Yiddish"},
}


class StemmedLanguage(NamedTuple):
    """A language with a stemmer: Snowball's code and the English name."""

    code: str
    name: str


def stemmed_language(code: str) -> StemmedLanguage | None:
    """Return the language of an ISO 639-1 code if Snowball has a stemmer for it.

    Examples
    --------
    >>> stemmed_language("nb"), stemmed_language("ja")
    (StemmedLanguage(code='no', name='Norwegian'), None)
    """
    import Stemmer

    code = "no" if code in ("nb", "nn") else code
    name = NAMES.get(code, "")
    return StemmedLanguage(code, name) if name.lower() in Stemmer.algorithms() else None


@lru_cache(64)
def language(name: str) -> str:
    """Return ``name`` if Snowball knows that language, by ISO code or by its own name."""
    import Stemmer

    try:
        Stemmer.Stemmer(name := name.lower())
    except KeyError as error:
        known = ", ".join(Stemmer.algorithms())
        raise InputError(
            f"unknown Snowball language {name!r}; known: {known}, or their ISO codes such as 'de'"
        ) from error
    return name


class Stems:
    """The stems of the words seen so far in one language.

    Parameters
    ----------
    language
        A name that Snowball knows.
    max_words
        With more distinct words than this the memory starts anew.
    """

    def __init__(self, language: str, max_words: int = MAX_WORDS) -> None:
        import Stemmer

        self._stemmer = Stemmer.Stemmer(language, 0)  # 0: no cache of its own beside ours
        self._max_words = max_words
        self._lock = threading.Lock()  # neither the stemmer nor growing arrays may be shared
        self._forget()

    def apply(self, tokens: Tokens) -> Tokens:
        """Return the same tokens with the strings and hashes of their stems."""
        from labelgrove.text import kernels

        with self._lock:
            if self._size > self._max_words:
                self._forget()
            ids = kernels.look_up(tokens.hashes, self._slots, self._keys)
            missing = np.flatnonzero(ids < 0)
            if len(missing):
                _, first = np.unique(tokens.hashes[missing], return_index=True)
                self._learn(tokens, missing[np.sort(first)])
                ids = kernels.look_up(tokens.hashes, self._slots, self._keys)
            codes, ends, hashes = self._codes, self._ends, self._hashes
        return tokens._replace(
            codes=codes, begins=ends[ids], stops=ends[ids + 1], hashes=hashes[ids]
        )

    def _forget(self) -> None:
        self._size = 0
        self._keys = np.empty(1024, np.uint64)  # of the words
        self._slots = np.full(2048, -1, np.int32)
        self._hashes = np.empty(1024, np.uint64)  # of their stems
        self._codes = np.empty(8192, np.uint32)
        self._ends = np.zeros(1025, np.int64)  # stem i is codes[ends[i]:ends[i + 1]]

    def _learn(self, tokens: Tokens, places: NDArray[np.int64]) -> None:
        from labelgrove.text import kernels

        words = strings(tokens._replace(begins=tokens.begins[places], stops=tokens.stops[places]))
        # a stem of nothing would be a term without a name
        stemmed = [
            stem or word for stem, word in zip(self._stemmer.stemWords(words), words, strict=True)
        ]
        codes = np.frombuffer("".join(stemmed).encode("utf-32-le"), np.uint32)
        lengths = np.fromiter(map(len, stemmed), np.int64, len(stemmed))
        old, new = self._size, self._size + len(words)
        used = int(self._ends[old])
        self._codes = with_room(self._codes, used, used + len(codes))
        self._codes[used : used + len(codes)] = codes
        self._ends = with_room(self._ends, old + 1, new + 1)
        self._ends[old + 1 : new + 1] = used + np.cumsum(lengths)
        self._keys = with_room(self._keys, old, new)
        self._keys[old:new] = tokens.hashes[places]
        self._hashes = with_room(self._hashes, old, new)
        self._hashes[old:new] = kernels.hash_strings(
            self._codes, self._ends[old:new], self._ends[old + 1 : new + 1]
        )
        self._size = new
        if 2 * new > len(self._slots):
            self._slots = empty_slots(2 * new)
            old = 0
        kernels.add_slots(self._slots, self._keys, old, new)


@cache
def stems(language: str) -> Stems:
    """Return the process's stems of a language."""
    return Stems(language)
