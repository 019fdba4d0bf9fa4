import random

import numpy as np

from labelgrove.checking import kernels
from labelgrove.checking.near_copies import ALIKE, SIZE, near_copies, sketches_of
from labelgrove.text.analysis import parse

WORDS = [f"w{i}" for i in range(3000)]


def _text(rng, length=120):
    return " ".join(rng.choices(WORDS, k=length))


def _altered(text, rng, words):
    parts = text.split()
    for place in rng.sample(range(len(parts)), words):
        parts[place] = rng.choice(WORDS)
    return " ".join(parts)


def test_sketches_are_those_of_plain_numpy():
    tokens = parse("word").tokens(["a b c d e", "a b", "", "e d c b a f"])
    factors = np.array([3, 5, 2**31 + 7], np.uint32)
    summands = np.array([1, 2, 3], np.uint32)
    found = kernels.sketch(tokens.hashes, tokens.offsets, factors, summands, 3)
    for text in range(4):
        words = [int(h) for h in tokens.hashes[tokens.offsets[text] : tokens.offsets[text + 1]]]
        starts = range(len(words) - 2) if len(words) >= 3 else range(min(1, len(words)))
        for k in range(3):
            least = 2**32 - 1
            for start in starts:
                run = 0
                for word in words[start : start + 3]:
                    run = (run ^ word) * 0x9E3779B97F4A7C15 % 2**64
                    run ^= run >> 32
                value = (run >> 16) % 2**32
                least = min(least, (int(factors[k]) * value + int(summands[k])) % 2**32)
            assert found[text, k] == (least * 0x9E3779B1 % 2**32) >> 16


def test_the_share_of_equal_places_estimates_the_share_of_runs_in_common():
    rng = random.Random(0)
    errors = []
    for words in (0, 2, 5, 10, 30):
        text = _text(rng)
        other = _altered(text, rng, words)
        runs = [{tuple(t.split()[i : i + 3]) for i in range(118)} for t in (text, other)]
        true = len(runs[0] & runs[1]) / len(runs[0] | runs[1])
        one, two = sketches_of([text, other])
        errors.append((one == two).mean() - true)
    assert max(map(abs, errors)) < 0.2  # three standard deviations of 64 numbers


def test_planted_copies_are_found_in_both_files_and_others_are_not():
    rng = random.Random(1)
    first = [_text(rng) for _ in range(400)]
    second = [_text(rng) for _ in range(200)]
    inside = {i: i + 100 for i in range(40)}  # near copies in the first file
    for i, j in inside.items():
        first[j] = _altered(first[i], rng, 2)
    for i in range(50):  # in the second one
        second[i] = _altered(first[200 + i], rng, 2)
    found = near_copies(sketches_of([*first, *second]), len(first))
    assert set(np.flatnonzero(found.best[:400, 0] >= 0)) == {*inside, *inside.values()}
    assert all(found.best[i, 0] == j for i, j in inside.items())
    assert found.best[400:, 1][:50].tolist() == list(range(200, 250))
    assert (found.best[450:] == -1).all()
    assert (found.similarity[found.best >= 0] >= ALIKE).all()
    assert all(found.groups[j] == i for i, j in inside.items())
    assert (found.groups[400:450] == np.arange(200, 250)).all()


def test_texts_that_all_repeat_one_another_cost_no_more_than_others():
    rng = random.Random(2)
    form = _text(rng, 300)
    texts = [_altered(form, rng, 3) for _ in range(3000)]
    found = near_copies(sketches_of(texts))
    assert (found.groups == 0).all()  # all pairs would be 4.5 million


def test_a_sketch_takes_128_bytes():
    assert sketches_of(["a b c"]).nbytes == 2 * SIZE == 128
    assert sketches_of([]).shape == (0, SIZE)
