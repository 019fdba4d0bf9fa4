"""One trial: a model is fitted on the training documents and judged by those held out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

from labelgrove.core.estimator import Classifier
from labelgrove.core.ranking import RANKING_DEPTH
from labelgrove.core.types import FitContext, Run
from labelgrove.evaluation import evaluate
from labelgrove.tagger.calibrating import calibrated_on
from labelgrove.tagger.state import FittedState
from labelgrove.tuning.dataset import Dataset
from labelgrove.tuning.metric import Metric

Report = Callable[[int, float], None]


def attempt(
    dataset: Dataset, model: Classifier, metric: Metric, report: Report | None
) -> tuple[dict[str, float], float]:
    """Fit a model and judge it; return all metrics, and the seconds that took.

    A model that stops early by itself is given a part of the training documents for that, and
    reports how good it is there after each epoch. Another one first learns from a quarter of the
    documents, and reports how good that is.

    Parameters
    ----------
    dataset
        Documents to fit on and to score on.
    model
        Unfitted.
    metric
        What is reported of a model that has learned from a part.
    report
        Told a step, from 1, and the score there; what it raises ends the trial. None to learn
        from everything at once.
    """
    began = time.monotonic()
    context = FitContext(labels=dataset.labels, featurizers=dataset.featurizers)
    if model.uses_validation:
        train, own = dataset.own_part()
        run = Run(report=_of_first_network(report, metric) if report else None)
        model.fit(*train, context=replace(context, validation=own, run=run))
    else:
        part = dataset.first_part() if report else None
        if report is not None and part is not None:
            first = model.fresh().fit(*part, context=context)
            early = scored(dataset, first, metric)[metric.name]
            del first  # before the whole is learned: two models may not fit into memory
            report(1, early)
        model.fit(*dataset.whole(), context=context)
    return scored(dataset, model, metric), time.monotonic() - began


def _of_first_network(report: Report, metric: Metric) -> Report:
    """Return a report of the first network only: later ones of a model judge something else.

    The score is the model's own, of which more is always better.
    """
    last = 0.0

    def told(epoch: int, score: float) -> None:
        nonlocal last
        last = epoch if epoch > last else math.inf  # another network has begun
        if last < math.inf:
            report(epoch, -score if metric.less_is_better else score)

    return told


def scored(dataset: Dataset, model: Classifier, metric: Metric) -> dict[str, float]:
    """Return all metrics of a fitted model, with probabilities and threshold as a tagger's are."""
    X, Y = dataset.held_out()
    space = dataset.labels
    raw = model.rank(X, max(RANKING_DEPTH, *metric.ks))
    learned = calibrated_on(FittedState(space, dataset.featurizers, model), raw, Y)
    return evaluate(
        Y,
        learned.calibrated(raw),
        ks=metric.ks,
        threshold=learned.thresholds[metric.goal],
        propensities=space.propensities(n_columns=Y.shape[1]),
    )
