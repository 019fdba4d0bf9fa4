"""A network behind a first stage begins with its ranking, and keeps it unless another is better."""

import numpy as np
import pytest

from labelgrove import Tagger, models
from labelgrove.core.progress import Silent
from labelgrove.core.ranking import ndcg
from labelgrove.core.types import Run
from labelgrove.models.contract import known_answer
from labelgrove.models.neural.examples import small_bert
from labelgrove.models.neural.training import loop

TEXTS, LABELS = known_answer(120)
SMALL = {"batch": 16, "epochs": 2, "device": "cpu", "threads": 1, "folds": 2, "candidates": 6}
OF_WORDS = {"units": 4, "vector_size": 4}
MODELS = {
    "attentionxml": {**OF_WORDS, "layers": [4]},
    "lightattention": {**OF_WORDS, "layers": [4, 4, 4]},
    "lightxml": {**OF_WORDS, "encoder": "words"},
    "xml-rnn": OF_WORDS,
    "xml-cnn": {"vector_size": 4},
    "treaderxml": {"vector_size": 4, "heads": 1, "prior": "frequency"},
    "transformer": {},
    "laco": {"together": 0},
    "seqtag": {"together": 0},
}


class Heard(Silent):
    def __init__(self):
        self.lines = []

    def say(self, line):
        self.lines.append(line)


def fitted(name, folder, progress=None, **settings):
    """Return a tagger whose network is too rash to learn anything, and what it held out."""
    own = {**SMALL, **MODELS[name], "first": "bonsai", "learning_rate": 1.0, **settings}
    if "encoder" not in own and "vector_size" not in own:
        own |= {"encoder": small_bert(folder), "length": 16}
    model = models.create(name, **own)
    tagger = Tagger(model, validation=0.2)
    return tagger.fit(TEXTS, LABELS, run=Run(progress=progress or Silent()))


@pytest.mark.parametrize("name", [*MODELS])
def test_the_first_stages_ranking_is_kept_where_nothing_is_better(name, tmp_path):
    heard = Heard()
    tagger = fitted(name, tmp_path, heard)
    start, *others = tagger.model_.history_
    assert (start["step"], "loss" in start) == (0, False)
    assert others
    assert max(event["score"] for event in others) <= start["score"], "else this tests nothing"
    assert any("better than its start, which is kept" in line for line in heard.lines)
    model = tagger.model_
    X = tagger.learned_.features(TEXTS)
    first = model.candidates_.first.rank(X, 6)
    found = model.rank(X, 6)
    real = first.labels >= 0
    np.testing.assert_array_equal(found.labels[real], first.labels[real])
    np.testing.assert_allclose(found.scores[real], first.scores[real], rtol=1e-3, atol=1e-5)


def test_a_network_that_finds_more_is_kept():
    """The first stage gives all texts the same labels, in the order of their frequency."""
    model = models.create(
        "xml-cnn", **{**SMALL, "candidates": 12, "epochs": 5}, vector_size=16, learning_rate=0.01,
        first="most-frequent",
    )  # fmt: skip
    tagger = Tagger(model, validation=0.2).fit(TEXTS, LABELS)
    start, *others = tagger.model_.history_
    best = max(event["score"] for event in others)
    assert start["step"] == 0
    assert best > start["score"] + 0.05
    ranking, Y = tagger.learned_.held_out
    assert float(ndcg(ranking, Y, 5).mean()) == pytest.approx(best, abs=1e-4)


def test_without_held_out_documents_nothing_is_scored():
    model = models.create("attentionxml", **SMALL, **MODELS["attentionxml"], first="bonsai")
    tagger = Tagger(model, validation=0).fit(TEXTS, LABELS)
    assert all(event["step"] > 0 for event in tagger.model_.history_)
    assert tagger.model_.networks_[0].scorer.layers.output.weight.abs().sum() > 0


def test_the_start_is_not_scored_without_a_first_stage():
    model = models.create("attentionxml", first="none", **SMALL, **MODELS["attentionxml"])
    tagger = Tagger(model, validation=0.2).fit(TEXTS, LABELS)
    assert all(event["step"] > 0 for event in tagger.model_.history_)


def test_a_gain_that_may_be_chance_does_not_replace_the_start(monkeypatch):
    """Few held-out documents cannot tell a small gain; the same training is kept if they could."""
    rows = {}
    for chance in (0.0, 9.0):
        monkeypatch.setattr(loop, "CHANCE", chance)
        model = models.create(
            "xml-cnn", **{**SMALL, "candidates": 12, "epochs": 5}, vector_size=16,
            learning_rate=0.01, first="most-frequent",
        )  # fmt: skip
        tagger = Tagger(model, validation=0.2).fit(TEXTS, LABELS)
        rows[chance] = tagger.rank(TEXTS[:30], 1).labels[:, 0]
    assert len({*rows[0.0].tolist()}) > 1
    assert len({*rows[9.0].tolist()}) == 1, "the most frequent label everywhere"
