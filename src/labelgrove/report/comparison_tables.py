"""A comparison as tables, and as plain values for JSON."""

from __future__ import annotations

from collections.abc import Set
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from labelgrove.core.wording import several
from labelgrove.evaluation import best_of
from labelgrove.report.comparison import FOUND_IN, Comparison
from labelgrove.report.contestants import agreements, overlap_table
from labelgrove.report.luck import LEVEL
from labelgrove.report.tables import MARK, Table
from labelgrove.report.wording import GROUPS, duration, percent, size

NONE = "–"
BY_FREQUENCY = {
    "found": f"Occurrences of labels found among the best {FOUND_IN}, by frequency, %",
    "macro-F1": "macro-F1 of labels given, by frequency, %",
    "AUPR": "AUPR of labels with at least 5 test documents, by frequency, %",
    "AUC": "AUC of the same labels, %",
}


def tables(comparison: Comparison) -> list[Table]:
    """Return all that was found, the most important first."""
    return [
        score_table(comparison),
        *new_texts_table(comparison),
        *trainings_table(comparison),
        *([interval_table(comparison)] if comparison.tested else []),
        pair_table(comparison),
        cost_table(comparison),
        overlap_table(agreements(comparison.contestants)),
        *(frequency_table(comparison, key) for key in BY_FREQUENCY),
    ]


def notes(comparison: Comparison) -> list[str]:
    """Return what the tables' marks mean, and what else a reader should know."""
    marked = any(comparison.level_with_best(metric) for metric in comparison.metrics)
    mark = [
        f"{MARK}: not significantly different from the best (paired bootstrap, "
        f"{comparison.resamples:,} samples, p of at least {LEVEL:g} after Holm's correction for "
        "the pairs of a metric)"
    ]
    how = [
        *(mark if marked else []),
        "intervals hold 95% of the samples, moved so that their mean is the value; Wilcoxon's "
        "signed-rank test is over the documents' scores, and is corrected alike",
    ]
    costs = "time is that of reading and tagging the test documents, after a first one"
    if any(each.memory is not None for each in comparison.contestants):
        costs += (
            "; memory is the most that the whole process held while a tagger was loaded and used, "
            "with what files it read from memory maps: it depends on the order of the taggers"
        )
    return [*(how if comparison.tested else []), costs, *comparison.notes]


def score_table(comparison: Comparison) -> Table:
    """Return the metrics of all, the best in bold, marks on what is level with it."""
    rows = [[name] for name in comparison.names]
    bold = set()
    for column, metric in enumerate(comparison.metrics, 1):
        level = comparison.level_with_best(metric)
        bold |= {(number, column) for number in comparison.best(metric)}
        for number, row in enumerate(rows):
            mark = MARK if number in level else ""
            row.append(percent(comparison.scores[number][metric].value) + mark)
    title = (
        f"Scores on {Path(comparison.test).name} ({several(comparison.documents, 'document')}), %"
    )
    return Table(["", *comparison.metrics], rows, title=title, bold=bold)


def new_texts_table(comparison: Comparison) -> list[Table]:
    """Return the metrics on the documents whose texts no tagger has learned, if some have."""
    if comparison.without_learned is None:
        return []
    n, scores = comparison.without_learned
    rows = [
        [name, *(percent(own[metric]) for metric in comparison.metrics)]
        for name, own in zip(comparison.names, scores, strict=True)
    ]
    title = f"Scores on the {several(n, 'document')} whose text no tagger has learned, %"
    return [Table(["", *comparison.metrics], rows, title=title)]


def trainings_table(comparison: Comparison) -> list[Table]:
    """Return the means of systems that were trained several times, if there are any."""
    systems = comparison.verdict.systems
    if len(systems) == len(comparison.names):
        return []
    rows = []
    for name, own in systems.items():
        row = [name, f"{len(own)}"]
        for metric in comparison.metrics:
            scores = [comparison.scores[i][metric].value for i in own]
            spread = f" ± {100 * np.std(scores, ddof=1):.2f}" if len(own) > 1 else ""
            row.append(percent(float(np.mean(scores))) + spread)
        rows.append(row)
    title = "Means over trainings with other seeds ± standard deviation, %"
    return [Table(["", "trainings", *comparison.metrics], rows, title=title)]


def interval_table(comparison: Comparison) -> Table:
    """Return where the metrics of all lie in 95 of 100 samples."""
    rows = [
        [
            name,
            *(f"{percent(scores[m].low)} to {percent(scores[m].high)}" for m in comparison.metrics),
        ]
        for name, scores in zip(comparison.names, comparison.scores, strict=True)
    ]
    return Table(["", *comparison.metrics], rows, title="95% intervals, %")


def pair_table(comparison: Comparison) -> Table:
    """Return the differences of every two, in points, with what the tests say."""
    names = comparison.names
    rows = []
    for pair in comparison.pairs:
        within = NONE
        if pair.low is not None and pair.high is not None:
            within = f"{_signed(pair.low)} to {_signed(pair.high)}"
        documents = NONE if pair.better is None else f"{pair.better:,} / {pair.worse:,}"
        who = [pair.metric, names[pair.first], names[pair.second]]
        tests = [p_value(pair.p), p_value(pair.wilcoxon)]
        rows.append([*who, _signed(pair.value), within, *tests, documents])
    heads = ["", "first", "second", "difference", "95% interval"]
    heads += ["p, bootstrap", "p, Wilcoxon", "documents"]
    title = "Differences of each two, in points, and documents on which the first is better / worse"
    return Table(heads, rows, title=title, words=3)


def cost_table(comparison: Comparison) -> Table:
    """Return quality beside what each takes."""
    shown = comparison.verdict.metric
    rows = []
    for each, scores in zip(comparison.contestants, comparison.scores, strict=True):
        a_document = f"{1000 * each.seconds / comparison.documents:.3g} ms"
        memory = NONE if each.memory is None else size(each.memory)
        times = [duration(each.seconds), a_document]
        quality = percent(scores[shown].value)
        rows.append([each.name, each.model, quality, *times, memory, size(each.size)])
    heads = ["", "model", f"{shown}, %", "time to tag", "a document", "memory", "on disk"]
    return Table(heads, rows, title="Quality and cost", words=2)


def frequency_table(comparison: Comparison, key: str) -> Table:
    """Return one metric of the groups of frequency, the best of each in bold."""
    rows = [
        [name, *(percent(group[key]) for group in groups)]
        for name, groups in zip(comparison.names, comparison.groups, strict=True)
    ]
    bold = set()
    for column in range(len(GROUPS)):
        best = best_of([groups[column][key] for groups in comparison.groups])
        bold |= {(i, column + 1) for i in best}
    heads = list(GROUPS)
    if key in ("found", "macro-F1"):  # the areas are of other groups
        sizes = zip(GROUPS, comparison.group_sizes, strict=True)
        heads = [f"{group} ({several(n, 'label')})" for group, n in sizes]
    return Table(["", *heads], rows, title=BY_FREQUENCY[key], bold=bold)


def record(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as plain values."""
    names = comparison.names

    def named(numbers: Set[int]) -> list[str]:
        return [names[number] for number in sorted(numbers)]

    return {
        "verdict": comparison.verdict.record(),
        "test": comparison.test,
        "documents": comparison.documents,
        "resamples": comparison.resamples,
        "taggers": [_contestant(comparison, number) for number in range(len(names))],
        "best": {metric: named(comparison.best(metric)) for metric in comparison.metrics},
        "level": {
            metric: named(comparison.level_with_best(metric)) for metric in comparison.metrics
        },
        "pairs": [
            {**pair._asdict(), "first": names[pair.first], "second": names[pair.second]}
            for pair in comparison.pairs
        ],
        "overlap": [each._asdict() for each in agreements(comparison.contestants)],
        "notes": notes(comparison),
    }


def _contestant(comparison: Comparison, number: int) -> dict[str, Any]:
    each, scores = comparison.contestants[number], comparison.scores[number]
    # NaN is no JSON: the area of a group without labels
    groups = [
        {key: None if isnan(value) else value for key, value in group.items()}
        for group in comparison.groups[number]
    ]
    return {
        "tagger": each.name,
        "model": each.model,
        "scores": {metric: scores[metric].value for metric in comparison.metrics},
        "intervals": {metric: list(scores[metric][1:]) for metric in comparison.metrics}
        if comparison.tested
        else None,
        "groups": dict(zip(GROUPS, groups, strict=True)),
        "seconds": each.seconds,
        "memory": each.memory,
        "size": each.size,
        "learned_texts": _learned_texts(comparison, number),
    }


def _learned_texts(comparison: Comparison, number: int) -> dict[str, Any] | None:
    known = comparison.learned[number] if comparison.learned else None
    if known is None:
        return None
    new = comparison.without_learned
    return {"documents": known, "scores_without": None if new is None else dict(new[1][number])}


def p_value(p: float | None) -> str:
    """Return a p-value as papers print it.

    Examples
    --------
    >>> p_value(0.04321), p_value(0.0004), p_value(None)
    ('0.043', '< 0.001', '–')
    """
    if p is None:
        return NONE
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _signed(value: float) -> str:
    """Return a difference in points."""
    return ("-" if value < 0 else "+") + percent(abs(value))
