"""Subword numbers of a pretrained tokenizer, for transformers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.estimator import Featurizer
from labelgrove.core.extras import need
from labelgrove.core.features import TokenSequences
from labelgrove.core.settings import setting
from labelgrove.core.types import Span
from labelgrove.text.analysis import check_text
from labelgrove.text.batches import batches, in_order, join_sequences
from labelgrove.text.pretrained import EXTRA, Specials, load_tokenizer, plain, specials_of

CHARACTERS = 8  # per token, from which on the rest of a text is hardly ever needed
_SURROGATE = re.compile("[\ud800-\udfff]")


class Subwords(Featurizer):
    """Texts to sequences of the subword numbers of a pretrained tokenizer.

    The tokens that a tokenizer puts around a text ([CLS], </s>, ...) are left out: the model puts
    them around what it reads, as `specials` tells it. A text without tokens is an empty sequence.
    Nothing is learned from texts; the tokenizer is kept and saved, so that its folder is needed
    in training only. Threads are ours: the library's own are switched off
    (``TOKENIZERS_PARALLELISM=false``, unless it is set), since a process that has used them cannot
    be forked safely.

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
        text = loaded.backend_tokenizer.to_str()
        self.set_state(
            {
                "tokenizer_": np.frombuffer(text.encode(), np.uint8),
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
        tokenizer = self._tokenizer()

        def work(batch: list[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
            found = self._encode(tokenizer, batch)
            lengths = [len(ids) for ids in found]
            ids = np.fromiter(chain.from_iterable(found), np.int32, sum(lengths))
            return ids, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])

        parts = list(in_order(work, batches(texts), self.threads))
        return join_sequences(parts, self.specials.n_terms)

    def spans(self, text: str) -> list[Span]:
        """Return the characters behind each token, without white space before them.

        Tokens that are bytes of one character all have its span.
        """
        self.check_fitted()
        tokenizer = self._tokenizer()
        text = _SURROGATE.sub("\ufffd", check_text(text))
        found = tokenizer.encode(_beginning(text, self.length), add_special_tokens=False)
        if len(found.ids) < self.length:
            found = tokenizer.encode(text, add_special_tokens=False)
        spans = []
        for number, (start, end) in zip(found.ids[: self.length], found.offsets, strict=False):
            start += len(text[start:end]) - len(text[start:end].lstrip())
            spans.append(Span(number, start, end))
        return spans

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over a saved state."""
        super().set_state(state)
        vars(self).pop("_built", None)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_built"}

    def _tokenizer(self) -> Any:
        """Return the library's tokenizer, built when it is first asked for."""
        if "_built" not in vars(self):
            library = need("tokenizers", EXTRA, "reading texts as subwords")
            os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
            self._built = plain(library, self.tokenizer_.tobytes().decode())
        return self._built

    def _encode(self, tokenizer: Any, texts: list[str]) -> list[list[int]]:
        """Return the first numbers of each text, at most ``length``."""
        try:
            cut = [_beginning(text, self.length) for text in texts]
            found = _numbers(tokenizer, cut, self.length)
            short = [
                i
                for i, ids in enumerate(found)
                if len(ids) < self.length and len(cut[i]) < len(texts[i])
            ]
            again = _numbers(tokenizer, [texts[i] for i in short], self.length)
        except TypeError:  # so the library refuses lone surrogates
            clean = [_SURROGATE.sub("\ufffd", text) for text in texts]
            if clean == texts:
                raise
            return self._encode(tokenizer, clean)
        for i, ids in zip(short, again, strict=True):
            found[i] = ids
        return found


def _numbers(tokenizer: Any, texts: list[str], length: int) -> list[list[int]]:
    # the library's own truncation is slower: it keeps the rest, in pieces
    return [
        one.ids[:length] for one in tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    ]


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
