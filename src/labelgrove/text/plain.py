"""Texts as they are, for models that hand them on, such as to a language model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Self

import numpy as np

from labelgrove.core import checks
from labelgrove.core.estimator import Featurizer
from labelgrove.core.features import TokenSequences
from labelgrove.core.settings import setting
from labelgrove.core.types import Span
from labelgrove.text.analysis import check_text
from labelgrove.text.batches import join_sequences

CHARACTERS = 0x110000  # code points of Unicode


class PlainText(Featurizer):
    """Texts to the numbers of their characters, from which `text_of` makes the text again.

    A character takes four bytes of memory. Half of a surrogate pair becomes a question mark.

    Attributes
    ----------
    length_
        Characters that are kept of a text.

    Examples
    --------
    >>> plain = PlainText(length=9).fit([])
    >>> X = plain.transform(["Solar panels", ""])
    >>> text_of(X, 0), text_of(X, 1)
    ('Solar pan', '')
    """

    name: ClassVar[str] = "plain"
    needs_texts: ClassVar[bool] = False

    length: int = setting(3000, "Texts are cut after this many characters.", least=1)

    length_: int

    def fit(self, texts: Iterable[str], labels: object = None) -> Self:
        """Learn nothing; ``texts`` is not read."""
        self.check_settings()
        self.length_ = self.length
        return self

    def transform(self, texts: Iterable[str]) -> TokenSequences:
        """Return the characters of texts."""
        self.check_fitted()
        parts = []
        for text in texts:
            data = check_text(text)[: self.length_].encode("utf-32-le", "replace")
            numbers = np.frombuffer(data, "<i4")
            parts.append((numbers.astype(np.int32), np.array([0, len(numbers)])))
        return join_sequences(parts, CHARACTERS)

    def spans(self, text: str) -> list[Span]:
        """Return the place of each character."""
        self.check_fitted()
        kept = check_text(text)[: self.length_]
        return [Span(ord(letter), i, i + 1) for i, letter in enumerate(kept)]

    def check_state(self) -> None:
        """Refuse a length that is none."""
        checks.whole("length_", self.length_, least=1)


def text_of(X: TokenSequences, i: int) -> str:
    """Return the text of row ``i``."""
    return X.sequence(i).astype("<i4").tobytes().decode("utf-32-le", "replace")
