"""ML-Reasoner's rounds against the paper's formulas in plain numpy."""

import numpy as np
import pytest
import torch
from torch import nn

from labelgrove import Tagger, models
from labelgrove.core.errors import InputError
from labelgrove.models.contract import known_answer
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reading
from labelgrove.models.neural.scorers.base import Positives, dense
from labelgrove.models.neural.scorers.reasoning import ReasoningScorer

TEXT = torch.tensor([[1.0, -2.0, 0.5]])


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng():
        torch.manual_seed(4)
        yield


def scorer(rounds, every_round=True):
    start = LabelStart(np.array([1, 1, 1, 1]), 5, "none")
    return ReasoningScorer(start, nn.Identity(), 3, size=2, rounds=rounds, every_round=every_round)


def reading():
    words = TEXT[:, None]
    return Reading(words, torch.ones(1, 1, dtype=torch.bool), lambda: TEXT)


def numbers(tensor):
    return tensor.detach().double().numpy()


def rounds_by_hand(own, n, u=None):
    """As printed, with the text's part u x of the scores, which a softmax does not see."""
    x, L = numbers(TEXT)[0], numbers(own.labels)
    w = numbers(own.weigh.weight)[0]
    u = np.zeros(3) if u is None else u
    W, b = numbers(own.output.linear.weight), numbers(own.output.linear.bias)
    z, found = np.zeros(4), []
    for _ in range(n):
        encoded = z[:, None] * L
        scores = encoded @ w + x @ u
        shares = np.exp(scores) / np.exp(scores).sum()
        logits = W @ np.concatenate([x, shares @ encoded]) + b
        found.append(logits)
        z = 1 / (1 + np.exp(-logits))
    return found


@pytest.mark.parametrize("n", [1, 2, 3])
def test_rounds_are_those_of_the_paper(n):
    own = scorer(n)
    for u in (None, np.array([3.0, -1.0, 2.0])):
        wanted = rounds_by_hand(own, n, u)
        found = [numbers(each)[0] for each in own.judged(reading(), None)]
        assert np.allclose(found, wanted, atol=1e-5)
    assert torch.equal(own.logits(reading(), None, None), own.judged(reading(), None)[-1])


def test_the_first_round_knows_of_no_label():
    own = scorer(1)
    line = own.output.linear
    wanted = TEXT @ line.weight[:, :3].T + line.bias
    assert torch.allclose(own.logits(reading(), None, None), wanted)


def test_a_prior_is_fed_back_too():
    own = scorer(2)
    prior = torch.tensor([[4.0, -4.0, 0.0, 1.0]])
    first, second = own.judged(reading(), prior)
    told = own.told(first.sigmoid())
    wanted = own.output.linear(torch.cat([TEXT, told], 1)) + prior
    assert torch.allclose(second, wanted)


def test_the_loss_is_that_of_all_rounds_or_of_the_last():
    truth = Positives(torch.tensor([0, 0]), torch.tensor([1, 3]))
    own = scorer(3)
    each = [
        nn.functional.binary_cross_entropy_with_logits(logits, dense(truth, logits))
        for logits in own.judged(reading(), None)
    ]
    assert torch.allclose(own.loss(reading(), None, None, truth), torch.stack(each).mean())
    own.every_round = False
    assert torch.allclose(own.loss(reading(), None, None, truth), each[-1])


def test_a_first_stage_is_refused_with_a_way_out():
    with pytest.raises(InputError, match=r"probabilities of all: set first='none', or choose"):
        models.create("ml-reasoner", first="bonsai").check_settings()


def test_a_recurrent_layer_reads_in_the_place_of_filters(tmp_path):
    texts, labels = known_answer(60)
    settings = {"network": "lstm", "units": 8, "bottleneck": 8, "vector_size": 8, "epochs": 1}
    tagger = Tagger(models.create("ml-reasoner", **settings, threads=1)).fit(texts, labels)
    tagger.save(tmp_path / "tagger")
    loaded = Tagger.load(tmp_path / "tagger")
    assert loaded.tag(texts[0], k=3) == tagger.tag(texts[0], k=3)
    assert len(loaded.explain(texts[0], loaded.tag(texts[0])[0].label))
