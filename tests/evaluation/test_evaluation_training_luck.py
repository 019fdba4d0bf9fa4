"""Luck of the training: small numbers by hand, and whether intervals hold what they should."""

import numpy as np
import pytest

from labelgrove.evaluation.significance import difference
from labelgrove.evaluation.training_luck import (
    NOTHING_KNOWN,
    TrainingLuck,
    training_luck,
    with_training_luck,
)

ZERO = np.zeros(4)


def test_the_spread_is_that_within_systems():
    """Squares around the means: 0.02 of two trainings, 0 of two others; 2 degrees of freedom."""
    luck = training_luck([[0.5, 0.7], [0.6, 0.6], [0.9]], [[ZERO, ZERO], [ZERO, ZERO], [ZERO]])
    assert luck.spread == pytest.approx(0.1)
    assert luck.degrees == 2


def test_luck_of_single_documents_does_not_count():
    """Samples differ by -0.2 and 0.2: a variance of 0.04 for two trainings, 0.02 for each."""
    samples = [np.array([0.0, 0.2]), np.array([0.2, 0.0])]
    assert training_luck([[0.5, 0.9]], [samples]).spread ** 2 == pytest.approx(0.08 - 0.02)
    assert training_luck([[0.5, 0.7]], [samples]).spread == 0
    assert training_luck([[0.6, 0.6]], [samples]) == TrainingLuck(0.0, 1)


def test_three_trainings():
    """Variance of 0.5, 0.6, 0.7 is 0.01; samples of the first alone vary, in two of three pairs."""
    samples = [np.array([-0.1, 0.1]), np.zeros(2), np.zeros(2)]
    luck = training_luck([[0.5, 0.6, 0.7]], [samples])
    assert luck.spread**2 == pytest.approx(0.01 - (0.005 + 0.005 + 0) / 3)
    assert luck.degrees == 2


def test_one_training_each_tells_nothing():
    assert training_luck([[0.5], [0.7]], [[ZERO], [ZERO]]) == NOTHING_KNOWN
    assert with_training_luck(ZERO, NOTHING_KNOWN, (1, 1)) is ZERO


@pytest.mark.parametrize(("degrees", "quantile"), [(2, 4.303), (4, 2.776), (9, 2.262)])
def test_intervals_of_few_trainings_are_those_of_student(degrees, quantile):
    luck = TrainingLuck(0.01, degrees)
    found = difference(0.1, with_training_luck(np.zeros(10_000), luck, (1, 1)))
    half = quantile * 0.01 * np.sqrt(2)
    assert (found.low, found.high) == (
        pytest.approx(0.1 - half, rel=0.01),
        pytest.approx(0.1 + half, rel=0.01),
    )
    found = difference(0.1, with_training_luck(np.zeros(10_000), luck, (2, 4)))
    assert 0.1 - found.low == pytest.approx(quantile * 0.01 * np.sqrt(1 / 2 + 1 / 4), rel=0.01)


def test_samples_vary_around_what_they_were_and_alike_for_a_seed():
    samples = np.linspace(0.1, 0.3, 1000)
    luck = TrainingLuck(0.05, 3)
    once = with_training_luck(samples, luck, (1, 1), seed=1)
    assert once.mean() == pytest.approx(0.2)
    assert (once == with_training_luck(samples, luck, (1, 1), seed=1)).all()
    assert (once != with_training_luck(samples, luck, (1, 1), seed=2)).any()


@pytest.mark.parametrize(("own", "others"), [(5, 1), (3, 3)])
def test_intervals_hold_the_truth(own, others):
    """Trainings of one quality: 0 lies in the interval, where that of the documents misses it."""
    random = np.random.default_rng(own)
    n, times, held, plain = 100, 200, 0, 0
    for _ in range(times):
        documents = random.normal(0.6, 0.3, n)
        runs = [
            documents + random.normal(0, 0.03) + random.normal(0, 0.1, n)
            for _ in range(own + others)
        ]
        drawn = random.multinomial(n, np.full(n, 1 / n), size=200) / n
        scores, samples = [run.mean() for run in runs], [drawn @ run for run in runs]
        luck = training_luck([scores[:own], scores[own:]], [samples[:own], samples[own:]])
        # as retrain does it, the first of several beside one; or the means of both
        first = slice(1) if others == 1 else slice(own)
        value = np.mean(scores[first]) - np.mean(scores[own:])
        gaps = np.mean(samples[first], axis=0) - np.mean(samples[own:], axis=0)
        counts = (len(scores[first]), others)
        for kind in (gaps, with_training_luck(gaps, luck, counts)):
            found = difference(value, kind)
            inside = found.low <= 0 <= found.high
            plain, held = (plain + inside, held) if kind is gaps else (plain, held + inside)
    assert held / times > 0.92
    assert plain / times < 0.75
