"""Which rows of the input vectors a text is the mean of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.core import checks
from labelgrove.core.features import Features, TokenSequences, Views
from labelgrove.models.fasttext import kernels


@dataclass(frozen=True)
class InputRows:
    """The rows of the input vectors: words, then hashed n-grams of words, then of characters.

    Parameters
    ----------
    n_words
        Numbers of words that there can be.
    ngrams
        Words of an n-gram at most; 1 for words alone.
    buckets
        InputRows that n-grams of words share; 0 without any.
    n_characters
        Numbers of n-grams of characters that there can be; 0 without any.
    """

    n_words: int
    ngrams: int
    buckets: int
    n_characters: int

    @classmethod
    def of(cls, X: Features, ngrams: int, buckets: int) -> InputRows:
        """Return the rows of texts as these views of them have them."""
        text, characters = _views(X)
        n_characters = 0 if characters is None else characters.n_terms
        return cls(text.n_terms, ngrams, buckets if ngrams > 1 else 0, n_characters)

    @classmethod
    def checked(cls, state: Mapping[str, Any]) -> InputRows:
        """Return what `as_dict` returned, or raise an error for what cannot be."""
        names = ("n_words", "ngrams", "buckets", "n_characters")
        found = cls(*(checks.whole(name, state[name], most=2**31 - 1) for name in names))
        if found.ngrams < 1 or (found.ngrams > 1) != (found.buckets > 0):
            raise ValueError(f"{found.buckets} buckets for n-grams of up to {found.ngrams} words")
        if found.total >= 2**31:
            raise ValueError(f"{found.total:,} rows are too many")
        return found

    def as_dict(self) -> dict[str, int]:
        """Return the sizes by name."""
        return dict(vars(self))

    @property
    def total(self) -> int:
        """Number of rows."""
        return self.n_words + self.buckets + self.n_characters

    def of_texts(self, X: Features) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the rows of all texts and where each text's begin, shapes (m,) and (n + 1,)."""
        text, characters = _views(X)
        if text.n_terms != self.n_words or (characters is None) != (self.n_characters == 0):
            raise ValueError("the texts were numbered by another vocabulary than the model's")
        ids, ptr = kernels.rows_of_words(
            text.tokens, text.offsets, self.n_words, self.ngrams, max(self.buckets, 1)
        )
        if characters is None:
            return ids, ptr
        shift = self.n_words + self.buckets
        return kernels.joined_rows(ids, ptr, characters.tokens, characters.offsets, shift)  # type: ignore[no-any-return]

    def origins(self, text: NDArray[np.int32]) -> list[tuple[int, int]]:
        """Return the first word and the word behind the last of each row that words make.

        Parameters
        ----------
        text
            Numbers of the words of one text.
        """
        found = []
        for i in range(len(text)):
            for j in range(i, min(i + self.ngrams, len(text))):
                if text[j] < kernels.SPECIAL:
                    break
                found.append((i, j + 1))
        return found


def _views(X: Features) -> tuple[TokenSequences, TokenSequences | None]:
    """Return numbers of words and of n-grams of characters, if there are any."""
    text, characters = (X["text"], X["characters"]) if isinstance(X, Views) else (X, None)
    if not isinstance(text, TokenSequences):
        raise ValueError(f"fasttext reads numbers of words, not {type(text).__name__}")
    return text, characters
