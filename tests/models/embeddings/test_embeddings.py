"""Models with learned embeddings."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove import models
from labelgrove.models.contract import Case
from labelgrove.models.embeddings.annexml import AnnexMl
from labelgrove.models.embeddings.label_neighbours import label_neighbours
from labelgrove.models.embeddings.learners import Learners, nearest_center, with_columns

SMALL = AnnexMl.example_settings(None)


def test_labels_make_documents_near():
    """A shared label counts 1 / (number of labels of the other document)."""
    Y = csr_array(np.array([[1, 1, 0], [1, 1, 1], [1, 0, 0], [0, 0, 0]], np.float32))
    found = label_neighbours(Y, 2, 100, np.random.default_rng(0))
    assert found.tolist() == [[2, 1], [0, 2], [0, 1], [-1, -1]]  # 1, 2/3; 1, 1; 1/2, 1/3
    few = label_neighbours(Y, 3, 2, np.random.default_rng(0))  # 8 comparisons: without label 0
    assert few.tolist() == [[1, 1, 1], [0, 0, 0], [-1, -1, -1], [-1, -1, -1]]


def test_equal_neighbours_come_in_random_order():
    Y = csr_array(np.ones((40, 1), np.float32))
    found = label_neighbours(Y, 5, 100, np.random.default_rng(0))
    assert len(np.unique(found)) > 30
    assert not (found == np.arange(40)[:, None]).any()
    assert [len(set(row)) for row in found.tolist()] == [5] * 40


def test_columns_and_centers():
    X = csr_array(np.array([[1, 2, 0, 3], [0, 0, 4, 0]], np.float32))
    kept = with_columns(X, np.array([1, 3], np.int32))
    assert kept.toarray().tolist() == [[2, 3], [0, 0]]
    centers = csr_array(np.array([[0, 0, 1, 0], [1, 0, 0, 0]], np.float32))
    assert nearest_center(X, centers).tolist() == [1, 0]


def learners():
    """Return one learner with two clusters of two documents each: words are their own vectors."""
    return Learners(
        centers=csr_array(np.array([[1, 1, 0, 0], [0, 0, 1, 1]], np.float32)),
        clusters=np.array([[0, 0, 1, 1]], np.int32),
        starts=np.array([0, 2, 4]),
        columns=np.array([0, 1, 2, 3], np.int32),
        projection=np.array([[1, 0], [0, 1], [1, 0], [0, 1]], np.float32),
        vectors=np.array([[[3, 0], [0, 1], [2, 0], [1, 1]]], np.float32),
    )


@pytest.mark.parametrize(("measure", "nearest"), [("cosine", [0, 3]), ("distance", [1, 3])])
def test_neighbours_are_searched_in_the_texts_cluster(measure, nearest):
    X = csr_array(np.array([[0.8, 0.6, 0, 0], [0, 0, 0.6, 0.8], [0, 0, 0, 0]], np.float32))
    votes = learners().votes(X, 1, measure, 1).toarray()
    assert votes[:2].argmax(axis=1).tolist() == nearest
    assert (votes > 0).sum(axis=1).tolist() == [1, 1, 0]
    assert votes.max() <= 1.001


def test_scores_are_shares_of_the_neighbours(tmp_path):
    case = Case(lambda folder: models.create("annexml", **SMALL), tmp_path)
    model, X = case.fitted, case.test[0]
    votes = np.round(model.learners_.votes(model._known(X[:1]), 10, "cosine", 1).toarray())
    assert votes.sum() == 20  # 2 learners, 10 neighbours
    shares = votes @ model.Y_.toarray() / 20
    for label, score in model.rank(X[:1], 12).row(0):
        assert score == pytest.approx(shares[0, label], abs=2e-3)


def test_words_that_drew_the_text_explain():
    Y = csr_array(np.array([[1, 0], [0, 1], [1, 0], [0, 1]], np.float32))
    model = AnnexMl(neighbours=2)
    model.learners_, model.Y_, model.n_labels_ = learners(), Y, 2
    X = csr_array(np.array([[0.6, 0.8, 0, 0]], np.float32))
    told = model.explain(X, 0, 0)
    # the vectors of both neighbours are (3, 0), which has the label, and (0, 1)
    assert told.ids.tolist() == [0, 1]
    assert np.allclose(told.weights, [0.6 * 3, -0.8])


def test_threads_change_nothing(tmp_path):
    case = Case(lambda folder: AnnexMl(), tmp_path)
    (X, Y), texts = case.train, case.test[0]
    one, two = (AnnexMl(**SMALL, threads=n).fit(X, Y).rank(texts, 5) for n in (1, 2))
    assert np.array_equal(one.labels, two.labels)
    assert np.array_equal(one.scores, two.scores)


ALTERED = {
    "clusters": lambda a: a + 1,
    "columns": lambda a: a + 1,
    "starts": lambda a: a + 1,
    "projection": lambda a: a[:-1],
    "vectors": lambda a: a * np.float32(np.nan),
    "centers": lambda a: a[:0],
}


@pytest.mark.parametrize("name", ALTERED)
def test_altered_learners_are_refused(name):
    found = learners()
    found.check(4)
    with pytest.raises(ValueError, match=name):
        found._replace(**{name: ALTERED[name](getattr(found, name))}).check(4)


def test_labels_of_a_file_must_be_the_documents():
    model = AnnexMl(**SMALL).fit(csr_array(np.eye(3, dtype="f4")), csr_array(np.eye(3)))
    model.check_state()
    model.Y_ = model.Y_[:, :2]
    with pytest.raises(ValueError, match="Y_ must be"):
        model.check_state()
