"""Subword numbers of a pretrained tokenizer, for transformers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from labelgrove.core import checks
from labelgrove.core.estimator import Featurizer
from labelgrove.core.features import TokenSequences
from labelgrove.core.settings import setting
from labelgrove.core.types import Span
from labelgrove.text.batches import batches, in_order, join_sequences
from labelgrove.text.pretrained import EXTRA, Specials, load_tokenizer, specials_of
from labelgrove.text.tokenizing import FastTokenizer, as_bytes, check_numbers


class Subwords(Featurizer):
    """Texts to sequences of the subword numbers of a pretrained tokenizer.

    The tokens that a tokenizer puts around a text ([CLS], </s>, ...) are left out: the model puts
    them around what it reads, as `specials` tells it. A text without tokens is an empty sequence.
    Nothing is learned from texts; the tokenizer is kept and saved, so that its folder is needed
    in training only.

    Attributes
    ----------
    tokenizer_
        The tokenizer's JSON, shape (bytes,), uint8.
    specials_
        `Specials`, as JSON.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> from transformers import PreTrainedTokenizerFast
    >>> pieces = models.WordPiece({"[UNK]": 0, "sun": 1, "##s": 2, "rise": 3}, unk_token="[UNK]")
    >>> small = Tokenizer(pieces)
    >>> small.pre_tokenizer = pre_tokenizers.Whitespace()
    >>> with TemporaryDirectory() as folder:
    ...     _ = PreTrainedTokenizerFast(tokenizer_object=small).save_pretrained(folder)
    ...     subwords = Subwords(tokenizer=folder).fit([])
    >>> subwords.transform(["suns rise", ""]).sequence(0)
    array([1, 2, 3], dtype=int32)
    >>> subwords.spans("suns")
    [Span(feature=1, start=0, end=3), Span(feature=2, start=3, end=4)]
    """

    name: ClassVar[str] = "subwords"
    keeps_features: ClassVar[bool] = True

    tokenizer: str = setting("", "A folder, or a name on the Hugging Face hub.")
    length: int = setting(512, "Texts are cut after this many tokens.", least=1)

    tokenizer_: NDArray[np.uint8]
    specials_: dict[str, Any]

    @property
    def specials(self) -> Specials:
        """What the tokenizer puts around one text."""
        self.check_fitted()
        return Specials.from_json(self.specials_)

    def check_settings(self) -> None:
        """Refuse also no tokenizer."""
        super().check_settings()
        if not self.tokenizer.strip():
            load_tokenizer(self.tokenizer)

    def fit(self, texts: Iterable[str], labels: object = None) -> Self:
        """Load the tokenizer; ``texts`` is not read."""
        self.check_settings()
        loaded = load_tokenizer(self.tokenizer)
        self.set_state(
            {
                "tokenizer_": as_bytes(loaded.backend_tokenizer.to_str()),
                "specials_": specials_of(loaded).as_json(),
            }
        )
        return self

    def fit_transform(self, texts: Iterable[str], labels: object = None) -> TokenSequences:
        """Load the tokenizer and return the texts' subword numbers; ``texts`` is read once."""
        return self.fit(()).transform(texts)

    def transform(self, texts: Iterable[str]) -> TokenSequences:
        """Return the subword numbers of texts."""
        self.check_fitted()
        reader, length = self._reader, self.length
        parts = list(
            in_order(lambda some: reader.batch(some, length), batches(texts), self.threads)
        )
        n_terms = self.specials.n_terms
        for ids, _ in parts:
            check_numbers(ids, n_terms)
        return join_sequences(parts, n_terms)

    def spans(self, text: str) -> list[Span]:
        """Return the characters behind each token, without white space before them.

        Tokens that are bytes of one character all have its span.
        """
        self.check_fitted()
        return self._reader.spans(text, self.length)

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over a saved state."""
        super().set_state(state)
        self._reader = FastTokenizer(state["tokenizer_"], EXTRA)

    def check_state(self) -> None:
        """Refuse what is no tokenizer."""
        checks.array("tokenizer_", self.tokenizer_, np.uint8, (None,))
        Specials.from_json(self.specials_)
