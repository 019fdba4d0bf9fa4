"""Tokenizers as files of Hugging Face's library ``tokenizers``, for programs that know no other."""

from __future__ import annotations

import json
from typing import Any

from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Featurizer
from labelgrove.text.characters import UNSPACED_RANGES
from labelgrove.text.subwords import Subwords
from labelgrove.text.words import SPECIAL, UNK, Words

MARKS = r"\p{M}\u200C\u200D"  # also the invisible joiners
# Python's last sigma of a word, which the library's own folding does not know
LAST_SIGMA = r"(?<=[\p{L}\p{M}])Σ(?![\p{M}]*\p{L})"


def tokenizer_json(featurizer: Featurizer) -> str:
    """Return a tokenizer that gives the numbers which a fitted featurizer gives.

    It neither cuts texts nor puts tokens around them.

    Parameters
    ----------
    featurizer
        Word numbers or subword numbers.
    """
    if isinstance(featurizer, Subwords):
        return bytes(featurizer.tokenizer_).decode()
    if not isinstance(featurizer, Words):
        raise InputError(
            f"the tagger reads features of the kind {featurizer.name!r}, and only words and "
            "subwords have a tokenizer that other programs can run"
        )
    if featurizer.analyzer != "word":
        raise InputError(
            f"the tagger's words are cut by analyzer={featurizer.analyzer!r}, which other programs "
            "cannot run: train it with analyzer=word"
        )
    return json.dumps(word_tokenizer(featurizer))


def word_tokenizer(words: Words) -> dict[str, Any]:
    """Return the tokenizer of words as a mapping.

    Examples
    --------
    >>> made = word_tokenizer(Words().fit(["the sun"]))
    >>> made["model"]["vocab"]
    {'<pad>': 0, '<unk>': 1, 'sun': 2, 'the': 3}
    """
    folding: list[dict[str, Any]] = [{"type": "NFC"}]
    if words.lowercase:
        sigma = {"type": "Replace", "pattern": {"Regex": LAST_SIGMA}, "content": "ς"}
        folding += [sigma, {"type": "Lowercase"}]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": folding},
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": word_pattern()},
            "behavior": "Removed",
            "invert": True,
        },
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(words.vocabulary)},
            "unk_token": SPECIAL[UNK],
        },
    }


def word_pattern() -> str:
    """Return the regular expression of a word, as the kernels find them.

    That is a run of letters, digits, underscores and marks; in a script without spaces a single
    character with its marks.
    """
    unspaced = "".join(rf"\x{{{low:X}}}-\x{{{high:X}}}" for low, high in UNSPACED_RANGES)
    spaced = rf"[[\p{{L}}\p{{N}}_]&&[^{unspaced}]]|\p{{Nd}}"
    alone = rf"[[\p{{L}}\p{{N}}]&&[{unspaced}]]"
    return rf"(?:{spaced})(?:{spaced}|[{MARKS}])*|{alone}[{MARKS}]*"
