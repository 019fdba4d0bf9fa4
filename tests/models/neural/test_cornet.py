"""CorNet's blocks by hand, behind which networks they stand, and where they are refused."""

import numpy as np
import pytest
import torch

from labelgrove import Tagger, models
from labelgrove.core.errors import InputError
from labelgrove.models.contract import known_answer
from labelgrove.models.neural.examples import small_bert
from labelgrove.models.neural.scorers.correlation import CorrelatedScorer, CorrelationBlock

SMALL = {"vector_size": 8, "epochs": 2, "batch": 16, "threads": 1, "device": "cpu"}
TEXTS, LABELS = known_answer(60)


def test_a_block_is_sigmoid_bottleneck_elu_and_what_went_in():
    block = CorrelationBlock(2, 1)
    with torch.no_grad():
        block.inward.weight.copy_(torch.tensor([[2.0, -4.0]]))
        block.inward.bias.fill_(0.0)
        block.outward.weight.copy_(torch.tensor([[1.0], [3.0]]))
        block.outward.bias.copy_(torch.tensor([0.0, 0.5]))
    found = block(torch.tensor([[0.0, 0.0], [100.0, -100.0]]))
    inner = np.exp(0.5 * 2 - 0.5 * 4) - 1  # below 0, where ELU is e^x - 1
    assert found[0].tolist() == pytest.approx([inner, 3 * inner + 0.5])
    assert found[1].tolist() == pytest.approx([102.0, -100.0 + 6.5])


def test_blocks_learn_a_label_that_no_word_tells():
    """The third label is there where both others are or neither: their log odds cannot tell."""
    torch.manual_seed(0)
    first = torch.randint(0, 2, (256, 2)).float()
    third = (first[:, :1] == first[:, 1:]).float()
    logits = torch.cat([8 * first - 4, torch.zeros(256, 1)], 1)
    block = CorrelationBlock(3, 8)
    optimizer = torch.optim.Adam(block.parameters(), 0.03)
    for _ in range(300):
        optimizer.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(block(logits)[:, 2:], third)
        loss.backward()
        optimizer.step()
    assert ((block(logits)[:, 2:] > 0).float() == third).float().mean() > 0.99


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("attentionxml", {"units": 8, "layers": [8], "tree": "never", "cornet": 1}),
        ("cornet", {"encoder": "bert", "length": 10, "bottleneck": 0}),
        ("kim-cnn", {"filters": 4, "cornet": 1, "prior": "none"}),
        ("treaderxml", {"bottleneck": 8, "heads": 2, "cornet": 1}),
    ],
)
def test_blocks_stand_behind_other_networks(name, settings, tmp_path):
    settings = {**SMALL, "cornet_size": 4, **settings}
    if settings.get("encoder"):
        settings["encoder"] = small_bert(tmp_path)
        del settings["vector_size"]
    tagger = Tagger(models.create(name, **settings)).fit(TEXTS, LABELS)
    (network,) = tagger.model_.networks_
    assert isinstance(network.scorer, CorrelatedScorer)
    assert len(network.scorer.blocks) == settings.get("cornet", 2)
    before = tagger.tag(TEXTS[0], k=5)
    tagger.save(tmp_path / "tagger")
    loaded = Tagger.load(tmp_path / "tagger")
    assert loaded.tag(TEXTS[0], k=5) == before
    assert len(loaded.explain(TEXTS[0], before[0].label))


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("xml-cnn", {"cornet": 1, "first": "bonsai"}, "first='bonsai' names some"),
        ("cornet", {"first": "bonsai"}, "first='bonsai' names some"),
        ("attentionxml", {"cornet": 1, "tree": "always", "max_leaf": 3}, "by candidates"),
        ("attentionxml", {"cornet": 1, "sampler": "uniform"}, "by candidates"),
        ("xml-cnn", {"cornet": 1, "output": "clusters"}, "stand in clusters"),
        ("leam", {"cornet": 1}, "a loss of its own"),
        ("ml-reasoner", {"cornet": 1}, "a loss of its own"),
        ("seq2seq", {"cornet": 1}, "a loss of its own"),
    ],
)
def test_what_does_not_judge_all_labels_is_refused_with_a_way_out(name, settings, message):
    with pytest.raises(InputError) as caught:
        Tagger(models.create(name, **SMALL, **settings)).fit(TEXTS, LABELS)
    assert message in str(caught.value)
    assert "cornet=0" in str(caught.value)


def test_too_many_labels_for_the_memory_are_refused_with_a_way_out():
    model = models.create("cornet", **SMALL, cornet_size=10**9)
    with pytest.raises(
        InputError, match=r"lower cornet_size, or do without these blocks \(cornet=0\)"
    ):
        Tagger(model).fit(TEXTS, LABELS)


def test_a_first_stage_that_data_would_ask_for_gives_way():
    model = models.create("attentionxml", cornet=2)
    assert not model.may_have_first
    assert models.create("attentionxml").may_have_first
