"""The parts of a comparison's page: tables, scores with intervals, the critical difference."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import numpy as np

from labelgrove.evaluation import LOWER_IS_BETTER, Interval, Ranks
from labelgrove.report import comparison_tables, record_tables
from labelgrove.report.comparison import Comparison
from labelgrove.report.comparison_tables import BY_FREQUENCY
from labelgrove.report.contestants import agreements, overlap_table
from labelgrove.report.figures import INK, SERIES, drawn
from labelgrove.report.page import Section, beside, captioned, paragraph, text
from labelgrove.report.records import OverSetsComparison
from labelgrove.report.wording import ABOUT_AREAS, ABOUT_GROUPS, named

LONGEST = 22  # characters of a name beside a figure's axis


def comparison_sections(comparison: Comparison) -> list[Section]:
    """Return the parts of the page of a comparison on one test set."""
    tables = [
        comparison_tables.score_table(comparison),
        *comparison_tables.new_texts_table(comparison),
        *comparison_tables.trainings_table(comparison),
    ]
    scores = "\n".join(table.html() for table in tables)
    if comparison.tested:
        told = (
            "Dots are scores, lines their 95% intervals. Blue: the best, filled, and what is not "
            "significantly different from it."
        )
        scores += paragraph(told) + beside(
            [_intervals(comparison, metric) for metric in comparison.metrics]
        )
        scores += comparison_tables.interval_table(comparison).html()
    frequency = [comparison_tables.frequency_table(comparison, key).html() for key in BY_FREQUENCY]
    return [
        Section("Scores", scores),
        Section("Differences", comparison_tables.pair_table(comparison).html()),
        Section("Quality and cost", comparison_tables.cost_table(comparison).html()),
        Section(
            "Where each wins",
            paragraph(ABOUT_GROUPS) + paragraph(ABOUT_AREAS) + "\n".join(frequency),
        ),
        Section("How far they agree", overlap_table(agreements(comparison.contestants)).html()),
    ]


def record_sections(comparison: OverSetsComparison) -> list[Section]:
    """Return the parts of the page of a comparison over several data sets."""
    sections = []
    for standing in comparison.standings:
        body = record_tables.score_table(comparison, standing).html()
        if standing.ranks is not None and len(comparison.systems) > 1:
            body += rank_figure(comparison.systems, standing.metric, standing.ranks)
        sections.append(Section(standing.metric, body))
    rest = record_tables.tables(comparison)[len(comparison.standings) :]
    if rest:
        sections.append(Section("Tests and cost", "\n".join(table.html() for table in rest)))
    return sections


def _intervals(comparison: Comparison, metric: str) -> str:
    """Return a metric of all with its intervals, the best on top."""
    return interval_figure(
        metric,
        comparison.names,
        [scores[metric] for scores in comparison.scores],
        best=comparison.best(metric),
        level=comparison.level_with_best(metric),
    )


def interval_figure(
    metric: str,
    names: Sequence[str],
    scores: Sequence[Interval],
    *,
    best: Set[int],
    level: Set[int],
) -> str:
    """Return scores with their intervals as a figure, the best on top.

    Parameters
    ----------
    metric
        Its name.
    names, scores
        Of each system.
    best, level
        Numbers of the best systems, and of those that are not significantly worse.
    """
    sign = 1 if metric in LOWER_IS_BETTER else -1
    order = sorted(range(len(names)), key=lambda i: sign * scores[i].value)

    def draw(axes: Any) -> None:
        for place, number in enumerate(order):
            value, low, high = (100 * part for part in scores[number])
            colour = SERIES[0] if number in best | level else SERIES[1]
            axes.plot([low, high], [place, place], color=colour)
            filled = colour if number in best else "none"
            axes.plot(value, place, "o", color=colour, markerfacecolor=filled, markersize=7)
        axes.set_yticks(range(len(order)), [named(names[i], LONGEST) for i in order])
        axes.set_ylim(len(order) - 0.5, -0.5)
        axes.grid(visible=False, axis="y")

    figure = drawn(draw, label=f"{metric} with 95% intervals", height=80 + 26 * len(order))
    return captioned(figure, text(f"{metric}, %"))


def rank_figure(systems: Sequence[str], metric: str, ranks: Ranks) -> str:
    """Return average ranks on a line, those not told apart joined by bars (Demšar 2006)."""
    order = np.argsort(ranks.average, kind="stable")
    average = ranks.average[order]
    groups = joined(average.tolist(), ranks.critical)

    def draw(axes: Any) -> None:
        for place, (number, rank) in enumerate(zip(order, average, strict=True)):
            axes.plot([rank, rank], [-1, place], color=INK, linewidth=0.8)
            axes.plot(rank, place, "o", color=SERIES[0], markersize=6)
            # beside the dot, towards the middle
            side = -1 if rank > (len(systems) + 1) / 2 else 1
            axes.annotate(
                f"{named(systems[number], LONGEST)} {rank:.2f}",
                (rank, place),
                xytext=(8 * side, 0),
                textcoords="offset points",
                va="center",
                ha="left" if side > 0 else "right",
            )
        for level, (start, end) in enumerate(groups):
            height = -1.6 - 0.5 * level
            ends = [average[start] - 0.03, average[end] + 0.03]
            axes.plot(ends, [height, height], color=SERIES[1], linewidth=4)
        axes.set_ylim(len(order) - 0.5, -2.0 - 0.5 * max(len(groups), 1))
        axes.set_xlim(0.8, len(systems) + 0.2)
        axes.set_xticks(range(1, len(systems) + 1))
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("average rank, 1 is the best")

    caption = f"Average ranks by {metric}"
    if ranks.critical is not None:
        caption += (
            f"; bars join systems that are not told apart (critical difference "
            f"{ranks.critical:.2f})"
        )
    height = 110 + 24 * len(order) + 12 * len(groups)
    return captioned(drawn(draw, label=caption, height=height), text(caption))


def joined(average: Sequence[float], critical: float | None) -> list[tuple[int, int]]:
    """Return the longest runs of ranks, sorted, that differ by less than the critical difference.

    Examples
    --------
    >>> joined([1.0, 1.5, 2.5, 4.0], 1.2)
    [(0, 1), (1, 2)]
    """
    if critical is None:
        return []
    groups: list[tuple[int, int]] = []
    for start, rank in enumerate(average):
        end = max(i for i, other in enumerate(average) if other - rank < critical)
        if end > start and (not groups or end > groups[-1][1]):
            groups.append((start, end))
    return groups
