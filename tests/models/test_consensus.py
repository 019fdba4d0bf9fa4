"""Equation 9, over rankings of any length and taggers of any kind."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove import Tagger, models
from labelgrove.core.errors import InputError
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import Calibration, overlap
from labelgrove.models.consensus import Consensus, Partner
from labelgrove.models.contract import known_answer
from labelgrove.models.neural.xml_cnn import XmlCnn
from stand_ins import Centroid

TEXTS, LABELS = known_answer(300)


class Fixed(Centroid):
    """Always the same ranking, as far as it is asked for."""

    def __init__(self, labels, scores):
        self.ranking = Ranking(np.array([labels], np.int32), np.array([scores], np.float32))
        self.n_labels_ = 9

    def rank(self, X, k):
        return self.ranking.top(k)


def combined(*rankings, places=100, numbers=None):
    everything = np.arange(9, dtype=np.int32) if numbers is None else numbers
    partners = [
        Partner(Fixed(*each), {"text": "text"}, everything, Calibration.identity())
        for each in rankings
    ]
    return Consensus.of(partners, 9, places).rank(csr_array((1, 1)), 9)


def named(ranking):
    return dict(ranking.row(0))


def test_equation_9():
    """1 - (1 - p)(1 - q); a label that one partner does not name has probability 0 there."""
    found = combined(([3, 1, 5], [0.9, 0.5, 0.1]), ([1, 4], [0.8, 0.25]))
    wanted = {3: 0.9, 1: 1 - 0.5 * 0.2, 5: 0.1, 4: 0.25}
    assert named(found) == pytest.approx(wanted, rel=1e-5)
    assert found.labels[0, :2].tolist() in ([3, 1], [1, 3])


def test_three_partners_and_certainty():
    found = combined(*([([0], [0.5])] * 3))
    assert named(found) == pytest.approx({0: 1 - 0.125})
    assert named(combined(([2], [1.0]), ([2], [0.3])))[2] == pytest.approx(1)


def test_only_the_best_places_of_a_partner_count():
    first, second = ([0, 1, 2, 3], [0.9, 0.8, 0.7, 0.6]), ([3, 2, 1, 0], [0.9, 0.8, 0.7, 0.6])
    partners = [
        Partner(
            Fixed(*each), {"text": "text"}, np.arange(9, dtype=np.int32), Calibration.identity()
        )
        for each in (first, second)
    ]
    found = Consensus.of(partners, 9, places=2).rank(csr_array((1, 1)), 2)
    assert {*found.labels[0].tolist()} == {0, 3}, "1 and 2 would be 0.94 if all were counted"


def test_labels_have_other_numbers_in_the_consensus():
    found = combined(([0], [0.5]), ([1], [0.7]), numbers=np.arange(8, -1, -1, dtype=np.int32))
    assert named(found) == pytest.approx({8: 0.5, 7: 0.7})


def test_taggers_of_any_kind_and_other_labels(tmp_path):
    """The first knows only labels 00-05, the second all; both keep features and calibration."""
    few = [[label for label in own if label < "label 06"] for own in LABELS]
    first = Tagger("bonsai").fit(TEXTS, few)
    second = Tagger(models.create("xml-cnn", **XmlCnn.example_settings(tmp_path)))
    second.fit(TEXTS, LABELS)
    both = Tagger.combine([first, second])
    assert both.labels_.ids == second.labels_.ids
    text = TEXTS[0]
    p, q, together = ({tag.label: tag.score for tag in each.tag(text, 100)} for each in
                      (first, second, both))  # fmt: skip
    for label in second.labels_.ids:
        wanted = 1 - (1 - p.get(label, 0)) * (1 - q.get(label, 0))
        assert together.get(label, 0) == pytest.approx(wanted, abs=1e-5)
    both.save(tmp_path / "both")
    again = Tagger.load(tmp_path / "both")
    assert again.tag(text, 5) == both.tag(text, 5)
    assert again.explain(text, LABELS[0][0])


def test_calibration_of_what_was_combined():
    parts = [Tagger(name, validation=0).fit(TEXTS[:100], LABELS[:100])
             for name in ("bonsai", "one-vs-rest")]  # fmt: skip
    both = Tagger.combine(parts)
    assert both.scores_ == {}
    both.calibrate(TEXTS[100:], LABELS[100:])
    assert both.scores_["P@1"] > 0.8
    assert both.thresholds_["micro"] != 0.5


def test_one_tagger_is_no_consensus():
    tagger = Tagger("bonsai", validation=0).fit(TEXTS[:50], LABELS[:50])
    with pytest.raises(InputError, match="two taggers or more, got 1"):
        Tagger.combine([tagger])
    for wrong in (["bonsai"], "bonsai"):
        with pytest.raises(InputError, match="at least two partners"):
            models.create("consensus", partners=wrong).views()


def test_overlap_is_the_share_of_common_labels():
    first = Ranking(np.array([[3, 1, -1], [0, 2, 4]]), np.array([[0.9, 0.5, 0], [0.5, 0.4, 0.3]]))
    second = Ranking(np.array([[1, 2, 3], [2, 0, 4]]), np.array([[0.9, 0.5, 0.1]] * 2))
    np.testing.assert_allclose(overlap(first, second, [1, 2, 3]), [0, 0.75, 5 / 6])
