"""Chains: what a label sees of others in training and while ranking, orders, resuming."""

from contextlib import contextmanager

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError
from labelgrove.core.progress import Progress, Silent
from labelgrove.core.types import FitContext, Run
from labelgrove.models.linear import chain_kernels, classifier_chain, forest_builder, tasks
from labelgrove.models.linear.classifier_chain import ClassifierChain
from labelgrove.models.linear.one_vs_rest import OneVsRest

N_LABELS = 12
N_FEATURES = 20


def planted(n=150, n_labels=N_LABELS, seed=0):
    """Label i owns feature i, label i + 1 often comes with it; the last features are noise."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n, n_labels)) < 1.5 / n_labels
    Y[:, 1:] |= Y[:, :-1] & (rng.random((n, n_labels - 1)) < 0.6)
    noise = rng.random((n, N_FEATURES)) * (rng.random((n, N_FEATURES)) < 0.2)
    X = np.hstack([Y * rng.uniform(0.3, 1.0, Y.shape), noise])
    return csr_array(X.astype(np.float32)), csr_array(Y.astype(np.float32))


@pytest.fixture
def narrow_blocks(monkeypatch):
    """Many tasks and chunks for few labels."""
    monkeypatch.setattr(tasks, "BLOCK", 4)
    monkeypatch.setattr(forest_builder, "CHUNK", 8)


def orders(model):
    """Return the labels in the order of each chain, shape (chains, L)."""
    return model.forest_.tables.child.reshape(-1, model.n_labels_)


def weights(model, chain):
    """Return weights of the text and bias by place in a chain, shapes (D, L) and (L,)."""
    every = np.arange(model.forest_.n_features)
    root = int(model.forest_.roots[chain])
    columns = [model.forest_._weights(root, place, every) for place in range(model.n_labels_)]
    return np.stack(columns, axis=1), model.forest_.tables.bias.reshape(-1, model.n_labels_)[chain]


def links(model, chain):
    """Return what labels add to later ones by places in a chain, shape (L, L)."""
    return model.links_.toarray().reshape(-1, model.n_labels_, model.n_labels_)[chain]


def slowly(model, X):
    """Return the probabilities of a model, shape (n, L), in plain numpy."""
    mean = np.zeros((X.shape[0], model.n_labels_))
    for chain, order in enumerate(orders(model)):
        text, bias = weights(model, chain)
        scores = X.toarray() @ text + bias
        said = np.zeros_like(scores)
        for place, label in enumerate(order):
            score = scores[:, place] + said @ links(model, chain)[:, place]
            p = 1 / (1 + np.exp(-model.sharpness * score))
            said[:, place] = p if model.pass_on == "probabilities" else p > 0.5
            mean[:, label] += p / model.chains
    return mean


def by_label(ranking, n_labels=N_LABELS):
    return ranking.to_csr(n_labels).toarray()


def assert_same(one, other):
    for name, value in one.state().items():
        wanted = other.state()[name]
        if isinstance(value, csr_array):
            value, wanted = value.toarray(), wanted.toarray()
        np.testing.assert_array_equal(value, wanted, err_msg=name)


# --- a label that depends on another ------------------------------------------------------------

# label 0: both words are there; label 1: only one of them, which no line in the plane of the two
# words can tell, but one + other - 2 x label 0 does
WORDS = csr_array(np.float32([[1, 1]] * 4 + [[1, 0], [0, 1]] + [[0, 0]] * 2))
BOTH_OR_ONE = csr_array(np.float32([[1, 0]] * 4 + [[0, 1]] * 2 + [[0, 0]] * 2))
SETTINGS = {"cost": 100.0, "epochs": 2000, "tolerance": 1e-4}


def decided(model):
    return by_label(model.rank(WORDS, 2), 2) > 0.5


@pytest.mark.parametrize("pass_on", ["decisions", "probabilities"])
@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
def test_a_chain_learns_what_one_classifier_a_label_cannot(loss, pass_on):
    chain = ClassifierChain(pass_on=pass_on, sharpness=30.0, loss=loss, **SETTINGS)
    assert decided(chain.fit(WORDS, BOTH_OR_ONE)).tolist() == (BOTH_OR_ONE.toarray() > 0).tolist()
    alone = decided(OneVsRest(loss=loss, **SETTINGS).fit(WORDS, BOTH_OR_ONE))
    assert (alone[:, 0] == BOTH_OR_ONE.toarray()[:, 0]).all()
    assert (alone[:, 1] != BOTH_OR_ONE.toarray()[:, 1]).any()


def test_a_label_is_told_nothing_by_those_after_it():
    """In the other order the same label is as hard as alone."""
    seeds = [seed for seed in range(20) if first_label(seed) == 1]
    chain = ClassifierChain(order="random", seed=seeds[0], **SETTINGS).fit(WORDS, BOTH_OR_ONE)
    assert (decided(chain)[:, 1] != BOTH_OR_ONE.toarray()[:, 1]).any()


def first_label(seed):
    model = ClassifierChain(order="random", epochs=1, seed=seed).fit(WORDS, BOTH_OR_ONE)
    return orders(model)[0, 0]


# --- training -----------------------------------------------------------------------------------


def least(A, sign, costs, loss):
    """Return the best weights and bias of one label."""
    A = np.hstack([A, np.ones((len(A), 1))])

    def objective(w):
        margin = sign * (A @ w)
        if loss == "logistic":
            losses, slope = np.logaddexp(0, -margin), -1 / (1 + np.exp(margin))
        else:
            losses, slope = np.maximum(0, 1 - margin) ** 2, -2 * np.maximum(0, 1 - margin)
        return w @ w / 2 + (costs * losses).sum(), w + A.T @ (costs * sign * slope)

    options = {"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-8}
    return minimize(objective, np.zeros(A.shape[1]), jac=True, method="L-BFGS-B", options=options).x


@pytest.mark.parametrize("link", [0.4, 1.7])
@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
@pytest.mark.parametrize(("block", "n_labels"), [(4, 12), (64, 40)])
def test_every_label_learns_from_the_text_and_the_labels_before_it(
    block, n_labels, loss, link, monkeypatch
):
    """Against scipy, which is given these features only: across blocks, and within one.

    Of 40 labels in a block often so few are moved that the solver writes only theirs.
    """
    monkeypatch.setattr(tasks, "BLOCK", block)
    X, Y = planted(90, n_labels)
    model = ClassifierChain(
        **{"order": "random", "chains": 2, "link": link},
        **{"loss": loss, "cost": 0.5, "tail": 0.5, "threads": 2},
        **{"epochs": 3000, "tolerance": 1e-6, "threshold": 0.0},
    ).fit(X, Y)
    dense, truth = X.toarray().astype(float), Y.toarray().astype(float)
    counts = truth.sum(axis=0)
    rarity = 1 + (np.log(90) - 1) * (2.5 / (counts + 1.5)) ** 0.55
    strongest = 0.0
    for chain, order in enumerate(orders(model)):
        text, bias = weights(model, chain)
        between = links(model, chain)
        assert not np.tril(between).any(), "a label sees itself, or later ones"
        near = 2e-3 + model.forest_.tables.chunk_scale.max() / 2
        for place in range(0, n_labels, 1 if n_labels == 12 else 7):
            label, earlier = order[place], order[:place]
            costs = np.where(truth[:, label] > 0, 0.5 * rarity[label] ** 0.5, 0.5)
            A = np.hstack([dense, link * truth[:, earlier]])
            best = least(A, 2 * truth[:, label] - 1, costs, loss)
            n_text = dense.shape[1]
            np.testing.assert_allclose(text[:, place], best[:n_text], atol=near)
            np.testing.assert_allclose(
                between[:place, place], link * best[n_text:-1], atol=2e-3 * max(1, link)
            )
            assert bias[place] == pytest.approx(best[-1], abs=2e-3)
            strongest = max(strongest, abs(best[n_text:-1]).max(initial=0))
    assert strongest > 0.1, "labels tell something of one another"


def test_labels_of_later_blocks_change_nothing(narrow_blocks):
    X, Y = planted()
    model = ClassifierChain(order="random").fit(X, Y)
    later = orders(model)[0][4:]
    dense = Y.toarray()
    dense[:, later] = 1 - dense[:, later]
    other = ClassifierChain(order="random").fit(X, csr_array(dense))
    for one, two in zip(weights(model, 0), weights(other, 0), strict=True):
        # stored in steps that the heaviest weight of a chunk decides
        steps = max(m.forest_.tables.chunk_scale.max() for m in (model, other))
        np.testing.assert_allclose(one[..., :4], two[..., :4], rtol=0, atol=steps)
        assert not np.allclose(one[..., 4:], two[..., 4:], rtol=0, atol=0.1)
    np.testing.assert_array_equal(links(model, 0)[:, :4], links(other, 0)[:, :4])
    assert links(model, 0)[:, :4].any()


def test_threads_change_nothing(narrow_blocks):
    X, Y = planted()
    one, three = (ClassifierChain(chains=3, threads=threads).fit(X, Y) for threads in (1, 3))
    assert_same(one, three)
    np.testing.assert_array_equal(by_label(one.rank(X, 5)), by_label(three.rank(X, 5)))


def test_without_co_occurrence_it_ranks_nearly_as_one_vs_rest():
    """Labels that a tiny link tells of are as good as unknown."""
    X, Y = planted()
    exact = {"epochs": 2000, "tolerance": 1e-5, "threshold": 0.0}
    chain = ClassifierChain(link=0.001, **exact).fit(X, Y)
    alone = OneVsRest(**exact).fit(X, Y)
    found, wanted = by_label(chain.rank(X, N_LABELS)), by_label(alone.rank(X, N_LABELS))
    np.testing.assert_allclose(found, wanted, atol=2e-3)


# --- orders -------------------------------------------------------------------------------------


def test_order_by_frequency_ties_by_number():
    Y = csr_array(np.float32([[1, 0, 1, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]))
    X = csr_array(np.eye(4, dtype=np.float32))
    assert orders(ClassifierChain().fit(X, Y)).tolist() == [[2, 0, 1, 3]]


def test_further_chains_are_random_and_each_another():
    X, Y = planted()
    by_frequency = orders(ClassifierChain(chains=3).fit(X, Y))
    at_random = orders(ClassifierChain(order="random", chains=3).fit(X, Y))
    other_seed = orders(ClassifierChain(order="random", chains=3, seed=1).fit(X, Y))
    assert by_frequency[0].tolist() == np.argsort(-Y.toarray().sum(0), kind="stable").tolist()
    assert by_frequency[1:].tolist() == at_random[1:].tolist()
    everything = np.concatenate([by_frequency[:1], at_random, other_seed])
    assert len(np.unique(everything, axis=0)) == 7
    assert (np.sort(everything, axis=1) == np.arange(N_LABELS)).all()


# --- ranking ------------------------------------------------------------------------------------


def test_kernel_scores_all_children_of_a_root(narrow_blocks):
    X, Y = planted()
    model = ClassifierChain(chains=2).fit(X, Y)
    assert len(model.forest_.tables.chunk_scale) == 4
    for chain in range(2):
        text, bias = weights(model, chain)
        root = int(model.forest_.roots[chain])
        for first, last in ((0, 150), (17, 20), (5, 5)):  # with a table of features, and without
            found = np.full((last - first, N_LABELS), np.nan, np.float32)
            chain_kernels.score_root(
                *(X.indptr, X.indices, X.data, None, first, last, root, model.forest_.tables, found)
            )
            wanted = X.toarray()[first:last] @ text + bias
            np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("hard", [True, False])
def test_kernel_follows_a_chain(hard):
    """Against numpy, and it adds to what is there."""
    rng = np.random.default_rng(0)
    between = np.triu(rng.standard_normal((7, 7)) * (rng.random((7, 7)) < 0.6), 1)
    sparse = csr_array(between.astype(np.float32))
    text = rng.standard_normal((30, 7)).astype(np.float32)
    order = rng.permutation(7).astype(np.int32)
    scores, total = text.copy(), np.full((30, 7), 5.0)
    chain_kernels.follow(
        *(scores, sparse.indptr, sparse.indices, sparse.data, order),
        *(np.float32(2.0), hard, total),
    )
    wanted, said = text.astype(float), np.zeros((30, 7))
    for j in range(7):
        wanted[:, j] += said @ between[:, j]
        p = 1 / (1 + np.exp(-2.0 * wanted[:, j]))
        said[:, j] = wanted[:, j] > 0 if hard else p
        np.testing.assert_allclose(total[:, order[j]], 5 + p, atol=1e-5)
    np.testing.assert_allclose(scores, wanted, atol=1e-5)
    assert (np.sign(wanted) != np.sign(text)).any(), "the chain changes decisions"


def test_a_chain_worked_out_by_hand():
    """Scores 1, -1, 0.5 at places 0 to 2; place 0 adds 3 to place 1, that -2 to place 2.

    Hard: 1, -1 + 3 = 2, 0.5 - 2 = -1.5. A score of exactly 0 is not there.
    """
    scores = np.float32([[1, -1, 0.5], [0, -1, 0.5]])
    total = np.zeros((2, 3))
    arrays = (np.array([0, 1, 2, 2], np.int32), np.array([1, 2], np.int32), np.float32([3, -2]))
    labels = np.array([2, 0, 1], np.int32)
    chain_kernels.follow(scores, *arrays, labels, np.float32(1.0), True, total)
    assert scores.tolist() == [[1, 2, -1.5], [0, -1, 0.5]]
    wanted = 1 / (1 + np.exp(-scores.astype(float)))
    np.testing.assert_allclose(total[:, labels], wanted)


@pytest.mark.parametrize("pass_on", ["decisions", "probabilities"])
@pytest.mark.parametrize("chains", [1, 3])
def test_probabilities_are_those_of_the_chains_averaged(chains, pass_on, narrow_blocks):
    X, Y = planted()
    model = ClassifierChain(chains=chains, pass_on=pass_on, link=1.0).fit(X, Y)
    ranking = model.rank(X, N_LABELS)
    np.testing.assert_allclose(by_label(ranking), slowly(model, X), atol=1e-4)
    assert (np.diff(ranking.scores, axis=1) <= 0).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_batches_change_nothing(threads, monkeypatch):
    X, Y = planted()
    model = ClassifierChain(chains=2, threads=threads).fit(X, Y)
    whole = model.rank(X, 5)
    monkeypatch.setattr(classifier_chain, "CELLS", 7 * N_LABELS * threads)
    sizes, original = [], ClassifierChain._rank_rows

    def noted(self, X, dense, first, last, k):
        sizes.append(last - first)
        return original(self, X, dense, first, last, k)

    monkeypatch.setattr(ClassifierChain, "_rank_rows", noted)
    parts = model.rank(X, 5)
    np.testing.assert_array_equal(parts.labels, whole.labels)
    np.testing.assert_array_equal(parts.scores, whole.scores)
    assert max(sizes) == 7
    assert sum(sizes) == 150


def test_labels_that_are_nearly_sure_keep_their_order():
    """Scores of 6 and 7 at a slope of 4 have probabilities that float32 rounds to the same 1."""
    X = csr_array(np.eye(2, dtype=np.float32))
    model = ClassifierChain(sharpness=4.0).fit(X, X)
    model.forest_.tables.bias[:] = 6, 7
    model.links_.data[:] = 0
    ranking = model.rank(csr_array((1, 2), dtype=np.float32), 2)
    assert ranking.scores.tolist() == [[1, 1]]
    assert ranking.labels.tolist() == [[1, 0]]


# --- odd data -----------------------------------------------------------------------------------


def test_a_label_of_all_documents_and_one_of_none():
    X, Y = planted()
    dense = Y.toarray()
    dense[:, 2], dense[:, 7] = 1, 0
    model = ClassifierChain(chains=2).fit(X, csr_array(dense))
    found = by_label(model.rank(X, N_LABELS))
    assert found[:, 2].min() > 0.8
    assert found[:, 7].max() < 0.2
    others = np.setdiff1d(np.arange(N_LABELS), [2, 7])
    right = (found[:, others] > 0.5) == (dense[:, others] > 0)
    assert right.mean() > 0.95


def test_too_many_labels_are_refused_and_many_are_told_of(monkeypatch):
    X, Y = planted()
    monkeypatch.setattr(classifier_chain, "MANY", N_LABELS)
    told = Impatient(10**6)
    ClassifierChain().fit(X, Y, context=FitContext(run=Run(progress=told)))
    assert told.said == []
    monkeypatch.setattr(classifier_chain, "MANY", N_LABELS - 1)
    ClassifierChain().fit(X, Y, context=FitContext(run=Run(progress=told)))
    assert told.said == [
        "a chain of 12 labels can have 66 weights between them: bonsai is much faster"
    ]
    monkeypatch.setattr(classifier_chain, "TOO_MANY", N_LABELS - 1)
    with pytest.raises(
        InputError, match=r"^12 labels are too many for classifier-chain, .* bonsai"
    ):
        ClassifierChain().fit(X, Y)


@pytest.mark.parametrize("chains", [1, 3])
def test_explanation_is_of_the_label_s_own_classifiers(chains):
    X, Y = planted()
    model = ClassifierChain(chains=chains).fit(X, Y)
    for i, label in ((0, 0), (7, 3), (11, 11)):
        shares = np.zeros(X.shape[1])
        for chain, order in enumerate(orders(model)):
            place = order.tolist().index(label)
            shares += weights(model, chain)[0][:, place] * X.toarray()[i] / chains
        explained = model.explain(X, i, label)
        assert explained.ids.tolist() == np.flatnonzero(shares).tolist()
        np.testing.assert_allclose(explained.weights, shares[shares != 0], rtol=1e-5)


# --- resuming -----------------------------------------------------------------------------------


class Impatient(Progress):
    """Interrupts after some finished tasks, as a user with Ctrl-C does."""

    def __init__(self, patience):
        self.patience = patience
        self.said = []

    @contextmanager
    def task(self, title, total=None, unit="documents", done=0):
        yield self

    def advance(self, steps=1, **facts):
        self.patience -= steps
        if self.patience < 0:
            raise KeyboardInterrupt

    def say(self, message):
        self.said.append(message)


MODEL = ClassifierChain(chains=3, threads=1)


def fit(model, folder, *, resume=False, progress=None):
    run = Run(folder=folder, resume=resume, progress=progress or Silent())
    return model.fresh().fit(*planted(), context=FitContext(run=run))


def interrupt(folder, patience):
    with pytest.raises(KeyboardInterrupt):
        fit(MODEL, folder, progress=Impatient(patience))


@pytest.mark.parametrize("patience", [0, 2, 5, 7])  # three chains of three tasks
def test_resumed_training_is_the_same_and_repeats_nothing(patience, narrow_blocks, tmp_path):
    whole = MODEL.fresh().fit(*planted())
    interrupt(tmp_path, patience)
    told = Impatient(9 - (patience + 1))  # as many as are left
    assert_same(fit(MODEL, tmp_path, resume=True, progress=told), whole)
    assert told.said == [f"resuming: {patience + 1} groups of labels are done"]
    assert told.patience == 0


@pytest.mark.parametrize(
    "settings", [{"link": 0.7}, {"order": "random"}, {"chains": 2}, {"seed": 1}], ids=str
)
def test_resume_with_other_settings_is_refused(settings, narrow_blocks, tmp_path):
    interrupt(tmp_path, 4)
    with pytest.raises(InputError, match="other data or with other settings"):
        fit(MODEL.fresh().set_params(**settings), tmp_path, resume=True)


@pytest.mark.parametrize("settings", [{"pass_on": "probabilities"}, {"sharpness": 9.0}], ids=str)
def test_resume_with_settings_that_do_not_matter_to_training(settings, narrow_blocks, tmp_path):
    interrupt(tmp_path, 4)
    resumed = fit(MODEL.fresh().set_params(**settings), tmp_path, resume=True)
    assert_same(resumed, MODEL.fresh().fit(*planted()))
