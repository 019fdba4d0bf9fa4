"""Labels that are found best and worst, and those taken for one another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.evaluation import Counts, confused_labels, counts_by_label
from labelgrove.report.assessment import Assessment
from labelgrove.report.page import Section, paragraph
from labelgrove.report.tables import Table
from labelgrove.report.wording import named, percent, several

SHOWN = 12  # labels of each kind
ENOUGH = 5  # test documents of a label that is listed, where so many labels have them
HEADS = ("label", "F1, %", "precision", "recall", "true", "given", "right", "in training")


def best_and_worst(assessment: Assessment) -> Section:
    """Return the labels with the best and the worst F1, with what it is made of."""
    found = counts_by_label(assessment.scored, assessment.given)
    least = ENOUGH if int((found.true >= ENOUGH).sum()) >= 2 * SHOWN else 1
    chosen = np.flatnonzero(found.true >= least)
    best = chosen[np.lexsort((-found.true[chosen], -found.f1[chosen]))]
    worst = chosen[np.lexsort((-found.true[chosen], found.f1[chosen]))]
    body = [paragraph(_lead(found, least))]
    if len(chosen) <= 2 * SHOWN:
        body.append(_table(assessment, found, best, "All of them, the best first"))
    else:
        body.append(_table(assessment, found, best[:SHOWN], "Best labels"))
        title = "Worst labels, the most frequent of equal ones first"
        body.append(_table(assessment, found, worst[:SHOWN], title))
    invented = np.flatnonzero((found.true == 0) & (found.given > 0))
    if len(invented):
        order = invented[np.argsort(-found.given[invented], kind="stable")][:SHOWN]
        names = ", ".join(
            f"{named(assessment.names[label])} ({found.given[label]:,})" for label in order[:5]
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


def _lead(found: Counts, least: int) -> str:
    true = found.true > 0
    never = int((true & (found.given == 0)).sum())
    lead = (
        f"Test documents have {several(int(true.sum()), 'label')}; {never:,} of them "
        f"{'was' if never == 1 else 'were'} never given."
    )
    if least > 1:
        lead += (
            f" Listed are labels with at least {least} test documents, of which there are "
            f"{int((found.true >= least).sum()):,}: F1 of fewer is mostly luck."
        )
    return lead


def _table(assessment: Assessment, found: Counts, labels: NDArray[np.int64], title: str) -> str:
    counts = assessment.counts
    rows = [
        [
            named(assessment.names[label]),
            *(percent(part[label]) for part in (found.f1, found.precision, found.recall)),
            *(f"{part[label]:,}" for part in (found.true, found.given, found.correct, counts)),
        ]
        for label in labels
    ]
    return Table(HEADS, rows, title=title).html()
