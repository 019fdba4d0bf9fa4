"""Equation 9, over rankings of any length and taggers of any kind."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove import Tagger, models
from labelgrove.core.errors import InputError
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Estimate
from labelgrove.evaluation import Calibration, overlap
from labelgrove.models.consensus import Consensus, Partner
from labelgrove.models.contract import NOISE, known_answer
from labelgrove.models.neural.xml_cnn import XmlCnn
from stand_ins import Centroid, Recalling

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
    known = both.thresholds_
    with pytest.raises(InputError, match="holds no labels"):
        both.calibrate(TEXTS[:5], [[]] * 5)
    assert both.thresholds_ == known


def test_one_tagger_is_no_consensus():
    tagger = Tagger("bonsai", validation=0).fit(TEXTS[:50], LABELS[:50])
    with pytest.raises(InputError, match="two taggers or more, got 1"):
        Tagger.combine([tagger])
    for wrong in (["bonsai"], "bonsai"):
        with pytest.raises(InputError, match="partners must be a list of at least two models"):
            models.create("consensus", partners=wrong).views()


def test_overlap_is_the_share_of_common_labels():
    first = Ranking(np.array([[3, 1, -1], [0, 2, 4]]), np.array([[0.9, 0.5, 0], [0.5, 0.4, 0.3]]))
    second = Ranking(np.array([[1, 2, 3], [2, 0, 4]]), np.array([[0.9, 0.5, 0.1]] * 2))
    np.testing.assert_allclose(overlap(first, second, [1, 2, 3]), [0, 0.75, 5 / 6])


def test_its_estimate_is_that_of_its_partners(monkeypatch):
    """Partners are trained in turn: times add up, and the greatest memory counts."""
    asked = []

    def told(seconds, memory, **more):
        def estimate(self, X, Y, context):
            asked.append((type(self).name, X.shape))
            return Estimate(seconds, memory, None, **more)

        return estimate

    monkeypatch.setattr(type(models.create("bonsai")), "estimate", told(2.0, 10, divisible=3.0))
    monkeypatch.setattr(XmlCnn, "estimate", told(5.0, 7, divisible=8.0, processes=4, exchanged=9))
    consensus = models.create("consensus", partners=["bonsai", "xml-cnn"])
    found = Tagger(consensus, validation=0.2).estimate(TEXTS, LABELS)
    assert found == Estimate(7.0, 10, None, divisible=11.0, processes=4, exchanged=9)
    (first, words), (second, tokens) = asked
    assert (first, second) == ("bonsai", "xml-cnn")
    assert words != tokens, "each partner reads its own view of the texts"
    assert words[0] == tokens[0] < len(TEXTS), "some documents are held out"
    with pytest.raises(InputError, match="grove cannot tell in advance"):
        Tagger(models.create("consensus", partners=["grove", "bonsai"])).estimate(TEXTS, LABELS)


# --- partners that remember -----------------------------------------------------------------------


class Told(Recalling):
    """Keeps what it is told of the labels when it is given more documents."""

    def _remember(self, X, Y, context):
        found = super()._remember(X, Y, context)
        found.told_ = context.labels.ids[: Y.shape[1]]
        return found


@pytest.fixture(scope="module")
def partners():
    """Two taggers: one of all labels, and one that remembers and knows only some of them."""
    odd = [[label for label in own if int(label[-1]) % 2] for own in LABELS]
    return (
        Tagger("bonsai", validation=0).fit(TEXTS, LABELS),
        Tagger(Told(), validation=0).fit(TEXTS, odd),
    )


def test_whether_it_remembers_is_up_to_its_partners(partners, stand_ins_installed):
    assert not models.create("consensus", partners=["bonsai", "label-match"]).remembers
    assert models.create("consensus", partners=["bonsai", "recalling"]).remembers
    nested = models.create("consensus", partners=["consensus", "bonsai"])
    assert not nested.remembers
    assert Tagger.combine(partners).model_.remembers
    linear = Tagger.combine([partners[0]] * 2)
    assert not linear.model_.remembers
    with pytest.raises(InputError, match="consensus keeps no documents"):
        linear.learn(["x"], [["y"]])


def test_new_documents_go_to_the_partners_that_remember(partners):
    """Label 00 is one that the second did not know, label 01 one that it did, "a" new to both."""
    both = Tagger.combine(partners)
    known = both.labels_.ids
    before = both.rank(TEXTS[:20], 12)
    wiser = both.learn([NOISE] * 10, [["label 00", "a", "label 01"]] * 10)
    first, second = wiser.model_.partners_
    assert first.model is both.model_.partners_[0].model
    assert first.labels.tolist() == [*range(12)]
    odd = [number for number, label in enumerate(known) if int(label[-1]) % 2]
    assert second.labels.tolist() == [*odd, 0, 12]
    assert second.model.told_ == [*(known[i] for i in odd), "label 00", "a"]
    assert second.model.n_labels_ == len(odd) + 2
    assert wiser.labels_.ids == [*known, "a"]
    # of a text that none but the new documents are like, the second is as sure of all three
    linear = {tag.label: tag.score for tag in partners[0].tag(NOISE, 100)}
    found = {tag.label: tag.score for tag in wiser.tag(NOISE, 100)}
    for label in ("label 00", "label 01", "a"):
        assert found[label] == pytest.approx(1 - (1 - linear.get(label, 0)) * 1e-12, abs=1e-5)
    after = both.rank(TEXTS[:20], 12)
    assert np.array_equal(before.labels, after.labels)
    assert np.array_equal(before.scores, after.scores)
    assert len(both.model_.partners_[1].model.documents_) == 300


def test_a_wiser_consensus_is_saved_and_learns_again(tmp_path, stand_ins_installed):
    parts = [Tagger(name, validation=0).fit(TEXTS, LABELS) for name in ("bonsai", "recalling")]
    wiser = Tagger.combine(parts).learn([NOISE] * 10, [["z"]] * 10).learn(["topic1a"], [["b"]])
    assert wiser.labels_.ids[12:] == ["z", "b"]
    wiser.save(tmp_path / "wiser")
    again = Tagger.load(tmp_path / "wiser")
    assert again.tag(NOISE, 5) == wiser.tag(NOISE, 5)
    assert again.model_.partners_[1].labels.tolist() == [*range(14)]


def test_a_consensus_that_trains_its_partners_remembers_too(stand_ins_installed):
    """It tells its partners how texts begin; those that share a view read the same features."""
    consensus = models.create("consensus", partners=["one-vs-rest", "recalling"])
    tagger = Tagger(consensus, validation=0).fit(TEXTS, LABELS)
    recalling = tagger.model_.partners_[1].model
    assert recalling.documents_[7].split()[:5] == TEXTS[7].split()[:5]
    wiser = tagger.learn([NOISE] * 10, [["new"]] * 10)
    assert "new" in {tag.label for tag in wiser.tag(NOISE, 3)}


def test_neighbours_have_the_numbers_of_the_consensus(partners):
    """The words are those of the surest partner, the neighbours those of one that has some."""
    wiser = Tagger.combine(partners).learn([NOISE] * 12, [["label 00", "a", "label 01"]] * 12)
    near = wiser.explain(NOISE, "a").neighbours
    assert {each.labels for each in near} == {("label 01", "label 00", "a")}
    assert all(each.has_label and each.text == NOISE for each in near)
    text = "topic1a topic1b topic1c"
    told = wiser.model_.explain(wiser.learned_.features([text]), 0, 1)
    assert told.view == "1-text", "bonsai is surer of label 01"
    assert told.neighbours
    odd = {label for label in wiser.labels_.ids[:12] if int(label[-1]) % 2}
    for each in wiser.explain(text, "label 01").neighbours:
        own = {label for label in LABELS[find(each.text)] if label in odd}
        assert {*each.labels} == own


def find(beginning):
    cut = beginning.removesuffix(" …")
    return next(number for number, text in enumerate(TEXTS) if text.startswith(cut))
