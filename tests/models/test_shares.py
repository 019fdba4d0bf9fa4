"""Documents divided into shares: even ones, with labels in each, copies together."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.core.features import TokenSequences, Views
from labelgrove.models import shares
from labelgrove.models.shares import copies_of, different, shares_of


def test_shares_are_even_and_each_leaves_labelled_documents_to_learn_from():
    Y = csr_array(np.array([[0], [0], [1], [0], [1], [0], [0]], np.float32))
    for seed in range(20):
        own = shares_of(Y, 2, seed)
        assert sorted(np.bincount(own)) == [3, 4]
        assert set(own[[2, 4]]) == {0, 1}


def test_copies_are_in_the_same_share():
    copies = np.array([0, 1, 0, 3, 1, 5, 6, 0])
    Y = csr_array(np.ones((8, 1), np.float32))
    for seed in range(20):
        own = shares_of(Y, 3, seed, copies)
        assert (own == own[copies]).all()
        assert sorted(np.bincount(own[[0, 1, 3, 5, 6]])) == [1, 2, 2]
    assert different(Y, copies) == 5
    assert different(csr_array(np.array([[1]] + [[0]] * 7)), copies) == 1


@pytest.mark.parametrize("block", [1, 2, 50_000])
def test_copies_are_found_in_every_kind_of_features(block, monkeypatch):
    monkeypatch.setattr(shares, "BLOCK", block)
    rng = np.random.default_rng(0)
    dense = rng.random((6, 4)).astype(np.float32)
    dense[rng.random((6, 4)) < 0.4] = 0
    dense[4], dense[5] = dense[1], dense[1] * 2
    expected = [0, 1, 2, 3, 1, 5]
    assert copies_of(csr_array(dense)).tolist() == expected
    assert copies_of(dense).tolist() == expected
    assert copies_of(Views({"text": csr_array(dense), "more": dense[::-1]})).tolist() == expected
    words = [1, 2, 2, 1, 1, 2, 1, 2, 1]  # 1 2, 2 1, 1 2, nothing twice, 1 2 1
    tokens = TokenSequences(np.array(words), np.array([0, 2, 4, 6, 6, 6, 9]), 4)
    assert copies_of(tokens).tolist() == [0, 1, 0, 3, 4, 5], "in the same order; nothing is no copy"
