"""LSAN's two attentions and their fusion against the paper's formulas in plain numpy."""

import numpy as np
import pytest
import torch

from labelgrove import Tagger, models
from labelgrove.core.types import FitContext
from labelgrove.labels import LabelSpace
from labelgrove.models.contract import known_answer
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reading
from labelgrove.models.neural.readers.label_words import begin_as_words, label_words
from labelgrove.models.neural.readers.word_networks import PlainWords
from labelgrove.models.neural.readers.words import WordEmbedding, WordReader
from labelgrove.models.neural.scorers.label_attention import LabelAttentionScorer
from labelgrove.models.neural.scorers.label_specific import (
    AveragedAttentionScorer,
    LabelSpecificAttention,
)
from labelgrove.text import Words

SMALL = {"vector_size": 8, "units": 8, "layers": [8], "attention": 4, "epochs": 1, "batch": 16,
         "threads": 1, "device": "cpu"}  # fmt: skip


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng():
        torch.manual_seed(3)
        yield


def numbers(tensor):
    return tensor.detach().double().numpy()


def softmax(x):
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def fused(attends, H, averages):
    """Equations 2 to 7 for the T words of one text, H (T, d); the document matrix M (L, d)."""
    own = softmax(
        numbers(attends.own.labels.weight) @ np.tanh(H @ numbers(attends.hidden.weight).T).T
    )
    products = numbers(attends.named.labels.weight) @ (H @ numbers(attends.to_names.weight).T).T
    named = softmax(products) if averages else products
    read_own, read_named = own @ H, named @ H

    def weight(layer, read):
        return sigmoid(read @ numbers(layer.weight)[0] + numbers(layer.bias))[:, None]

    alpha, beta = weight(attends.weigh_own, read_own), weight(attends.weigh_named, read_named)
    return (alpha * read_own + beta * read_named) / (alpha + beta)


@pytest.mark.parametrize("averages", [True, False])
def test_the_document_of_a_label_is_equations_2_to_7(averages):
    attends = LabelSpecificAttention(5, 6, size=4, name_size=3, averages=averages)
    words, mask = torch.randn(2, 7, 6), torch.ones(2, 7, dtype=torch.bool)
    mask[1, 4:] = False
    shares = attends.shares(words, mask)
    for text, n in ((0, 7), (1, 4)):
        wanted = fused(attends, numbers(words[text, :n]), averages)
        assert np.allclose(numbers(shares[text] @ words[text]), wanted, atol=1e-6)
    if averages:
        assert torch.allclose(shares.sum(2), torch.ones(2, 5))


@pytest.mark.parametrize("averages", [True, False])
def test_one_number_for_each_label_of_its_document_and_candidates_alike(averages):
    attends = LabelSpecificAttention(5, 6, size=4, name_size=3, averages=averages)
    start = LabelStart(np.array([1, 2, 3, 4, 5]), 9, "frequency")
    scorer = LabelAttentionScorer(start, 6, [8], attends).eval()
    words = torch.randn(2, 7, 6)
    reading = Reading(words, torch.ones(2, 7, dtype=torch.bool), lambda: words[:, 0])
    every = scorer.logits(reading, None, None)
    (hidden,), out = scorer.layers.hidden, scorer.layers.output
    M = fused(attends, numbers(words[0]), averages)
    inner = np.maximum(M @ numbers(hidden.weight).T + numbers(hidden.bias), 0)
    wanted = inner @ numbers(out.weight)[0] + numbers(scorer.bias.weight)[:, 0]
    assert np.allclose(numbers(every[0]), wanted, atol=1e-5)
    some = torch.tensor([[4, 0, 2], [1, 1, 3]])
    found = scorer.logits(reading, some, None)
    assert torch.allclose(found, every.gather(1, some), atol=1e-5)


@pytest.mark.parametrize("averages", [True, False])
def test_a_linear_layer_behind_the_mean_of_what_labels_read(averages):
    attends = LabelSpecificAttention(5, 6, size=4, name_size=3, averages=averages)
    scorer = AveragedAttentionScorer(LabelStart(np.ones(5, int), 9), 6, attends)
    words = torch.randn(1, 7, 6)
    reading = Reading(words, torch.ones(1, 7, dtype=torch.bool), lambda: words[:, 0])
    M, line = fused(attends, numbers(words[0]), averages), scorer.output.linear
    for labels, own in ((None, [0, 1, 2, 3, 4]), (torch.tensor([[3, 1, -1]]), [3, 1])):
        wanted = M[own].mean(0) @ numbers(line.weight)[own].T + numbers(line.bias)[own]
        found = numbers(scorer.logits(reading, labels, None))[0, : len(own)]
        assert np.allclose(found, wanted, atol=1e-5)


def test_vectors_of_labels_begin_as_the_mean_of_the_words_of_their_names():
    words = Words().fit(["solar panels", "wind and sea", "solar wind"])
    space = LabelSpace(["a", "b", "c"], np.ones(3, int), 3, names=["solar wind", "Sea", "unheard"])
    known = label_words("names", FitContext(labels=space, featurizers={"text": words}))
    place = words.vocabulary.index
    assert [each.tolist() for each in known] == [
        [place("solar"), place("wind")],
        [place("sea")],
        [],
    ]
    table = torch.randn(len(words.vocabulary), 4)
    reader = WordReader(WordEmbedding(table), PlainWords(4))
    labels = torch.nn.Parameter(torch.randn(3, 4))
    before = labels.detach().clone()
    begin_as_words(labels, known, reader)
    assert torch.allclose(labels[0], (table[place("solar")] + table[place("wind")]) / 2)
    assert torch.equal(labels[1], table[place("sea")])
    assert torch.equal(labels[2], before[2]), "no word of its name is known"


def test_names_reach_the_network_through_a_tagger():
    texts, labels = known_answer(60)
    named = [[f"topic{int(each[-2:])}a" for each in own] for own in labels]
    settings = {**SMALL, "first": "none", "learning_rate": 1e-9}
    tagger = Tagger(models.create("lsan", **settings), validation=0).fit(texts, named)
    network = tagger.model_.networks_[0]
    (word,) = tagger.learned_.featurizers["text"].transform([tagger.labels_.names[0]]).tokens
    begun = network.scorer.attends.named.labels.weight[0]
    assert torch.allclose(begun, network.reader.words.lookup.weight[word], atol=1e-5)
    random = Tagger(models.create("lsan", **settings, starts="random"), validation=0)
    other = random.fit(texts, named).model_.networks_[0].scorer.attends.named.labels.weight[0]
    assert not torch.allclose(begun, other, atol=1e-2)


def test_an_explanation_is_what_the_label_attends_to():
    texts, labels = known_answer(80)
    tagger = Tagger(models.create("lsan", **SMALL, first="none", head="shared"))
    tagger.fit(texts, labels)
    found = tagger.explain(texts[0], tagger.tag(texts[0])[0].label)
    assert sum(word.weight for word in found) == pytest.approx(1.0, abs=1e-4)
    assert min(word.weight for word in found) >= 0
