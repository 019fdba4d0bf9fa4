"""LightAttention: its loss and prediction by hand, its samplers, resume, and odd label sets."""

import os
import pickle
import signal
from contextlib import contextmanager
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from labelgrove import models
from labelgrove.core.errors import InputError
from labelgrove.core.features import TokenSequences
from labelgrove.core.progress import Silent, Task
from labelgrove.core.types import FitContext, Run
from labelgrove.models.contract import known_answer
from labelgrove.models.neural.candidates.all import AllLabels
from labelgrove.models.neural.candidates.base import TrainingData
from labelgrove.models.neural.readers.base import Batch
from labelgrove.models.neural.scorers.generator import Generator
from labelgrove.models.neural.scorers.label_attention import LabelAttentionScorer
from labelgrove.models.neural.texts import Texts
from labelgrove.models.neural.training.batches import padded
from labelgrove.models.neural.training.settings import Training
from labelgrove.tagger import Tagger

SMALL = {
    "units": 6,
    "prior": "none",  # as published
    "schedule": "constant",
    "vectors": "random",
    "layers": [12, 10, 8],
    "vector_size": 6,
    "batch": 16,
    "epochs": 1,
    "device": "cpu",
    "threads": 1,
    "dropout": 0.1,
    "max_leaf": 4,
    "candidates": 8,
}
SAMPLERS = ("generated", "static", "uniform", "all")
TWO = {"levels": 2, "branching": 2}


def planted(n=120, n_labels=24, seed=0):
    """Texts whose words tell their labels: word 2 + label, among others that mean nothing."""
    rng = np.random.default_rng(seed)
    own = [rng.choice(n_labels, rng.integers(1, 4), replace=False) for _ in range(n)]
    noise = [rng.integers(n_labels + 2, n_labels + 20, rng.integers(2, 6)) for _ in range(n)]
    texts = [rng.permutation(np.concatenate([a + 2, b])) for a, b in zip(own, noise, strict=True)]
    return words(texts, n_labels + 20), truth(own, n_labels)


def words(texts, n_words):
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    return TokenSequences(np.concatenate(texts), offsets, n_words)


def truth(lists, width):
    found = np.zeros((len(lists), width), np.float32)
    for row, own in zip(found, lists, strict=True):
        row[list(own)] = 1
    return csr_array(found)


def new(**settings):
    return models.create("lightattention", **{**SMALL, **settings})


def fitted(**settings):
    X, Y = planted()
    return new(**settings).fit(X, Y, context=FitContext(validation=planted(30, seed=5))), X, Y


def stirred(model):
    """Give all weights other values: after one epoch labels would hardly differ."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(3)
        for network in model.networks_:
            for parameter in network.parameters():
                parameter += 0.5 * torch.randn_like(parameter)
    return model


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def numbers(tensor):
    return tensor.detach().double().numpy()


def trees_of(model):
    """Return the label trees of a model, none if it judges all labels."""
    candidates = model.candidates_
    return [] if isinstance(candidates, AllLabels) else candidates.trees


def objectives(model, X, Y, held=None):
    """Return what each network learns, as training makes it."""
    data = TrainingData(X, Texts(X), Y, held and (held[0], Texts(held[0]), held[1]))
    found, networks = [], []
    for step in replace(model.candidates_).steps(networks, data, FitContext()):
        found.append(model._objective(step, data, Training()))
        networks.append(model.networks_[len(networks)])
    return found


def assert_shared(network, other, *parts):
    """Check that two networks have the same weights in some of their parts."""
    for part in parts:
        own, theirs = (each.get_submodule(part).state_dict() for each in (network, other))
        assert theirs
        assert all(torch.equal(own[name], theirs[name]) for name in theirs)


# --- the network in numpy -----------------------------------------------------------------------


def reading(network, X, i):
    """Return the recurrent layer's outputs (T, d) of a text."""
    with torch.inference_mode():
        return numbers(network.eval().reader(Batch(*padded(X, np.array([i])))).vectors[0])


def cluster_logits(network, H):
    generator = network.scorers()[0]
    assert isinstance(generator, Generator)
    return numbers(generator.output.weight) @ H.mean(axis=0) + numbers(generator.output.bias)


def first_logits(model, H):
    """Return the log odds of the first level's clusters: a generator's, or an attention's."""
    first = model.networks_[0]
    if model.sampler == "generated":
        return cluster_logits(first, H)
    nodes = trees_of(model)[0].n_nodes(1)
    return np.array([label_logit(first, H, node) for node in range(nodes)])


def label_logit(network, H, label):
    scorer = network.scorer
    scores = H @ numbers(scorer.attends.labels.weight)[label]
    shares = np.exp(scores) / np.exp(scores).sum()
    x = shares @ H
    for layer in scorer.layers.hidden:
        x = np.maximum(numbers(layer.weight) @ x + numbers(layer.bias), 0)
    output = scorer.layers.output
    return float(numbers(output.weight)[0] @ x + numbers(output.bias)[0])


def cross_entropy(logits, wanted):
    p = sigmoid(np.array(logits))
    return -np.mean(np.where(np.array(wanted), np.log(p), np.log(1 - p)))


def test_joint_loss():
    model, X, Y = fitted(candidates=5, negatives=0)
    (tree,), (network,) = trees_of(model), stirred(model).networks_
    assert isinstance(network.generator, Generator)
    assert isinstance(network.scorer, LabelAttentionScorer)
    (most,) = model._kept(tree)
    assert most == 2, "24 labels in 8 clusters: two of these have six"
    rows = np.arange(12)
    seen, seen_clusters, wanted, wanted_clusters, sizes = [], [], [], [], set()
    for i in rows:
        H, own = reading(network, X, i), {*Y[[i]].indices.tolist()}
        clusters = cluster_logits(network, H)
        true = {int(tree.levels[1][label]) for label in own}
        order = sorted(range(8), key=lambda c: -(sigmoid(clusters[c]) + (c in true)))[:most]
        chosen = {label for label in range(24) if tree.levels[1][label] in order} | own
        sizes.add(len(chosen))
        seen += [label_logit(network, H, label) for label in chosen]
        wanted += [label in own for label in chosen]
        seen_clusters += list(clusters)
        wanted_clusters += [c in true for c in range(8)]
    assert sizes == {6, 7}, "some have a label outside both clusters, the others padding"
    (objective,) = objectives(model, X, Y)
    loss = float(objective.loss(network.eval(), rows).detach())
    expected = cross_entropy(seen, wanted) + cross_entropy(seen_clusters, wanted_clusters)
    assert loss == pytest.approx(expected, rel=1e-5)


def test_both_parts_learn_from_one_step_and_others_stand_still():
    model, X, Y = fitted()
    (network,) = model.networks_
    (objective,) = objectives(model, X, Y)
    objective.loss(network.train(), np.array([0])).backward()
    assert network.generator.output.weight.grad.abs().sum() > 0
    touched = network.scorer.attends.labels.weight.grad.coalesce().indices()[0].tolist()
    assert 0 < len(touched) < 24, "only the candidates"
    assert {*Y[[0]].indices.tolist()} <= {*touched}


def by_hand(model, X, i):
    """Return every label's probability that prediction should give: the product down the tree."""
    (tree,), kept = trees_of(model), model._kept(trees_of(model)[0])
    first, *others = model.networks_
    here = dict(enumerate(sigmoid(first_logits(model, reading(first, X, i)))))
    judging = model.networks_ if model.sampler == "generated" else others
    for number, network in enumerate(judging):
        level = number + 1
        here = dict(sorted(here.items(), key=lambda pair: -pair[1])[: kept[level - 1]])
        below = {}
        H = reading(network, X, i)
        for child in range(tree.n_nodes(level + 1)):
            parent = int(tree.levels[level][child])
            if parent in here:
                p = sigmoid(label_logit(network, H, child))
                if model.sampler == "generated" and level < tree.depth - 1:
                    after = model.networks_[number + 1]
                    p = np.sqrt(p * sigmoid(cluster_logits(after, reading(after, X, i))[child]))
                below[child] = here[parent] * p
        here = below
    return here


@pytest.mark.parametrize("sampler", ["generated", "static"])
@pytest.mark.parametrize("levels", [1, 2])
def test_prediction_is_the_product_down_the_tree(sampler, levels):
    model, X, _ = fitted(sampler=sampler, levels=levels, branching=2)
    assert trees_of(model)[0].depth == levels + 1
    assert len(model.networks_) == levels + (sampler == "static")
    stirred(model)
    ranking = model.rank(X, 4)
    for i in range(0, 40, 7):
        wanted = by_hand(model, X, i)
        found = dict(ranking.row(i))
        assert found == pytest.approx({label: wanted[label] for label in found}, rel=1e-4)
        best = sorted(wanted.values(), reverse=True)[:4]
        np.testing.assert_allclose([*found.values()], best, rtol=1e-4)


@pytest.mark.parametrize("sampler", ["uniform", "all"])
def test_without_a_tree_all_labels_are_judged(sampler, monkeypatch):
    model, X, _ = fitted(sampler=sampler)
    (network,) = model.networks_
    assert isinstance(network.scorer, LabelAttentionScorer)
    assert network.generator is None
    assert network.scorer.attends.labels.sparse == (sampler == "uniform")
    assert trees_of(model) == []
    wanted = [
        [sigmoid(label_logit(network, reading(network, X, i), label)) for label in range(24)]
        for i in range(3)
    ]
    whole = model.rank(X[:3], 24)
    np.testing.assert_allclose(whole.to_csr(24).toarray(), wanted, rtol=1e-4)
    monkeypatch.setattr("labelgrove.models.neural.scorers.label_attention.BLOCK", 700)
    parts = model.rank(X[:3], 24)
    np.testing.assert_allclose(parts.scores, whole.scores, rtol=1e-5)


def test_static_judges_clusters_by_an_attention_network_and_gives_its_weights_on():
    model, _, _ = fitted(sampler="static", level_epochs=0)
    first, second = model.networks_
    assert isinstance(first.scorer, LabelAttentionScorer)
    assert first.generator is None
    assert_shared(second, first, "reader.words", "reader.network", "scorer.layers")


def test_the_clusters_of_static_learn_by_attention():
    model, X, Y = fitted(sampler="static")
    (tree,), (first, _) = trees_of(model), stirred(model).networks_
    rows, logits, wanted = np.arange(12), [], []
    for i in rows:
        true = {int(tree.levels[1][label]) for label in Y[[i]].indices}
        H = reading(first, X, i)
        logits += [label_logit(first, H, cluster) for cluster in range(8)]
        wanted += [cluster in true for cluster in range(8)]
    objective = objectives(model, X, Y)[0]
    loss = float(objective.loss(first.eval(), rows).detach())
    assert loss == pytest.approx(cross_entropy(logits, wanted), rel=1e-5)


def test_networks_below_begin_with_the_weights_above():
    model, _, _ = fitted(level_epochs=0, **TWO)
    first, second = model.networks_
    assert_shared(second, first, "reader.words", "reader.network", "scorer.layers")
    assert len(second.generator.output.bias) == len(first.scorer.attends.labels.weight)


def test_clusters_follow_from_the_candidates():
    model, _, _ = fitted(**TWO)
    (tree,) = trees_of(model)
    assert [tree.n_nodes(level) for level in (1, 2, 3)] == [4, 8, 24]
    assert model._kept(tree) == [4, 3]
    assert new(candidates=1)._kept(tree) == [1, 1]
    assert new(candidates=1000)._kept(tree) == [4, 8]


def test_four_layers_have_the_weights_that_were_estimated():
    model, X, _ = fitted(layers=[9, 8, 7, 6])
    (expected,) = model._candidates(24).expected(np.ones(24, int), 120)
    told = model._size(expected, X.n_terms, 9)
    assert told.weights == sum(each.numel() for each in model.networks_[0].parameters())
    assert told.frozen == 0


# --- what it promises ---------------------------------------------------------------------------

LEARNING = {"units": 16, "layers": [16, 16, 16], "vector_size": 16, "epochs": 7,
            "learning_rate": 0.02, "average_from": None}  # fmt: skip


@pytest.mark.parametrize("case", [*SAMPLERS, "levels"])
def test_it_learns(case):
    settings = {"sampler": case} if case in SAMPLERS else TWO
    X, Y = planted(360)
    model = new(**LEARNING, candidates=12, **settings)
    model.fit(X, Y, context=FitContext(validation=planted(60, seed=5)))
    assert model.score(*planted(100, seed=9)) > 0.75
    if case == "generated":
        right = 0
        for i in range(30):
            label = int(Y[[i]].indices[0])
            explained = model.explain(X, i, label)
            assert explained.weights.sum() == pytest.approx(1, abs=1e-4)
            right += X.sequence(i)[explained.ids[explained.weights.argmax()]] == label + 2
        assert right >= 20


class Stop(Silent, Task):
    """Presses Ctrl-C after so many steps."""

    def __init__(self, after):
        self._left = after

    @contextmanager
    def task(self, title, total=None, unit="documents", done=0):
        yield self if title.startswith("training") else Task()

    def advance(self, steps=1, **facts):
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGINT)


def weights(model):
    return [value for each in model.networks_ for value in each.state_dict().values()]


def assert_same(found, wanted):
    assert len(weights(found)) == len(weights(wanted))
    assert all(torch.equal(a, b) for a, b in zip(weights(found), weights(wanted), strict=True))


@pytest.mark.parametrize("case", [*SAMPLERS, "levels"])
def test_interrupt_and_resume_give_what_one_run_gives(case, tmp_path):
    settings = {"epochs": 2, **({"sampler": case} if case in SAMPLERS else TWO)}
    X, Y = planted(48)
    held = planted(20, seed=1)
    whole = new(**settings).fit(X, Y, context=FitContext(validation=held))
    assert_same(new(**settings).fit(X, Y, context=FitContext(validation=held)), whole)
    for after in (2, 3):  # in the middle of an epoch, then of the next
        run = Run(tmp_path, resume=after == 3, progress=Stop(after))
        with pytest.raises(KeyboardInterrupt):
            new(**settings).fit(X, Y, context=FitContext(validation=held, run=run))
    again = FitContext(validation=held, run=Run(tmp_path, resume=True))
    assert_same(new(**settings).fit(X, Y, context=again), whole)


@pytest.mark.parametrize("case", [*SAMPLERS, "levels"])
def test_what_is_learned_can_be_sent_to_other_processes(case):
    settings = {"sampler": case} if case in SAMPLERS else TWO
    model, X, Y = fitted(**settings)
    rows = np.arange(12)
    whole = objectives(model, X, Y, planted(30, seed=5))
    assert len(whole) == len(model.networks_)
    for pair in zip(model.networks_, whole, strict=True):
        told = []
        for network, objective in (pair, pickle.loads(pickle.dumps(pair))):
            with torch.random.fork_rng(), torch.no_grad():
                torch.manual_seed(3)
                loss = float(objective.loss(network.eval(), rows))
                told.append((loss, objective.score(network), objective.n_validation))
        assert told[0] == told[1]
        assert told[0][2] == 30


@pytest.mark.parametrize("settings", [{}, {"sampler": "static"}, TWO])
def test_several_are_averaged_and_saved(settings, tmp_path):
    model, X, _ = fitted(ensemble=2, **settings)
    each = len(model.networks_) // 2
    trees = trees_of(model)
    assert len(trees) == 2
    alone = []
    for number in (0, 1):
        one = copy(model)
        one.candidates_ = replace(model.candidates_, trees=[trees[number]])
        one.networks_ = model.networks_[each * number :][:each]
        alone.append(one.rank(X, 24).to_csr(24).toarray())
    both = model.rank(X, 24)
    np.testing.assert_allclose(both.to_csr(24).toarray(), (alone[0] + alone[1]) / 2, atol=1e-6)
    model.save(tmp_path / "m")
    loaded = type(model).load(tmp_path / "m")
    assert np.array_equal(loaded.rank(X, 24).scores, both.scores)


@pytest.mark.parametrize("settings", [{}, {"sampler": "static", "level_epochs": 3}, TWO])
def test_estimate(settings):
    X, Y = planted()
    told = new(epochs=2, **settings).estimate(X, Y, FitContext())
    assert told.seconds > 0
    assert told.memory > 0


def test_a_tagger_explains_and_combines():
    texts, labels = known_answer(120)
    tagger = Tagger(new(max_leaf=3), threads=1).fit(texts, labels)
    words = tagger.explain(texts[0], labels[0][0])
    assert words
    other = Tagger("most-frequent", validation=0).fit(texts, labels)
    both = Tagger.combine([tagger, other])
    assert len(both.tag(texts[0], k=3)) == 3


def test_attentionxml_may_draw_labels_too():
    X, Y = planted(400)
    settings = {**SMALL, **LEARNING, "candidates": 12, "sampler": "uniform"}
    model = models.create("attentionxml", **settings)
    model.fit(X, Y, context=FitContext(validation=planted(60, seed=5)))
    assert model.networks_[0].scorer.attends.labels.sparse
    assert model.candidates_.drawn == 12
    assert trees_of(model) == []
    assert model.score(*planted(100, seed=9)) > 0.75
    with pytest.raises(InputError, match="sampler='uniform' has no tree"):
        models.create("attentionxml", sampler="uniform", tree="always")


@pytest.mark.parametrize(
    ("setting", "value", "wanted"),
    [("candidates", 0, "a whole number from 1"), ("sampler", "best", "'generated' or 'static'"),
     ("levels", 0, "a whole number from 1"), ("layers", [], "a list of whole numbers")],
)  # fmt: skip
def test_settings_out_of_range(setting, value, wanted):
    with pytest.raises(InputError, match=f"^{setting} must be {wanted}"):
        new(**{setting: value})


# --- odd label sets -----------------------------------------------------------------------------


def sound(model, X, n_labels, k=3):
    ranking = model.rank(X, k)
    assert ranking.k == min(k, n_labels)
    assert np.isfinite(ranking.scores).all()
    assert (ranking.labels[:, 0] >= 0).all()
    for row in ranking.labels:
        kept = row[row >= 0]
        assert len({*kept}) == len(kept)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("n_labels", [1, 3])
def test_fewer_labels_than_a_cluster_holds(sampler, n_labels):
    X, _ = planted(20)
    Y = truth([[i % n_labels] if i % 2 else [] for i in range(20)], n_labels)
    model = new(sampler=sampler).fit(X, Y, context=FitContext(validation=(X, Y)))
    assert trees_of(model) == [], "there is nothing to choose"
    assert isinstance(model.networks_[0].scorer, LabelAttentionScorer)
    assert model.networks_[0].generator is None
    sound(model, X, n_labels)


@pytest.mark.parametrize("case", [*SAMPLERS, "levels"])
def test_documents_with_more_labels_than_the_budget_and_with_none(case):
    settings = {"sampler": case} if case in SAMPLERS else TWO
    X, Y = planted(20)
    lists = [[*range(24)], [*range(8)], [], *([label] for label in range(17))]
    Y = truth(lists, 24)
    model = new(batch=4, **settings).fit(X, Y, context=FitContext(validation=(X, Y)))
    assert all(np.isfinite(event["loss"]) for event in model.history_)
    sound(model, X, 24)


@pytest.mark.parametrize("case", [*SAMPLERS, "levels"])
def test_clusters_without_documents(case):
    settings = {"sampler": case} if case in SAMPLERS else TWO
    X, Y = planted(20)
    Y = truth([[label % 3] for label in range(20)], 24)
    model = new(**settings).fit(X, Y, context=FitContext(validation=(X, Y)))
    for tree in trees_of(model):
        used = {*tree.levels[-1][:3].tolist()}
        assert len(used) < tree.n_nodes(tree.depth - 1)
    sound(model, X, 24)


def test_more_levels_than_the_tree_has():
    model, X, _ = fitted(levels=9)
    assert trees_of(model)[0].depth == 2, "branching by eight leaves one level of eight clusters"
    sound(model, X, 24)


def test_candidates_for_all_and_clusters_of_one():
    model, X, Y = fitted(candidates=10_000)
    assert (model.rank(X, 24).labels >= 0).all(), "all labels are judged"
    model = new(max_leaf=1, candidates=5).fit(X, Y)
    assert trees_of(model)[0].n_nodes(1) == 24
    sound(model, X, 24)
