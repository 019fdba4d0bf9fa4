"""Systems that were trained several times, compared with a baseline (Tables 3 and 4 of LACO).

A difference between two trainings is luck of the test documents and luck of the training. The
bootstrap of `paired_bootstrap` knows the first kind only. Here a sample draws documents, the same
for all systems, and for each system as many of its trainings as there are, both with replacement.
Of two trainings that shows half the variance there is, of three two thirds: more are better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.progress import Progress
from labelgrove.core.random import generator
from labelgrove.evaluation.resampling import SAMPLES, Additive, resampled, values
from labelgrove.evaluation.significance import Difference, difference

Floats = NDArray[np.float64]
Metrics = Mapping[str, Additive]


def compare_runs(
    runs: Mapping[str, Sequence[Metrics]],
    baseline: str,
    *,
    resamples: int = SAMPLES,
    level: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, dict[str, Difference]]:
    """Return how much each metric of each system is above the baseline's.

    Table 3 of LACO compares LACO with BERT, Table 4 takes LACO for the baseline of its ablations.
    The paper does not say which test its p-values come from. P-values are not corrected for their
    number: see `holm`.

    Parameters
    ----------
    runs
        For each system what `additive` gave for each of its trainings, all for the same metrics of
        the same documents. Systems need not have as many trainings as the others; with one, the
        difference is luck of the documents only.
    baseline
        The system that all others are compared with.
    resamples
        Number of samples.
    level
        Share of the samples inside the interval.
    seed
        Of the draws.
    progress
        Where progress is shown; nowhere by default.

    Returns
    -------
    For each other system and each metric the difference of the means over trainings, its interval
    and its two-sided p-value.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from labelgrove.core.ranking import Ranking
    >>> from labelgrove.evaluation import additive
    >>> Y = csr_array(np.ones((50, 1)))
    >>> all_right = Ranking(np.zeros((50, 1)), np.ones((50, 1)))
    >>> half_right = Ranking(np.zeros((50, 1)), np.arange(50)[:, None] % 2)
    >>> runs = {
    ...     "old": [additive(Y, half_right, ["micro-recall"])],
    ...     "new": [additive(Y, all_right, ["micro-recall"])],
    ... }
    >>> found = compare_runs(runs, "old")["new"]["micro-recall"]
    >>> found.value, found.p < 0.05
    (0.5, True)
    """
    if baseline not in runs:
        raise UnknownNameError("system", baseline, [*runs])
    drawn = sampled_means(runs, resamples=resamples, seed=seed, progress=progress)
    means = {system: _means(own) for system, own in runs.items()}
    return {
        system: {
            metric: difference(
                means[system][metric] - means[baseline][metric],
                drawn[system][metric] - drawn[baseline][metric],
                level,
            )
            for metric in means[baseline]
        }
        for system in runs
        if system != baseline
    }


def sampled_means(
    runs: Mapping[str, Sequence[Metrics]],
    *,
    resamples: int = SAMPLES,
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, dict[str, Floats]]:
    """Return the mean of each system's trainings on samples of documents and of its trainings.

    Parameters
    ----------
    runs, resamples, seed, progress
        As of `compare_runs`.

    Returns
    -------
    For each system the values of each metric, shape (resamples,).
    """
    _check(runs)
    flat = [run for own in runs.values() for run in own]
    samples = resampled(flat, resamples=resamples, seed=seed, progress=progress)
    remaining, drawn = iter(samples), {}
    for number, (system, own) in enumerate(runs.items()):
        mine = [next(remaining) for _ in own]
        chosen = generator(seed, "runs", number).integers(len(own), size=(resamples, len(own)))
        drawn[system] = {metric: _mean_of_drawn(mine, metric, chosen) for metric in own[0]}
    return drawn


def _check(runs: Mapping[str, Sequence[Metrics]]) -> None:
    """Refuse systems without a training, or trainings with other metrics."""
    wanted: list[str] | None = None
    for system, own in runs.items():
        if not own:
            raise InputError(f"the system {system!r} has no training: leave it out")
        for run in own:
            wanted = wanted if wanted is not None else [*run]
            if [*run] != wanted:
                raise InputError(
                    f"all trainings need the same metrics, got {wanted} and, for {system!r}, "
                    f"{[*run]}"
                )


def _means(own: Sequence[Metrics]) -> dict[str, float]:
    each = [values(run) for run in own]
    return {metric: float(np.mean([one[metric] for one in each])) for metric in each[0]}


def _mean_of_drawn(
    samples: Sequence[Mapping[str, Floats]], metric: str, chosen: NDArray[np.int64]
) -> Floats:
    """Return the mean over drawn trainings (resamples, runs) of a metric, shape (resamples,)."""
    each = np.stack([sample[metric] for sample in samples], axis=1)
    mean: Floats = np.take_along_axis(each, chosen, axis=1).mean(axis=1)
    return mean
