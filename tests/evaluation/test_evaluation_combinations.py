"""Sets of labels: Table 6 of LACO, by hand and against sets in plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import Decision, combinations, evaluate

# training: {0, 1} twice, {2}, {}; label 3 is in the test set only
#   true   {0, 1}  {0, 2}  {0, 2}  {1, 2}  {2}  {3}
#   given  {0, 1}  {0, 2}  {1, 2}  {0, 2}  {}   {2}
TRAIN = csr_array(np.array([[1, 1, 0], [0, 0, 1], [0, 0, 0], [1, 1, 0]]))
Y = csr_array(
    np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 0], [0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
)
RANKING = Ranking(
    np.array([[1, 0, 2], [0, 2, -1], [2, 1, 0], [2, 0, 1], [2, -1, -1], [2, 1, -1]]),
    np.array(
        [
            [0.9, 0.8, 0.1],
            [0.7, 0.5, 0.0],
            [0.9, 0.6, 0.4],
            [0.9, 0.9, 0.3],
            [0.4, 0.0, 0.0],
            [0.9, 0.2, 0.0],
        ]
    ),
)
EXPECTED = {
    "true": 5,
    "given": 5,  # {0, 1}, {0, 2}, {1, 2}, {}, {2}
    "true-unseen": 3,  # {0, 2}, {1, 2}, {3}
    "given-unseen": 2,  # {0, 2}, {1, 2}
    "found-unseen": 1,  # {0, 2}; {1, 2} is given, but not to the document that has it
    "documents-unseen": 4,
    "subset-accuracy": 2 / 6,
    "subset-accuracy-unseen": 1 / 4,
}


def test_by_hand():
    found = combinations(Y, RANKING, TRAIN)
    assert list(found) == list(EXPECTED)
    assert found == pytest.approx(EXPECTED)
    assert all(type(value) is float for value in found.values())


def test_a_decision_in_place_of_a_threshold():
    # given {1}, {0}, {2}, {2}, {2}, {2}; only {2} was seen, and it is right once
    found = combinations(Y, RANKING, TRAIN, threshold=Decision(top=1))
    assert (found["given"], found["given-unseen"], found["found-unseen"]) == (3, 2, 0)
    assert found["subset-accuracy"] == 1 / 6


def test_everything_was_seen():
    found = combinations(Y, RANKING, Y)
    assert found["true-unseen"] == found["documents-unseen"] == found["found-unseen"] == 0
    assert found["subset-accuracy-unseen"] == 0.0
    assert found["given-unseen"] == 1, "the empty set is a set as any other"


def test_without_training_documents_everything_is_unseen():
    found = combinations(Y, RANKING, csr_array((0, 3)))
    assert (found["true-unseen"], found["given-unseen"]) == (5, 5)
    assert found["found-unseen"] == 2
    assert found["subset-accuracy-unseen"] == found["subset-accuracy"]


def test_stored_zeros_order_and_kind_of_number_do_not_count():
    # {0, 1} as 1 before 0 with a stored 2; {2} twice; an empty row with a stored 0; {0, 1}
    messy = csr_array(
        (np.array([1.0, 1, 0, 1, 1, 0, 1, 1]), [1, 0, 2, 2, 2, 0, 0, 1], [0, 3, 5, 6, 8]),
        shape=(4, 3),
    )
    messy.indices, messy.indptr = messy.indices.astype(np.int64), messy.indptr.astype(np.int64)
    assert combinations(Y, RANKING, messy) == combinations(Y, RANKING, TRAIN)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(0, 12), st.integers(1, 5), st.integers(0, 10_000))
def test_against_plain_python(n, m, width, seed):
    rng = generator(seed, "combinations")
    truth, train = (rng.random((rows, width)) < rng.uniform(0.1, 0.9) for rows in (n, m))
    scores = np.where(rng.random((n, width)) < 0.6, 0.6 * truth + 0.3, rng.random((n, width)))
    ranking = Ranking.from_dense(scores.astype(np.float32), width)
    found = combinations(csr_array(truth), ranking, csr_array(train))

    true, given, seen = (
        [frozenset(np.flatnonzero(row).tolist()) for row in each]
        for each in (truth, scores.astype(np.float32) >= 0.5, train)
    )
    right = [own for own, other in zip(true, given, strict=True) if own == other]
    unseen = [own for own in true if own not in seen]
    right_unseen = [own for own in right if own not in seen]
    assert found == pytest.approx(
        {
            "true": len(set(true)),
            "given": len(set(given)),
            "true-unseen": len(set(true) - set(seen)),
            "given-unseen": len(set(given) - set(seen)),
            "found-unseen": len(set(right_unseen)),
            "documents-unseen": len(unseen),
            "subset-accuracy": len(right) / n,
            "subset-accuracy-unseen": len(right_unseen) / max(len(unseen), 1),
        }
    )
    assert found["subset-accuracy"] == evaluate(csr_array(truth), ranking)["subset-accuracy"]


def test_wrong_calls():
    with pytest.raises(InputError, match="train must be a sparse matrix"):
        combinations(Y, RANKING, TRAIN.toarray())
    with pytest.raises(InputError, match="6 documents, Y has 4"):
        combinations(TRAIN, RANKING, TRAIN)
