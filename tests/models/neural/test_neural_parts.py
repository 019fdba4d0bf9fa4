"""The parts of networks against small computations in plain numpy."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from torch.utils.flop_counter import FlopCounterMode

from labelgrove.labels import LabelTree
from labelgrove.models.neural.candidates.nodes import Children, Truth, topped_up
from labelgrove.models.neural.network import Network
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import mask_of
from labelgrove.models.neural.readers.word_networks import (
    BiLSTM,
    Convolutions,
    largest,
    largest_in_parts,
    turn,
)
from labelgrove.models.neural.readers.words import WordEmbedding, WordReader
from labelgrove.models.neural.scorers.label_attention import (
    LabelAttention,
    LabelAttentionScorer,
    SharedLayers,
)

LENGTHS = torch.tensor([5, 1, 3])
MASK = mask_of(LENGTHS, 5)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def numbers(tensor):
    return tensor.detach().double().numpy()


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng():
        torch.manual_seed(1)
        yield


# --- recurrent (equations 2 and 3) --------------------------------------------------------------


def lstm(layer, x, state, cell):
    """Equation 2, step by step; torch keeps the gates as i, f, g, o, and two biases."""
    W, U = numbers(layer.weight_ih_l0), numbers(layer.weight_hh_l0)
    b = numbers(layer.bias_ih_l0) + numbers(layer.bias_hh_l0)
    found = []
    for word in x:
        i, f, g, o = np.split(W @ word + U @ state + b, 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        state = sigmoid(o) * np.tanh(cell)
        found.append(state)
    return np.array(found)


def test_bilstm_is_equations_2_and_3():
    encoder = BiLSTM(4, 3, dropout=0.0)
    torch.nn.init.uniform_(encoder.initial, -1, 1)
    x = torch.randn(3, 5, 4)
    found = numbers(encoder(x, LENGTHS))
    initial = numbers(encoder.initial)
    for i, n in enumerate(LENGTHS.tolist()):
        words = numbers(x[i, :n])
        onward = lstm(encoder.onward, words, *initial[0])
        back = lstm(encoder.back, words[::-1], *initial[1])[::-1]
        np.testing.assert_allclose(found[i, :n], np.hstack([onward, back]), atol=1e-6)
        assert (found[i, n:] == 0).all()


def test_padding_changes_nothing_for_a_text():
    encoder = BiLSTM(4, 3).eval()
    x = torch.randn(1, 3, 4)
    alone = encoder(x, torch.tensor([3]))
    wide = torch.cat([x, torch.full((1, 6, 4), 9.0)], dim=1)
    torch.testing.assert_close(encoder(wide, torch.tensor([3]))[:, :3], alone)


def test_turn_is_its_own_inverse():
    x = torch.randn(3, 5, 2)
    turned = turn(x, LENGTHS)
    torch.testing.assert_close(turned[0], x[0].flip(0))
    torch.testing.assert_close(turned[2], torch.cat([x[2, :3].flip(0), x[2, 3:]]))
    torch.testing.assert_close(turn(turned, LENGTHS), x)


# --- attention (equations 4 and 5) --------------------------------------------------------------


def attend(H, w):
    """Equation 4 for one text and one label."""
    scores = np.exp(H @ w)
    shares = scores / scores.sum()
    return shares, shares @ H


@pytest.mark.parametrize("sparse", [False, True])
def test_attention_is_equation_4(sparse):
    attention = LabelAttention(6, 4, sparse)
    H = torch.randn(3, 5, 4)
    shares = attention.shares(H, MASK)
    vectors = shares @ H
    W = numbers(attention.labels.weight)
    for i, n in enumerate(LENGTHS.tolist()):
        for label in range(6):
            wanted, vector = attend(numbers(H[i, :n]), W[label])
            np.testing.assert_allclose(numbers(shares[i, label, :n]), wanted, atol=1e-6)
            assert (shares[i, label, n:] == 0).all()
            np.testing.assert_allclose(numbers(vectors[i, label]), vector, atol=1e-6)


def test_candidates_attend_as_all_labels_do():
    attention = LabelAttention(6, 4)
    H = torch.randn(3, 5, 4)
    candidates = torch.tensor([[5, 0], [1, 1], [2, 4]])
    everything = attention.shares(H, MASK)
    chosen = attention.shares(H, MASK, candidates)
    for i in range(3):
        torch.testing.assert_close(chosen[i], everything[i, candidates[i]])


def test_shared_layers_are_equation_5():
    layers = SharedLayers(4, [3, 2])
    m = torch.randn(2, 5, 4)
    x = numbers(m)
    for layer in layers.hidden:
        x = np.maximum(x @ numbers(layer.weight).T + numbers(layer.bias), 0)
    wanted = x @ numbers(layers.output.weight)[0] + numbers(layers.output.bias)
    np.testing.assert_allclose(numbers(layers(m)), wanted, atol=1e-6)


@pytest.mark.parametrize(("n_labels", "n_words", "size"), [(6, 5, 3), (2, 50, 3), (2, 5, 90)])
def test_the_first_layer_may_read_words_before_labels_mix_them(n_labels, n_words, size):
    layers = SharedLayers(4, [size, 2])
    H, shares = torch.randn(2, n_words, 4), torch.rand(2, n_labels, n_words).softmax(dim=2)
    torch.testing.assert_close(layers.of_words(H, shares), layers(shares @ H))


def test_what_a_label_reads_is_not_kept_where_the_first_layer_reads_words():
    """A layer of 256 behind vectors of 512 for 1,426 labels of 16 words: most of the work."""
    layers = SharedLayers(512, [256])
    assert layers.reads_words_first(16, 1426)
    H, shares = torch.randn(1, 16, 512), torch.rand(1, 1426, 16).softmax(dim=2)
    with FlopCounterMode(display=False) as counted:
        layers.of_words(H, shares)
    assert counted.get_total_flops() < 0.05 * 2 * 1426 * 512 * (16 + 256)


def test_network_begins_as_the_one_above_but_for_attention():
    vectors = torch.randn(7, 4)

    def network(vectors, n_labels, sparse=False):
        reader = WordReader(WordEmbedding(vectors), BiLSTM(4, 3))
        start = LabelStart(np.zeros(n_labels, np.int64), 0, sparse=sparse)
        return Network(reader, LabelAttentionScorer(start, reader.n_vector, [5]))

    above, below = network(vectors, 3), network(vectors * 0, 8, sparse=True)
    fresh = below.scorer.attends.labels.weight.clone()
    below.begin_as(above)
    for part in ("reader.words", "reader.network", "scorer.layers"):
        own, theirs = (each.get_submodule(part).state_dict() for each in (below, above))
        assert theirs
        assert all(torch.equal(own[name], theirs[name]) for name in theirs)
    assert torch.equal(below.scorer.attends.labels.weight, fresh)


# --- convolutions -------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 99))
def test_largest_in_parts(n, parts, seed):
    x = np.random.default_rng(seed).standard_normal((2, 12, 3))
    found = largest_in_parts(torch.from_numpy(x), torch.tensor([n, 12]), parts).numpy()
    for i, length in enumerate([n, 12]):
        part = np.arange(length) * parts // length
        for p in range(parts):
            own = x[i, :length][part == p]
            wanted = np.maximum(own.max(axis=0), 0) if len(own) else np.zeros(3)
            np.testing.assert_array_equal(found[i, p], wanted)


def test_convolutions_do_not_see_padding():
    encoder = Convolutions(4, (2, 3), n_filters=5, n_parts=2)
    x = torch.randn(1, 6, 4)
    n = torch.tensor([6])
    words = encoder(x, n)
    alone = encoder.pool(words, n)
    assert words.shape == (1, 6, encoder.n_vector) == (1, 6, 10)
    assert alone.shape == (1, encoder.n_pooled) == (1, 20)
    wide = encoder(torch.cat([x, torch.randn(1, 4, 4)], dim=1), n)
    torch.testing.assert_close(wide[:, :6], words)
    torch.testing.assert_close(encoder.pool(wide, n), alone)


def test_largest_ignores_padding():
    x = torch.tensor([[[-1.0], [-3.0], [7.0]]])
    assert largest(x, torch.tensor([2])).tolist() == [[-1.0]]


# --- candidates (Algorithm 1) -------------------------------------------------------------------


def test_children_of_parents_in_their_order():
    tree = LabelTree([np.array([0, 0, 0]), np.array([2, 0, 0, 1, 2, 2])])
    found = Children(tree, 1).of(np.array([[2, 0], [1, -1]]))
    assert found.nodes[0].tolist() == [0, 4, 5, 1, 2]
    assert found.owners[0].tolist() == [0, 0, 0, 1, 1]
    assert found.nodes[1, :1].tolist() == [3]
    assert found.real.tolist() == [[True] * 5, [True, False, False, False, False]]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6))
def test_children_against_a_loop(seed):
    rng = np.random.default_rng(seed)
    above = int(rng.integers(1, 6))
    labels = np.concatenate([np.arange(above), rng.integers(0, above, int(rng.integers(0, 20)))])
    tree = LabelTree([np.zeros(above, int), rng.permutation(labels)])
    parents = np.array([rng.permutation(above) for _ in range(4)])
    parents[rng.random(parents.shape) < 0.3] = -1
    found = Children(tree, 1).of(parents)
    for i in range(4):
        wanted = [
            (child, place)
            for place, parent in enumerate(parents[i])
            if parent >= 0
            for child in np.flatnonzero(tree.levels[1] == parent)
        ]
        real = found.real[i]
        assert list(zip(found.nodes[i][real], found.owners[i][real], strict=True)) == wanted


def test_true_parents_come_first_and_guesses_fill_up():
    guessed = np.array([[7, 3, 9, 1], [4, -1, -1, -1], [5, 6, 7, 8]])
    true = np.zeros((3, 10), np.float32)
    true[0, 3] = true[1, 4] = 1
    true[2, [0, 1, 2, 6]] = 1
    rows = np.arange(3)
    assert topped_up(Truth(csr_array(true)), rows, guessed, 3).tolist() == [
        [3, 7, 9, -1],
        [4, -1, -1, -1],
        [6, 0, 1, 2],
    ]


def test_mask():
    assert mask_of(torch.tensor([2, 0]), 3).tolist() == [[True, True, False], [False] * 3]
