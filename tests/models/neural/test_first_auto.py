"""first="auto": data decide whether a network stands on a linear model."""

import numpy as np
import pytest

from labelgrove import Tagger, models
from labelgrove.core.progress import Lines
from labelgrove.core.types import Run
from labelgrove.models.contract import known_answer
from labelgrove.models.neural import settings as rules
from labelgrove.models.neural.candidates.first_stage import FirstStageLabels

SMALL = {"vector_size": 8, "epochs": 1, "batch": 16, "device": "cpu", "threads": 1}
OWN = {
    "attentionxml": {"units": 8, "layers": [8]},
    "lightattention": {"units": 8, "layers": [8], "max_leaf": 3},
    "treaderxml": {"bottleneck": 8, "heads": 2},
    "aplc-xlnet": {"encoder": "words", "units": 8, "hidden": 8, "vector_size": 8},
}
FIVE = [*OWN, "laco"]
TEXTS, LABELS = known_answer(200)


def new(name, **settings):
    return models.create(name, **{**SMALL, **OWN[name], **settings})


@pytest.mark.parametrize("name", FIVE)
def test_all_five_leave_it_to_the_data(name):
    assert models.MODELS.find(name).defaults()["first"] == "auto"


@pytest.mark.parametrize(
    ("n_documents", "counts", "wanted"),
    [
        (2_999, [900, 900], True),
        (3_000, [900, 900], False),
        (5_000, [20, 20, 0], False),  # labels without a document do not count
        (5_000, [20, 19], True),
    ],
)
def test_what_is_few(n_documents, counts, wanted):
    assert new("attentionxml").uses_first(np.array(counts), n_documents) is wanted
    assert new("attentionxml", first="none").uses_first(np.array(counts), n_documents) is False
    assert new("attentionxml", first="bonsai").uses_first(np.array(counts), n_documents) is True


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("attentionxml", {"tree": "always"}),
        ("attentionxml", {"sampler": "uniform"}),
        ("lightattention", {"sampler": "all"}),
        ("treaderxml", {"output": "clusters"}),
    ],
)
def test_what_the_user_asks_for_comes_first(name, settings):
    model = new(name, **settings)
    assert not model.uses_first(np.array([1, 1]), 10)
    assert "first-text" not in model.views()


@pytest.mark.parametrize("name", OWN)
def test_few_documents_stand_on_bonsai(name, capsys, tmp_path):
    run = Run(progress=Lines())
    tagger = Tagger(new(name), validation=0.2, threads=1).fit(TEXTS, LABELS, run=run)
    assert isinstance(tagger.model_.candidates_, FirstStageLabels)
    err = capsys.readouterr().err
    assert f"are few for {name} alone: it judges the best labels of bonsai" in err
    assert "parts without early stopping learn from all 200 documents" in err
    tagger.save(tmp_path / "t")
    assert Tagger.load(tmp_path / "t").tag(TEXTS[3]) == tagger.tag(TEXTS[3])


def test_many_documents_do_not(monkeypatch):
    monkeypatch.setattr(rules, "FEW_DOCUMENTS", 100)
    monkeypatch.setattr(rules, "FEW_OF_LABEL", 5)
    tagger = Tagger(new("attentionxml"), validation=0.2, threads=1).fit(TEXTS, LABELS)
    assert not isinstance(tagger.model_.candidates_, FirstStageLabels)
    assert [*tagger.learned_.featurizers] == ["text"], "tagging needs nothing more"


def test_features_of_the_text_alone_do_without_a_first_stage():
    tagger = Tagger(new("attentionxml", first="none"), validation=0).fit(TEXTS, LABELS)
    X, Y = tagger.learned_.features(TEXTS), tagger.labels_.encode(LABELS)
    model = new("attentionxml").fit(X, Y)
    assert not isinstance(model.candidates_, FirstStageLabels)


def test_a_network_that_gains_nothing_ranks_as_bonsai_of_all_documents():
    """Its first stage is fitted again on what was held out, as bonsai itself is."""
    bonsai = Tagger("bonsai", validation=0.3, threads=1).fit(TEXTS, LABELS)
    still = {"learning_rate": 1e-9, "candidates": 8, "folds": 2}
    behind = Tagger(new("attentionxml", **still), validation=0.3, threads=1).fit(TEXTS, LABELS)
    wanted, reached = bonsai.rank(TEXTS[:40], 3), behind.rank(TEXTS[:40], 3)
    np.testing.assert_array_equal(reached.labels, wanted.labels)
    part = behind.model_.candidates_.first.model
    np.testing.assert_array_equal(
        part.rank(bonsai.learned_.features(TEXTS[:40]), 3).scores,
        bonsai.model_.rank(bonsai.learned_.features(TEXTS[:40]), 3).scores,
    )


def test_laco_asks_where_labels_are_too_many_to_be_read():
    laco = models.create("laco", together=3)
    assert laco.uses_first(np.array([9_000] * 4), 10_000)
    assert not laco.uses_first(np.array([1] * 3), 5)
