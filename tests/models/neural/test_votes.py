"""Votes of neighbours as shifts of log odds: sparse, for all labels or for candidates."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from labelgrove.models.neural.network import Network
from labelgrove.models.neural.priors.votes import VotePrior
from labelgrove.models.neural.readers.base import Batch


def logit(p):
    return np.log(p / (1 - p))


def expected(votes, shares, n=10):
    """Return the shifts of all labels, as the formula is written."""
    return logit((n * votes + shares) / (n + 1)) - logit(shares)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 30), st.integers(0, 3))
def test_shifts_are_those_of_the_formula(seed, n, n_labels, later):
    rng = np.random.default_rng(seed)
    # labels that came later have votes and no network
    votes = csr_array(random_array((n, n_labels + later), density=0.3, rng=rng, dtype=np.float32))
    shares = rng.uniform(0.001, 0.6, n_labels)
    rows = rng.permutation(n)[: rng.integers(1, n + 1)]
    wanted = expected(votes.toarray()[rows][:, :n_labels], shares)
    own = VotePrior(votes, shares, 10).of(rows)
    np.testing.assert_allclose(own.of_all(), wanted, atol=1e-4)
    asked = torch.from_numpy(rng.integers(-1, n_labels, (len(rows), 5)))
    chosen = np.take_along_axis(wanted, asked.clamp(min=0).numpy(), 1)
    np.testing.assert_allclose(own.of(asked), np.where(asked < 0, 0.0, chosen), atol=1e-4)


def test_shifts_hold_no_more_than_votes_and_labels():
    """A batch with candidates never becomes dense."""
    n_labels = 1_000_000
    votes = csr_array(([0.5, 0.1, 1.0], ([0, 0, 1], [7, 999_999, 3])), shape=(2, n_labels))
    own = VotePrior(votes, np.full(n_labels, 1e-5), 10).of(np.array([1, 0]))
    assert own.labels.shape == own.gains.shape == (2, 2)
    assert own.labels.tolist() == [[3, n_labels], [7, 999_999]]
    shifts = own.of(torch.tensor([[3, 4], [4, 999_999]]))
    wanted = [expected(v, 1e-5) for v in (1.0, 0.0, 0.0, 0.1)]
    np.testing.assert_allclose(shifts.ravel(), wanted, rtol=1e-5)


@pytest.mark.parametrize("behind", [False, True])
def test_votes_have_a_weight_of_their_own(behind):
    network = Network(torch.nn.Identity(), _Scorer(), weighs_prior=behind, weighs_votes=True)
    votes = VotePrior(csr_array([[0.0, 0.4, 0.0]]), np.array([0.1, 0.2, 0.3]), 10)
    labels = torch.tensor([[1, 2]])
    batch = Batch(torch.zeros(1, 1).long(), torch.ones(1).long(), votes=votes.of(np.array([0])))
    shifts = torch.tensor(expected(np.array([[0.0, 0.4, 0.0]]), votes.shares)).float()
    if not behind:
        torch.testing.assert_close(network.prior(batch).detach(), shifts)
        return
    batch = batch._replace(labels=labels, prior=torch.tensor([[3.0, 4.0]]))
    assert network.prior(batch).tolist() == [[3.0, 4.0]]  # as good as the first stage at first
    network.votes_weight.data.fill_(2.0)
    torch.testing.assert_close(network.prior(batch).detach(), batch.prior + 2 * shifts[:, 1:])
    many = network.prior(batch.repeated(3))
    torch.testing.assert_close(many, network.prior(batch).expand(3, -1))


class _Scorer(torch.nn.Identity):
    leaves_parts_out = False
