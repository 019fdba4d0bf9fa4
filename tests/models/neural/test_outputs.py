"""The linear layer to all labels, and the search for the best places."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import binary_cross_entropy_with_logits

from labelgrove.core.ranking import Ranking
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.scorers import outputs
from labelgrove.models.neural.scorers.base import Positives
from labelgrove.models.neural.scorers.outputs import Best, LinearOutput


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng():
        torch.manual_seed(1)
        yield


def positives(truth):
    return Positives(*truth.nonzero().T)


def linear(n_inputs, n_labels):
    return LinearOutput(n_inputs, LabelStart(np.zeros(n_labels, np.int64), 0))


# --- linear -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_linear_loss_is_binary_cross_entropy(scale):
    layer = linear(6, 50)
    truth = (torch.rand(4, 50) < 0.1).float()
    truth[2] = 0
    hidden, other = (scale * torch.randn(4, 6) for _ in range(2))
    other = hidden.clone()
    for x in (hidden, other):
        x.requires_grad_()
    ours = layer.loss(hidden, positives(truth))
    (3 * ours).backward()
    gradients = [layer.linear.weight.grad, layer.linear.bias.grad]
    layer.zero_grad()
    theirs = binary_cross_entropy_with_logits(layer.linear(other), truth)
    (3 * theirs).backward()
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(hidden.grad, other.grad)
    for own, parameter in zip(gradients, layer.parameters(), strict=True):
        torch.testing.assert_close(own, parameter.grad)


def test_linear_without_a_true_label():
    layer = linear(3, 5)
    hidden, none = torch.randn(2, 3), torch.zeros(2, 5)
    wanted = binary_cross_entropy_with_logits(layer.linear(hidden), none)
    torch.testing.assert_close(layer.loss(hidden, positives(none)), wanted)


def test_linear_labels_begin_as_probable_as_they_are_frequent():
    # half a document more for each label, one more in all: 12.5 / 50 and 0.5 / 50
    layer = LinearOutput(3, LabelStart(np.array([12, 0]), 49, "frequency"))
    found = layer.rank(torch.zeros(1, 3), 2)[1]
    torch.testing.assert_close(found, torch.tensor([[0.25, 0.01]]))


def test_linear_labels_begin_at_zero_behind_a_first_stage():
    layer = LinearOutput(3, LabelStart(np.array([12, 0]), 49, "zero"))
    hidden, odds = torch.randn(2, 3), torch.tensor([[1.0, -2.0], [0.0, 3.0]])
    labels, chances = layer.rank(hidden, 2, odds)
    torch.testing.assert_close(chances, odds.sigmoid().gather(1, labels))
    assert labels.tolist() == [[0, 1], [1, 0]]
    truth = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    wanted = binary_cross_entropy_with_logits(odds, truth)
    torch.testing.assert_close(layer.loss(hidden, positives(truth), odds), wanted)


def test_linear_ranks_and_tells_logarithms():
    layer, hidden = linear(3, 7), torch.randn(4, 3, requires_grad=True)
    labels, chances = layer.rank(hidden, 9)
    assert labels.shape == chances.shape == (4, 7)
    assert (labels.dtype, chances.dtype) == (torch.int64, torch.float32)
    wanted = layer.linear(hidden).sigmoid()
    torch.testing.assert_close(wanted.gather(1, labels), chances)
    assert (chances.diff(dim=1) <= 0).all()
    for label in range(7):
        found = layer.log_probability(hidden, label)
        torch.testing.assert_close(found.exp(), wanted[:, label])
    (gradient,) = torch.autograd.grad(found.sum(), hidden)
    assert (gradient != 0).all()


# --- the best places ----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 600), st.integers(1, 4), st.sampled_from([1, 3, 20]))
def test_best_against_a_dense_ranking(seed, n, parts, k):
    """Many are equal, and parts are shown in any order, some for some texts only."""
    rng = np.random.default_rng(seed)
    scores = (rng.integers(0, 9, (5, n)) / 8).astype(np.float32)
    k = min(k, n)
    best = Best(5, k, torch.device("cpu"))
    cuts = np.sort(rng.integers(0, n + 1, parts - 1))
    pieces = list(zip([0, *cuts], [*cuts, n], strict=True))
    for number in rng.permutation(parts):
        first, end = pieces[number]
        rows = rng.permutation(5)
        for some in np.array_split(rows, 2) if number else [None]:
            own = scores[:, first:end] if some is None else scores[some, first:end]
            rows = None if some is None else torch.from_numpy(some)
            best.add(torch.from_numpy(own), int(first), rows)
    places, values = best.found()
    wanted = Ranking.from_dense(scores, k)
    np.testing.assert_array_equal(places, wanted.labels)
    np.testing.assert_array_equal(values, wanted.scores)
    np.testing.assert_array_equal(best.least(), wanted.scores[:, -1])


def test_best_shows_what_is_not_a_number():
    best = Best(1, 2, torch.device("cpu"))
    assert best.least().tolist() == [-1.0]
    best.add(torch.tensor([[0.5, -torch.nan, 0.25]]), 0)
    places, values = best.found()
    assert places.tolist() == [[1, 0]]
    assert values[0].isnan().tolist() == [True, False]


def test_ranking_some_at_a_time_changes_nothing(monkeypatch):
    layer, hidden = linear(2, 300), torch.randint(-1, 2, (9, 2)).float()
    with torch.no_grad():
        layer.linear.weight.copy_(torch.randint(-1, 2, (300, 2)))
        layer.linear.bias.zero_()
    whole = layer.rank(hidden, 4)
    monkeypatch.setattr(outputs, "SCORES", 1024)  # four texts, 256 labels
    for a, b in zip(whole, layer.rank(hidden, 4), strict=True):
        assert torch.equal(a, b)
    wanted = Ranking.from_dense(layer.linear(hidden).sigmoid().detach().numpy(), 4)
    np.testing.assert_array_equal(whole[0], wanted.labels)
