"""Whether pretrained vectors know the language of some texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from labelgrove.text.tokenizing import FastTokenizer

TEXTS = 1000  # that are looked at, the first ones
WORDS = 20_000
# A word in small pieces: three or more, of three letters or fewer on average. Words of a known
# language may be cut too, where it joins them (Finnish), but into longer pieces.
PIECES = LETTERS = 3
# An English tokenizer cuts 1-4% of English words so (six corpora), 26-80% of those of twelve
# other languages (a few sentences of each).
SHARE = 0.2
_WORD = re.compile(r"[^\W\d_]+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u9fff\uf900-\ufaff]")


def unfamiliar_share(tokenizer: FastTokenizer, unknown: int, texts: Sequence[str]) -> float:
    """Return the share of words that are unknown, or cut into small pieces.

    A run of letters in a script without spaces is no single word; there, only what is unknown
    counts.

    Parameters
    ----------
    tokenizer
        Finds subwords.
    unknown
        The number of its token for what it does not know; -1 without one.
    texts
        Some texts.
    """
    words = list(islice((word for text in texts for word in _WORD.findall(text)), WORDS))
    # as inside a text: some tokenizers cut a word in another way at the beginning
    found = tokenizer.numbers([f" {word}" for word in words], WORDS)
    bad = sum(
        not ids or unknown in ids or _in_small_pieces(word, len(ids))
        for word, ids in zip(words, found, strict=True)
    )
    return bad / max(len(words), 1)


def _in_small_pieces(word: str, pieces: int) -> bool:
    small = pieces >= PIECES and len(word) <= LETTERS * pieces
    return small and _UNSPACED.search(word) is None


def language_note(
    model: str, tokenizer: FastTokenizer, unknown: int, texts: Iterable[str]
) -> str | None:
    """Return a warning if a model seems to be for another language than texts are in, or None.

    Parameters
    ----------
    model
        The model's name.
    tokenizer, unknown
        As of `unfamiliar_share`.
    texts
        The first ones are looked at.
    """
    share = unfamiliar_share(tokenizer, unknown, list(islice(texts, TEXTS)))
    if share <= SHARE:
        return None
    return (
        f"{model} may not know the language of these texts: {share:.0%} of their words are unknown "
        "to it or cut into small pieces (English words, by an English model: 1-4%); choose a model "
        "for the language, or a multilingual one"
    )
