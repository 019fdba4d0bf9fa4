"""How good rankings are: metrics, decisions and calibration, all sparse.

`evaluate` gives every metric at once; the conventions are in ``docs/metrics.md``.
"""

from labelgrove.evaluation.areas import Areas, areas, areas_by_frequency
from labelgrove.evaluation.at_k import coverage, precision, propensity_gains, recall
from labelgrove.evaluation.calibration import (
    Calibration,
    Reliability,
    expected_calibration_error,
    fit_calibration,
    reliability,
)
from labelgrove.evaluation.combinations import combinations
from labelgrove.evaluation.convergence import Curve, convergence, convergence_curve
from labelgrove.evaluation.decision import Decision, capped_rows
from labelgrove.evaluation.frequency import by_frequency, frequency_groups
from labelgrove.evaluation.judged import Judged, judge
from labelgrove.evaluation.overlap import overlap
from labelgrove.evaluation.pairs import pair_divergence
from labelgrove.evaluation.scores import evaluate, per_document
from labelgrove.evaluation.sets import Counts, counts_by_document, counts_by_label
from labelgrove.evaluation.threshold import Threshold, tune_label_thresholds, tune_threshold

__all__ = [
    "Areas",
    "Calibration",
    "Counts",
    "Curve",
    "Decision",
    "Judged",
    "Reliability",
    "Threshold",
    "areas",
    "areas_by_frequency",
    "by_frequency",
    "capped_rows",
    "combinations",
    "convergence",
    "convergence_curve",
    "counts_by_document",
    "counts_by_label",
    "coverage",
    "evaluate",
    "expected_calibration_error",
    "fit_calibration",
    "frequency_groups",
    "judge",
    "overlap",
    "pair_divergence",
    "per_document",
    "precision",
    "propensity_gains",
    "recall",
    "reliability",
    "tune_label_thresholds",
    "tune_threshold",
]
