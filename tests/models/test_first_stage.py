"""The first of two stages: whom it ranks by what, and which candidates it gives."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.core.features import Views
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import FitContext, Run
from labelgrove.models.first_stage import FirstStage, behind, shortlist_of
from stand_ins import Recalling


def one_hot(n):
    return csr_array(np.eye(n, dtype=np.float32))


def test_documents_are_ranked_by_models_that_have_not_seen_them(tmp_path):
    """Every document has a word and a label that no other has: only its own model could know."""
    X, Y = one_hot(12), one_hot(12)
    views = Views({"text": X, "first-text": X})
    first = FirstStage.named("one-vs-rest", {"seed": 0, "threads": 1, "device": "cpu"})
    context = FitContext(run=Run(folder=tmp_path))
    first.fit(views, Y, context)
    assert first.rank(views, 1).labels.ravel().tolist() == list(range(12))
    found = first.out_of_fold(views, Y, 3, 4, 0, context)
    assert found.labels.shape == (12, 3)
    assert not found.hits(Y)[found.scores > 0.5].any()
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("first")) == [
        "first", *(f"first-fold{i}" for i in (1, 2, 3, 4))
    ]  # fmt: skip


def test_one_labelled_document_is_ranked_by_what_learned_from_it():
    X, Y = one_hot(3), csr_array(np.array([[1], [0], [0]], np.float32))
    first = FirstStage.named("one-vs-rest", {"seed": 0, "threads": 1, "device": "cpu"})
    first.fit(X, Y, FitContext())
    assert first.out_of_fold(X, Y, 1, 5, 0, FitContext()).labels.shape == (3, 1)


def test_missed_labels_take_the_last_wrong_places_up_to_half():
    labels, scores = [[5, 4, 3, 2], [0, 1, -1, -1]], [[0.9, 0.8, 0.2, 0.1], [0.7, 0.6, 0, 0]]
    ranking = Ranking(np.array(labels), np.array(scores))
    Y = csr_array(np.array([[1, 1, 1, 0, 0, 1], [0, 1, 1, 0, 0, 0]], np.float32))
    found = shortlist_of(ranking, Y)
    # of the missing 0 and 1 both fit: half of four places, from behind, the true 2 stays
    assert found.labels.tolist() == [[5, 1, 0, 2], [0, 1, 2, -1]]
    last = np.log(0.1 / 0.9)
    np.testing.assert_allclose(found.odds[0], [np.log(9), last, last, last], rtol=1e-5)
    many = csr_array(np.ones((2, 6), np.float32))
    full = Ranking(np.array([[0, 1], [3, 4]]), np.ones((2, 2)))  # no wrong label to replace
    assert shortlist_of(full, many).labels.tolist() == [[0, 1], [3, 4]]
    assert shortlist_of(ranking).labels.tolist() == ranking.labels.tolist()


def test_candidates_keep_their_order_in_rows_without_a_miss():
    ranking = Ranking(np.array([[2, 0]]), np.array([[0.5, 0.25]]))
    found = shortlist_of(ranking, csr_array(np.array([[1, 0, 0]], np.float32)))
    assert found.labels.tolist() == [[2, 0]]
    np.testing.assert_allclose(found.odds, [[0.0, np.log(1 / 3)]], atol=1e-6)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 7])
def test_what_was_not_judged_stays_behind_in_its_order(k):
    judged = Ranking(np.array([[1, 0], [4, 3]]), np.array([[0.9, 0.05], [0.9, 0.8]]))
    labels = [[0, 1, 2, 3, 4], [3, 4, 0, -1, -1]]
    scores = [[0.9, 0.8, 0.6, 0.3, 0.1], [0.9, 0.9, 0.7, 0, 0]]
    first = Ranking(np.array(labels), np.array(scores))
    found = behind(judged, first, k)
    assert found.labels.shape == (2, k)
    assert [x for x in found.labels[0] if x >= 0] == [1, 0, 2, 3, 4][:k]
    assert [x for x in found.labels[1] if x >= 0] == [4, 3, 0][:k]
    assert (np.diff(found.scores, axis=1) <= 0).all()
    if k >= 5:
        np.testing.assert_allclose(found.scores[0, 2:5], np.array([0.6, 0.3, 0.1]) / 12, rtol=1e-5)
        assert found.scores[1, 2] == np.float32(0.7)  # less than the last of those judged


def test_models_of_shares_are_told_how_their_own_texts_begin():
    """Each of twelve texts is a word of its own, as is each label."""
    X = one_hot(12)
    fits = []

    class Telling(Recalling):
        def _fit(self, X, Y, context):
            super()._fit(X, Y, context)
            fits.append((X.indices.tolist(), [int(text) for text in context.documents]))

    context = FitContext(documents=[*map(str, range(12))])
    first = FirstStage(Telling())
    first.fit(X, X, context)
    first.out_of_fold(X, X, 2, 3, 0, context)
    assert [len(rows) for rows, _ in fits] == [12, 8, 8, 8]
    assert all(rows == told for rows, told in fits)
