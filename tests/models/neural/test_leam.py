"""LEAM's compatibility, attention and label term against the paper's formulas, by hand."""

import numpy as np
import pytest
import torch
from torch import nn

from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reading
from labelgrove.models.neural.scorers.base import Positives
from labelgrove.models.neural.scorers.label_embedding import Compatibility, LabelEmbeddingScorer

WORDS = torch.tensor([[[2.0, 0.0], [0.0, 3.0], [1.0, 1.0], [9.0, 9.0]]])
MASK = torch.tensor([[True, True, True, False]])
LABELS = torch.tensor([[5.0, 0.0], [0.0, -1.0]])
HALF = 0.5**0.5


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng():
        torch.manual_seed(2)
        yield


def reading():
    return Reading(WORDS, MASK, lambda: WORDS[:, 0])


def scorer(label_weight=0.0, begins="none"):
    start = LabelStart(np.array([2, 1]), 4, begins)
    like = Compatibility(2, radius=1)
    found = LabelEmbeddingScorer(start, 2, like, 0, 0.0, label_weight)
    with torch.no_grad():
        found.labels.weight.copy_(LABELS)
        like.kernel.fill_(1.0)
    return found.eval()


def test_compatibility_is_equations_2_and_3():
    like = Compatibility(2, radius=1)
    assert torch.allclose(like.kernel, torch.full((3,), 1 / 3)), "it begins as a mean"
    with torch.no_grad():
        like.kernel.copy_(torch.tensor([1.0, 2.0, 0.5]))
        like.bias.weight.copy_(torch.tensor([[0.25], [0.0]]))
    found = like(WORDS, MASK, LABELS, None)[0].detach()
    # cosines of the first label are 1, 0, root of a half; of the second 0, -1, less that root
    first = [2.0 + 0.25, 1.0 + 0.5 * HALF + 0.25, 2 * HALF + 0.25]
    assert found[0, :3].tolist() == pytest.approx(first)
    assert found[1, :3].tolist() == [0.0, 0.0, 0.0], "what is unlike a label is nothing to it"


def test_a_text_is_the_mean_of_words_by_the_softmax_of_the_largest():
    found = scorer().text(reading(), None)[0]
    largest = np.array([1.0, 1.0 + HALF, HALF])  # sums of the first label's cosines, nearby
    shares = np.exp(largest) / np.exp(largest).sum()
    assert found.tolist() == pytest.approx((shares @ WORDS[0, :3].numpy()).tolist(), rel=1e-5)


def test_candidates_alone_say_which_words_matter():
    own = scorer()
    every = own.text(reading(), torch.tensor([[0, 1]]))
    assert torch.allclose(every, own.text(reading(), None))
    # the second label is like no word, and no label is like none: a plain mean
    for labels in ([[1, -1]], [[-1, -1]]):
        text = own.text(reading(), torch.tensor(labels))
        assert torch.allclose(text[0], WORDS[0, :3].mean(0))


def test_candidates_have_the_log_odds_of_all_where_all_are_candidates():
    own = scorer(begins="frequency")
    every = own.logits(reading(), None, None)
    some = own.logits(reading(), torch.tensor([[1, 0]]), None)
    assert torch.allclose(some, every.flip(1))


def test_the_label_term_is_the_cross_entropy_of_labels_from_themselves():
    own = scorer(label_weight=1.0)
    logits = own.output.linear(LABELS)
    wanted = nn.functional.cross_entropy(logits, torch.tensor([0, 1])) / 2
    assert torch.allclose(own.label_term(5, None), wanted)
    assert torch.allclose(own.label_term(5, torch.tensor([[0, -1], [1, 0]])), wanted)
    alone = nn.functional.cross_entropy(logits[1:], torch.tensor([1])) / 2
    assert torch.allclose(own.label_term(5, torch.tensor([[1, -1]])), alone)
    assert own.label_term(5, torch.tensor([[-1]])).item() == 0.0


def test_the_loss_adds_the_label_term_by_its_weight():
    truth = Positives(torch.tensor([0]), torch.tensor([1]))
    losses = [scorer(weight) for weight in (0.0, 1.0, 2.0)]
    for each in losses[1:]:
        each.load_state_dict(losses[0].state_dict())
    found = []
    for each in losses:
        torch.manual_seed(0)  # as many labels are drawn as there are texts
        found.append(each.loss(reading(), None, None, truth))
    torch.manual_seed(0)
    term = losses[1].label_term(1, None)
    assert torch.allclose(found[1] - found[0], term, atol=1e-6)
    assert torch.allclose(found[2] - found[0], 2 * term, atol=1e-6)
