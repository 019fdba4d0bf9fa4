"""AttentionXML: its tree (Algorithm 1), its loss (equation 6), and what it promises as a model."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from labelgrove import models
from labelgrove.core.errors import InputError
from labelgrove.core.features import TokenSequences
from labelgrove.core.types import FitContext
from labelgrove.models.neural.candidates.base import TrainingData
from labelgrove.models.neural.candidates.tree import Descent, judges_of
from labelgrove.models.neural.readers.base import Batch
from labelgrove.models.neural.texts import Texts
from labelgrove.models.neural.training.batches import padded
from labelgrove.models.neural.training.settings import Training

SMALL = {
    "units": 16,
    "layers": [16],
    "vector_size": 16,
    "batch": 16,
    "device": "cpu",
    "threads": 1,
    "dropout": 0.1,
}


def planted(n=300, n_labels=40, seed=0):
    """Texts whose words tell their labels: word 2 + label, among others that mean nothing."""
    rng = np.random.default_rng(seed)
    rows, texts = [], []
    for _ in range(n):
        own = rng.choice(n_labels, rng.integers(1, 4), replace=False)
        noise = rng.integers(n_labels + 2, n_labels + 30, rng.integers(2, 8))
        texts.append(rng.permutation(np.concatenate([own + 2, noise])))
        rows.append(own)
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    X = TokenSequences(np.concatenate(texts), offsets, n_labels + 30)
    columns = np.concatenate(rows)
    places = np.repeat(np.arange(n), [len(own) for own in rows])
    Y = csr_array((np.ones(len(columns), np.float32), (places, columns)), shape=(n, n_labels))
    return X, Y


def fitted(seed=0, **settings):
    X, Y = planted()
    model = models.create("attentionxml", **{**SMALL, "epochs": 1, "seed": seed, **settings})
    return model.fit(X, Y, context=FitContext(validation=planted(60, seed=5))), X, Y


def batch(X, rows, labels=None):
    return Batch(*padded(X, np.array(rows)), labels)


def objective(model, above, X, Y):
    """Return what the network after those ``above`` learns, as training makes it."""
    candidates, networks, data = replace(model.candidates_), [], TrainingData(X, Texts(X), Y)
    steps = candidates.steps(networks, data, FitContext())
    for network in above:
        next(steps)
        networks.append(network)
    return model._objective(next(steps), data, Training())


def test_all_labels_are_judged_by_equation_6():
    model, X, Y = fitted(tree="never")
    (network,) = model.networks_
    rows = np.array([0, 5, 7])
    loss = objective(model, [], X, Y).loss(network.eval(), rows)
    p = torch.sigmoid(network.logits(batch(X, rows))).detach().double().numpy()
    y = Y[rows].toarray()
    assert float(loss.detach()) == pytest.approx(
        -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)), rel=1e-5
    )


def tree_of(model):
    (tree,) = model.candidates_.trees
    return tree


def scores_by_hand(model, X, i, parents):
    """Descend for one text without batches: every step in plain Python."""
    tree = tree_of(model)
    here = {0: 1.0}
    for level, network in enumerate(model.networks_):
        logits = {}
        for node in here:
            for child in np.flatnonzero(tree.levels[level] == node).tolist():
                wanted = batch(X, [i], torch.tensor([[child]]))
                with torch.inference_mode():
                    logits[child] = float(network.eval().logits(wanted)[0, 0])
        below = {
            child: here[int(tree.levels[level][child])] / (1 + np.exp(-logit))
            for child, logit in logits.items()
        }
        here = below
        if level < tree.depth - 1:
            here = dict(sorted(below.items(), key=lambda pair: -pair[1])[:parents])
    return here


@pytest.mark.parametrize("levels", [1, 2])
def test_prediction_is_the_product_down_the_tree(levels):
    model, X, _ = fitted(tree="always", max_leaf=4, branching=2, levels=levels, parents=3)
    assert tree_of(model).depth == levels + 1
    ranking = model.rank(X, 5)
    for i in range(0, 40, 7):
        wanted = sorted(scores_by_hand(model, X, i, 3).items(), key=lambda pair: -pair[1])[:5]
        found = list(ranking.row(i))
        assert [label for label, _ in found] == [label for label, _ in wanted]
        np.testing.assert_allclose([p for _, p in found], [p for _, p in wanted], rtol=1e-4)


def test_levels_learn_from_children_of_true_and_guessed_parents():
    model, X, Y = fitted(tree="always", max_leaf=4, branching=2, levels=1, parents=3)
    tree, (first, second) = tree_of(model), model.networks_
    above = Descent(tree, [3])
    rows = np.arange(6)
    level = objective(model, [first], X, Y)
    total, count = 0.0, 0
    for p in second.parameters():
        p.requires_grad_(False)
    for i in rows:
        own = set(Y[[i]].indices.tolist())
        true = sorted({int(tree.levels[1][label]) for label in own})
        guessed = above.go(judges_of([first]), batch(X, [i])).nodes[0].tolist()
        parents = true + [node for node in guessed if node not in true][: max(3 - len(true), 0)]
        for child in [c for c in range(tree.n_labels) if tree.levels[1][c] in parents]:
            logit = float(second.logits(batch(X, [i], torch.tensor([[child]])))[0, 0])
            p = 1 / (1 + np.exp(-logit))
            total -= np.log(p) if child in own else np.log(1 - p)
            count += 1
    assert float(level.loss(second, rows)) == pytest.approx(total / count, rel=1e-4)


def test_the_level_below_begins_with_the_weights_above():
    model, _, _ = fitted(tree="always", max_leaf=4, levels=1, level_epochs=0)
    first, second = model.networks_
    below = second.state_dict()
    own = {"scorer.attends.labels.weight", "scorer.bias.weight"}
    shared = {name: value for name, value in first.state_dict().items() if name not in own}
    assert {*below} - {*shared} == own
    for name, value in shared.items():
        assert torch.equal(value, below[name]), name


def test_flat_where_it_is_cheaper():
    model = models.create("attentionxml")
    assert not model._wants_tree(100)
    assert model._wants_tree(100_000)
    assert not models.create("attentionxml", tree="never")._wants_tree(100_000)


@pytest.fixture(scope="module", params=["never", "always"])
def learned(request):
    settings = {**SMALL, "epochs": 10, "learning_rate": 0.03, "tree": request.param, "max_leaf": 5}
    model = models.create("attentionxml", **settings)
    return model.fit(*planted(600), context=FitContext(validation=planted(100, seed=5)))


def test_it_learns(learned):
    held, truth = planted(200, seed=9)
    assert learned.score(held, truth) > 0.8


def test_attention_finds_the_word(learned):
    X, Y = planted(200, seed=9)
    right = 0
    for i in range(30):
        label = int(Y[[i]].indices[0])
        explained = learned.explain(X, i, label)
        assert explained.weights.sum() == pytest.approx(1, abs=1e-4)
        right += X.sequence(i)[explained.ids[explained.weights.argmax()]] == label + 2
    assert right >= 20


def test_several_trees_are_averaged(tmp_path):
    model, X, _ = fitted(tree="always", max_leaf=4, levels=1, ensemble=2)
    trees = model.candidates_.trees
    assert [tree.depth for tree in trees] == [2, 2]
    assert len(model.networks_) == 4
    alone = []
    for number in (0, 1):
        one = copy(model)
        one.candidates_ = replace(model.candidates_, trees=[trees[number]])
        one.networks_ = model.networks_[2 * number :][:2]
        alone.append(one.rank(X, 40).to_csr(40).toarray())
    np.testing.assert_allclose(
        model.rank(X, 40).to_csr(40).toarray(), (alone[0] + alone[1]) / 2, atol=1e-6
    )
    model.save(tmp_path / "m")
    again = type(model).load(tmp_path / "m")
    np.testing.assert_allclose(again.rank(X, 4).scores, model.rank(X, 4).scores, rtol=1e-5)


def test_several_flat_networks_are_averaged():
    model, X, _ = fitted(tree="never", ensemble=2)
    first, second = model.networks_
    with torch.inference_mode():
        texts = batch(X, [0, 1, 2])
        each = [network.eval().logits(texts).sigmoid() for network in (first, second)]
    assert not torch.allclose(each[0], each[1], atol=1e-3)
    found = model.rank(X[np.arange(3)], 40).to_csr(40).toarray()
    np.testing.assert_allclose(found, ((each[0] + each[1]) / 2).numpy(), atol=1e-6)


def test_scores_of_a_text_do_not_depend_on_its_neighbours():
    model, X, _ = fitted(tree="never")
    together = model.rank(X, 3)
    for i in (0, 11, 200):
        alone = model.rank(X[np.array([i])], 3)
        np.testing.assert_allclose(alone.scores[0], together.scores[i], rtol=1e-4)


def test_vectors_of_a_file_need_the_words(tmp_path):
    X, Y = planted()
    path = tmp_path / "glove.txt"
    with pytest.raises(InputError, match="no such file; give one of GloVe or word2vec as text"):
        models.create("attentionxml", vectors=str(path)).fit(X, Y)
    path.write_text("wind 1 2\n")
    with pytest.raises(InputError, match="needs the words"):
        models.create("attentionxml", vectors=str(path)).fit(X, Y)


def test_a_text_without_a_known_word_gets_the_most_frequent_labels():
    model, X, Y = fitted(tree="never")
    odd = TokenSequences(np.array([1, 1, 1, 4]), np.array([0, 3, 3, 4]), X.n_terms)
    ranking = model.rank(odd, 3)
    counts = Y.sum(axis=0)
    wanted = np.argsort(-counts, kind="stable")[:3]
    np.testing.assert_array_equal(ranking.labels[:2], [wanted, wanted])
    np.testing.assert_allclose(ranking.scores[0], counts[wanted] / Y.shape[0])
    assert not np.allclose(ranking.scores[2], ranking.scores[0]), "it has a known word"
    assert len(model.explain(odd, 0, 1).ids) == 0
