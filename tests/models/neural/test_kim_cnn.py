"""Kim's CNN against the paper's formulas, worked by hand."""

import torch

from labelgrove import models
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Batch
from labelgrove.models.neural.readers.words import WordEmbedding, WordReader
from labelgrove.models.neural.scorers.outputs import LinearOutput


def network(vectors, **settings):
    model = models.create("kim-cnn", **settings)
    reader = WordReader(WordEmbedding(vectors, dropout=0.0), model._word_network(vectors.shape[1]))
    start = LabelStart(torch.tensor([1, 1]).numpy(), 4, "none")
    return reader, model._scorer(reader, start).eval()


def test_a_filter_gives_its_largest_value_over_time():
    vectors = torch.tensor([[0.0], [1.0], [2.0], [4.0], [-8.0]])
    reader, scorer = network(vectors, widths=[3], filters=1)
    (filters,) = reader.network.filters
    with torch.no_grad():
        filters.weight.copy_(torch.tensor([[[1.0, 0.0, 1.0]]]))
        filters.bias.fill_(0.5)
    batch = Batch(torch.tensor([[1, 2, 3, 4]]), torch.tensor([4]))
    # of the padded 0 1 2 4 -8 0: 2, 1 + 4, 2 - 8, 4, each with 0.5, and ReLU
    assert reader(batch).pooled.tolist() == [[5.5]]
    assert isinstance(scorer.output, LinearOutput)
    line = scorer.output.linear
    wanted = line.weight[:, 0] * 5.5 + line.bias
    assert torch.allclose(scorer.logits(reader(batch), None, None)[0], wanted)


def test_a_text_shorter_than_every_filter_is_read():
    reader, _ = network(torch.ones(3, 4), widths=[3, 4, 5], filters=2)
    pooled = reader(Batch(torch.tensor([[1]]), torch.tensor([1]))).pooled
    assert pooled.shape == (1, 6)
    assert torch.isfinite(pooled).all()


def test_padding_changes_nothing():
    torch.manual_seed(0)
    reader, _ = network(torch.randn(9, 4), filters=3)
    words = torch.tensor([[3, 4, 5, 0, 0, 0, 0]])
    alone = reader(Batch(words[:, :3], torch.tensor([3]))).pooled
    assert torch.allclose(reader(Batch(words, torch.tensor([3]))).pooled, alone)
