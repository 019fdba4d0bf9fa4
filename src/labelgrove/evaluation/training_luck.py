"""Luck of the training, added to what the bootstrap over documents knows.

Trainings that differ by their seed alone differ in two ways. Which documents each gets right is
luck of its own for every document; a paired bootstrap over the documents sees that. What moves the
scores of all documents alike, such as a threshold or the choice of a part, it cannot see. That is
what several trainings of one system have in variance beyond the luck of single documents (analysis
of variance of a two-way layout, trainings by documents).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.random import generator
from labelgrove.evaluation.significance import without_noise

Floats = NDArray[np.float64]


class TrainingLuck(NamedTuple):
    """How far a score goes up and down with the seed, on all documents alike.

    Parameters
    ----------
    spread
        Standard deviation of the score of one training.
    degrees
        Of freedom: how many trainings there were beyond the first of each system. With 0 nothing
        is known.
    """

    spread: float
    degrees: int


NOTHING_KNOWN = TrainingLuck(0.0, 0)


def training_luck(
    scores: Sequence[Sequence[float]], samples: Sequence[Sequence[Floats]]
) -> TrainingLuck:
    """Estimate the luck of training from systems that were trained several times.

    The luck is taken to be the same for all systems.

    Parameters
    ----------
    scores
        For each system a metric of each of its trainings.
    samples
        The same on samples of the documents, as `resampled` gives them, each (resamples,).

    Examples
    --------
    >>> steady = np.zeros(10)  # all documents are alike
    >>> luck = training_luck([[0.5, 0.7], [0.6]], [[steady + 0.5, steady + 0.7], [steady + 0.6]])
    >>> round(luck.spread**2, 6), luck.degrees
    (0.02, 1)
    """
    degrees = sum(len(own) - 1 for own in scores)
    if not degrees:
        return NOTHING_KNOWN
    within = sum(float(np.var(without_noise(own))) * len(own) for own in scores) / degrees
    single = sum((len(own) - 1) * _of_single_documents(own) for own in samples) / degrees
    return TrainingLuck(float(np.sqrt(max(within - single, 0.0))), degrees)


def _of_single_documents(samples: Sequence[Floats]) -> float:
    """Return the variance of a training's score that is luck of its own on each document."""
    pairs = [np.var(one - other) / 2 for one, other in combinations(samples, 2)]
    return float(np.mean(pairs)) if pairs else 0.0


def with_training_luck(
    samples: Floats, luck: TrainingLuck, trainings: Sequence[int], *, seed: int = 0
) -> Floats:
    """Return samples of a difference between two systems that vary with the training too.

    Of few trainings little is known about their luck, so that the draws are of Student's t.

    Parameters
    ----------
    samples
        Of the difference between the means over trainings, shape (resamples,).
    luck
        What `training_luck` found.
    trainings
        How many trainings each of the two means is over.
    seed
        Of the draws.
    """
    from scipy import stats

    if not luck.degrees:
        return samples
    places = (np.arange(len(samples)) + 0.5) / len(samples)
    draws = generator(seed, "luck of training").permutation(stats.t.ppf(places, luck.degrees))
    spread = luck.spread * np.sqrt(sum(1 / n for n in trainings))
    varied: Floats = samples + spread * draws
    return varied
