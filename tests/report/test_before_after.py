"""A tagger before and after it learned more, judged by the same documents."""

import json

import numpy as np
import pytest

from labelgrove import Tagger
from labelgrove.corpus import Corpus
from labelgrove.evaluation import Difference
from labelgrove.labels import Concept, Vocabulary
from labelgrove.models.contract import known_answer
from labelgrove.report.before_after import BeforeAfter, score_before_and_after
from labelgrove.tagger import Scores


def corpus(texts, labels):
    return Corpus.from_lists(texts, labels)


@pytest.fixture(scope="module")
def documents():
    return known_answer(400)


@pytest.fixture(scope="module")
def taggers(documents):
    """One that learned from documents with half of the labels, and one from all labels."""
    texts, labels = documents
    half = [[label for label in own if label < "label 06"] for own in labels]
    before = Tagger("knn").fit(texts[:200], half[:200])
    return before, before.retrain(texts[:200], labels[:200])


@pytest.fixture(scope="module")
def judged(documents):
    texts, labels = documents
    return corpus(texts[200:], labels[200:])


def test_scores_and_changes_are_those_of_evaluate(taggers, judged):
    before, after = taggers
    found = score_before_and_after(before, after, judged)
    assert found.before == before.evaluate(judged, labels_of=after)
    assert found.after == after.evaluate(judged, labels_of=before)
    assert found.changes.keys() == {name for name in found.after if "coverage" not in name}
    for name, change in found.changes.items():
        assert change.value == pytest.approx(found.after[name] - found.before[name]), name
        assert change.low <= change.value <= change.high
    assert found.verdict.startswith("the new tagger is better by ")
    assert found.about_intervals.endswith("200 test documents, and not that of training")
    turned = score_before_and_after(after, before, judged)
    assert turned.verdict == found.verdict.replace("better", "worse")
    rows = {row[0]: row for row in found.table("a title").rows}
    assert rows["coverage@1"][4] == "–"
    assert " to +" in rows["R@5"][4]
    json.dumps(found.record(), allow_nan=False)


def test_taggers_with_a_hierarchy_are_compared_too(documents, judged):
    texts, labels = documents
    concepts = {f"label {n:02d}": Concept(f"topic {n}", parents=("all",)) for n in range(12)}
    vocabulary = Vocabulary({"all": Concept("everything"), **concepts}, "concepts.tsv")
    before = Tagger("knn").fit(texts[:100], labels[:100], vocabulary=vocabulary)
    found = score_before_and_after(before, before.retrain(texts[:200], labels[:200]), judged)
    assert "hierarchical-F1" in found.after
    assert "hierarchical-F1" not in found.changes
    rows = {row[0]: row for row in found.table("a title").rows}
    assert rows["hierarchical-F1"][4] == "–"


def test_other_seeds_that_differ_widen_the_intervals(taggers, judged):
    """The same tagger again and again has no luck of training; other taggers have much."""
    before, after = taggers
    plain = score_before_and_after(before, after, judged)
    same = score_before_and_after(before, after, judged, [after, after])
    assert same.changes == plain.changes
    assert (same.refits, same.luck.degrees) == (2, 2)
    assert same.luck.spread == pytest.approx(0)
    assert "by 2 more trainings with other seeds" in same.about_intervals
    apart = score_before_and_after(before, after, judged, [after, before])
    assert apart.luck.spread == pytest.approx(
        np.std([plain.after["nDCG@5"]] * 2 + [plain.before["nDCG@5"]], ddof=1), rel=0.05
    )
    assert apart.verdict.endswith(", which may be luck")


def test_few_documents_have_no_intervals_and_ask_for_no_training(taggers, judged):
    def never():
        raise AssertionError("trained in vain")
        yield

    first = list(judged)[:5]
    few = corpus([each.text for each in first], [each.labels for each in first])
    found = score_before_and_after(*taggers, few, never())
    assert found.changes == {}
    assert found.verdict.startswith("5 documents cannot tell whether the new tagger is better")
    assert found.about_intervals == ""
    assert found.table("").columns == ["", "before", "after", "change"]


def test_the_words():
    scores = Scores({"nDCG@5": 0.5}, [], 312)
    told = {
        (-0.0288, -0.06, 0.004, 0.1): "the old tagger is ahead of the new one by 2.9 points nDCG@5 "
        "(95% interval -0.4 to +6.0), which may be luck",
        (0.0288, -0.004, 0.06, 0.1): "the new tagger is ahead of the old one by 2.9 points nDCG@5 "
        "(95% interval -0.4 to +6.0), which may be luck",
        (0.0, -0.01, 0.01, 1.0): "the new tagger and the old one are equal by nDCG@5",
        (-0.0288, -0.05, -0.01, 0.01): "the new tagger is worse by 2.9 points nDCG@5 (95% interval "
        "1.0 to 5.0)",
        (0.012, 0.004, 0.02, 0.01): "the new tagger is better by 1.2 points nDCG@5 (95% interval "
        "0.4 to 2.0)",
    }
    for change, words in told.items():
        assert BeforeAfter(scores, scores, {"nDCG@5": Difference(*change)}).verdict == words
