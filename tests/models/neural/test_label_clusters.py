"""Label clusters against hand-worked numbers, plain autograd and dense rankings."""

from itertools import pairwise
from math import log

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgrove.core.errors import InputError
from labelgrove.models.neural.scorers import cluster_sizes, outputs
from labelgrove.models.neural.scorers.base import Positives
from labelgrove.models.neural.scorers.cluster_sizes import (
    choose_sizes,
    cluster_costs,
    even_or_given,
    tail_width,
)
from labelgrove.models.neural.scorers.label_clusters import LabelClusters, gated_loss


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng():
        torch.manual_seed(1)
        yield


def positives(truth):
    return Positives(*truth.nonzero().T)


# --- equations 2 to 5 by hand -------------------------------------------------------------------

# Label 2 is the most frequent, then 0: the head; 3 and 1 are behind the gate. The first number of a
# text's vector is text 0, the second text 1.
HEAD = [[log(3), 0.0], [-log(3), log(4)], [log(4), -log(4)]]  # label 2, label 0, the gate
TAIL = [[0.0, log(3)], [log(3), log(4)]]  # label 3, label 1, if the cluster is visited
TEXTS = torch.eye(2, 4)
# sigmoid(log(n)) = n / (n + 1)
WANTED = [[0.25, 0.8 * 0.75, 0.75, 0.8 * 0.5], [0.8, 0.2 * 0.8, 0.5, 0.2 * 0.75]]


def by_hand(gate_loss=True):
    layer = LabelClusters(4, torch.tensor([2, 0, 3, 1]), (2, 2), gate_loss=gate_loss)
    (tail,) = layer.tails
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        layer.head.weight[:, :2] = torch.tensor(HEAD)
        # normalised, (100, -100) is (1, -1), of which (1, 0) is left
        tail.narrow.weight[:, :2] = torch.tensor([[100.0, -100.0], [-100.0, 100.0]])
        tail.norm.weight.fill_(1)
        tail.labels.weight.copy_(torch.tensor(TAIL))
    return layer


def test_equation_2_by_hand():
    layer = by_hand()
    np.testing.assert_allclose(layer.probabilities(TEXTS).detach(), WANTED, atol=1e-6)
    labels, chances = layer.rank(TEXTS, 9)
    assert labels.tolist() == [[2, 1, 3, 0], [0, 2, 1, 3]]
    np.testing.assert_allclose(chances, np.sort(WANTED)[:, ::-1], atol=1e-6)
    for label in range(4):
        found = layer.log_probability(TEXTS, label).detach()
        np.testing.assert_allclose(found, np.log(WANTED)[:, label], atol=1e-6)


def test_equation_5_by_hand():
    # text 0 has labels 2 and 1 and visits the cluster, text 1 has label 0 and does not
    truth = Positives(torch.tensor([0, 0, 1]), torch.tensor([2, 1, 0]))
    head = -log(0.75) - log(1 - 0.25) - log(1 - 0.5) - log(0.8)
    tail = -log(0.8 * 0.75) - log(1 - 0.8 * 0.5)
    shut = -log(1 - 0.2)
    found = by_hand().loss(TEXTS, truth).item()
    assert found == pytest.approx((head + tail + shut) / 7)
    found = by_hand(gate_loss=False).loss(TEXTS, truth).item()
    assert found == pytest.approx((head + tail) / 6)


def test_without_any_label_only_head_and_gates_are_judged():
    layer, none = by_hand(), Positives(*torch.zeros(2, 0, dtype=torch.int64))
    head = -log(0.25) - log(0.75) - log(0.5) - log(0.2)
    found = layer.loss(TEXTS, none)
    assert found.item() == pytest.approx((head - log(0.2) - log(0.8)) / 6)
    found.backward()
    assert layer.head.weight.grad is not None
    assert all(parameter.grad is None for parameter in layer.tails.parameters())


# --- the gradient -------------------------------------------------------------------------------


def literal(layer, hidden, truth):
    """Equations 3 to 5 over a dense truth (b, L), with the gates of clusters not visited."""
    chances = layer.probabilities(hidden)
    gates = layer.head(hidden)[:, layer.sizes[0] :].sigmoid()
    total, n = 0.0, 0
    ends = np.cumsum([0, *layer.sizes])
    for i, (first, end) in enumerate(pairwise(ends)):
        own = layer.order[first:end]
        p, y = chances[:, own], truth[:, own]
        terms = -(y * p.log() + (1 - y) * (1 - p).log()).sum(1)
        visited = y.any(1) if i else torch.ones(len(y), dtype=torch.bool)
        total, n = total + terms[visited].sum(), n + int(visited.sum()) * len(own)
        if i and layer.gate_loss:
            shut = -(1 - gates[~visited, i - 1]).log()
            total, n = total + shut.sum(), n + len(shut)
    return total / n


@pytest.mark.parametrize("gate_loss", [True, False])
@pytest.mark.parametrize("sizes", [(12,), (5, 7), (1, 1, 4, 6)])
@pytest.mark.parametrize("bias", [False, True])
def test_loss_and_gradient_are_those_of_the_formula(sizes, gate_loss, bias):
    layer = LabelClusters(16, torch.randperm(12), sizes, gate_loss=gate_loss, bias=bias).double()
    hidden = torch.randn(5, 16, dtype=torch.float64, requires_grad=True)
    truth = (torch.rand(5, 12) < 0.2).double()
    truth[3] = 0
    found = []
    for loss in (layer.loss(hidden, positives(truth)), literal(layer, hidden, truth)):
        loss.backward()
        gradients = [p.grad for p in [hidden, *layer.parameters()]]
        found.append([loss.detach(), *gradients])
        layer.zero_grad()
        hidden.grad = None
    for ours, wanted in zip(*found, strict=True):
        if ours is None:
            assert wanted is None or not wanted.any()
        else:
            torch.testing.assert_close(ours, wanted)


def test_only_visited_clusters_have_a_gradient():
    layer, hidden = LabelClusters(8, torch.arange(9), (3, 3, 3)), torch.randn(4, 8)
    layer.loss(hidden, Positives(torch.tensor([1, 3]), torch.tensor([7, 0]))).backward()
    assert all(parameter.grad is None for parameter in layer.tails[0].parameters())
    assert all(parameter.grad is not None for parameter in layer.tails[1].parameters())


def test_a_gate_learns_to_shut_by_its_own_loss_only():
    truth = Positives(torch.tensor([0]), torch.tensor([0]))
    for gate_loss in (True, False):
        layer = LabelClusters(8, torch.arange(6), (3, 3), gate_loss=gate_loss)
        layer.loss(torch.randn(2, 8), truth).backward()
        assert bool(layer.head.weight.grad[3].any()) == gate_loss


def test_gated_loss_by_finite_differences():
    logits = (3 * torch.randn(3, 4, dtype=torch.float64)).requires_grad_()
    gates = torch.tensor([-2.0, 0.5, 4.0], dtype=torch.float64, requires_grad=True)
    rows, columns = torch.tensor([0, 2, 2]), torch.tensor([1, 0, 3])
    assert torch.autograd.gradcheck(lambda s, g: gated_loss(s, g, rows, columns), (logits, gates))


@pytest.mark.parametrize("true", [False, True])
def test_gated_loss_of_extreme_logits(true):
    far = [-200.0, -80.0, -20.0, 0.0, 20.0, 80.0, 200.0]
    for g in far:
        logits = torch.tensor([far], requires_grad=True)
        gates = torch.tensor([g], requires_grad=True)
        columns = torch.arange(len(far) if true else 0)
        loss = gated_loss(logits, gates, torch.zeros_like(columns), columns)
        loss.backward()
        assert all(x.isfinite().all() for x in (loss, logits.grad, gates.grad))
        assert (logits.grad.abs() <= 1).all()
        s, c = np.array(far), min(g, 85.0)  # a gate is as good as open there
        opened = -np.logaddexp(0, -c)
        logs = opened - np.logaddexp(0, -s)
        if not true:
            logs = np.logaddexp(-np.logaddexp(0, c), opened - np.logaddexp(0, s))
        assert loss.item() == pytest.approx(-logs.sum(), rel=1e-4, abs=1e-5)


def test_extreme_logits_have_their_gradient():
    logits, gates = torch.tensor([[80.0, 80.0]]), torch.tensor([80.0])
    for x in (logits, gates):
        x.requires_grad_()
    none = torch.zeros(0, dtype=torch.int64)
    gated_loss(logits, gates, none, none).backward()
    # 1 - p is 2 exp(-80), of which half each come from label and gate
    np.testing.assert_allclose(logits.grad, [[0.5, 0.5]], rtol=1e-5)
    np.testing.assert_allclose(gates.grad, [1.0], rtol=1e-5)


def test_loss_in_bfloat16():
    layer = LabelClusters(32, torch.randperm(60), (20, 40))
    hidden, truth = torch.randn(6, 32), positives(torch.rand(6, 60) < 0.1)
    wanted = layer.loss(hidden, truth)
    with torch.autocast("cpu", torch.bfloat16):
        found = layer.loss(hidden, truth)
        _, chances = layer.rank(hidden, 3)
    assert found.dtype == chances.dtype == torch.float32
    torch.testing.assert_close(found, wanted, rtol=0.02, atol=0.0)
    found.backward()
    for parameter in layer.parameters():
        assert parameter.grad.dtype == torch.float32
        assert parameter.grad.isfinite().all()


# --- ranking ------------------------------------------------------------------------------------


def dense_ranking(layer, hidden, k):
    """All probabilities, sorted; of equal ones the more frequent label first."""
    with torch.no_grad():
        chances = layer.probabilities(hidden).float()[:, layer.order]
    found, places = chances.sort(dim=1, descending=True, stable=True)
    return layer.order[places][:, :k], found[:, :k]


def whole_numbers(layer, rng, gate):
    """Give weights whose sums are exact in any order, so that many labels are equal."""
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.from_numpy(rng.integers(-2, 3, tuple(parameter.shape))))
        layer.head.weight[layer.sizes[0] :] *= gate
        for tail in layer.tails:
            tail.norm.weight.zero_()


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 10**6),
    st.lists(st.sampled_from([1, 2, 5, 30, 200]), min_size=1, max_size=5),
    st.sampled_from([1, 3, 10, 1000]),
    st.sampled_from([0, 1, 40]),
    st.booleans(),
)
def test_pruned_ranking_is_the_dense_one(seed, sizes, k, gate, bias):
    rng = np.random.default_rng(seed)
    layer = LabelClusters(6, rng.permutation(sum(sizes)), sizes, bias=bias)
    whole_numbers(layer, rng, gate)
    hidden = torch.from_numpy(rng.integers(-1, 2, (7, 6)).astype(np.float32))
    labels, chances = layer.rank(hidden, k)
    assert labels.shape == (7, min(k, sum(sizes)))
    wanted, values = dense_ranking(layer, hidden, k)
    torch.testing.assert_close(chances, values, rtol=1e-6, atol=0.0)
    # the last bit of a probability may depend on its neighbours in memory, and so what is equal
    dense = layer.probabilities(hidden).detach().float()
    torch.testing.assert_close(dense.gather(1, labels), values, rtol=1e-6, atol=0.0)
    equal = chances[:, 1:] == chances[:, :-1]
    places = layer.places[labels]
    assert (places[:, 1:] > places[:, :-1])[equal].all()
    if gate < 40:
        assert torch.equal(labels, wanted)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 5, 50]))
def test_ranking_of_random_weights_has_the_dense_probabilities(seed, k):
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    sizes = tuple(rng.integers(1, 400, 4).tolist())
    layer = LabelClusters(24, rng.permutation(sum(sizes)), sizes, bias=bool(seed % 2))
    with torch.no_grad():
        layer.head.weight *= 10 * rng.random()
    hidden = torch.randn(9, 24)
    labels, chances = layer.rank(hidden, k)
    _, values = dense_ranking(layer, hidden, k)
    torch.testing.assert_close(chances, values)
    torch.testing.assert_close(layer.probabilities(hidden).detach().gather(1, labels), chances)
    assert all(len({*own}) == len(own) for own in labels.tolist())


def test_labels_begin_as_probable_as_they_are_frequent():
    """Ten documents; labels 1 and 2 are rare, and one document in ten has either."""
    layer = LabelClusters(8, torch.tensor([0, 3, 1, 2]), (2, 2), bias=True)
    layer.begin(torch.tensor([4, 1, 0, 2]), 10)
    visitors = 10 * (1 - np.exp(-0.1))  # 0.95, but one label alone has a document
    gate = (visitors + 0.5) / 11
    wanted = [4.5 / 11, gate * 1.5 / 2, gate * 0.5 / 2, 2.5 / 11]
    nothing = torch.zeros(1, 8)
    found = layer.probabilities(nothing).detach()[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    for label, chance in enumerate(wanted):
        told = layer.log_probability(nothing, label).exp().item()
        assert told == pytest.approx(chance, rel=1e-5)
    LabelClusters(8, torch.arange(3), (3,), bias=True).begin(torch.tensor([10, 0, 3]), 10)


def test_ranking_some_at_a_time_changes_nothing(monkeypatch):
    layer = LabelClusters(6, torch.randperm(900), (100, 300, 500))
    whole_numbers(layer, np.random.default_rng(0), 1)
    hidden = torch.randint(-1, 2, (11, 6)).float()
    wanted = dense_ranking(layer, hidden, 3)
    monkeypatch.setattr(outputs, "SCORES", 1024)  # five texts, 204 labels
    labels, chances = layer.rank(hidden, 3)
    assert torch.equal(labels, wanted[0])
    torch.testing.assert_close(chances, wanted[1])


def test_a_cluster_that_cannot_reach_the_best_is_not_computed():
    layer = LabelClusters(4, torch.arange(12), (4, 4, 4))
    with torch.no_grad():
        layer.head.weight.zero_()
        layer.head.weight[4:, 0] = torch.tensor([-1.0, 5.0])  # the first gate is shut
        for parameter in layer.tails[0].parameters():
            parameter.fill_(torch.nan)
    hidden = torch.eye(1, 4)
    assert layer.rank(hidden, 4)[1].isfinite().all()
    assert layer.rank(hidden, 9)[1].isnan().any(), "the fifth to eighth come from anywhere"


def test_order_is_saved_and_followed():
    first = LabelClusters(8, torch.randperm(30), (10, 20))
    second = LabelClusters(8, torch.arange(30), (10, 20))
    hidden, truth = torch.randn(3, 8), positives(torch.rand(3, 30) < 0.2)
    assert not torch.equal(first.rank(hidden, 5)[0], second.rank(hidden, 5)[0])
    second.load_state_dict(first.state_dict())
    assert torch.equal(first.rank(hidden, 5)[0], second.rank(hidden, 5)[0])
    torch.testing.assert_close(first.probabilities(hidden), second.probabilities(hidden))
    torch.testing.assert_close(first.loss(hidden, truth), second.loss(hidden, truth))


def test_explanations_have_a_gradient():
    layer = LabelClusters(8, torch.randperm(30), (10, 20))
    hidden = torch.randn(3, 8, requires_grad=True)
    for label in range(30):
        own = layer.log_probability(hidden, label)
        wanted = layer.probabilities(hidden)[:, label].log()
        torch.testing.assert_close(own, wanted)
        gradients = [torch.autograd.grad(each.sum(), hidden)[0] for each in (own, wanted)]
        torch.testing.assert_close(*gradients)


@pytest.mark.parametrize(
    ("order", "sizes", "decay", "message"),
    [
        ([0, 1, 2], (1, 1), 2.0, "sum to the 3 labels"),
        ([0, 1, 2], (3, 0), 2.0, "must be 1 or more"),
        ([0, 1, 2], (), 2.0, r"got \(\)"),
        ([0, 1, 1], (2, 1), 2.0, "each of the 3 labels once"),
        ([0, 1, 3], (2, 1), 2.0, "each of the 3 labels once"),
        ([0, 1, 2], (2, 1), 0.5, "decay must be 1 or more, got 0.5"),
    ],
)
def test_what_makes_no_clusters(order, sizes, decay, message):
    with pytest.raises(InputError, match=message):
        LabelClusters(4, torch.tensor(order), sizes, decay)


# --- sizes: equations 6 to 14 -------------------------------------------------------------------


def test_equations_6_to_14_by_hand():
    # half of the documents have a label of the first tail, none has one of the second
    counts = np.array([0, 100, 5 * log(2), 0, 90, 0, 5 * log(2), 0])
    costs = cluster_costs(counts, (2, 2, 4), n_inputs=4, decay=2.0, batch=2, n_documents=10)
    assert costs.weights == 4 * (2 + 2) + 2 * (4 + 2) + 1 * (4 + 4)
    assert costs.weights_approx == 4 * (2 + 2 / 2 + 4 / 4)
    assert costs.linear_weights == 4 * 8
    assert costs.shrinkage == 8 / 4
    np.testing.assert_allclose(costs.shares, [0.5, 0.0])
    np.testing.assert_allclose(costs.visits, [0.75, 0.0])
    assert costs.step == pytest.approx(2 * 4 * (2 + 0.75 * 2 / 2))
    assert costs.expected == pytest.approx(2 * 4 * (2 + 0.5 * 2 / 2))
    assert costs.linear_step == 2 * 4 * 8
    assert costs.speedup == pytest.approx(8 / 2.75)


def test_even_clusters_of_the_paper():
    often = np.full(1000, 10**6)
    for n, wanted in ((1, 1.0), (2, 1.33), (4, 2.13)):
        costs = cluster_costs(often, even_or_given(1000, n), 768, 2.0, 12, 1000)
        assert round(costs.speedup, 2) == round(costs.shrinkage, 2) == wanted
        np.testing.assert_allclose(costs.visits, 1.0)


@pytest.mark.parametrize(("n_inputs", "decay"), [(16, 2.0), (15, 2.0), (9, 3.0), (5, 1.0)])
def test_equation_6_counts_the_weights_of_the_layer(n_inputs, decay):
    layer = LabelClusters(n_inputs, torch.arange(20), (4, 6, 10), decay)
    linear = [p for p in layer.parameters() if p.ndim == 2]
    costs = cluster_costs(np.ones(20), layer.sizes, n_inputs, decay, 1, 10)
    assert costs.weights == sum(p.numel() for p in linear)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=6), st.integers(0, 50))
def test_proportions_give_sizes(shares, more):
    n_labels = len(shares) + more
    shares = [share / sum(shares) for share in shares]
    sizes = even_or_given(n_labels, shares)
    assert len(sizes) == len(shares)
    assert sum(sizes) == n_labels
    assert min(sizes) >= 1
    wanted = np.cumsum(shares) * n_labels
    assert np.abs(np.cumsum(sizes) - wanted).max() <= len(shares)


@pytest.mark.parametrize("bad", [(0.5, 0.4), (1.5, -0.5), (1.0, 0.0), (), (np.nan, 1.0), 0])
def test_bad_proportions(bad):
    with pytest.raises(InputError, match=r"must be"):
        even_or_given(10, bad)


def test_more_clusters_than_labels():
    with pytest.raises(InputError, match="4 clusters are too many for 3 labels"):
        even_or_given(3, 4)


# --- sizes by themselves ------------------------------------------------------------------------


def zipf(n_labels):
    weights = 1 / np.arange(1, n_labels + 1)
    return 500_000 * weights / weights.sum()


def step_time(counts, sizes, n_inputs, decay, batch, n_documents):
    """Return the nanoseconds of a step by the constants of `cluster_sizes`, cluster by cluster.

    A product for each weight and document that visits its cluster, a score for each label and such
    document; a weight, and a cluster, count if the batch visits them at all.
    """
    product, weight = cluster_sizes.PRODUCT, cluster_sizes.WEIGHT
    head, *tails = sizes
    # the head and a gate for each tail are always visited, by all
    total = n_inputs * (head + len(tails)) * (product * batch + weight)
    total += cluster_sizes.SCORE * batch * head
    first = head
    for i, n in enumerate(tails, 1):
        uses = counts[first : first + n].sum() / n_documents  # of a document
        visitors, visited = batch * (1 - np.exp(-uses)), 1 - np.exp(-batch * uses)
        weights = tail_width(n_inputs, decay, i) * (n + n_inputs)
        total += weights * (product * visitors + weight * visited)
        total += cluster_sizes.SCORE * visitors * n + cluster_sizes.CLUSTER * visited
        first += n
    return total


@pytest.mark.parametrize("n_labels", [1, 2, 17, 3000, 100_000])
@pytest.mark.parametrize("decay", [1.0, 2.0, 4.0])
def test_chosen_sizes(n_labels, decay):
    counts = zipf(n_labels)
    sizes = choose_sizes(counts, 384, decay, 32, 100_000)
    assert sum(sizes) == n_labels
    assert min(sizes) >= 1
    assert len(sizes) <= 4
    shuffled = np.random.default_rng(0).permutation(counts)
    assert choose_sizes(shuffled, 384, decay, 32, 100_000) == sizes
    # labels with smaller vectors are rarer by as much
    uses = np.cumsum(counts[::-1])[::-1] / counts.sum()
    for i, first in enumerate(np.cumsum(sizes)[:-1], 1):
        assert uses[first] <= decay**-i + 1e-6


@pytest.mark.parametrize("n_labels", [5000, 100_000])
def test_chosen_sizes_are_faster_than_even_ones(n_labels):
    words = (384, 2.0, 32, 100_000)
    counts = zipf(n_labels)
    chosen = step_time(counts, choose_sizes(counts, *words), *words)
    for n in (1, 2, 3, 4):
        assert chosen < step_time(counts, even_or_given(n_labels, n), *words)
    assert chosen < 0.5 * step_time(counts, (n_labels,), *words)


def test_chosen_sizes_are_the_best_of_all_that_are_tried():
    counts, words = zipf(2000), (384, 2.0, 32, 100_000)
    chosen = choose_sizes(counts, *words, most=2)
    uses = 1 - np.cumsum(counts) / counts.sum()
    least = min(
        step_time(counts, (n, 2000 - n), *words) for n in range(1, 2000) if uses[n - 1] <= 0.5
    )
    assert step_time(counts, chosen, *words) <= 1.02 * least


def test_few_labels_are_one_cluster():
    for n_labels in (10, 300, 1000):
        assert choose_sizes(zipf(n_labels), 384, 2.0, 32, 100_000) == (n_labels,)
    assert len(choose_sizes(zipf(100_000), 384, 2.0, 32, 100_000, most=2)) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (([-1, 2], 8, 2.0, 4, 10), "none below 0"),
        (([[1, 2]], 8, 2.0, 4, 10), r"shape \(1, 2\)"),
        (([], 8, 2.0, 4, 10), "counts must hold"),
        (([1, np.nan], 8, 2.0, 4, 10), "counts must hold"),
        (([1, 2], 8, 2.0, 4, 0), "n_documents must be 1 or more, got 0"),
        (([1, 2], 8, 0.0, 4, 10), "decay must be 1 or more, got 0"),
        (([1, 2], 8, 2.0, 4, 10, 0), "most=0"),
    ],
)
def test_bad_counts(words, message):
    with pytest.raises(InputError, match=message):
        choose_sizes(np.array(words[0]), *words[1:])
