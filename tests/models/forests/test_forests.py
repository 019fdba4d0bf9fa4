"""Models with trees over documents."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove import models
from labelgrove.core.errors import DamagedError, InputError
from labelgrove.core.types import FitContext, Run
from labelgrove.labels import propensities
from labelgrove.models.contract import Case
from labelgrove.models.forests.fastxml import FastXml
from labelgrove.models.forests.forest import TreesOverDocuments
from labelgrove.models.forests.growing import Growth, grow
from labelgrove.models.forests.pfastrexml import PfastreXml, squared_distances

TOPICS = csr_array(np.repeat(np.eye(3, dtype=np.float32), 8, axis=0))


def known(tmp_path, name="fastxml", **settings):
    return Case(lambda folder: models.create(name, trees=4, **settings), tmp_path)


def test_a_leaf_holds_the_shares_of_its_documents():
    Y = csr_array(np.array([[1, 1, 0], [1, 0, 0], [1, 0, 1], [1, 0, 0]], np.float32))
    X = csr_array(np.eye(4, dtype=np.float32))
    tree = grow(X, Y, np.array([1.0, 1, 3]), Growth(1, 1, max_leaf=4, leaf_labels=2, seed=0), 0)
    assert tree["leaf"].tolist() == [0]
    assert tree["shares"].toarray().tolist() == [[1, 0, 0.75]]  # the two best of 1, 1/4 and 3/4


def test_scores_are_the_mean_of_the_leaves_that_a_text_reaches(tmp_path):
    case = known(tmp_path)
    model, X = case.fitted, case.test[0]
    forest, at = model.forest_, model.forest_.leaves(X, 5, 6)[0]
    mean = forest.shares[forest.leaf[at]].toarray().mean(axis=0)
    ranking = model.rank(X[5:6], 3)
    assert np.allclose(ranking.scores[0], mean[ranking.labels[0]])
    sizes = np.diff(np.append(forest.roots, len(forest.leaf)))
    assert (sizes > 1).all(), "no tree was split"


def test_no_leaf_is_too_large(tmp_path):
    case = known(tmp_path, max_leaf=20, cost=100.0)
    model, (X, _) = case.fitted, case.train
    reached = model.forest_.leaves(X, 0, X.shape[0])
    for tree in range(4):
        assert np.bincount(reached[:, tree]).max() <= 20


def test_threads_change_nothing(tmp_path):
    case = known(tmp_path)
    (X, Y), texts = case.train, case.test[0]
    one, two = (FastXml(trees=4, threads=n).fit(X, Y).rank(texts, 5) for n in (1, 2))
    assert np.array_equal(one.labels, two.labels)
    assert np.array_equal(one.scores, two.scores)


def test_words_that_led_to_the_leaves_explain():
    """Two leaves below a root: word 0 points to the right one, and word 1 to the left one."""
    tree = {
        "children": np.array([[1, 2], [-1, -1], [-1, -1]], np.int32),
        "leaf": np.array([-1, 0, 1], np.int32),
        "ptr": np.array([0, 2, 2, 2]),
        "features": np.array([0, 1], np.int32),
        "weights": np.array([2, -1], np.float32),
        "bias": np.zeros(3, np.float32),
        "shares": csr_array(np.array([[0, 1], [0.5, 0]], np.float32)),
    }
    forest = TreesOverDocuments.of([tree], 3)
    forest.check(2)
    X = csr_array(np.array([[3, 1, 1], [0, 2, 1]], np.float32))
    ids, weights = forest.spoke(X, 0, 0)
    assert (ids.tolist(), weights.tolist()) == ([0, 1], [3, -0.5])
    ids, weights = forest.spoke(X, 1, 1)
    assert (ids.tolist(), weights.tolist()) == ([1], [2])
    assert [len(part) for part in forest.spoke(X, 0, 1)] == [0, 0]


def test_no_words_stand_for_a_label_alone(tmp_path):
    case = known(tmp_path)
    with pytest.raises(InputError, match="has no weights of words for a label"):
        case.fitted.explain_label(0)


def test_pfastxml_weighs_labels_by_their_propensity(tmp_path):
    """Without the distances, a score is the weighted share, as a part of the greatest weight."""
    case = known(tmp_path, "pfastrexml", alpha=1.0)
    model, (X, _), (_, Y) = case.fitted, case.test, case.train
    gains = 1 / propensities(np.bincount(Y.indices, minlength=12), Y.shape[0])
    at = model.forest_.leaf[model.forest_.leaves(X, 0, 1)[0]]
    mean = model.forest_.shares[at].toarray().mean(axis=0) / gains.max()
    ranking = model.rank(X[:1], 3)
    assert np.allclose(ranking.scores[0], mean[ranking.labels[0]])
    assert model.greatest_gain_ == pytest.approx(gains.max())


@pytest.mark.parametrize("centroids", ["mean", "unit"])
def test_pfastrexml_multiplies_by_the_distance(tmp_path, centroids):
    case = known(tmp_path, "pfastrexml", centroids=centroids)
    model, X = case.fitted, case.test[0]
    trees = case.fitted.fresh().set_params(alpha=1.0).fit(*case.train).rank(X, 12)
    ranking = model.rank(X, 12)
    unit = X[[0]].toarray().ravel() / np.linalg.norm(X[[0]].toarray())
    for label, score in ranking.row(0):
        near = np.linalg.norm(unit - model.centroids_[[label]].toarray().ravel()) ** 2
        share = dict(trees.row(0))[label]
        assert score == pytest.approx(share**0.8 / (1 + np.exp(30 * near)) ** 0.2, rel=1e-4)
    label = int(ranking.labels[0, 0])
    told = model.explain(X, 0, label)
    assert told.weights.sum() == pytest.approx(12 * unit @ model.centroids_[[label]].T, rel=1e-4)
    assert told.parts[0][0] == "trees"
    assert len(model.explain_label(label).ids) == model.centroids_[[label]].nnz


def test_distances_by_hand():
    X = csr_array(np.array([[3.0, 4], [0, 0]], np.float32))
    middles = csr_array(np.array([[0.5, 0], [0, 0]], np.float32))
    squares = np.array([0.25, 0], np.float32)
    pairs = csr_array(np.ones((2, 2), np.float32))
    assert squared_distances(X, middles, squares, pairs) == pytest.approx([0.65, 1, 0.25, 0])


def test_a_mean_is_short_where_documents_differ():
    X = csr_array(np.array([[2.0, 0], [0, 3], [0, 5]], np.float32))
    Y = csr_array(np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32))
    means = PfastreXml(trees=1).fit(X, Y)
    assert means.centroids_.toarray().tolist() == [[0.5, 0.5], [0, 1], [0, 0]]
    assert means.squares_.tolist() == [0.5, 1, 0]
    unit = PfastreXml(trees=1, centroids="unit").fit(X, Y)
    assert unit.squares_ == pytest.approx([1, 1, 0])


def test_rare_labels_gain(tmp_path):
    """A rare label that shares its words with a frequent one is ranked higher by pfastrexml."""
    chance = np.random.default_rng(0)
    Y = (chance.random((300, 2)) < (0.95, 0.08)).astype(np.float32)
    words = np.repeat(Y, 4, axis=1) * (chance.random((300, 8)) < 0.5)
    X = csr_array(np.hstack([words, chance.random((300, 6)) < 0.3]).astype(np.float32))
    both = np.flatnonzero(Y.sum(axis=1) == 2)
    first = [
        (model(trees=5).fit(X, csr_array(Y)).rank(X[both], 1).labels == 1).mean()
        for model in (FastXml, PfastreXml)
    ]
    assert first[1] > first[0]


def test_finished_trees_are_kept(tmp_path):
    X = Y = TOPICS
    run = Run(tmp_path / "run")
    whole = FastXml(trees=3).fit(X, Y, context=FitContext(run=run)).rank(X, 3)
    kept = sorted(path.name for path in (tmp_path / "run").iterdir())
    assert kept == ["learned-000000", "learned-000001", "learned-000002"]
    (tmp_path / "run" / "learned-000001" / "values.json").unlink()
    resumed = FitContext(run=Run(tmp_path / "run", resume=True))
    with pytest.raises(DamagedError, match="start anew"):
        FastXml(trees=3).fit(X, Y, context=resumed)
    with pytest.raises(InputError, match="on other data or with other settings"):
        FastXml(trees=3, cost=2.0).fit(X, Y, context=resumed)
    again = FastXml(trees=3).fit(X, Y, context=FitContext(run=run)).rank(X, 3)
    assert np.array_equal(whole.scores, again.scores)
    (tmp_path / "run" / "other").mkdir()
    with pytest.raises(InputError, match="another kind of model"):
        FastXml(trees=3).fit(X, Y, context=resumed)


ALTERED = {
    "a tree that is a circle": ("children", lambda a: np.where(a >= 0, 0, a)),
    "a node that is not there": ("children", lambda a: np.where(a >= 0, 10_000, a)),
    "a feature that is not there": ("features", lambda a: a + 10_000),
    "a leaf that is not there": ("leaf", lambda a: a + 10_000),
    "a root that is not there": ("roots", lambda a: a + 10_000),
    "weights that are missing": ("weights", lambda a: a[:-1]),
    "offsets that fall": ("ptr", lambda a: a[::-1].copy()),
    "shares of other labels": ("shares", lambda a: a[:, :2]),
}


@pytest.mark.parametrize("change", ALTERED)
def test_altered_forests_are_refused(change):
    forest = FastXml(trees=2, max_leaf=4, cost=10.0).fit(TOPICS, TOPICS).forest_
    name, alter = ALTERED[change]
    assert isinstance(forest, TreesOverDocuments)
    forest.check(3)
    with pytest.raises(ValueError, match=f"{name}|children|leaf"):
        forest._replace(**{name: alter(getattr(forest, name))}).check(3)


def test_centroids_of_a_file_must_fit():
    model = PfastreXml(trees=2, max_leaf=4, cost=10.0).fit(TOPICS, TOPICS)
    model.check_state()
    model.centroids_ = model.centroids_[:, :2]
    with pytest.raises(ValueError, match="centroids_ must be"):
        model.check_state()
    model = PfastreXml(trees=2).fit(TOPICS, TOPICS)
    model.squares_ = model.squares_[:2]
    with pytest.raises(ValueError, match="squares_"):
        model.check_state()
    model = PfastreXml(trees=2).fit(TOPICS, TOPICS)
    model.greatest_gain_ = 0.5
    with pytest.raises(ValueError, match="greatest_gain_"):
        model.check_state()
