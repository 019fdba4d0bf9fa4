"""Cross attention, by hand and whatever is masked."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgrove.models.neural.scorers.cross_attention import CrossAttention


def all_of(*shape):
    return torch.ones(*shape, dtype=torch.bool)


def test_cross_attention_by_hand():
    """Three words, two labels, one kernel over a word and its neighbours: equations 1 and 2."""
    words = torch.tensor([[[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]]])
    labels = torch.tensor([[[2.0, 0.0, 0.0, 0.0], [0.0, -2.0, 0.0, 0.0]]])
    part = CrossAttention(radius=1, filters=1, average=False)
    with torch.no_grad():
        part.kernels[:] = torch.tensor([0.5, 1.0, 0.25]).reshape(1, 1, 3, 1)
        part.bias[:] = -0.125
    # M / sqrt(4) = [[1, 0], [0, -2], [1, -1]]; the convolution of a column c at i is
    # 0.5 c[i-1] + c[i] + 0.25 c[i+1] - 0.125, and nothing lies beyond the edges
    first = [1.0 - 0.125, 0.5 + 0.25 - 0.125, 1.0 - 0.125]
    second = [0.0, 0.0, 0.0]  # -0.5, -2.25, -2 and the bias: ReLU leaves nothing
    found = part.matters(words, all_of(1, 3), labels, all_of(1, 2))
    np.testing.assert_allclose(found[0].T.detach(), [first, second], atol=1e-6)
    weights = np.tanh(first)
    vector = part(words, all_of(1, 3), labels, all_of(1, 2)).detach().numpy()[0]
    np.testing.assert_allclose(vector, weights @ words[0].numpy(), atol=1e-6)
    part.average = True
    mean = part(words, all_of(1, 3), labels, all_of(1, 2)).detach().numpy()[0]
    np.testing.assert_allclose(mean, vector / 3, atol=1e-6)


def test_the_largest_kernel_and_the_label_that_matters_most_count():
    words, labels = torch.ones(1, 1, 1), torch.tensor([[[1.0], [3.0]]])
    part = CrossAttention(radius=0, filters=2, average=False)
    with torch.no_grad():
        part.kernels[:] = torch.tensor([0.1, 0.2]).reshape(2, 1, 1, 1)
    assert part(words, all_of(1, 1), labels, all_of(1, 2)).item() == np.tanh(np.float32(0.6))


def test_the_authors_form_takes_cosines_and_neighbouring_labels():
    words = torch.tensor([[[3.0, 4.0]]])
    labels = torch.tensor([[[10.0, 0.0], [0.0, 0.5]]])
    part = CrossAttention(radius=0, filters=1, across=2, cosine=True)
    with torch.no_grad():
        part.kernels[:] = 1.0
    found = part.matters(words, all_of(1, 1), labels, all_of(1, 2))
    np.testing.assert_allclose(found.detach()[0], [[0.6 + 0.8, 0.8]], atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_words=st.integers(1, 6),
    n_labels=st.integers(1, 4),
    more_words=st.integers(0, 4),
    more_labels=st.integers(0, 3),
    across=st.sampled_from([1, 3]),
)
def test_what_is_masked_changes_nothing(seed, n_words, n_labels, more_words, more_labels, across):
    torch.manual_seed(seed)
    part = CrossAttention(radius=2, filters=2, across=across)
    words, labels = torch.randn(2, n_words, 3), torch.randn(2, n_labels, 3)
    alone = part(words, all_of(2, n_words), labels, all_of(2, n_labels))
    noise = torch.full((2, more_words, 3), 1e3), torch.full((2, more_labels, 3), -1e3)
    own = torch.cat([all_of(2, n_words), ~all_of(2, more_words)], 1)
    real = torch.cat([all_of(2, n_labels), ~all_of(2, more_labels)], 1)
    longer = part(torch.cat([words, noise[0]], 1), own, torch.cat([labels, noise[1]], 1), real)
    torch.testing.assert_close(longer, alone)


def test_it_begins_alive():
    """Vectors that have something in common, as those of a transformer, give weights above 0."""
    torch.manual_seed(0)
    words, labels = torch.randn(4, 9, 16) + 0.5, torch.randn(4, 5, 16) + 0.5
    found = CrossAttention().matters(words, all_of(4, 9), labels, all_of(4, 5)).amax(2)
    assert (found > 0).float().mean() > 0.9
