"""Kernels against plain Python and numpy."""

import math
from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from labelgrove.core.strings import PackedStrings
from labelgrove.text import kernels
from labelgrove.text.analysis import encode, parse, strings
from labelgrove.text.vocabulary import slots_for

rng = np.random.default_rng(5)
small = st.lists(st.integers(0, 9), max_size=60)


def random_hashes(n, distinct):
    keys = rng.integers(0, 2**64, distinct, dtype=np.uint64)
    return keys[rng.integers(0, distinct, n)]


def test_intern_numbers_by_first_appearance_also_when_its_table_grows():
    hashes = random_hashes(40_000, 9_000)
    ids, places = kernels.intern(hashes)
    expected = {}
    for h in hashes.tolist():
        expected.setdefault(h, len(expected))
    assert ids.tolist() == [expected[h] for h in hashes.tolist()]
    assert hashes[places].tolist() == list(expected)


def test_intern_tells_colliding_slots_apart():
    hashes = np.array([16, 32, 16, 64, 48, 32], np.uint64)  # the same slot, one after the other
    ids, places = kernels.intern(hashes)
    assert ids.tolist() == [0, 1, 0, 2, 3, 1]
    assert places.tolist() == [0, 1, 3, 4]


@settings(deadline=None)  # the first call compiles
@given(st.lists(small, max_size=6))
def test_count_rows(rows):
    ids = np.array([i for row in rows for i in row], np.int32)
    offsets = np.cumsum([0, *map(len, rows)])
    columns, counts, indptr, documents, totals = kernels.count_rows(ids, offsets, 10)
    for d, row in enumerate(rows):
        place = slice(indptr[d], indptr[d + 1])
        assert dict(zip(columns[place], counts[place], strict=True)) == Counter(row)
    assert documents.tolist() == [sum(i in row for row in rows) for i in range(10)]
    assert totals.tolist() == [sum(row.count(i) for row in rows) for i in range(10)]


def test_look_up_finds_all_and_only_the_keys():
    keys = np.unique(rng.integers(0, 2**64, 5_000, dtype=np.uint64))
    slots = slots_for(keys)
    assert len(slots) & (len(slots) - 1) == 0
    assert kernels.look_up(keys, slots, keys).tolist() == list(range(len(keys)))
    assert (kernels.look_up(keys + np.uint64(1), slots, keys) == -1).all()


@settings(deadline=None)  # the first call compiles
@given(arrays(np.int32, st.integers(0, 300), elements=st.integers(-1, 2**31 - 1)))
def test_sort_order_is_a_stable_argsort_without_the_negative(columns):
    expected = np.argsort(columns, kind="stable")
    expected = expected[columns[expected] >= 0]
    assert kernels.sort_order(columns).tolist() == expected.tolist()


def test_sort_order_of_many():
    columns = rng.permutation(100_000)[:9_000].astype(np.int32)
    assert (kernels.sort_order(columns) == np.argsort(columns)).all()


@settings(deadline=None)  # the first call compiles
@given(st.lists(small, max_size=6), st.booleans(), st.booleans())
def test_weigh_against_numpy(rows, sublinear, normalize):
    ids = np.array([i for row in rows for i in row], np.int32)
    offsets = np.cumsum([0, *map(len, rows)])
    columns, counts, indptr, _, _ = kernels.count_rows(ids, offsets, 10)
    column_of = np.array([3, -1, 2, 0, 1, -1, 7, 6, 5, 4], np.int32)
    idf = np.linspace(1, 3, 8, dtype=np.float32)
    found = kernels.weigh(columns, counts, indptr, column_of, idf, sublinear, normalize)
    dense = np.zeros((len(rows), 8))
    for d, row in enumerate(rows):
        for term, count in Counter(row).items():
            if (column := column_of[term]) >= 0:
                dense[d, column] = (1 + math.log(count) if sublinear else count) * idf[column]
        if normalize and dense[d].any():
            dense[d] /= np.linalg.norm(dense[d])
    got = np.zeros_like(dense)
    for d in range(len(rows)):
        place = slice(found[2][d], found[2][d + 1])
        assert (np.diff(found[0][place]) > 0).all()
        got[d, found[0][place]] = found[1][place]
    np.testing.assert_allclose(got, dense, rtol=1e-6)
    assert found[2][-1] == len(found[0]) == len(found[1]) == np.count_nonzero(dense)


def test_weigh_a_count_beyond_the_table_of_logarithms():
    counts = np.array([1_000_000], np.int32)
    one = np.zeros(1, np.int32)
    _, values, _ = kernels.weigh(
        one, counts, np.array([0, 1]), one, np.ones(1, np.float32), True, False
    )
    np.testing.assert_allclose(values, 1 + math.log(1e6), rtol=1e-6)


def test_ngrams_join_words_and_neighbouring_characters():
    tokens = parse("word").tokens(["a b c", "東京x", "東 京"])
    hashes, firsts, lasts, offsets = kernels.ngrams(*tokens[3:], 1, 3)
    words = strings(tokens)
    found = [words[a : b + 1] for a, b in zip(firsts, lasts, strict=True)]
    assert found == [
        ["a"],
        ["a", "b"],
        ["a", "b", "c"],
        ["b"],
        ["b", "c"],
        ["c"],
        ["東"],
        ["東", "京"],
        ["京"],
        ["x"],
        ["東"],
        ["京"],
    ]
    assert offsets.tolist() == [0, 6, 10, 12]
    by_hash = {}
    for h, words_ in zip(hashes.tolist(), found, strict=True):
        assert by_hash.setdefault(h, words_) == words_
    assert len(by_hash) == len({tuple(words_) for words_ in found})


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.text("abcäß東😀", min_size=1, max_size=8), min_size=1, max_size=8))
def test_hash_strings_agrees_with_tokens_and_strings_come_back(words):
    codes, bounds = encode(words)
    hashes = kernels.hash_strings(codes, bounds[:-1], bounds[1:])
    assert len(set(hashes.tolist())) == len(set(words))
    tokens = parse("word").tokens(words)
    for word, token, h in zip(strings(tokens), tokens.hashes, tokens.hashes, strict=True):
        assert token == h
        if word in words:
            assert token == hashes[words.index(word)]
    zeros = np.zeros(len(words), np.uint8)
    each = np.arange(len(words), dtype=np.int32)
    packed = PackedStrings(*kernels.write_terms(codes, bounds[:-1], bounds[1:], zeros, each, each))
    assert packed.decode() == words
    turned = kernels.gather_strings(packed.utf8, packed.ends, each[::-1].copy())
    assert PackedStrings(*turned).decode() == words[::-1]
    assert packed.decode(range(len(words))) == words


def test_hashes_of_short_strings_do_not_collide():
    letters = "abcdefghijklmnopqrstuvwxyz0123456789äöå"
    words = [a + b + c for a in letters for b in letters for c in letters]
    codes, bounds = encode(words)
    hashes = kernels.hash_strings(codes, bounds[:-1], bounds[1:])
    assert len(np.unique(hashes)) == len(words)
    # and spread over the slots, of which only the low bits decide
    assert len(np.unique(hashes & np.uint64(2**16 - 1))) > 0.55 * min(2**16, len(words))


@settings(deadline=None)  # the first call compiles
@given(
    st.floats(-(2.0**126), 2.0**126, width=32), st.integers(0, 2**31 - 2)
)  # rounding stays finite
def test_read_pairs_reads_numbers_as_python_does(value, index):
    for form in (repr(value), f"{value:.3e}", f"{value:f}", f"{value:+g}"):
        codes, bounds = encode([f" {index}:{form}\t"])
        bad, columns, values, indptr = kernels.read_pairs(codes, bounds, 2**31 - 1, False)
        assert bad == -1
        assert columns.tolist() == [index]
        np.testing.assert_allclose(values, [np.float32(float(form))], rtol=1e-6)
        assert indptr.tolist() == [0, 1]


def test_hashes_stay_as_saved_folders_hold_them():
    tokens = parse("word").tokens(["Sun 東京"])
    hashes, *_ = kernels.ngrams(*tokens[3:], 1, 1)
    assert [hex(h) for h in hashes.tolist()] == [
        "0x3a095bf3ff34502f",
        "0x8830121f9ebb4c59",
        "0x878e498ba0c21829",
        "0x3342b725d84ecf80",
    ]
