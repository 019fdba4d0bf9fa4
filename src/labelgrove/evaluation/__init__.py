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
from labelgrove.evaluation.combinations import combinations, perfect_ranking
from labelgrove.evaluation.confusion import Confusion, confused_labels
from labelgrove.evaluation.convergence import (
    Curve,
    compare_convergence,
    convergence,
    convergence_curve,
    mean_curve,
)
from labelgrove.evaluation.curves import PrecisionRecall, precision_recall
from labelgrove.evaluation.decision import Decision, capped_rows
from labelgrove.evaluation.frequency import by_frequency, equal_groups, frequency_groups
from labelgrove.evaluation.held_out import HeldOutPlaces, ThresholdOutcome
from labelgrove.evaluation.hierarchical import hierarchical_counts, hierarchical_scores
from labelgrove.evaluation.intervals import intervals
from labelgrove.evaluation.overlap import overlap
from labelgrove.evaluation.pairs import pair_divergence
from labelgrove.evaluation.promises import Promise, promise_precision, promise_recall
from labelgrove.evaluation.ranks import (
    OverSets,
    Ranks,
    average_ranks,
    best_of,
    critical_difference,
    ranks,
    wilcoxon_over_sets,
)
from labelgrove.evaluation.resampling import LOWER_IS_BETTER, additive, check_metrics
from labelgrove.evaluation.runs import compare_runs
from labelgrove.evaluation.score_tables import MethodRanks, MethodTest, rank_methods
from labelgrove.evaluation.scored_ranking import ScoredRanking, score_ranking
from labelgrove.evaluation.scores import evaluate, labels_in_use, per_document, set_scores
from labelgrove.evaluation.sets import Counts, counts_by_document, counts_by_label
from labelgrove.evaluation.significance import (
    Difference,
    Interval,
    SignedRanks,
    bootstrap,
    holm,
    paired_bootstrap,
    wilcoxon,
)
from labelgrove.evaluation.threshold import Threshold, tune_label_thresholds, tune_threshold

__all__ = [
    "LOWER_IS_BETTER",
    "Areas",
    "Calibration",
    "Confusion",
    "Counts",
    "Curve",
    "Decision",
    "Difference",
    "HeldOutPlaces",
    "Interval",
    "MethodRanks",
    "MethodTest",
    "OverSets",
    "PrecisionRecall",
    "Promise",
    "Ranks",
    "Reliability",
    "ScoredRanking",
    "SignedRanks",
    "Threshold",
    "ThresholdOutcome",
    "additive",
    "areas",
    "areas_by_frequency",
    "average_ranks",
    "best_of",
    "bootstrap",
    "by_frequency",
    "capped_rows",
    "check_metrics",
    "combinations",
    "compare_convergence",
    "compare_runs",
    "confused_labels",
    "convergence",
    "convergence_curve",
    "counts_by_document",
    "counts_by_label",
    "coverage",
    "critical_difference",
    "equal_groups",
    "evaluate",
    "expected_calibration_error",
    "fit_calibration",
    "frequency_groups",
    "hierarchical_counts",
    "hierarchical_scores",
    "holm",
    "intervals",
    "labels_in_use",
    "mean_curve",
    "overlap",
    "pair_divergence",
    "paired_bootstrap",
    "per_document",
    "perfect_ranking",
    "precision",
    "precision_recall",
    "promise_precision",
    "promise_recall",
    "propensity_gains",
    "rank_methods",
    "ranks",
    "recall",
    "reliability",
    "score_ranking",
    "set_scores",
    "tune_label_thresholds",
    "tune_threshold",
    "wilcoxon",
    "wilcoxon_over_sets",
]
