"""Tokenizers of Hugging Face's library ``tokenizers``: texts to numbers, and the characters behind.

They read texts as plain characters, are built when they are first used, and are pickled as JSON.
"""

from __future__ import annotations

import os
import re
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import DamagedError
from labelgrove.core.extras import need
from labelgrove.core.types import Span
from labelgrove.text.analysis import check_text
from labelgrove.text.pretrained import plain

CHARACTERS = 8  # per token, from which on the rest of a text is hardly ever needed
_SURROGATE = re.compile("[\ud800-\udfff]")


class FastTokenizer:
    """The first tokens of texts, without those that a tokenizer puts around a text.

    Threads are ours: the library's own are switched off (``TOKENIZERS_PARALLELISM=false``, unless
    it is set), since a process that has used them cannot be forked safely.

    Parameters
    ----------
    json
        The tokenizer's JSON as UTF-8, shape (bytes,), uint8.
    extra
        The extra of labelgrove that brings the library.
    """

    def __init__(self, json: NDArray[np.uint8], extra: str) -> None:
        self._json, self._extra = json, extra
        self._built: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_built": None}

    @property
    def library_tokenizer(self) -> Any:
        """The library's own tokenizer, built when it is first asked for."""
        if self._built is None:
            library = need("tokenizers", self._extra, "reading texts as subwords")
            os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
            self._built = _built(library, self._json)
        return self._built

    def batch(self, texts: list[str], length: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the numbers of all tokens, and where each text begins and ends among them.

        Parameters
        ----------
        texts
            n of them.
        length
            Texts are cut after this many tokens.

        Returns
        -------
        ids, offsets
            Text i is ``ids[offsets[i]:offsets[i + 1]]``; shapes (m,) and (n + 1,).
        """
        found = self.numbers(texts, length)
        lengths = [len(ids) for ids in found]
        ids = np.fromiter(chain.from_iterable(found), np.int32, sum(lengths))
        return ids, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])

    def numbers(self, texts: list[str], length: int) -> list[list[int]]:
        """Return the first token numbers of each text, at most ``length``."""
        try:
            cut = [_beginning(text, length) for text in texts]
            found = self._first_numbers(cut, length)
            short = [
                i
                for i, ids in enumerate(found)
                if len(ids) < length and len(cut[i]) < len(texts[i])
            ]
            again = self._first_numbers([texts[i] for i in short], length)
        except TypeError:  # so the library refuses lone surrogates
            clean = [_SURROGATE.sub("\ufffd", text) for text in texts]
            if clean == texts:
                raise
            return self.numbers(clean, length)
        for i, ids in zip(short, again, strict=True):
            found[i] = ids
        return found

    def spans(self, text: str, length: int) -> list[Span]:
        """Return the characters behind each token, without white space before them.

        Tokens that are bytes of one character all have its span.
        """
        tokenizer = self.library_tokenizer
        text = _SURROGATE.sub("\ufffd", check_text(text))
        found = tokenizer.encode(_beginning(text, length), add_special_tokens=False)
        if len(found.ids) < length:
            found = tokenizer.encode(text, add_special_tokens=False)
        spans = []
        for number, (start, end) in zip(found.ids[:length], found.offsets, strict=False):
            start += len(text[start:end]) - len(text[start:end].lstrip())
            spans.append(Span(number, start, end))
        return spans

    def _first_numbers(self, texts: list[str], length: int) -> list[list[int]]:
        # the library's own truncation is slower: it keeps the rest, in pieces
        found = self.library_tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [one.ids[:length] for one in found]


def _built(library: Any, json: NDArray[np.uint8]) -> Any:
    try:
        return plain(library, json.tobytes().decode())
    except BaseException as error:  # the library panics, which is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise DamagedError(
            f"the tokenizer of this model is damaged: {error!s:.200}; save the model again"
        ) from error


def check_numbers(ids: NDArray[np.int32], n_terms: int) -> None:
    """Refuse tokens that a model has no row for: its tokenizer was exchanged or altered."""
    if ids.size and int(ids.max()) >= n_terms:
        raise DamagedError(
            f"the tokenizer of this model gives the token {int(ids.max()):,}, but there are "
            f"{n_terms:,}; save the model again"
        )


def as_bytes(text: str) -> NDArray[np.uint8]:
    """Return the UTF-8 of a tokenizer's JSON as an array, which is how it is saved."""
    return np.frombuffer(text.encode(), np.uint8)


def _beginning(text: str, length: int) -> str:
    """Return the words at the beginning that are likely to give ``length`` tokens.

    Between words and without white space at its end, since how a word is cut does not depend
    on what follows it.
    """
    limit = CHARACTERS * length
    if len(text) <= limit:
        return text
    end = max(text.rfind(space, 0, limit) for space in " \n\t")
    return text[:end].rstrip() if end > 0 else text
