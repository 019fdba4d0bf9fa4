"""Self-attention and the two branches of TReaderXML, on small cases."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from labelgrove.models.neural.readers.base import Batch
from labelgrove.models.neural.readers.dual import Branch, DualReader, SelfAttention, taught
from labelgrove.models.neural.readers.word_networks import PlainWords
from labelgrove.models.neural.readers.words import WordEmbedding, WordReader


def plain(layer):
    """Let all matrices of an attention be the identity."""
    for part in (layer.query, layer.key, layer.value, layer.out):
        nn.init.eye_(part.weight)
    return layer


def real(*rows):
    return torch.tensor(rows, dtype=torch.bool)


X = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])


def test_a_masked_word_sees_what_stands_before_it():
    found = plain(SelfAttention(2, 1, masked=True))(X, real([1, 1, 1]))[0]
    assert torch.allclose(found[0], torch.tanh(X[0, 0]))
    # of the second word: products 0 and 1, divided by the root of 2
    one, two = 1.0, math.exp(1 / math.sqrt(2))
    wanted = torch.tanh(torch.tensor([one, two]) / (one + two))
    assert torch.allclose(found[1], wanted)


def test_without_a_mask_a_word_sees_all():
    found = plain(SelfAttention(2, 1, masked=False))(X, real([1, 1, 1]))[0]
    one, two, three = math.exp(1 / math.sqrt(2)), 1.0, math.exp(1 / math.sqrt(2))
    share = torch.tensor([one, two, three]) / (one + two + three)
    assert torch.allclose(found[0], torch.tanh(share @ X[0]))


def test_every_head_has_its_own_numbers():
    layer = plain(SelfAttention(4, 2, masked=False))
    x = torch.tensor([[[1.0, 0.0, 3.0, 0.0], [0.0, 1.0, 0.0, 3.0]]])
    # each word sees itself with a product of 1 in the first head, of 9 in the second
    one, nine = (1 / (1 + math.exp(-product / math.sqrt(2))) for product in (1, 9))
    first = torch.tensor([one, 1 - one, 3 * nine, 3 * (1 - nine)])
    assert torch.allclose(layer(x, real([1, 1]))[0, 0], torch.tanh(first))


def test_steps_are_taken_in_their_order():
    torch.manual_seed(0)
    every = real([1, 1, 1])
    for steps in (["masked", "residual", "plain"], ["plain", "residual", "masked"]):
        branch = Branch(2, 1, steps)
        first, second = branch.layers
        assert (first.masked, second.masked) == (steps[0] == "masked", steps[2] == "masked")
        assert torch.equal(branch(X, every), second(X + first(X, every), every))
    without = Branch(2, 1, ["masked", "plain"])
    first, second = without.layers
    assert torch.equal(without(X, every), second(first(X, every), every))
    assert torch.equal(Branch(2, 1, [])(X, every), X)


def test_every_attention_may_have_a_residual_connection():
    torch.manual_seed(0)
    every = real([1, 1, 1])
    branch = Branch(2, 1, ["masked", "residual", "plain"], residuals=True)
    first, second = branch.layers
    middle = X + first(X, every)
    assert torch.equal(branch(X, every), middle + second(middle, every))
    network = reader(is_taught=False, residuals=True)
    states = network.student(network.inner.words(torch.tensor([[4, 5]])), real([1, 1]))
    alone = network(Batch(torch.tensor([[4, 5]]), torch.tensor([2])))
    wanted = states + network.interaction(states, real([1, 1]))
    torch.testing.assert_close(alone.vectors, wanted)


@pytest.mark.parametrize("residuals", [True, False])
def test_texts_can_be_told_apart_behind_the_first_weights(residuals):
    """Small first weights let all texts look alike: 0.1 of their differences was left, and less."""
    torch.manual_seed(0)
    n, size, length = 32, 64, 60
    words = WordReader(WordEmbedding(torch.rand(500, size) * 2 - 1, dropout=0.0), PlainWords(size))
    steps = ("masked", "residual", "plain")
    network = DualReader(words, 4, steps, taught=False, residuals=residuals).eval()
    batch = Batch(torch.randint(2, 500, (n, length)), torch.full((n,), length))
    with torch.no_grad():
        given = words(batch).vectors
        found = network(batch)
    means = found.pooled[:, :size]
    assert means.std(0).mean() > 0.8 * given.mean(1).std(0).mean()  # between texts
    if residuals:  # between the words of a text; attention alone averages them away
        assert found.vectors.std(1).mean() > 0.8 * given.std(1).mean()


@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_positions_tell_the_order_of_words(kind):
    lengths, shares = torch.tensor([3]), torch.zeros(1, 0)
    there, back = torch.tensor([[4, 5, 6]]), torch.tensor([[6, 5, 4]])
    nothing = shares, torch.zeros(0, 2).long()
    means = []
    for positions in ("none", kind):
        network = reader(("plain",), positions=positions, longest=3)
        network.interaction.masked = False
        means.append([read(network, each, lengths, *nothing) for each in (there, back)])
    torch.testing.assert_close(*means[0])  # without them attention sees a bag of words
    assert not torch.allclose(*means[1], atol=1e-4)


def test_the_teacher_says_the_mean_of_descriptions_place_by_place():
    vectors = torch.tensor([[[1.0, 0.0], [4.0, 4.0]], [[3.0, 2.0], [9.0, 9.0]]])
    lessons = torch.tensor([[5, 6], [7, 0]])  # the second label has one word only
    told, spoken = taught(vectors, lessons, torch.tensor([[0.5, 0.5], [0.0, 1.0], [0.0, 0.0]]))
    assert told.tolist() == [
        [[2.0, 1.0], [2.0, 2.0]],
        [[3.0, 2.0], [0.0, 0.0]],
        [[0.0, 0.0], [0.0, 0.0]],
    ]
    assert spoken.tolist() == [[True, True], [True, False], [False, False]]


def reader(steps=("masked", "residual", "plain"), is_taught=True, **more):
    torch.manual_seed(3)
    words = WordReader(WordEmbedding(torch.randn(20, 6), dropout=0.0), PlainWords(6))
    return DualReader(words, 2, steps, is_taught, **more).eval()


def read(network, tokens, lengths, shares, lessons):
    """Return the vectors of texts (b, 2 d)."""
    return network(Batch(tokens, lengths, shares=shares, lessons=lessons)).pooled


def test_without_a_teacher_lessons_change_nothing():
    tokens, lengths = torch.tensor([[4, 5, 6]]), torch.tensor([3])
    some, others = torch.tensor([[7, 8]]), torch.tensor([[9, 10]])
    share = torch.ones(1, 1)
    alone, with_one = reader(is_taught=False), reader()
    given = (tokens, lengths, share)
    assert torch.equal(read(alone, *given, some), read(alone, *given, others))
    assert not torch.allclose(read(with_one, *given, some), read(with_one, *given, others))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 4), st.integers(0, 3), st.integers(0, 10**6), st.booleans())
def test_padding_and_other_texts_labels_change_nothing(more, others, seed, silent):
    torch.manual_seed(seed)
    network = reader()
    tokens, lessons = torch.randint(2, 20, (1, 5)), torch.randint(1, 20, (3, 2))
    shares = torch.rand(1, 3) * (0.0 if silent else 1.0)
    alone = read(network, tokens, torch.tensor([5]), shares, lessons)
    padded = torch.cat([tokens, torch.zeros(1, more, dtype=torch.long)], 1)
    wider = torch.cat([shares, torch.zeros(1, others)], 1)
    longer = torch.cat([lessons, torch.randint(1, 20, (others, 2))])
    found = read(network, padded, torch.tensor([5]), wider, longer)
    assert torch.allclose(alone, found, atol=1e-5)


@pytest.mark.parametrize("size", [5, 3, 1])
def test_any_size_goes_with_any_number_of_heads(size):
    layer = SelfAttention(size, 4, masked=True)
    assert layer(torch.randn(2, 3, size), real([1, 1, 1], [1, 0, 0])).shape == (2, 3, size)


def test_a_text_is_repeated_with_lessons_of_its_own_number():
    """As explanations need it: the labels that a batch is told are no text's own."""
    tokens, lengths = torch.tensor([[4, 5, 6]]), torch.tensor([3])
    shares, lessons = torch.tensor([[0.5, 0.5]]), torch.tensor([[7, 8], [9, 0]])
    one = Batch(tokens, lengths, shares=shares, lessons=lessons)
    network = reader()
    torch.testing.assert_close(network(one.repeated(3)).pooled, network(one).pooled.expand(3, -1))


def test_a_text_of_one_word_without_a_teachers_word_is_read():
    nothing = torch.zeros(1, 0), torch.zeros(0, 2).long()
    found = read(reader(), torch.tensor([[4]]), torch.tensor([1]), *nothing)
    assert torch.isfinite(found).all()
