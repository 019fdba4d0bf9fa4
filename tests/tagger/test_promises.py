"""``precision=0.9`` as a threshold: what a tagger promises of new documents."""

import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from folder_changes import sealed

from labelgrove import Tagger
from labelgrove.core.errors import DamagedError, InputError
from labelgrove.core.random import generator
from labelgrove.models.contract import known_answer
from labelgrove.tagger.promises import promise_note


def noisy(n, seed):
    """Documents that say what they are about; a fifth of the labels is another one."""
    texts, labels = known_answer(n)
    rng = generator(seed, "noise")
    names = sorted({label for row in labels for label in row})
    wrong = [[names[i] for i in rng.integers(len(names), size=len(row))] for row in labels]
    mixed = [
        [bad if rng.random() < 0.2 else good for good, bad in zip(row, others, strict=True)]
        for row, others in zip(labels, wrong, strict=True)
    ]
    return texts, mixed


TEXTS, LABELS = noisy(2400, 1)


@pytest.fixture(scope="module")
def tagger():
    return Tagger("one-vs-rest", threads=1, validation=0.3).fit(TEXTS[:1000], LABELS[:1000])


def precision(tags, labels):
    right = [tag.label in truth for row, truth in zip(tags, labels, strict=True) for tag in row]
    return np.mean(right)


def test_a_promised_precision_holds_on_other_documents(tagger):
    others, truth = TEXTS[1000:], LABELS[1000:]
    tags = tagger.tag(others, k=12, threshold="precision=0.7")
    assert precision(tags, truth) >= 0.7
    least = tagger.decision("precision=0.7").threshold
    assert tags == tagger.tag(others, k=12, threshold=least)
    scores = tagger.evaluate(others, truth, threshold="precision=0.7")
    assert scores["micro-precision"] >= 0.7
    assert any("with 90% confidence" in note for note in scores.notes)
    assert precision(tagger.tag(others, k=12), truth) < 0.7


def test_a_higher_precision_gives_fewer_labels_and_a_higher_recall_more(tagger):
    def least(threshold):
        return tagger.decision(threshold).threshold

    assert least("precision=0.5") <= least("precision=0.7") <= least("precision=0.75")
    assert least("recall=0.5") >= least("recall=0.7")


def test_what_cannot_be_promised_is_said_with_what_can(tagger):
    with pytest.raises(InputError) as told:
        tagger.tag("a text", threshold="precision=0.98")
    said = str(told.value)
    assert "cannot promise precision=0.98" in said
    (best,) = re.findall(r"the most it can promise is (precision=0\.\d+)\. More", said)
    assert tagger.decision(best).threshold > 0
    few = Tagger("one-vs-rest", threads=1, validation=0.3).fit(TEXTS[:40], LABELS[:40])
    n = len(few.learned_.places)
    with pytest.raises(InputError, match=rf"takes at least 230 held-out documents .* has {n};"):
        few.decision("precision=0.99")


@pytest.mark.parametrize("share", ["", "high", "0", "1", "90", "-1", "nan"])
def test_no_share_is_refused(tagger, share):
    with pytest.raises(InputError, match=r"above 0 and below 1, such as precision=0\.9"):
        tagger.decision(f"precision={share}")


def test_promises_survive_saving_and_learning(tagger, tmp_path):
    tagger.save(tmp_path / "t")
    again = Tagger.load(tmp_path / "t")
    for threshold in ("precision=0.7", "recall=0.6"):
        assert again.decision(threshold).threshold == tagger.decision(threshold).threshold
        assert promise_note(again.learned_, threshold) == promise_note(tagger.learned_, threshold)


def test_a_folder_saved_before_promises_loads_and_says_that_it_has_none(tagger, tmp_path):
    tagger.save(tmp_path / "t")
    with sealed(tmp_path / "t"):
        shutil.rmtree(tmp_path / "t" / "held-out")
    old = Tagger.load(tmp_path / "t")
    assert old.tag(TEXTS[0], threshold="auto") == tagger.tag(TEXTS[0], threshold="auto")
    with pytest.raises(InputError, match=r"an earlier version saved it.*Tagger.calibrate"):
        old.tag(TEXTS[0], threshold="precision=0.7")
    mended = old.calibrate(TEXTS[1000:1400], LABELS[1000:1400])
    assert 0 < mended.decision("precision=0.7").threshold < 1


def test_altered_scores_of_held_out_documents_are_refused(tagger, tmp_path):
    tagger.save(tmp_path / "t")
    with sealed(tmp_path / "t"):
        place = tmp_path / "t" / "held-out" / "offsets.npy"
        np.save(place, np.load(place)[::-1])
    with pytest.raises(DamagedError, match="offsets must rise"):
        Tagger.load(tmp_path / "t")


def test_without_held_out_documents_nothing_is_promised():
    plain = Tagger("one-vs-rest", threads=1, validation=0).fit(TEXTS[:100], LABELS[:100])
    with pytest.raises(InputError, match=r"no documents were held out; train again, or use"):
        plain.decision("precision=0.9")


def test_the_note_tells_what_held_out_documents_were_given(tagger):
    learned = tagger.learned_
    ranking, Y = learned.held_out
    given = tagger.decision("precision=0.7").mask(ranking)
    right = ranking.hits(Y)[given].mean()
    note = promise_note(learned, "precision=0.7")
    assert f"On {len(ranking)} held-out documents {right:.0%} of the labels it gave" in note
    assert f"{given.any(axis=1).mean():.0%} of the documents got a label" in note
    assert promise_note(replace(learned, held_out=None), "precision=0.7") == note
