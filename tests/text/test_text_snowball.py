import numpy as np
import pytest
import Stemmer

from labelgrove.core.errors import InputError
from labelgrove.text import Tfidf, Words, tokenize
from labelgrove.text.analysis import parse, strings
from labelgrove.text.snowball import Stems


def test_stems_by_code_and_by_name():
    assert tokenize("Häuser im Haus", "snowball:de") == ["haus", "im", "haus"]
    assert tokenize("Häuser im Haus", "snowball:German") == ["haus", "im", "haus"]
    assert tokenize("talossa talot", "snowball:fi") == Stemmer.Stemmer("finnish").stemWords(
        ["talossa", "talot"]
    )


def test_unknown_language_lists_the_known():
    with pytest.raises(InputError, match=r"language 'xx'; known: arabic,.*yiddish.*ISO"):
        Tfidf(analyzer="snowball:xx").fit(["a"])
    with pytest.raises(InputError, match="language ''"):
        Tfidf(analyzer="snowball").fit(["a"])


def test_tfidf_of_stems_with_spans_and_storage(tmp_path):
    tfidf = Tfidf(analyzer="snowball:en", ngrams=(1, 2), threads=2)
    X = tfidf.fit_transform(["Running dogs", "a dog runs", "東京 cats"])
    assert {"run", "dog", "run dog", "dog run", "東京"} <= set(tfidf.terms())
    assert abs(tfidf.transform(["Running dogs", "a dog runs", "東京 cats"]) - X).max() < 1e-6
    text = "The dogs, RUNNING"
    found = {tfidf.terms([f])[0]: text[a:b] for f, a, b in tfidf.spans(text)}
    assert found == {"dog": "dogs", "run": "RUNNING", "dog run": "dogs, RUNNING"}
    tfidf.save(tmp_path / "stems")
    assert Tfidf.load(tmp_path / "stems").spans(text) == tfidf.spans(text)


def test_words_of_stems():
    words = Words(analyzer="snowball:en").fit(["dogs run", "dog"])
    assert words.vocabulary == ["<pad>", "<unk>", "dog", "run"]
    assert words.transform(["running dogs bark"]).tokens.tolist() == [3, 2, 1]


def test_many_words_many_batches_and_a_memory_that_starts_anew():
    rng = np.random.default_rng(0)
    syllables = ["ka", "lo", "ti", "run", "ning", "ed", "ly", "s", "er", "house"]
    vocabulary = ["".join(rng.choice(syllables, 4)) for _ in range(4_000)]
    stemmer = Stemmer.Stemmer("en")
    stems = Stems("en", max_words=3_000)
    for start in range(0, 4_000, 500):
        words = [*vocabulary[start : start + 500], *vocabulary[:20], "ly"]
        found = stems.apply(parse("word").tokens([" ".join(words)]))
        assert strings(found) == stemmer.stemWords(words)
        plain = parse("word").tokens([" ".join(strings(found))])
        assert plain.hashes.tolist() == found.hashes.tolist()
