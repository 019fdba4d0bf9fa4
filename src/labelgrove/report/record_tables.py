"""A comparison over several data sets as tables, and as plain values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from labelgrove.core.wording import several
from labelgrove.evaluation import MethodRanks, Ranks
from labelgrove.evaluation.significance import FEWEST
from labelgrove.report.comparison_tables import NONE, p_value
from labelgrove.report.luck import LEVEL
from labelgrove.report.records import MetricStanding, OverSetsComparison
from labelgrove.report.tables import Table
from labelgrove.report.wording import duration, percent, size


def tables(comparison: OverSetsComparison) -> list[Table]:
    """Return all that was found: scores and ranks of each metric, tests, then time and size."""
    result = [score_table(comparison, standing) for standing in comparison.standings]
    if any(
        each.p is not None for standing in comparison.standings for each in standing.pairs.values()
    ):
        result.append(pair_table(comparison))
    if comparison.pooled is not None:
        result += pooled_tables(comparison, comparison.pooled)
    told = comparison.table.values()
    if any(record.seconds is not None for record in told):
        result.append(_cost_table(comparison, "Time to tag", "seconds"))
    if any(record.size is not None for record in told):
        result.append(_cost_table(comparison, "On disk", "size"))
    return result


def notes(comparison: OverSetsComparison) -> list[str]:
    """Return what the tests say, what they cannot say, and what is missing."""
    tested = [
        _friedman(standing.metric, standing.ranks)
        for standing in comparison.standings
        if standing.ranks is not None and standing.ranks.friedman.p is not None
    ]
    pooled = [] if comparison.pooled is None else [_about_pooled(comparison.pooled)]
    return [*tested, *dict.fromkeys(_untested(comparison)), *pooled, *comparison.notes]


def _about_pooled(pooled: MethodRanks) -> str:
    cells = several(len(pooled.cells), "cell")
    if len(pooled.cells) < FEWEST:
        return f"All metrics together: {cells} are too few for a p-value, it takes {FEWEST}"
    return (
        f"All metrics together: {cells} (a metric on a data set) in one test. Metrics of one data "
        "set are not independent, so these p-values are too small"
    )


def _friedman(metric: str, ranks: Ranks) -> str:
    return (
        f"{metric}: Friedman's chi-square is {ranks.friedman.statistic:.2f}, p "
        f"{p_value(ranks.friedman.p)}; average ranks that differ by less than "
        f"{ranks.critical:.2f} are not told apart (Nemenyi, 0.05)"
    )


def _untested(comparison: OverSetsComparison) -> list[str]:
    """Return why there are no p-values, where there are none."""
    said = []
    for standing in comparison.standings:
        if standing.ranks is None:
            said.append("no data set has results of all systems, so there are no average ranks")
        elif standing.ranks.friedman.note:
            said.append(f"Friedman: {standing.ranks.friedman.note}")
        said += [f"Wilcoxon: {each.note}" for each in standing.pairs.values() if each.note]
    return said


def verdict(comparison: OverSetsComparison) -> str:
    """Return in a sentence who has the best average rank, and whether the lead may be luck."""
    metric = comparison.main
    standing = comparison.standings[comparison.metrics.index(metric)]
    ranked = standing.ranks
    if len(comparison.systems) < 2:
        return f"{comparison.systems[0]} has nobody to be compared with"
    if ranked is None:
        return f"no data set has results of all systems: nobody is the best by {metric}"
    order = np.argsort(ranked.average, kind="stable")
    first, second = (comparison.systems[i] for i in order[:2])
    best, n = ranked.average[order[0]], several(len(comparison.complete), "data set")
    if ranked.average[order[1]] == best:
        return f"{first} and {second} share the best average rank by {metric}, {best:.2f} on {n}"
    i, j = sorted(order[:2].tolist())
    p = standing.pairs[i, j].p
    lead = f"{first} has the best average rank by {metric}, {best:.2f} on {n}"
    if p is None:
        return f"{lead}: too few data sets to tell whether its lead over {second} is luck"
    luck = "may be luck" if p >= LEVEL else "is more than luck"
    return f"{lead}; its lead over {second} {luck} of the data sets (Wilcoxon, p {p_value(p)})"


def score_table(comparison: OverSetsComparison, standing: MetricStanding) -> Table:
    """Return the scores of one metric on each data set, and the average ranks."""
    rows = []
    for i, system in enumerate(comparison.systems):
        scores = [comparison.score(i, j, standing.metric) for j in range(len(comparison.sets))]
        rank = NONE if standing.ranks is None else f"{standing.ranks.average[i]:.2f}"
        rows.append([system, *(NONE if s is None else percent(s) for s in scores), rank])
    bold = {
        (i, j + 1) for j in range(len(comparison.sets)) for i in comparison.best(j, standing.metric)
    }
    if standing.ranks is not None:
        best = standing.ranks.average.min()
        ranked = enumerate(standing.ranks.average)
        bold |= {(i, len(comparison.sets) + 1) for i, rank in ranked if rank == best}
    title = f"{standing.metric} on {several(len(comparison.sets), 'data set')}, %"
    return Table(["", *comparison.sets, "average rank"], rows, title=title, bold=bold)


def pair_table(comparison: OverSetsComparison) -> Table:
    """Return Wilcoxon's test of every two systems over data sets, by each metric."""
    rows = []
    for standing in comparison.standings:
        for (i, j), each in standing.pairs.items():
            won = comparison.wins(i, j, standing.metric)
            lost = comparison.wins(j, i, standing.metric)
            who = [standing.metric, comparison.systems[i], comparison.systems[j]]
            rows.append([*who, f"{won} / {lost}", p_value(each.p)])
    title = "Differences of each two over data sets: Wilcoxon's test, after Holm's correction"
    return Table(["", "first", "second", "wins / losses", "p"], rows, title=title, words=3)


def pooled_tables(comparison: OverSetsComparison, pooled: MethodRanks) -> list[Table]:
    """Return average ranks and Wilcoxon's test over all metrics of all data sets at once."""
    told = f"{several(len(pooled.cells), 'cell')}: {', '.join(comparison.metrics)} on each data set"
    best = min(pooled.average.values())
    averages = enumerate(pooled.average.values())
    ranked = Table(
        ["", "average rank"],
        [[system, f"{rank:.2f}"] for system, rank in pooled.average.items()],
        title=f"Average ranks over {told}",
        bold={(i, 1) for i, rank in averages if rank == best},
    )
    rows = [
        [test.first, test.second, f"{test.wins} / {test.losses}", *map(p_value, test[-2:])]
        for test in pooled.tests
    ]
    heads = ["first", "second", "wins / losses", "p", "p, after Holm"]
    tested = Table(heads, rows, title=f"Wilcoxon's test over {told}", words=2)
    return [ranked, tested] if pooled.tests[0].p is not None else [ranked]


def _cost_table(comparison: OverSetsComparison, title: str, key: str) -> Table:
    say = {"seconds": duration, "size": size}[key]

    def cell(i: int, j: int) -> str:
        record = comparison.table.get((i, j))
        value = None if record is None else getattr(record, key)
        return NONE if value is None else say(value)

    columns = range(len(comparison.sets))
    rows = [[system, *(cell(i, j) for j in columns)] for i, system in enumerate(comparison.systems)]
    return Table(["", *comparison.sets], rows, title=title)


def record(comparison: OverSetsComparison) -> dict[str, Any]:
    """Return the comparison as plain values."""
    return {
        "verdict": verdict(comparison),
        "systems": list(comparison.systems),
        "sets": list(comparison.sets),
        "complete_sets": [comparison.sets[j] for j in comparison.complete],
        "scores": {
            metric: {
                system: {
                    data: comparison.score(i, j, metric)
                    for j, data in enumerate(comparison.sets)
                    if (i, j) in comparison.table
                }
                for i, system in enumerate(comparison.systems)
            }
            for metric in comparison.metrics
        },
        "standings": {
            each.metric: _standing(each, comparison.systems) for each in comparison.standings
        },
        "pooled": None if comparison.pooled is None else _pooled_record(comparison.pooled),
        "notes": notes(comparison),
    }


def _pooled_record(pooled: MethodRanks) -> dict[str, Any]:
    return {
        "cells": len(pooled.cells),
        "average_ranks": dict(pooled.average),
        "pairs": [test._asdict() for test in pooled.tests],
    }


def _standing(standing: MetricStanding, systems: Sequence[str]) -> dict[str, Any]:
    ranked = standing.ranks
    return {
        "average_ranks": None
        if ranked is None
        else dict(zip(systems, ranked.average.tolist(), strict=True)),
        "friedman": None if ranked is None else ranked.friedman._asdict(),
        "critical_difference": None if ranked is None else ranked.critical,
        "pairs": [
            {"first": systems[i], "second": systems[j], **each._asdict()}
            for (i, j), each in standing.pairs.items()
        ],
    }
