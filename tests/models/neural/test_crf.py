"""The chain of yes and no against all its sequences, one by one."""

from itertools import pairwise, product

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgrove.models.neural.scorers.crf import Chain


def naive(chain, scores, real):
    """Return the score of every sequence over the places that count."""
    places = [i for i, counts in enumerate(real) if counts]
    found = {}
    for states in product((0, 1), repeat=len(places)):
        total = float(chain.start[states[0]]) if states else 0.0
        total += sum(float(scores[i, s]) for i, s in zip(places, states, strict=True))
        total += sum(float(chain.steps[a, b]) for a, b in pairwise(states))
        found[states] = total
    return places, found


def a_case(seed, n):
    torch.manual_seed(seed)
    chain = Chain().requires_grad_(False)
    with torch.no_grad():
        chain.start[:], chain.steps[:] = torch.randn(2), torch.randn(2, 2)
    scores, real = torch.randn(2, n, 2), torch.rand(2, n) < 0.7
    return chain, scores, real, torch.rand(2, n) < 0.5


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 5))
def test_loss_and_marginals_are_those_of_all_sequences(seed, n):
    chain, scores, real, true = a_case(seed, n)
    loss, odds = 0.0, chain.log_odds(scores, real).detach().numpy()
    for row in range(2):
        places, each = naive(chain, scores[row], real[row])
        total = np.logaddexp.reduce(list(each.values()))
        loss += total - each[tuple(int(true[row, i]) for i in places)]
        for number, place in enumerate(places):
            yes = [value for states, value in each.items() if states[number]]
            no = [value for states, value in each.items() if not states[number]]
            wanted = np.logaddexp.reduce(yes) - np.logaddexp.reduce(no)
            assert np.isclose(odds[row, place], wanted, atol=1e-4)
    assert np.isclose(chain.loss(scores, true, real).item(), loss, atol=1e-4)


def test_a_text_without_any_place_costs_nothing():
    chain, scores, _, true = a_case(0, 3)
    none = torch.zeros(2, 3, dtype=torch.bool)
    assert chain.loss(scores, true, none).item() == 0
