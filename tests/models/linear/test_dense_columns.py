"""Linear models that read dense vectors beside sparse features."""

from contextlib import contextmanager

import numpy as np
import pytest
from scipy.sparse import csr_array, hstack

from labelgrove import models
from labelgrove.core.errors import InputError
from labelgrove.core.features import Views
from labelgrove.core.progress import Silent, Task
from labelgrove.core.ranking import ndcg
from labelgrove.core.types import FitContext, Run, ViewSpec
from labelgrove.models.linear import checkpoints, tasks
from labelgrove.models.linear.bonsai import Bonsai
from labelgrove.models.linear.classifier_chain import ClassifierChain
from labelgrove.models.linear.one_vs_rest import OneVsRest
from labelgrove.models.linear.parabel import Parabel

N_LABELS, WORDS, D = 12, 30, 10
GIVEN = {"dense": "static:potion", "dense_weight": 0.5}
SMALL = {
    "one-vs-rest": OneVsRest(**GIVEN),
    "classifier-chain": ClassifierChain(chains=2, **GIVEN),
    "parabel": Parabel(max_leaf=3, **GIVEN),
    "bonsai": Bonsai(branching=3, max_leaf=3, trees=2, **GIVEN),
}


def planted(n=300, seed=0):
    """Words give away the first half of the labels, dense vectors the others."""
    rng = np.random.default_rng(seed)
    half = N_LABELS // 2
    Y = (rng.random((n, N_LABELS)) < 2 / N_LABELS).astype(np.float32)
    noise = rng.random((n, WORDS - half)) * (rng.random((n, WORDS - half)) < 0.2)
    text = csr_array(np.hstack([Y[:, :half], noise]).astype(np.float32))
    directions = np.random.default_rng(9).standard_normal((half, D))
    vectors = Y[:, half:] @ directions + 0.1 * rng.standard_normal((n, D))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Views({"text": text, "dense": vectors.astype(np.float32)}), csr_array(Y)


@pytest.fixture(params=SMALL)
def model(request):
    return SMALL[request.param].fresh()


@pytest.fixture
def narrow_blocks(monkeypatch):
    monkeypatch.setattr(tasks, "BLOCK", 4)  # many tasks for few labels


class Told(Silent):
    def __init__(self):
        self.lines = []

    def say(self, message):
        self.lines.append(message)


def assert_same_state(one, other):
    state = other.state()
    assert one.state().keys() == state.keys()
    for name, value in one.forest_.state().items():
        np.testing.assert_array_equal(value, state[name], err_msg=name)


def assert_same_ranking(one, other):
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.scores, other.scores)


# --- what is learned ----------------------------------------------------------------------------


def test_learns_from_words_and_vectors(model):
    X, Y = planted()
    new, truth = planted(100, seed=1)
    some = np.diff(truth.indptr) > 0
    new, truth = new[some], truth[some]
    with_dense = ndcg(model.fit(X, Y).rank(new, 5), truth, 5).mean()
    without = model.fresh().set_params(dense="", dense_weight=None).fit(X["text"], Y)
    assert with_dense > 0.9
    assert with_dense > ndcg(without.rank(new["text"], 5), truth, 5).mean() + 0.1


@pytest.mark.usefixtures("narrow_blocks")
@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
def test_the_same_as_if_the_columns_were_sparse(model, loss):
    """Also down trees with hard negatives: dense weights are only rounded to whole steps."""
    X, Y = planted()
    model.set_params(loss=loss, threshold=0.0, tolerance=1e-4, epochs=100)
    columns = csr_array(hstack([X["text"], csr_array(0.5 * X["dense"])]).astype(np.float32))
    trees = [[0, 0, 0], [label % 3 for label in range(N_LABELS)]]
    given = {"tree": trees, "negatives": 1} if isinstance(model, Bonsai) else {}
    if isinstance(model, Parabel):
        pytest.skip("its tree would be another one with more columns")
    dense = model.set_params(**given).fit(X, Y).rank(X, N_LABELS)
    sparse = (
        model.fresh()
        .set_params(dense="", dense_weight=None)
        .fit(columns, Y)
        .rank(columns, N_LABELS)
    )
    one, other = (ranking.to_csr(N_LABELS).toarray() for ranking in (dense, sparse))
    assert np.abs(one - other).mean() < 0.005
    assert (dense.labels[:, 0] == sparse.labels[:, 0]).mean() > 0.97


def test_a_text_is_ranked_alike_alone_and_among_others(model):
    X, Y = planted()
    model.fit(X, Y)
    together = model.rank(X, 5)
    for i in (0, 17, 299):
        alone = model.rank(X[i : i + 1], 5)
        np.testing.assert_array_equal(alone.labels[0], together.labels[i])
        np.testing.assert_array_equal(alone.scores[0], together.scores[i])


@pytest.mark.usefixtures("narrow_blocks")
def test_threads_change_nothing(model):
    X, Y = planted()
    one = model.fresh().set_params(threads=1).fit(X, Y)
    many = model.fresh().set_params(threads=3).fit(X, Y)
    assert_same_state(one, many)
    assert_same_ranking(one.rank(X, 5), many.rank(X, 5))


# --- explanations, storage ----------------------------------------------------------------------


def test_words_meaning_and_bias_are_the_score():
    X, Y = planted()
    model = OneVsRest(threshold=0.0, **GIVEN).fit(X, Y)
    scores = model.rank(X, N_LABELS).to_csr(N_LABELS).toarray()
    for i, label in ((0, 0), (3, 8), (5, 11)):
        told = model.explain(X, i, label)
        ((name, meaning),) = told.parts
        assert name == "meaning"
        total = told.weights.sum() + meaning + model.forest_.tables.bias[label]
        assert 1 / (1 + np.exp(-3.0 * total)) == pytest.approx(scores[i, label], abs=1e-4)


def test_meaning_speaks_for_what_only_vectors_tell(model):
    """Of the labels that vectors give away, meaning is what speaks for those that a text has."""
    X, Y = planted()
    model.fit(X, Y)
    truth = Y.toarray()
    rows = np.flatnonzero(truth[:, 6:].sum(axis=1) == 1)[:10]
    for i in rows:
        own, other = 6 + truth[i, 6:].argmax(), 6 + truth[i, 6:].argmin()
        assert model.explain(X, i, own).parts[0][1] > model.explain(X, i, other).parts[0][1]


def test_saved_and_loaded_it_ranks_and_explains_alike(model, tmp_path):
    X, Y = planted()
    model.fit(X, Y).save(tmp_path / "model")
    loaded = models.MODELS.find(model.name).load(tmp_path / "model")
    assert loaded.dense_weight_ == 0.5
    assert loaded.views() == model.views()
    assert_same_ranking(model.rank(X, 5), loaded.rank(X, 5))
    assert model.explain(X, 3, 8).parts == loaded.explain(X, 3, 8).parts


def test_dense_weights_take_a_byte_each():
    X, Y = planted()
    tables = OneVsRest(**GIVEN).fit(X, Y).forest_.tables
    assert (tables.dense_value.dtype, tables.dense_value.shape) == (np.int8, (N_LABELS * D,))
    by_child = np.abs(tables.dense_value.reshape(D, N_LABELS).astype(int))
    assert (by_child.max(axis=0) == 127).all(), "the largest of each child is 127 steps"


def test_a_model_saved_before_there_were_dense_columns_is_read():
    X, Y = planted()
    model = OneVsRest().fit(X["text"], Y)
    state = {k: v for k, v in model.state().items() if "dense" not in k}
    loaded = OneVsRest()
    loaded.set_state(state)
    assert loaded.views().keys() == {"text"}
    assert_same_ranking(loaded.rank(X["text"], 5), model.rank(X["text"], 5))


# --- resuming -----------------------------------------------------------------------------------


class Interrupted(Silent):
    """Interrupts a training after its first task."""

    @contextmanager
    def task(self, *given, **more):
        yield Interrupting()


class Interrupting(Task):
    def advance(self, steps=1, **facts):
        raise KeyboardInterrupt


@pytest.mark.usefixtures("narrow_blocks")
def test_resumed_it_is_the_same_model(model, tmp_path):
    X, Y = planted()
    whole = model.fresh().set_params(threads=1).fit(X, Y)
    run = Run(folder=tmp_path, progress=Interrupted())
    with pytest.raises(KeyboardInterrupt):
        model.set_params(threads=1).fit(X, Y, context=FitContext(run=run))
    assert list(tmp_path.glob("part-*"))
    told = Told()
    again = model.fresh().fit(
        X, Y, context=FitContext(run=Run(folder=tmp_path, resume=True, progress=told))
    )
    assert any(line.startswith("resuming: ") for line in told.lines)
    assert_same_state(whole, again)


def test_other_vectors_are_another_training(model, tmp_path):
    X, Y = planted()
    model.fit(X, Y, context=FitContext(run=Run(folder=tmp_path)))
    other = Views({"text": X["text"], "dense": X["dense"][::-1].copy()})
    with pytest.raises(InputError, match="other data"):
        model.fresh().fit(other, Y, context=FitContext(run=Run(folder=tmp_path, resume=True)))


def test_fingerprint_knows_dense_columns():
    X, Y = planted()
    given = (X["text"], Y, [], OneVsRest())
    first = checkpoints.fingerprint(*given, [X["dense"]])
    assert first != checkpoints.fingerprint(*given, [2 * X["dense"]])


# --- views and their weight ---------------------------------------------------------------------


def test_views():
    assert Bonsai().views() == {"text": ViewSpec("tf-idf")}
    static = {"text": ViewSpec("tf-idf"), "dense": ViewSpec("static", {"model": "potion"})}
    assert Bonsai(dense="static:potion").views() == static
    assert Bonsai(dense="mini").views()["dense"] == ViewSpec("encoder", {"model": "mini"})
    assert Bonsai(dense="mini", dense_weight=0.0).views() == {"text": ViewSpec("tf-idf")}


def test_vectors_that_help_get_a_weight():
    X, Y = planted()
    told = Told()
    model = OneVsRest(dense="mini").fit(X, Y, context=FitContext(run=Run(progress=told)))
    assert model.dense_weight_ in (0.25, 0.5, 1.0)
    (line,) = (line for line in told.lines if "dense_weight" in line)
    assert line.startswith(f"dense_weight {model.dense_weight_:g} chosen, held-out nDCG@5")
    assert "dense" in model.views()
    given = OneVsRest(dense="mini", dense_weight=model.dense_weight_).fit(X, Y)
    assert_same_ranking(model.rank(X, 5), given.rank(X, 5))


def test_none_chooses_the_weight_too_and_other_words_are_refused():
    X, Y = planted()
    chosen, none = (OneVsRest(dense="mini", dense_weight=each) for each in ("auto", None))
    assert_same_ranking(chosen.fit(X, Y).rank(X, 5), none.fit(X, Y).rank(X, 5))
    assert chosen.dense_weight_ == none.dense_weight_ > 0
    with pytest.raises(InputError, match=r"dense_weight must be .*'auto'.*got 'often'"):
        OneVsRest(dense="mini", dense_weight="often").fit(X, Y)


def test_a_model_that_is_fitted_again_keeps_the_weight_that_was_chosen():
    X, Y = planted()
    model, told = OneVsRest(dense="mini").fit(X, Y), Told()
    final = model.refit(X, Y, context=FitContext(run=Run(progress=told)))
    assert final.dense_weight_ == model.dense_weight_
    assert final.dense_weight == "auto"  # the setting stays as the user left it
    assert not [line for line in told.lines if "dense_weight" in line]
    assert_same_ranking(final.rank(X, 5), model.rank(X, 5))


def test_vectors_that_mean_nothing_are_not_asked_for(tmp_path):
    """X may be given with them or without, since a model around this one still has them."""
    X, Y = planted()
    noise = np.random.default_rng(1).standard_normal((300, D)).astype(np.float32)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    X = Views({"text": X["text"], "dense": noise})
    told = Told()
    model = Bonsai(dense="mini").fit(X, Y, context=FitContext(run=Run(progress=told)))
    assert model.dense_weight_ == 0
    assert any(line.endswith("does not help and is not used") for line in told.lines)
    assert model.views() == {"text": ViewSpec("tf-idf")}
    plain = Bonsai().fit(X["text"], Y)
    model.save(tmp_path / "model")
    for each in (model, Bonsai.load(tmp_path / "model")):
        assert_same_ranking(each.rank(X["text"], 5), plain.rank(X["text"], 5))
        assert_same_ranking(each.rank(X, 5), plain.rank(X["text"], 5))
        assert each.explain(X["text"], 0, 0).parts == ()
    assert model.fresh().views().keys() == {"text", "dense"}
    assert model.fit(*planted()).dense_weight_ > 0, "a second fit asks again"


def test_few_documents_get_a_weight_unchecked():
    X, Y = planted(15)
    told = Told()
    model = OneVsRest(dense="mini").fit(X, Y, context=FitContext(run=Run(progress=told)))
    assert model.dense_weight_ == 0.5
    assert any("15 documents are too few" in line for line in told.lines)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X["text"], "needs the views 'text' and 'dense', not csr_array"),
        (lambda X: Views({"text": X["text"]}), "not the views text: give both"),
        (lambda X: Views({**X, "dense": X["text"]}), "an array of documents x numbers, not csr"),
        (lambda X: Views({**X, "dense": X["dense"][:, :0]}), r"of shape \(300, 0\)"),
        (lambda X: Views({**X, "dense": X["dense"] * np.nan}), "not finite"),
    ],
)
def test_refuses_what_it_cannot_read(model, change, message):
    X, Y = planted()
    with pytest.raises(InputError, match=message):
        model.fresh().fit(change(X), Y)
    with pytest.raises(InputError, match=message):
        model.fit(X, Y).rank(change(X), 5)


def test_refuses_vectors_of_another_width(model):
    X, Y = planted()
    model.fit(X, Y)
    narrow = Views({"text": X["text"], "dense": X["dense"][:, :7]})
    with pytest.raises(InputError, match=r"7 columns, but [\w-]+ learned from 10"):
        model.rank(narrow, 5)
