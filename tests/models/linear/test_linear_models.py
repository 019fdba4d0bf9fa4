"""The linear models as a user meets them: trees, settings, odd data."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix

from labelgrove import models
from labelgrove.core import storage
from labelgrove.core.errors import DamagedError, InputError, NotFittedError
from labelgrove.core.features import TokenSequences, Views
from labelgrove.core.types import FitContext
from labelgrove.labels import LabelSpace, LabelTree
from labelgrove.models.linear.bonsai import Bonsai
from labelgrove.models.linear.classifier_chain import ClassifierChain
from labelgrove.models.linear.one_vs_rest import OneVsRest
from labelgrove.models.linear.parabel import Parabel

N_LABELS = 12
N_FEATURES = 40
SMALL = {
    "one-vs-rest": OneVsRest(),
    "classifier-chain": ClassifierChain(chains=2),
    "parabel": Parabel(max_leaf=3),
    "bonsai": Bonsai(branching=3, max_leaf=3, trees=2),
}


def planted(n=200, n_labels=N_LABELS, seed=0):
    """Label i owns feature i; the last features are noise."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, n_labels)) < 2 / n_labels).astype(np.float32)
    noise = rng.random((n, N_FEATURES - n_labels)) * (rng.random((n, N_FEATURES - n_labels)) < 0.15)
    return csr_array(np.hstack([Y, noise]).astype(np.float32)), csr_array(Y)


@pytest.fixture(params=SMALL)
def model(request):
    return SMALL[request.param].fresh()


def assert_same_ranking(one, other):
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.scores, other.scores)


def refusal(call):
    """Return the one line with which a call is refused."""
    with pytest.raises(InputError) as error:
        call()
    assert "\n" not in str(error.value)
    return str(error.value)


def test_learns_what_was_planted(model):
    X, Y = planted()
    model.fit(X, Y)
    alone = csr_array(np.eye(N_LABELS, N_FEATURES, dtype=np.float32))
    assert model.rank(alone, 1).labels.ravel().tolist() == list(range(N_LABELS))


# --- trees --------------------------------------------------------------------------------------


def hierarchy(parents, n_labels=N_LABELS):
    ids = [f"c{i:02d}" for i in range(len(parents))]
    return LabelSpace(ids, np.ones(n_labels), 10, parents=parents)


def test_hierarchy_of_the_label_space_is_the_tree():
    """Twelve labels below concepts 12, 13, 14; 13 and 14 are below 15; label 0 has no parent."""
    X, Y = planted()
    parents = [(), *[(12 + i % 3,) for i in range(1, 12)], (), (15,), (15,), ()]
    space = hierarchy(parents)
    model = Bonsai(tree="hierarchy").fit(X, Y, context=FitContext(labels=space))
    tree = LabelTree.from_parents(space.parents, N_LABELS)
    given = Bonsai(tree=[level.tolist() for level in tree.levels]).fit(X, Y)
    assert model.forest_.depths.tolist() == [tree.depth]
    for name, array in model.forest_.state().items():
        np.testing.assert_array_equal(array, given.forest_.state()[name])
    alone = csr_array(np.eye(N_LABELS, N_FEATURES, dtype=np.float32))
    assert model.rank(alone, 1).labels.ravel().tolist() == list(range(N_LABELS))


@pytest.mark.parametrize("space", [None, hierarchy([()] * N_LABELS)], ids=["none", "flat"])
def test_hierarchy_without_parents_is_refused(space):
    X, Y = planted()
    message = refusal(lambda: Bonsai(tree="hierarchy").fit(X, Y, context=FitContext(labels=space)))
    assert "needs labels with parents" in message


def test_few_labels_need_no_tree():
    X, Y = planted()
    forest = Bonsai(max_leaf=6).fit(X, Y).forest_
    assert forest.depths.tolist() == [1]
    assert Bonsai(max_leaf=5).fit(X, Y).forest_.depths.tolist() == [2]


@pytest.mark.parametrize(("splits", "sizes"), [(1, [2, 2, 2, 3, 3, 3, 3]), (2, [4, 3, 3, 3, 3])])
def test_several_splits_in_one_step(splits, sizes):
    """Twelve labels are 2 times 2 times 3."""
    X, Y = planted()
    forest = Parabel(max_leaf=3, splits=splits).fit(X, Y).forest_
    assert np.diff(forest.tables.child_ptr).tolist() == sizes


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_tree_of_ones_own(kind):
    X, Y = planted()
    last = [label // 4 for label in range(N_LABELS)]
    forest = Bonsai(tree=[kind([0, 0, 0]), kind(last)]).fit(X, Y).forest_
    assert forest.depths.tolist() == [2]
    assert forest.tables.child_ptr.tolist() == [0, 3, 7, 11, 15]
    assert forest.tables.child[3:].tolist() == list(range(N_LABELS))


def test_tree_of_ones_own_is_saved(tmp_path):
    X, Y = planted()
    model = Bonsai(tree=[[0, 0], [label % 2 for label in range(N_LABELS)]]).fit(X, Y)
    model.save(tmp_path / "model")
    assert_same_ranking(Bonsai.load(tmp_path / "model").rank(X, 4), model.rank(X, 4))


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ("kmeans", "tree must be 'k-means', 'hierarchy'"),
        (None, "tree must be 'k-means', 'hierarchy'"),
        (3, "got 3"),
        ([], "tree must be"),
        ([[]], "tree must be"),
        ([[0.5] * N_LABELS], "whole numbers"),
        ([["a"] * N_LABELS], "whole numbers"),
        ([[0, [0]]], "whole numbers"),
        ([[0] * 11], "the tree has 11 labels, Y has 12"),
        ([[0, 0], [0] * N_LABELS], "level 2 of a tree must give each of the 2 nodes"),
        ([[0, 2], [0, 1] * 6], "level 1 of a tree"),
        ([[-1] * N_LABELS], "level 1 of a tree"),
    ],
    ids=str,
)
def test_wrong_tree_is_refused(tree, said):
    X, Y = planted()
    assert said in refusal(lambda: Bonsai(tree=tree).fit(X, Y))


# --- settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("loss", "hinge"),
        ("loss", 3),
        ("beam", 0),
        ("beam", 2.5),
        ("cost", -1),
        ("cost", 0),
        ("cost", "x"),
        ("cost", float("nan")),
        ("cost", float("inf")),
        ("sharpness", 0.0),
        ("tolerance", -0.1),
        ("threshold", -0.1),
        ("threshold", "x"),
        ("tail", -0.5),
        ("tail", "x"),
        ("tail", None),
        ("tail", float("nan")),
        ("tail", float("inf")),
        ("epochs", "x"),
        ("epochs", 0),
        ("epochs", 1.5),
        ("trees", 0),
        ("branching", 1),
        ("splits", 0),
        ("negatives", -1),
        ("carry", -0.1),
        ("carry", 1.5),
        ("max_leaf", 0),
        ("order", "alphabet"),
        ("order", None),
        ("chains", 0),
        ("chains", 1.5),
        ("pass_on", "decision"),
        ("link", 0),
        ("link", -1.0),
        ("link", "x"),
        ("link", float("nan")),
        ("heaviest", 0),
        ("heaviest", "all"),
        ("seed", -1),
        ("seed", "x"),
        ("threads", 0),
    ],
)
def test_wrong_settings_are_refused(setting, value):
    X, Y = planted(20)
    refused = 0
    for small in SMALL.values():
        if setting in small.get_params():
            message = refusal(
                lambda one=small: one.fresh().set_params(**{setting: value}).fit(X, Y)
            )
            assert setting in message
            assert repr(value) in message
            refused += 1
    assert refused


def test_settings_of_numpy_are_numbers(model):
    X, Y = planted()
    wanted = model.set_params(cost=0.5, tail=1.0).fit(X, Y).rank(X, 3)
    again = model.fresh().set_params(
        cost=np.float32(0.5), tail=np.int64(1), epochs=np.int64(10), seed=np.int64(0)
    )
    assert_same_ranking(again.fit(X, Y).rank(X, 3), wanted)


def of_label(model, X, label):
    """Return the probability of one label for each row."""
    ranking = model.rank(X, N_LABELS)
    here = ranking.labels == label
    assert (here.sum(axis=1) == 1).all()
    return ranking.scores[here]


def test_tail_raises_the_scores_of_rare_labels(model):
    """The more the larger it is, and those of frequent labels less: label 0 has 6 documents."""
    X, Y = planted()
    dense = Y.toarray()
    own, others = np.flatnonzero(dense[:, 0])[:6], np.flatnonzero(dense[:, 0])[6:]
    dense[others, 0] = 0
    model.set_params(cost=0.3)
    if isinstance(model, Bonsai):  # no label is alone, where nothing could be raised
        model.set_params(tree=[[0, 0], [label % 2 for label in range(N_LABELS)]])
    fitted = [
        model.fresh().set_params(tail=tail).fit(X, csr_array(dense)) for tail in (0.0, 0.5, 1.0)
    ]
    rare = [of_label(one, X[own], 0) for one in fitted]
    assert (rare[0] < rare[1]).all()
    assert (rare[1] < rare[2]).all()
    frequent = int(dense.sum(axis=0).argmax())
    rows = dense[:, frequent] > 0
    gains = [
        np.mean(np.log(of_label(fitted[2], X[at], label) / of_label(fitted[0], X[at], label)))
        for at, label in ((own, 0), (rows, frequent))
    ]
    assert gains[0] > 1.5 * gains[1]


def test_a_refused_fit_changes_nothing(model):
    X, Y = planted()
    before = model.fit(X, Y).rank(X, 3)
    with pytest.raises(InputError):
        model.set_params(cost=-1.0).fit(X[:50], Y[:50])
    assert_same_ranking(model.rank(X, 3), before)


@pytest.mark.parametrize("name", SMALL)
def test_created_by_name(name):
    assert type(models.create(name)) is type(SMALL[name])


# --- odd data -----------------------------------------------------------------------------------


def test_one_label_is_learned_from_the_documents_without_it(model):
    X, Y = planted()
    has = Y[:, [0]].toarray().ravel() > 0
    ranking = model.fit(X, csr_array(Y[:, [0]])).rank(X, 5)
    assert ranking.labels.tolist() == [[0]] * 200
    assert ranking.scores[has].min() > ranking.scores[~has].max()


def test_one_label_that_all_documents_have(model):
    X, _ = planted()
    ranking = model.fit(X, csr_array(np.ones((200, 1), np.float32))).rank(X, 5)
    assert ranking.scores.min() > 0.9


def test_labels_without_documents_come_last(model):
    X, Y = planted()
    dense = Y.toarray()
    dense[:, [3, 7]] = 0
    model.fit(X, csr_array(dense))
    ranking = model.rank(X[dense.any(axis=1)], 1)
    assert not np.isin(ranking.labels, [3, 7]).any()


def test_no_label_has_a_document(model):
    X, Y = planted()
    ranking = model.fit(X, csr_array(Y.shape, dtype=np.float32)).rank(X, N_LABELS)
    assert (np.sort(ranking.labels, axis=1) == np.arange(N_LABELS)).all()
    assert np.isfinite(ranking.scores).all()


def test_documents_without_labels_have_none_of_them(model):
    X, Y = planted()
    bare = np.arange(200) < 30
    dense = np.where(bare[:, None], 0, Y.toarray())
    best = model.fit(X, csr_array(dense)).rank(X, 1).scores.ravel()
    before = model.fresh().fit(X[~bare], csr_array(dense[~bare])).rank(X, 1).scores.ravel()
    assert best[bare].mean() < before[bare].mean() - 0.15
    assert best[~bare].mean() > best[bare].mean() + 0.15


def test_empty_rows_are_learned_from_and_ranked(model):
    X, Y = planted()
    dense = X.toarray()
    dense[::5] = 0
    model.fit(csr_array(dense), Y)
    empty = csr_array((10, N_FEATURES), dtype=np.float32)
    many, one = model.rank(empty, 3), model.rank(empty[:1], 3)
    assert (many.labels == one.labels).all()
    assert (many.labels >= 0).all()
    assert (many.scores < 0.9).all(), "nothing speaks for a label"


def test_features_never_seen_in_training_say_nothing(model):
    X, Y = planted()
    wide = csr_array((X.data, X.indices, X.indptr), shape=(200, N_FEATURES + 5))
    model.fit(wide, Y)
    strange = wide.toarray()
    strange[:, N_FEATURES:] = 100.0
    assert_same_ranking(model.rank(csr_array(strange), 3), model.rank(wide, 3))
    explained = model.explain(csr_array(strange), 0, 0)
    assert (explained.ids < N_FEATURES).all()


def wide_indices(X):
    wide = csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    return wide


def in_pieces(X):
    """The same numbers, each entry in two halves, and the entries of a row in disorder."""
    data, indices, indptr = [], [], [0]
    for i in range(X.shape[0]):
        row = slice(X.indptr[i], X.indptr[i + 1])
        indices += [*X.indices[row][::-1], *X.indices[row]]
        data += [*X.data[row][::-1] / 2, *X.data[row] / 2]
        indptr.append(len(data))
    return csr_array((np.float32(data), np.int32(indices), np.int32(indptr)), shape=X.shape)


@pytest.mark.parametrize(
    "form",
    [csr_matrix, csc_array, coo_array, wide_indices, in_pieces, lambda X: X.astype(np.float64)],
    ids=["matrix", "csc", "coo", "int64", "pieces", "float64"],
)
def test_any_sparse_form_of_x(form, model):
    X, Y = planted()
    model.fit(X, Y)
    given = form(X)
    kept = given.copy()
    np.testing.assert_allclose(model.rank(given, 3).scores, model.rank(X, 3).scores, atol=1e-5)
    again = model.fresh().fit(given, Y)
    assert_same_ranking(again.rank(X, 3), model.rank(X, 3))
    one, other = model.explain(X, 3, 1), again.explain(given, 3, 1)
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-5)
    assert given.nnz == kept.nnz
    assert (given != kept).nnz == 0, "X is left as it was"


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((200, N_FEATURES)),
        TokenSequences(np.zeros(200), np.arange(201), N_FEATURES),
        Views({"text": csr_array((200, N_FEATURES))}),
    ],
    ids=["dense", "tokens", "views"],
)
def test_other_features_are_refused(X, model):
    good, Y = planted()
    assert f"not {type(X).__name__}" in refusal(lambda: model.fit(X, Y))
    model.fit(good, Y)
    assert f"not {type(X).__name__}" in refusal(lambda: model.rank(X, 3))


@pytest.mark.parametrize("width", [N_FEATURES - 1, N_FEATURES + 1])
@pytest.mark.parametrize("n", [1, 20])
def test_features_of_another_width_are_refused(width, n, model):
    X, Y = planted()
    model.fit(X, Y)
    other = csr_array(np.ones((n, width), np.float32))
    assert f"X has {width} features" in refusal(lambda: model.rank(other, 3))
    assert f"X has {width} features" in refusal(lambda: model.explain(other, 0, 0))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(value, model):
    X, Y = planted()
    clean = X.copy()
    X.data[5] = value
    assert "not finite" in refusal(lambda: model.fit(X, Y))
    model.fit(clean, Y)
    assert "not finite" in refusal(lambda: model.rank(X, 3))


# --- saving -------------------------------------------------------------------------------------


@pytest.mark.parametrize("verify", [True, False])
def test_a_saved_model_ranks_and_explains_the_same(model, verify, tmp_path):
    """In a batch and row by row; its arrays are then read-only maps of files."""
    X, Y = planted()
    model.fit(X, Y).save(tmp_path / "model")
    loaded = type(model).load(tmp_path / "model", verify=verify)
    assert not loaded.forest_.tables.entry_value.flags.writeable
    assert_same_ranking(loaded.rank(X, 5), model.rank(X, 5))
    for i in range(3):
        assert_same_ranking(loaded.rank(X[i : i + 1], 5), model.rank(X[i : i + 1], 5))
    one, other = model.explain(X, 3, 1), loaded.explain(X, 3, 1)
    np.testing.assert_array_equal(one.weights, other.weights)
    loaded.save(tmp_path / "again")
    assert_same_ranking(type(model).load(tmp_path / "again").rank(X, 5), model.rank(X, 5))


def test_size_on_disk(model, tmp_path):
    """Three bytes a weight, eight a row of them, and a pointer more for each chunk."""
    X, Y = planted()
    model.fit(X, Y).save(tmp_path / "model")
    tables = model.forest_.tables
    n_rows, n_entries = int(tables.chunk_rows[-1]), int(tables.chunk_entries[-1])
    assert n_entries > N_LABELS
    sizes = {
        path.stem: path.stat().st_size - 128  # what stands before the numbers in a file
        for path in (tmp_path / "model").rglob("*.npy")
    }
    assert sizes["entry_label"] + sizes["entry_value"] == 3 * n_entries
    assert sizes["row_feature"] + sizes["row_ptr"] == 8 * n_rows + 4 * len(tables.chunk_scale)
    per_chunk = 4 + 8 + 8 + 4  # chunk_child, chunk_rows, chunk_entries, chunk_scale
    found = sum(sizes[name] for name in sizes if name.startswith("chunk_") and "ptr" not in name)
    assert found == per_chunk * len(tables.chunk_scale) + 2 * 8


# --- explaining ---------------------------------------------------------------------------------


@pytest.mark.parametrize("trees", [1, 2])
def test_explanation_is_the_features_share_of_the_scores(trees):
    X, Y = planted()
    model = Bonsai(branching=3, max_leaf=3, trees=trees, threshold=0.01).fit(X, Y)
    every = np.arange(N_FEATURES)
    for i, label in ((0, 0), (7, 3), (11, 11)):
        shares = model.forest_.path_weights(label, every) * X.toarray()[i] / trees
        explained = model.explain(X, i, label)
        assert explained.ids.tolist() == np.flatnonzero(shares).tolist()
        np.testing.assert_allclose(explained.weights, shares[shares != 0], rtol=1e-6)


def test_explanation_of_one_vs_rest_adds_up_to_the_score():
    X, Y = planted()
    model = OneVsRest(threshold=0).fit(X, Y)
    ranking = model.rank(X, N_LABELS)
    bias = model.forest_.tables.bias
    for i in range(0, 200, 40):
        for label, p in ranking.row(i):
            score = model.explain(X, i, label).weights.sum() + bias[label]
            assert 1 / (1 + np.exp(-3.0 * score)) == pytest.approx(p, abs=1e-5)


def test_the_planted_feature_speaks_loudest(model):
    X, Y = planted()
    model.fit(X, Y)
    rows, labels = Y.nonzero()
    for i, label in list(zip(rows.tolist(), labels.tolist(), strict=True))[:20]:
        explained = model.explain(X, i, label)
        assert explained.ids[explained.weights.argmax()] == label


@pytest.mark.parametrize("label", [-1, N_LABELS])
def test_explaining_an_unknown_label_is_refused(label, model):
    X, Y = planted()
    model.fit(X, Y)
    assert f"label {label}" in refusal(lambda: model.explain(X, 0, label))


def test_explaining_a_row_that_is_not_there_is_refused(model):
    X, Y = planted()
    model.fit(X, Y)
    assert "row 200" in refusal(lambda: model.explain(X, 200, 0))


def test_explaining_before_learning_is_refused(model):
    with pytest.raises(NotFittedError):
        model.explain(planted()[0], 0, 0)


def test_model_of_another_version_is_refused(model, tmp_path):
    """One whose arrays are others: the folder is whole, but not what this version reads."""
    model.fit(*planted())
    values = {"part": model.name, "settings": model.get_params(deep=False), **model.state()}
    del values["chunk_scale"]
    storage.write_values(tmp_path, values)
    with pytest.raises(DamagedError, match=r"without chunk_scale, .* train it again"):
        type(model).read(tmp_path)


@pytest.mark.parametrize("settings", [{"tail": 500}, {"cost": 1e-40}, {"cost": 1e300}], ids=str)
def test_weights_that_float32_has_no_numbers_for_are_refused(settings, model):
    assert "must be a number from" in refusal(lambda: model.set_params(**settings).fit(*planted()))


def test_bonsai_grows_a_second_tree_for_many_documents(monkeypatch):
    X, Y = planted()
    for many, trees in ((200, 2), (201, 1)):
        monkeypatch.setattr("labelgrove.models.linear.bonsai.MANY", many)
        assert len(Bonsai(max_leaf=3).fit(X, Y).forest_.roots) == trees
    assert len(Bonsai(max_leaf=3, trees=1).fit(X, Y).forest_.roots) == 1
