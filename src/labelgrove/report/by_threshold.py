"""What each of several thresholds gives, in one table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labelgrove.evaluation import Decision, ThresholdOutcome
from labelgrove.report.tables import Table
from labelgrove.report.wording import percent

COLUMNS = ("threshold", "precision", "recall", "labels a document", "documents with a label")


def threshold_table(
    outcomes: Sequence[ThresholdOutcome], decision: Decision, title: str = ""
) -> Table:
    """Return a row for each threshold, shares in %; the chosen threshold is bold.

    Parameters
    ----------
    outcomes
        What the thresholds give, the highest first.
    decision
        What was chosen.
    title
        Of the table.
    """
    least = np.asarray(np.nan if decision.threshold is None else decision.threshold)
    chosen = float(least) if least.ndim == 0 else np.nan
    rows = [
        [
            f"{each.threshold:.3g}",
            percent(each.precision) if each.labels else "–",
            percent(each.recall),
            f"{each.labels:.2f}",
            percent(each.documents),
        ]
        for each in outcomes
    ]
    bold = {(row, 0) for row, each in enumerate(outcomes) if each.threshold == chosen}
    return Table(COLUMNS, rows, title=title, words=0, bold=bold)
