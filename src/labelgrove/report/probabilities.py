"""Whether probabilities can be believed, and what the threshold does."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgrove.core.wording import several
from labelgrove.evaluation import (
    PrecisionRecall,
    Reliability,
    expected_calibration_error,
    precision_recall,
    reliability,
)
from labelgrove.evaluation.at_k import ratio
from labelgrove.report.assessment import Assessment
from labelgrove.report.by_threshold import threshold_table
from labelgrove.report.figures import INK, SERIES, drawn, grouped
from labelgrove.report.page import Section, beside, captioned, paragraph, text
from labelgrove.report.wording import percent

BINS = 15
FEW = 30  # places in a bin below which its share of hits is uncertain


def calibration(assessment: Assessment) -> Section:
    """Return how often labels of a probability are right, and how many there are of each."""
    scored = assessment.scored
    bins = reliability(scored.Y, scored.ranking, BINS)
    error = expected_calibration_error(scored.Y, scored.ranking, BINS)
    lead = (
        "Of the labels with a probability around 0.7, about 70% should be right. The points "
        f"are off by {100 * error:.2f} percentage points in the mean over all "
        f"{several(int(bins.counts.sum()), 'ranked label')} (expected calibration error, "
        f"{BINS} bins). Most ranked labels are rightly held for unlikely, so this mean is small."
    )
    figures = [_reliability(bins), _histogram(bins)]
    return Section("Can probabilities be believed?", paragraph(lead) + beside(figures))


def _reliability(bins: Reliability) -> str:
    filled = bins.counts > 0
    sure = bins.counts[filled] >= FEW

    def draw(axes: Any) -> None:
        axes.plot([0, 1], [0, 1], color=INK, linewidth=1, linestyle=(0, (4, 4)), label="ideal")
        x, y = bins.scores[filled], bins.hits[filled]
        axes.plot(x[sure], y[sure], marker="o", color=SERIES[0], label="this tagger")
        if not sure.all():
            few = f"fewer than {FEW} labels"
            axes.plot(x[~sure], y[~sure], "x", color=SERIES[1], label=few, markersize=6)
        axes.set(xlim=(0, 1.02), ylim=(0, 1.02))
        axes.set_xlabel("probability the tagger gave")
        axes.set_ylabel("share that was right")
        axes.legend(loc="upper left")

    caption = "Calibration: above the dashed line the tagger is too modest, below it too sure."
    return captioned(drawn(draw, label=caption, height=300), text(caption))


def _histogram(bins: Reliability) -> str:
    middles = (bins.edges[:-1] + bins.edges[1:]) / 2
    hits = np.round(bins.hits * bins.counts)

    def draw(axes: Any) -> None:
        width = 0.9 / len(middles)
        # side by side: on a logarithmic axis the parts of a bar cannot be compared
        axes.bar(middles - width / 4, bins.counts - hits, width / 2, label="wrong", color=SERIES[1])
        axes.bar(middles + width / 4, hits, width / 2, label="right", color=SERIES[2])
        axes.set_yscale("symlog", linthresh=1)
        axes.yaxis.set_major_formatter(grouped)
        axes.set(xlim=(0, 1), ylim=(0, max(float(bins.counts.max()), 9.0) * 2))
        axes.grid(visible=False, axis="x")
        axes.set_xlabel("probability the tagger gave")
        axes.set_ylabel("ranked labels")
        axes.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))

    caption = "Ranked labels of each probability, wrong and right ones (logarithmic axis)."
    return captioned(drawn(draw, label=caption, height=300), text(caption))


def threshold(assessment: Assessment) -> Section:
    """Return precision against recall over all thresholds, with the chosen one."""
    scored = assessment.scored
    curve = precision_recall(scored.Y, scored.ranking, threshold=assessment.decision)
    precision, recall = curve.chosen or (0.0, 0.0)

    def draw(axes: Any) -> None:
        axes.plot(curve.recall, curve.precision, color=SERIES[0])
        if assessment.given.any():
            axes.plot([recall], [precision], "o", color=SERIES[1], markersize=9)
            axes.annotate(
                "chosen", (recall, precision), (8, 6), textcoords="offset points", color=INK
            )
        axes.set(xlim=(0, 1.02), ylim=(0, 1.04))
        axes.set_xlabel("recall: true labels that are given")
        axes.set_ylabel("precision: given labels that are true")

    caption = (
        "Precision and recall of all labels together at every threshold: a high one on the left, "
        "a low one on the right."
    )
    figures = [captioned(drawn(draw, label=caption, height=300), text(caption))]
    if len(curve.thresholds) > 1:
        figures.append(_by_threshold(assessment, curve))
    table = threshold_table(assessment.scores.by_threshold, assessment.decision)
    return Section(
        "The threshold",
        paragraph(what_is_given(assessment))
        + beside(figures)
        + paragraph("In figures, shares in %; the chosen threshold is bold.", kind="quiet")
        + table.html(),
    )


def _by_threshold(assessment: Assessment, curve: PrecisionRecall) -> str:
    f1 = ratio(2 * curve.precision * curve.recall, curve.precision + curve.recall)
    least = np.asarray(assessment.decision.threshold)

    def draw(axes: Any) -> None:
        for number, (name, values) in enumerate(
            {"precision": curve.precision, "recall": curve.recall, "F1": f1}.items()
        ):
            axes.plot(curve.thresholds, 100 * values, color=SERIES[number], label=name)
        if least.ndim == 0:
            axes.axvline(float(least), color=INK, linewidth=1, linestyle=(0, (4, 4)))
        axes.set(xlim=(0, 1.02), ylim=(0, 104))
        axes.set_xlabel("threshold")
        axes.set_ylabel("%")
        axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))

    caption = "What other thresholds would give, all labels together."
    if least.ndim == 0:
        caption += " Dashed: the chosen one."
    return captioned(drawn(draw, label=caption, height=300), text(caption))


def what_is_given(assessment: Assessment) -> str:
    """Return in a sentence what the threshold lets through, and how much of it is right."""
    least = np.asarray(assessment.decision.threshold)
    if least.ndim:
        chosen = f"With a threshold for each label, from {least.min():.3g} to {least.max():.3g}"
    else:
        chosen = f"With the threshold {float(least):.3g}"
    n, n_given = len(assessment.scored), int(assessment.given.sum())
    if not n_given:
        return f"{chosen}, no document is given any label."
    scores = assessment.scores
    return (
        f"{chosen}, {n_given / n:.1f} labels are given to a document: "
        f"{percent(scores['micro-precision'])}% of them are right, and "
        f"{percent(scores['micro-recall'])}% of the true labels are found."
    )
