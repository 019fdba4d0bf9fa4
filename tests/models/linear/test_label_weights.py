import numpy as np
import pytest

from labelgrove import Tagger
from labelgrove.core.errors import InputError
from labelgrove.models import MODELS
from labelgrove.models.contract import known_answer

TEXTS, LABELS = known_answer(300)


@pytest.mark.parametrize(
    "model",
    [
        MODELS.create("bonsai", max_leaf=3, trees=2),
        MODELS.create("parabel", max_leaf=3),
        MODELS.create("one-vs-rest"),
        MODELS.create("classifier-chain"),
    ],
    ids=lambda model: model.name,
)
def test_weights_of_a_label_are_those_along_its_path(model):
    tagger = Tagger(model, validation=0).fit(TEXTS, LABELS)
    forest = tagger.model_.forest_
    for label in (0, 7):
        features, weights = forest.label_weights(label)
        every = np.arange(forest.n_features)
        expected = forest.path_weights(label, every)
        found = np.zeros(len(every), np.float32)
        found[features] = weights
        assert np.allclose(found, expected, atol=1e-6)
        assert np.count_nonzero(expected) > 3
    words = tagger.explain_label("label 07", k=3).words
    assert {word.text for word in words} == {"topic7a", "topic7b", "topic7c"}


def test_models_with_a_linear_one_inside():
    grove = Tagger("grove").fit(TEXTS, LABELS)
    assert grove.explain_label("label 03", k=1).words[0].text.startswith("topic3")
    pair = [Tagger(name, validation=0).fit(TEXTS, LABELS) for name in ("knn", "one-vs-rest")]
    both = Tagger.combine(pair)
    assert both.explain_label("label 03", k=1).words == pair[1].explain_label("label 03", 1).words
    with pytest.raises(InputError, match="knn has no weights of words for a label"):
        pair[0].explain_label("label 03")
