"""Promised precision and recall: by hand, and how often they hold on documents drawn anew."""

import numpy as np
import pytest
from scipy.stats import binomtest

from labelgrove.core.errors import InputError
from labelgrove.core.random import generator
from labelgrove.evaluation import HeldOutPlaces, Promise, promise_precision, promise_recall
from labelgrove.evaluation.promises import fewest_documents, lower_bound


def one_label_each(hits):
    """Documents with one ranked label each, the surest first."""
    n = len(hits)
    scores = np.linspace(0.99, 0.5, n, dtype=np.float32)
    return HeldOutPlaces(scores, np.asarray(hits), np.arange(n + 1), np.ones(n, np.int32))


@pytest.mark.parametrize(("right", "n"), [(0, 5), (7, 10), (9, 10), (30, 30)])
def test_the_bound_is_that_of_clopper_and_pearson(right, n):
    exact = binomtest(right, n).proportion_ci(confidence_level=0.8)  # 0.1 on either side
    assert lower_bound(right / n, n, 0.9) == pytest.approx(exact.low, abs=1e-9)


def test_without_an_error_22_documents_promise_nine_tenths():
    assert fewest_documents(0.9) == 22
    assert promise_precision(one_label_each([True] * 22), 0.9).threshold == pytest.approx(0.5)
    refused = promise_precision(one_label_each([True] * 21), 0.9)
    assert refused.threshold is None
    assert refused.best == pytest.approx(0.1 ** (1 / 21))
    assert promise_precision(one_label_each([True] * 21), 0.89).threshold is not None


def test_the_lowest_threshold_that_is_sure_enough_is_taken():
    hits = np.arange(100) < 60
    promise = promise_precision(one_label_each(hits), 0.9)
    sure = [
        n
        for n in range(1, 101)
        if binomtest(min(n, 60), n).proportion_ci(confidence_level=0.8).low >= 0.9
    ]
    assert promise.threshold == pytest.approx(np.linspace(0.99, 0.5, 100)[max(sure) - 1])


def test_labels_of_one_document_are_one_observation():
    # 30 documents with 2 labels each: 60 right labels promise no more than 30 do
    pairs = HeldOutPlaces(
        np.full(60, 0.9, np.float32), np.ones(60, np.bool_), np.arange(31) * 2,
        np.full(30, 2, np.int32),
    )  # fmt: skip
    assert promise_precision(pairs, 0.9).best == pytest.approx(0.1 ** (1 / 30))
    # one with 20 and 20 with 1: (20 + 20)^2 / (400 + 20), of 21 documents
    uneven = HeldOutPlaces(
        np.full(40, 0.9, np.float32), np.ones(40, np.bool_), np.append(0, 20 + np.arange(21)),
        np.full(21, 2, np.int32),
    )  # fmt: skip
    assert promise_precision(uneven, 0.5).best == pytest.approx(0.1 ** (420 / 1600))


def test_recall_takes_the_highest_threshold():
    hits = np.ones(100, np.bool_)
    promise = promise_recall(one_label_each(hits), 0.5)
    enough = next(n for n in range(101) if lower_bound(n / 100, 100, 0.9) >= 0.5)
    assert promise.threshold == pytest.approx(np.linspace(0.99, 0.5, 100)[enough - 1])
    assert promise_recall(one_label_each(hits), 0.99).threshold is None


def test_nothing_ranked_promises_nothing():
    empty = HeldOutPlaces(
        np.empty(0, np.float32), np.empty(0, np.bool_), np.zeros(4, np.int64),
        np.zeros(3, np.int32),
    )  # fmt: skip
    assert promise_precision(empty, 0.5) == promise_recall(empty, 0.5) == Promise(None, 0.0)


@pytest.mark.parametrize("share", [0, 1, -0.5, 1.5, float("nan")])
def test_impossible_shares(share):
    with pytest.raises(InputError, match="above 0 and below 1"):
        promise_precision(one_label_each([True]), share)


def drawn(n, rng):
    """Documents with 1 to 5 ranked labels that are right together, as often as scores say.

    A document's labels agree about a common trait: all scores of one document are right, or all
    are wrong, in half of the documents.
    """
    lengths = rng.integers(1, 6, n)
    offsets = np.append(0, np.cumsum(lengths))
    scores = rng.random(offsets[-1]).astype(np.float32)
    together = np.repeat(rng.random(n) < 0.5, lengths)
    luck = np.where(together, np.repeat(rng.random(n), lengths), rng.random(offsets[-1]))
    starts = np.repeat(offsets[:-1], lengths)
    order = np.lexsort((-scores, starts))
    return HeldOutPlaces(scores[order], (luck < scores)[order], offsets, lengths.astype(np.int32))


@pytest.mark.parametrize("n", [60, 400])
@pytest.mark.parametrize("share", [0.7, 0.8])
def test_nine_of_ten_promises_hold_where_labels_of_a_document_agree(n, share):
    """The true precision of a threshold t is (1 + t) / 2, the mean of the scores above it."""
    rng = generator(n, "promises")
    broken = {"promised": 0, "as it looks": 0}
    for _ in range(200):
        places = drawn(n, rng)
        least = promise_precision(places, share).threshold
        broken["promised"] += least is not None and (1 + least) / 2 < share
        sums = places.sweep
        looks = sums.thresholds[np.flatnonzero(sums.correct / sums.given >= share)[-1]]
        broken["as it looks"] += (1 + looks) / 2 < share
    assert broken["promised"] <= 20
    assert broken["as it looks"] > 60, "what held-out documents show is no promise"
