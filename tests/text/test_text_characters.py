"""Characters: kinds, folding, and tokens against a plain Python reading of the rules."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgrove.core.errors import InputError
from labelgrove.text import tokenize
from labelgrove.text.analysis import parse
from labelgrove.text.characters import (
    MARK,
    ODD,
    SEPARATOR,
    UNSPACED,
    WORD,
    CharacterTable,
    fold,
    origins,
    table,
)

SAMPLES = {
    "Yö, ääni JA öljyä!": ["yö", "ääni", "ja", "öljyä"],
    "Η ΟΔΟΣ, ο Σίσυφος": ["η", "οδος", "ο", "σίσυφος"],
    "Straße GRÖSSE": ["straße", "grösse"],
    "كتابٌ جديد": ["كتابٌ", "جديد"],
    "हिन्दी में पुस्तकें": ["हिन्दी", "में", "पुस्तकें"],
    "한국어 책": ["한국어", "책"],
    "机器学习。": ["机", "器", "学", "习"],
    "東京タワー3号": ["東", "京", "タ", "ワ", "ー", "3", "号"],
    "ที่นี่": ["ที่", "นี่"],
    "学Python语言": ["学", "python", "语", "言"],
    "می‌خواهم": ["می‌خواهم"],
    "snake_case C++ x²": ["snake_case", "c", "x²"],
    "don't a\x00b \u2028 c": ["don", "t", "a", "b", "c"],
    "cut\ud800short": ["cut", "short"],
    "\u0301 alone": ["alone"],
    "İzmir": ["i̇zmir"],
    "": [],
    "!?—": [],
}


@pytest.mark.parametrize("text", SAMPLES)
def test_words_of_many_scripts(text):
    found = tokenize(text)
    expected = SAMPLES[text]
    if text == "ที่นี่":  # vowel signs and tone marks stay with their consonant
        assert "".join(found) == text
        assert all(not unicodedata.category(unit[0]).startswith("M") for unit in found)
    else:
        assert found == expected


def reference(text):
    """The rules of the docstrings, character by character."""
    words, last = [], None
    entries = CharacterTable(lowercase=True)
    for character in fold(text):
        entries.learn(np.array([ord(character)], np.uint32))
        kind = entries.entries[ord(character)] & 7
        goes_on = last is not None if kind == MARK else kind == last == WORD
        if goes_on:
            words[-1] += character
        elif kind in (WORD, UNSPACED):
            words.append(character)
            last = kind
        else:
            last = None
    return words


letters = st.sampled_from("abÄÅΣσİı_9'. \n\x00東タกिกी\u0301\u0308\u200cᄀ가\u1161\ud800Ω\u212b")


@settings(deadline=None)  # the first call compiles
@given(st.text(letters, max_size=40))
def test_tokens_follow_the_rules(text):
    assert tokenize(text) == reference(text)


@settings(deadline=None)  # the first call compiles
@given(st.text(max_size=40))
def test_tokens_of_any_characters_follow_the_rules(text):
    assert tokenize(text) == reference(text)


def test_what_can_join_the_character_before_it_is_odd():
    entries = table(True)
    seconds = set()
    for character in map(chr, range(0x110000)):
        parts = unicodedata.decomposition(character).split()
        if len(parts) == 2 and parts[0][0] != "<" and unicodedata.is_normalized("NFC", character):
            seconds.add(int(parts[1], 16))
    codes = np.array(sorted(seconds), np.uint32)
    entries.learn(codes)
    assert len(codes) > 50
    assert (entries.entries[codes] & ODD != 0).all()


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.text(letters, max_size=12), max_size=6))
def test_texts_of_a_batch_do_not_touch(texts):
    analyzer = parse("word")
    offsets = analyzer.tokens(texts).offsets if texts else np.zeros(1)
    assert np.diff(offsets).tolist() == [len(tokenize(text)) for text in texts]


@settings(deadline=None)  # the first call compiles
@given(st.text(max_size=60), st.booleans())
def test_origins_cover_the_folded_text(text, lowercase):
    starts, ends = origins(text, lowercase)
    folded = fold(text, lowercase)
    assert len(starts) == len(ends) == len(folded)
    assert (starts < ends).all()
    assert (np.diff(starts) >= 0).all()
    assert (np.diff(ends) >= 0).all()
    for i, character in enumerate(folded):
        source = text[starts[i] : ends[i]]
        if character not in "σς":  # which of the two depends on what is around
            assert character in fold(source, lowercase)


def test_entries_agree_with_python_for_every_latin_and_greek_character():
    entries = table(True)
    codes = np.arange(0x500, dtype=np.uint32)
    entries.learn(codes)
    for code in codes.tolist():
        entry = int(entries.entries[code])
        character = chr(code)
        if not entry & ODD:
            assert chr(entry >> 4) == character.lower()
        if unicodedata.category(character)[0] == "M":
            assert entry & 7 == MARK
        else:
            is_word = character.isalnum() or character == "_"
            assert entry & 7 == (WORD if is_word else SEPARATOR)


def test_table_learns_only_the_blocks_it_meets():
    entries = CharacterTable(lowercase=True)
    assert not entries.entries[0x4E00:0x4F00].any()
    entries.learn(np.array([0x4E2D], np.uint32))
    assert (entries.entries[0x4E00:0x4F00] & 7 == UNSPACED).all()
    assert not entries.entries[0x4F00:0x5000].any()


def test_composed_and_decomposed_are_the_same_word():
    assert tokenize("a\u0308iti") == tokenize("äiti") == ["äiti"]
    assert tokenize(unicodedata.normalize("NFD", "한국어")) == ["한국어"]


def test_a_text_must_be_a_string():
    with pytest.raises(InputError, match="must be a string, got None"):
        tokenize(None)  # type: ignore[arg-type]
