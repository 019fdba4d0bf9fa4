"""LightXML: layers side by side, its loss and prediction by hand, few labels and many."""

import numpy as np
import pytest
import torch

from labelgrove import models
from labelgrove.core.errors import InputError
from labelgrove.core.types import FitContext
from labelgrove.models.contract import Case
from labelgrove.models.neural.candidates.all import AllLabels
from labelgrove.models.neural.candidates.base import TrainingData
from labelgrove.models.neural.examples import small_bert, small_xlnet
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Batch
from labelgrove.models.neural.scorers.base import Positives
from labelgrove.models.neural.scorers.outputs import LinearOutput
from labelgrove.models.neural.scorers.sparse_output import SparseOutput
from labelgrove.models.neural.texts import Texts
from labelgrove.models.neural.training.batches import padded
from labelgrove.models.neural.training.settings import Training

SMALL = {"length": 32, "batch": 16, "epochs": 1, "device": "cpu", "threads": 1, "dropout": 0.0,
         "together": 3, "max_leaf": 3, "candidates": 6, "bottleneck": 8}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("encoders")


@pytest.fixture(scope="module")
def case(folder, tmp_path_factory):
    def make(_):
        return models.create("lightxml", encoder=small_bert(folder), **SMALL)

    return Case(make, tmp_path_factory.mktemp("case"))


@pytest.fixture(scope="module")
def fitted(case):
    """Return a model whose labels differ: after one epoch they hardly would."""
    X, Y = case.train
    model = case.new().fit(X[:60], Y[:60])
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(3)
        for parameter in model.networks_[0].parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model, X["text"][:60], Y[:60]


def numbers(tensor):
    return tensor.detach().double().numpy()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def vector(network, X, i):
    """Return the vector of a text, (p,)."""
    with torch.inference_mode():
        return numbers(network.eval().reader(Batch(*padded(X, np.array([i])))).pooled[0])


def by_hand(network, x):
    """Return the log odds of all clusters and of all labels, of one text's vector."""
    clusters = network.generator.output.linear
    between, output = network.scorer.hidden[1], network.scorer.output
    hidden = numbers(between.weight) @ x + numbers(between.bias)
    return (
        numbers(clusters.weight) @ x + numbers(clusters.bias),
        numbers(output.vectors.weight) @ hidden + numbers(output.biases.weight)[:, 0],
    )


def cross_entropy(logits, wanted):
    p = sigmoid(np.array(logits))
    return -np.mean(np.where(np.array(wanted), np.log(p), np.log(1 - p)))


def test_last_layers_stand_side_by_side(fitted):
    model, X, _ = fitted
    reader = model.networks_[0].eval().reader
    assert (reader.n_layers, reader.n_pooled) == (2, 64), "two of five: the encoder has no more"
    batch = Batch(*padded(X, np.arange(3)))
    frame = reader.frame(batch)
    mask = torch.arange(frame.ids.shape[1]) < frame.ends[:, None]
    with torch.inference_mode():
        told = reader.encoder(
            input_ids=frame.ids, attention_mask=mask.long(), output_hidden_states=True
        )
        found = reader(batch).pooled
    wanted = torch.cat([states[:, 0] for states in told.hidden_states[1:]], 1)
    torch.testing.assert_close(found, wanted)


def test_joint_loss(fitted):
    model, X, Y = fitted
    (network,), (tree,) = model.networks_, model.candidates_.trees
    (most,) = model._kept(tree)
    assert (tree.n_nodes(1), most) == (4, 2)
    seen, wanted, seen_clusters, wanted_clusters = [], [], [], []
    for i in range(10):
        clusters, labels = by_hand(network, vector(network, X, i))
        own = {*Y[[i]].indices.tolist()}
        true = {int(tree.levels[1][label]) for label in own}
        order = sorted(range(4), key=lambda c: -(sigmoid(clusters[c]) + (c in true)))[:most]
        chosen = {label for label in range(12) if tree.levels[1][label] in order} | own
        seen += [labels[label] for label in chosen]
        wanted += [label in own for label in chosen]
        seen_clusters += [*clusters]
        wanted_clusters += [c in true for c in range(4)]
    data = TrainingData(X, Texts(X), Y)
    (step,) = model.candidates_.steps([], data, FitContext())
    loss = model._objective(step, data, Training()).loss(network.eval(), np.arange(10))
    by_parts = cross_entropy(seen, wanted) + cross_entropy(seen_clusters, wanted_clusters)
    assert float(loss.detach()) == pytest.approx(by_parts, rel=1e-4)


def test_a_step_touches_only_candidates(fitted):
    model, X, Y = fitted
    (network,) = model.networks_
    data = TrainingData(X, Texts(X), Y)
    (step,) = model.candidates_.steps([], data, FitContext())
    network.zero_grad()
    model._objective(step, data, Training()).loss(network.train(), np.array([0])).backward()
    touched = network.scorer.output.vectors.weight.grad.coalesce().indices()[0].tolist()
    assert {*Y[[0]].indices.tolist()} <= {*touched}
    assert len(touched) < 12
    assert network.generator.output.linear.weight.grad.abs().sum() > 0


def test_prediction_is_cluster_times_label(fitted):
    model, X, _ = fitted
    (network,), (tree,) = model.networks_, model.candidates_.trees
    ranking = model.rank(X, 4)
    for i in range(6):
        clusters, labels = by_hand(network, vector(network, X, i))
        best = np.argsort(-clusters)[:2]
        wanted = {
            label: sigmoid(clusters[tree.levels[1][label]]) * sigmoid(labels[label])
            for label in range(12)
            if tree.levels[1][label] in best
        }
        found = dict(ranking.row(i))
        assert found == pytest.approx({label: wanted[label] for label in found}, rel=1e-4)
        np.testing.assert_allclose(
            [*found.values()], sorted(wanted.values(), reverse=True)[: len(found)], rtol=1e-4
        )


def test_few_labels_have_a_linear_layer_and_no_generator(case):
    X, Y = case.train
    model = case.new().set_params(together=12).fit(X[:40], Y[:40])
    (network,) = model.networks_
    assert isinstance(model.candidates_, AllLabels)
    assert isinstance(network.scorer.output, LinearOutput)
    assert network.generator is None


def test_no_more_labels_than_a_cluster_holds_are_all_judged(case):
    X, Y = case.train
    model = case.new().set_params(together=0, max_leaf=12).fit(X[:40], Y[:40])
    assert "no more than a cluster holds" in model.candidates_.why


@pytest.mark.parametrize("encoder", [small_xlnet, None])
def test_it_stands_behind_other_readers(encoder, folder, tmp_path):
    own = {"units": 8, "vector_size": 8} if encoder is None else {"encoder": encoder(folder)}
    settings = {**SMALL, "encoder": "words", **own}
    case = Case(lambda _: models.create("lightxml", **settings), tmp_path)
    X, Y = case.train
    model = case.new().fit(X[:40], Y[:40])
    assert np.isfinite(model.rank(case.test[0], 5).scores).all()


def test_a_frequent_label_begins_more_probable():
    start = LabelStart(np.array([9, 1, 0]), 10, "frequency", sparse=True)
    found = SparseOutput(4, start).logits(torch.zeros(1, 4), None)[0].sigmoid()
    torch.testing.assert_close(found, torch.tensor([9.5, 1.5, 0.5]) / 11)


def test_sparse_output_is_a_linear_layer():
    start = LabelStart(np.zeros(7, int), 0)
    sparse, plain = SparseOutput(3, start), LinearOutput(3, start)
    with torch.no_grad():
        sparse.biases.weight.normal_()
        plain.linear.weight.copy_(sparse.vectors.weight)
        plain.linear.bias.copy_(sparse.biases.weight[:, 0])
    x, asked = torch.randn(2, 3), torch.tensor([[6, 0], [3, 3]])
    truth = Positives(torch.tensor([0, 1]), torch.tensor([2, 5]))
    for labels in (None, asked):
        torch.testing.assert_close(sparse.logits(x, labels), plain.logits(x, labels))
    torch.testing.assert_close(sparse.loss(x, truth), plain.loss(x, truth))
    torch.testing.assert_close(sparse.log_probability(x, 4), plain.log_probability(x, 4))
    for own, wanted in zip(sparse.rank(x, 3), plain.rank(x, 3), strict=True):
        torch.testing.assert_close(own, wanted)


def test_memory_is_estimated_with_the_weights_there_are(case, fitted):
    model, X, _ = fitted
    (expected,) = model._candidates(12).expected(np.ones(12, int), 60)
    told = model._size(expected, X.n_terms, 20)
    assert told.weights == sum(each.numel() for each in model.networks_[0].parameters())


def test_layers_of_words_are_refused():
    with pytest.raises(InputError, match="last_layers=2 has no effect with encoder='words'"):
        models.create("lightxml", encoder="words", last_layers=2)
