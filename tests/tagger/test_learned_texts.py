"""A tagger knows which texts it has learned from, and scores say so."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from labelgrove import Tagger
from labelgrove.core.errors import DamagedError
from labelgrove.models.contract import known_answer
from labelgrove.tagger.saving import TEXTS

TEXTS_, LABELS = known_answer(200)
TRAIN, TEST = slice(0, 120), slice(120, 200)


@pytest.fixture(scope="module")
def tagger():
    return Tagger("knn").fit(TEXTS_[TRAIN], LABELS[TRAIN])


def test_scores_say_what_was_learned_and_hold_those_without_it(tagger):
    mixed = slice(100, 200)  # 20 of them learned
    scores = tagger.evaluate([text.upper() for text in TEXTS_[mixed]], LABELS[mixed])
    assert scores.learned_texts == 20
    assert scores.notes[0] == (
        "of the 100 test documents, 20 have a text that the tagger has learned from: scores on "
        "them are too high"
    )
    others = tagger.evaluate(
        [text.upper() for text in TEXTS_[TEST]], LABELS[TEST]
    )  # the same documents without those
    assert others.learned_texts == 0
    assert others.without_learned_texts is None
    assert not any("learned from" in note for note in others.notes)
    assert scores.without_learned_texts == pytest.approx(dict(others))


def test_all_texts_learned_leaves_no_other_scores(tagger):
    scores = tagger.evaluate(TEXTS_[TRAIN], LABELS[TRAIN])
    assert scores.learned_texts == 120
    assert scores.without_learned_texts is None
    assert "all have texts that the tagger has learned from" in scores.notes[0]


def test_held_out_documents_and_a_validation_set_count_as_learned():
    tagger = Tagger("knn").fit(
        TEXTS_[:100], LABELS[:100], validation=(TEXTS_[100:120], LABELS[100:120])
    )
    assert tagger.evaluate(TEXTS_[90:130], LABELS[90:130]).learned_texts == 30


def test_what_is_learned_later_counts_and_calibrating_too(tagger):
    wiser = tagger.learn(TEXTS_[120:140], LABELS[120:140])
    assert wiser.evaluate(TEXTS_[TEST], LABELS[TEST]).learned_texts == 20
    assert tagger.evaluate(TEXTS_[TEST], LABELS[TEST]).learned_texts == 0
    calibrated = Tagger("knn").fit(TEXTS_[TRAIN], LABELS[TRAIN])
    calibrated.calibrate(TEXTS_[120:150], LABELS[120:150])
    assert calibrated.evaluate(TEXTS_[TEST], LABELS[TEST]).learned_texts == 30
    fresh = wiser.retrain(TEXTS_[:10], LABELS[:10])
    assert fresh.evaluate(TEXTS_[:20], LABELS[:20]).learned_texts == 10


def test_a_consensus_knows_what_its_parts_have_learned(tagger, tmp_path):
    other = Tagger("most-frequent").fit(TEXTS_[100:140], LABELS[100:140])
    both = Tagger.combine([tagger, other])
    assert both.evaluate(TEXTS_, LABELS).learned_texts == 140
    assert Tagger.combine([tagger, _older(tagger, tmp_path)]).learned_.text_hashes is None


def test_hashes_take_8_bytes_a_text(tagger, tmp_path):
    tagger.save(tmp_path / "t")
    loaded = Tagger.load(tmp_path / "t")
    hashes = loaded.learned_.text_hashes
    assert hashes.nbytes == 8 * len(set(TEXTS_[TRAIN]))
    assert loaded.evaluate(TEXTS_, LABELS).learned_texts == 120


def test_a_tagger_saved_before_says_nothing_and_learns_on(tagger, tmp_path):
    old = _older(tagger, tmp_path)
    scores = old.evaluate(TEXTS_, LABELS)
    assert scores.learned_texts is None
    assert dict(scores) == pytest.approx(dict(tagger.evaluate(TEXTS_, LABELS)))
    assert old.learn(TEXTS_[120:], LABELS[120:]).learned_.text_hashes is None


def test_hashes_out_of_order_are_refused(tagger, tmp_path):
    tagger.save(tmp_path / "t")
    place = next((tmp_path / "t" / TEXTS).glob("*.npy"))
    np.save(place, np.load(place)[::-1])
    with pytest.raises(DamagedError, match="not sorted"):
        Tagger.load(tmp_path / "t", verify=False)


def _older(tagger, folder):
    """Return the tagger as one saved before texts were remembered."""
    before = copy(tagger)
    before.learned_ = replace(tagger.learned_, text_hashes=None)
    before.save(folder / "older")
    assert not (folder / "older" / TEXTS).exists()
    return Tagger.load(folder / "older")
