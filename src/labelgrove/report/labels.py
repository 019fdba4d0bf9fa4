"""Labels that are found best and worst, and those taken for one another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.wording import several
from labelgrove.evaluation import Counts, confused_labels, counts_by_label
from labelgrove.report.assessment import Assessment
from labelgrove.report.page import Section, paragraph
from labelgrove.report.tables import Table
from labelgrove.report.wording import named, percent

SHOWN = 12  # labels of each kind
ENOUGH = 5  # test documents of a label that is listed, where so many labels have them
HEADS = ("label", "F1, %", "precision", "recall", "true", "given", "right", "in training")


def best_and_worst(assessment: Assessment) -> Section:
    """Return the labels with the best and the worst F1, with what it is made of."""
    label_counts = counts_by_label(assessment.scored, assessment.given)
    least = ENOUGH if int((label_counts.true >= ENOUGH).sum()) >= 2 * SHOWN else 1
    chosen = np.flatnonzero(label_counts.true >= least)
    best = chosen[np.lexsort((-label_counts.true[chosen], -label_counts.f1[chosen]))]
    worst = chosen[np.lexsort((-label_counts.true[chosen], label_counts.f1[chosen]))]
    body = [paragraph(_lead(label_counts, least))]
    if len(chosen) <= 2 * SHOWN:
        body.append(_table(assessment, label_counts, best, "All of them, the best first"))
    else:
        body.append(_table(assessment, label_counts, best[:SHOWN], "Best labels"))
        title = "Worst labels, the most frequent of equal ones first"
        body.append(_table(assessment, label_counts, worst[:SHOWN], title))
    invented = np.flatnonzero((label_counts.true == 0) & (label_counts.given > 0))
    if len(invented):
        order = invented[np.argsort(-label_counts.given[invented], kind="stable")][:SHOWN]
        names = ", ".join(
            f"{named(assessment.names[label])} ({label_counts.given[label]:,})"
            for label in order[:5]
        )
        more = f"{several(len(invented), 'label')} given that no test document has: {names}"
        body.append(paragraph(more + (", …" if len(invented) > 5 else "")))
    return Section("Best and worst labels", "\n".join(body))


def confused(assessment: Assessment) -> Section:
    """Return the pairs of labels of which one is given where the other is true."""
    scored = assessment.scored
    pairs = confused_labels(
        scored.Y, scored.ranking, threshold=assessment.decision, most=int(1.25 * SHOWN)
    )
    if not pairs:
        body = paragraph("No document misses one label and is wrongly given another.")
        return Section("Labels taken for one another", body)
    lead = (
        "Documents that miss one label and are wrongly given another. Where several are missed or "
        "wrong, each pair counts for a part, which the last column adds up."
    )
    rows = [
        [
            *(named(assessment.names[label]) for label in (pair.missed, pair.given)),
            f"{pair.documents:,}",
            f"{pair.weight:.1f}",
        ]
        for pair in pairs
    ]
    table = Table(["missed", "given instead", "documents", "weight"], rows, words=2)
    return Section("Labels taken for one another", paragraph(lead) + table.html())


def _lead(label_counts: Counts, least: int) -> str:
    true = label_counts.true > 0
    never = int((true & (label_counts.given == 0)).sum())
    lead = (
        f"Test documents have {several(int(true.sum()), 'label')}; {never:,} of them "
        f"{'was' if never == 1 else 'were'} never given."
    )
    if least > 1:
        lead += (
            f" Listed are labels with at least {least} test documents, of which there are "
            f"{int((label_counts.true >= least).sum()):,}: F1 of fewer is mostly luck."
        )
    return lead


def _table(
    assessment: Assessment, label_counts: Counts, labels: NDArray[np.int64], title: str
) -> str:
    counts = assessment.counts
    rows = [
        [
            named(assessment.names[label]),
            *(
                percent(part[label])
                for part in (label_counts.f1, label_counts.precision, label_counts.recall)
            ),
            *(
                f"{part[label]:,}"
                for part in (label_counts.true, label_counts.given, label_counts.correct, counts)
            ),
        ]
        for label in labels
    ]
    return Table(HEADS, rows, title=title).html()
