"""Word numbers in reading order, for models that read a text from its beginning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Featurizer
from labelgrove.core.features import TokenSequences
from labelgrove.core.settings import setting
from labelgrove.core.strings import PackedStrings
from labelgrove.core.types import Span
from labelgrove.text.analysis import Analyzer, Tokens, check_text, parse
from labelgrove.text.batches import batches, in_order, join_sequences
from labelgrove.text.vocabulary import (
    COUNT_OR_SHARE,
    CountedBatch,
    GrowingVocabulary,
    as_documents,
    check_terms,
    count_tokens,
    read_only,
    slots_for,
)

PAD, UNK = 0, 1
SPECIAL = ("<pad>", "<unk>")


class Words(Featurizer):
    """Texts to sequences of word numbers.

    Words are folded to NFC and lower case; each character of a script without spaces (Chinese,
    Japanese, Thai, ...) is a word. Number 0 is kept for padding, 1 stands for every word
    outside the vocabulary, and a text without words is one such.

    Examples
    --------
    >>> words = Words(length=3).fit(["the sun", "the wind and the sun"])
    >>> words.vocabulary
    ['<pad>', '<unk>', 'sun', 'the', 'and', 'wind']
    >>> words.transform(["The moon, the sun and the wind", ""]).tokens
    array([3, 1, 3, 1], dtype=int32)
    """

    name: ClassVar[str] = "words"

    max_words: int = setting(
        500_000,
        "Size of the vocabulary: the words that are in the most texts are kept, equally frequent "
        "ones by alphabet.",
        least=1,
    )
    min_df: float = setting(
        1,
        "Words in fewer texts are left out. A whole number counts texts, a fraction is a share of "
        "them.",
        rule=COUNT_OR_SHARE,
    )
    length: int = setting(500, "Texts are cut after this many words.", least=1)
    analyzer: str = setting(
        "word",
        "What a word is: word; char:2-4 for n-grams of 2 to 4 characters inside words; snowball:de "
        "for the stems of a language, by ISO code or Snowball's name.",
    )
    lowercase: bool = setting(True, "Fold to lower case.")

    keys_: NDArray[np.uint64]
    slots_: NDArray[np.int32]
    term_text_: NDArray[np.uint8]
    term_ends_: NDArray[np.int64]

    def check_settings(self) -> None:
        """Refuse also unknown analyzers."""
        super().check_settings()
        self._analyzer()

    @property
    def vocabulary(self) -> list[str]:
        """The words by number, ``<pad>`` and ``<unk>`` first."""
        self.check_fitted()
        return [*SPECIAL, *PackedStrings(self.term_text_, self.term_ends_).decode()]

    @property
    def n_words(self) -> int:
        """Length of the vocabulary, ``<pad>`` and ``<unk>`` included."""
        self.check_fitted()
        return len(self.keys_) + len(SPECIAL)

    def fit(self, texts: Iterable[str], labels: object = None) -> Self:
        """Learn the vocabulary; ``texts`` is read once."""
        vocabulary = GrowingVocabulary()
        for batch, _ in self._count(texts):
            vocabulary.add(batch)
        self._learn(vocabulary)
        return self

    def fit_transform(self, texts: Iterable[str], labels: object = None) -> TokenSequences:
        """Learn the vocabulary and return the texts' word numbers; ``texts`` is read once."""
        vocabulary = GrowingVocabulary()
        parts = []
        for batch, own in self._count(texts):
            ids, offsets = cut(vocabulary.add(batch)[own], batch.tokens.offsets, self.length)
            parts.append((ids, offsets))
        kept = self._learn(vocabulary)
        numbers = np.full(vocabulary.size + 1, UNK, np.int32)  # the last for texts without words
        numbers[kept] = np.arange(len(kept), dtype=np.int32) + len(SPECIAL)
        return join_sequences([(numbers[ids], offsets) for ids, offsets in parts], self.n_words)

    def transform(self, texts: Iterable[str]) -> TokenSequences:
        """Return the word numbers of texts."""
        self.check_fitted()
        analyzer = self._analyzer()

        def work(batch: list[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
            tokens = analyzer.tokens(batch)
            ids, offsets = cut(self._numbers(tokens), tokens.offsets, self.length)
            return np.where(ids < 0, UNK, ids).astype(np.int32), offsets

        parts = list(in_order(work, batches(texts), self.threads))
        return join_sequences(parts, self.n_words)

    def spans(self, text: str) -> list[Span]:
        """Return the characters behind each word number; those of a text without words are none."""
        self.check_fitted()
        analyzer = self._analyzer()
        tokens = analyzer.tokens([check_text(text)])
        ids, starts, ends = self._numbers(tokens), tokens.starts, tokens.ends
        found = analyzer.spans(text, ids[: self.length], starts[: self.length], ends[: self.length])
        return found or [Span(UNK, 0, 0)]

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over a saved state; arrays stay where they are, on disk."""
        super().set_state({name: read_only(value) for name, value in state.items()})

    def check_state(self) -> None:
        """Refuse a vocabulary that does not hold together."""
        check_terms(self.keys_, self.slots_, self.term_text_, self.term_ends_)

    def _numbers(self, tokens: Tokens) -> NDArray[np.int32]:
        from labelgrove.text import kernels

        ids: NDArray[np.int32] = kernels.look_up(tokens.hashes, self.slots_, self.keys_)
        return ids + len(SPECIAL)  # -1, not found, becomes UNK

    def _analyzer(self) -> Analyzer:
        return parse(self.analyzer, lowercase=self.lowercase)

    def _count(self, texts: Iterable[str]) -> Iterator[tuple[CountedBatch, NDArray[np.int32]]]:
        self.check_settings()
        analyzer = self._analyzer()
        return in_order(
            lambda batch: count_tokens(analyzer.tokens(batch)), batches(texts), self.threads
        )

    def _learn(self, vocabulary: GrowingVocabulary) -> NDArray[np.int64]:
        if not vocabulary.n_documents:
            raise InputError("there are no texts to learn from")
        documents = vocabulary.documents
        least = as_documents(self.min_df, vocabulary.n_documents)
        kept: NDArray[np.int64] = np.flatnonzero(documents >= least)
        if len(kept) > self.max_words:  # only those that may be in it need to be sorted
            edge = -np.partition(-documents[kept], self.max_words - 1)[self.max_words - 1]
            kept = kept[documents[kept] >= edge]
        if not len(kept):
            raise InputError(
                f"none of the {vocabulary.size:,} words in {vocabulary.n_documents:,} texts is in "
                f"min_df={self.min_df} of them"
            )
        names = vocabulary.strings(kept).decode()
        frequencies = documents[kept].tolist()
        order = sorted(range(len(kept)), key=lambda i: (-frequencies[i], names[i]))
        kept = kept[np.array(order[: self.max_words])]
        strings, keys = vocabulary.strings(kept), vocabulary.keys(kept)
        self.set_state(
            {
                "keys_": keys,
                "slots_": slots_for(keys),
                "term_text_": strings.utf8,
                "term_ends_": strings.ends,
            }
        )
        return kept


def cut(
    ids: NDArray[np.int32], offsets: NDArray[np.int64], length: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Cut sequences after ``length`` items and give empty ones a single -1.

    Parameters
    ----------
    ids
        Sequence d is ``ids[offsets[d]:offsets[d + 1]]``.
    offsets
        Shape (n + 1,).
    length
        Greatest length of a sequence.

    Returns
    -------
    ids, offsets
        In the same form.

    Examples
    --------
    >>> cut(np.array([5, 6, 7], np.int32), np.array([0, 0, 3]), 2)
    (array([-1,  5,  6], dtype=int32), array([0, 1, 3]))
    """
    found = np.diff(offsets)
    lengths = np.clip(found, 1, length)
    new_offsets = np.concatenate([[0], np.cumsum(lengths)])
    there = np.repeat(found > 0, lengths)
    places = np.arange(new_offsets[-1]) + np.repeat(offsets[:-1] - new_offsets[:-1], lengths)
    out = np.full(new_offsets[-1], -1, np.int32)
    out[there] = ids[places[there]]
    return out, new_offsets
