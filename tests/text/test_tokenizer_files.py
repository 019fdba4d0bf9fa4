"""Tokenizer files give the numbers that featurizers give."""

import unicodedata

import pytest
from tokenizers import Tokenizer

from labelgrove.core.errors import InputError
from labelgrove.models.contract import known_answer
from labelgrove.models.neural.examples import small_bert
from labelgrove.text import FEATURIZERS
from labelgrove.text.subwords import Subwords
from labelgrove.text.tokenizer_files import tokenizer_json
from labelgrove.text.words import Words

ODD = ["ΟΔΟΣ ΣΑΣ Σ σΣ", "İI ǅ ﬁ", "e\u0301\u0308 \u0301x",
       "한국어 \u1112\u1161\u11ab", "ไทย๑๒ ที่", "क्‍ष می‌خواهم", "東京2024年 々〆", "a_b __ ½ ² Ⅷ ⅷ ①",
       "don't-stop", "", "  "]  # fmt: skip


def numbers(tokenizer, text):
    return tokenizer.encode(text, add_special_tokens=False).ids


def characters():
    """Each assigned character of the first planes that is in a sample, between others and alone."""
    for code in [*range(0x600), *range(0x600, 0x20000, 37)]:
        if unicodedata.category(chr(code)) not in ("Cn", "Cs"):
            yield f"a{chr(code)}b {chr(code)}1 {chr(code)}{chr(code)}"


@pytest.mark.parametrize("lowercase", [True, False])
def test_words_of_any_script(lowercase):
    texts = [*characters(), *ODD]
    words = Words(lowercase=lowercase, threads=1).fit(texts)
    tokenizer = Tokenizer.from_str(tokenizer_json(words))
    found = words.transform(texts)
    for i, text in enumerate(texts):
        # a text without words is an unknown one to the featurizer
        assert numbers(tokenizer, text) == found.sequence(i).tolist() or (
            not numbers(tokenizer, text) and found.sequence(i).tolist() == [1]
        ), text


def test_subwords_are_those_of_their_tokenizer(tmp_path):
    texts = known_answer(5)[0]
    subwords = Subwords(tokenizer=small_bert(tmp_path)).fit([])
    tokenizer = Tokenizer.from_str(tokenizer_json(subwords))
    found = subwords.transform(texts)
    assert [numbers(tokenizer, text) for text in texts] == [
        found.sequence(i).tolist() for i in range(len(texts))
    ]


@pytest.mark.parametrize(
    ("featurizer", "told"),
    [(Words(analyzer="snowball:en"), "analyzer=word"), (FEATURIZERS.create("tf-idf"), "tf-idf")],
)
def test_what_other_programs_cannot_run_is_refused(featurizer, told):
    with pytest.raises(InputError, match=told):
        tokenizer_json(featurizer)
