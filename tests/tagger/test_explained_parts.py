"""What speaks beside the words of a text reaches those who ask for an explanation."""

from dataclasses import replace

from labelgrove import Tagger
from labelgrove.cli.explain import _section
from labelgrove.models.contract import known_answer
from labelgrove.models.linear.bonsai import Bonsai
from labelgrove.tagger import explained


class Meaning(Bonsai):
    """A model that also thinks of the meaning of a text."""

    def _explain(self, X, i, label):
        return replace(super()._explain(X, i, label), parts=(("meaning", 0.25),))


def test_parts_are_told_beside_the_words():
    texts, labels = known_answer(100)
    tagger = Tagger(Meaning()).fit(texts, labels)
    reasons = tagger.explain(texts[0], labels[0][0])
    assert reasons
    assert list(reasons.parts) == [("meaning", 0.25)]
    (told,) = explained(tagger, texts[0], [labels[0][0]])
    assert told.record()["parts"] == [{"name": "meaning", "weight": 0.25}]
    assert "beside the words: meaning +0.25" in _section(told, texts[0]).body


def test_without_parts_nothing_is_said_of_them():
    texts, labels = known_answer(100)
    (told,) = explained(Tagger("bonsai").fit(texts, labels), texts[0], [labels[0][0]])
    assert told.record()["parts"] == []
    assert "beside the words" not in _section(told, texts[0]).body
