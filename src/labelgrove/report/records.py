"""Scores of several taggers on several data sets, as ``labelgrove evaluate --json`` writes them."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.evaluation import (
    LOWER_IS_BETTER,
    MethodRanks,
    OverSets,
    Ranks,
    best_of,
    holm,
    rank_methods,
    ranks,
    wilcoxon_over_sets,
)
from labelgrove.evaluation.significance import without_noise
from labelgrove.report.contestants import distinct
from labelgrove.report.luck import MAIN

METRICS = ("P@1", "P@5", "nDCG@5", "PSP@5", "micro-F1", "macro-F1")


@dataclass(frozen=True)
class ResultRecord:
    """What a tagger reached on a data set.

    Parameters
    ----------
    file
        Where it was read from.
    tagger, model
        Name of the tagger's folder, and of its model.
    test
        Name of the test documents' file.
    documents
        How many documents there were; None in older records.
    scores
        Metrics by name.
    seconds, size
        Time to tag, and bytes of the tagger's folder, where they are told.
    """

    file: str
    tagger: str
    model: str
    test: str
    documents: int | None
    scores: Mapping[str, float]
    seconds: float | None = None
    size: int | None = None


@dataclass(frozen=True, eq=False)
class MetricStanding:
    """How systems stand by one metric over data sets.

    Parameters
    ----------
    metric
        Its name.
    ranks
        Average ranks on the data sets that all have, with Friedman's test and the critical
        difference; None where there is no such data set.
    pairs
        Wilcoxon's test of every two systems, by their numbers, over the data sets both have;
        p-values after Holm's correction.
    """

    metric: str
    ranks: Ranks | None
    pairs: Mapping[tuple[int, int], OverSets]


@dataclass(frozen=True, eq=False)
class OverSetsComparison:
    """What a comparison over several data sets found.

    Parameters
    ----------
    systems, sets
        Names of the systems and of the data sets.
    metrics
        The metrics compared.
    table
        The record of each system on each data set, by their numbers.
    complete
        Numbers of the data sets that all systems have results on.
    standings
        For each metric.
    notes
        What a reader should know.
    main
        The metric of the verdict.
    pooled
        Ranks and tests over all metrics of all data sets at once, where they were asked for.
    """

    systems: Sequence[str]
    sets: Sequence[str]
    metrics: tuple[str, ...]
    table: Mapping[tuple[int, int], ResultRecord]
    complete: Sequence[int]
    standings: Sequence[MetricStanding]
    notes: Sequence[str]
    main: str
    pooled: MethodRanks | None = None

    def score(self, system: int, data: int, metric: str) -> float | None:
        """Return a score, or None where the combination is missing."""
        record = self.table.get((system, data))
        return None if record is None else record.scores[metric]

    def best(self, data: int, metric: str) -> set[int]:
        """Return the numbers of the systems with the best score on a data set."""
        scores = [self.score(system, data, metric) for system in range(len(self.systems))]
        return best_of(scores, lower_is_better=metric in LOWER_IS_BETTER)

    def wins(self, first: int, second: int, metric: str) -> int:
        """Return on how many data sets the first system is better than the second."""
        gaps = [
            self.table[first, j].scores[metric] - self.table[second, j].scores[metric]
            for j in range(len(self.sets))
            if (first, j) in self.table and (second, j) in self.table
        ]
        sign = -1 if metric in LOWER_IS_BETTER else 1
        return int((sign * without_noise(gaps) > 0).sum())


def read_record(path: Path) -> ResultRecord:
    """Read one record, or say what is wrong with it."""
    try:
        given = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no JSON ({error}): give what evaluate --json wrote") from error
    if not isinstance(given, dict) or not _is_record(given):
        raise InputError(
            f"{path} holds no scores of a tagger: give what labelgrove evaluate --json wrote"
        )
    _check_numbers(path, given)
    return ResultRecord(
        file=str(path),
        tagger=str(given.get("tagger", given["model"])),
        model=given["model"],
        test=str(given.get("test", "")),
        documents=given.get("documents"),
        scores=given["scores"],
        seconds=given.get("seconds"),
        size=given.get("size"),
    )


def _is_record(given: Mapping[str, Any]) -> bool:
    scores = given.get("scores")
    return (
        isinstance(given.get("model"), str)
        and isinstance(scores, dict)
        and len(scores) > 0
        and all(isinstance(value, int | float) for value in scores.values())
    )


def _check_numbers(path: Path, given: Mapping[str, Any]) -> None:
    """Refuse what is no number where one is due, and numbers that cannot be compared."""
    facts = {key: given.get(key) for key in ("documents", "seconds", "size")}
    for key, value in (facts | given["scores"]).items():
        if value is None:
            continue
        whole = key in ("documents", "size")
        if not isinstance(value, int if whole else int | float) or not isfinite(value):
            kind = "whole number" if whole else "number"
            raise InputError(
                f"{path}: {key} is {value!r}, not a {kind}: give what labelgrove evaluate --json "
                "wrote, or mend it there"
            )


def compare_records(
    records: Sequence[ResultRecord],
    metrics: Sequence[str] | None = None,
    *,
    pool_metrics: bool = False,
) -> OverSetsComparison:
    """Compare systems over data sets.

    A data set is a test file with a number of documents. A system is a model, or where a data set
    has several results of one model, a tagger's folder name.

    Parameters
    ----------
    records
        What `read_record` returned.
    metrics
        Names; by default those of a few that all records have.
    pool_metrics
        Whether to rank and test over all metrics of all data sets at once too, see
        `labelgrove.evaluation.rank_methods`.
    """
    if not records:
        raise InputError("there are no records to compare")
    sets = _sets(records)
    systems = _systems(records, sets)
    names = list(dict.fromkeys(systems))
    shown = list(dict.fromkeys(sets))
    chosen = _metrics(records, metrics)
    table = {
        (names.index(system), shown.index(data)): record
        for system, data, record in zip(systems, sets, records, strict=True)
    }
    everyone = range(len(names))
    complete = [j for j in range(len(shown)) if all((i, j) in table for i in everyone)]
    return OverSetsComparison(
        systems=names,
        sets=_shown_sets(shown),
        metrics=chosen,
        table=table,
        complete=complete,
        standings=[_standing(metric, table, len(names), complete) for metric in chosen],
        notes=_missing(names, _shown_sets(shown), table),
        main=MAIN if metrics is None and MAIN in chosen else chosen[0],
        pooled=_pooled(names, chosen, table) if pool_metrics else None,
    )


def _standing(
    metric: str,
    table: Mapping[tuple[int, int], ResultRecord],
    n_systems: int,
    complete: Sequence[int],
) -> MetricStanding:
    def scores(system: int, sets: Sequence[int]) -> list[float]:
        return [table[system, data].scores[metric] for data in sets]

    columns = [scores(system, complete) for system in range(n_systems)]
    lower = metric in LOWER_IS_BETTER
    ranked = ranks(np.transpose(columns), lower_is_better=lower) if complete else None
    pairs = {}
    for first, second in combinations(range(n_systems), 2):
        both = sorted({j for i, j in table if i == first} & {j for i, j in table if i == second})
        pairs[first, second] = wilcoxon_over_sets(scores(first, both), scores(second, both))
    tested = [pair for pair, each in pairs.items() if each.p is not None]
    corrected = holm([p for each in pairs.values() if (p := each.p) is not None])
    for pair, p in zip(tested, corrected, strict=True):
        pairs[pair] = pairs[pair]._replace(p=p)
    return MetricStanding(metric, ranked, pairs)


def _pooled(
    systems: Sequence[str],
    metrics: Sequence[str],
    table: Mapping[tuple[int, int], ResultRecord],
) -> MethodRanks:
    """Return ranks over cells: every metric on every data set. A loss counts with a minus."""
    cells: dict[str, dict[Hashable, float]] = {system: {} for system in systems}
    for (system, data), record in table.items():
        for metric in metrics:
            sign = -1 if metric in LOWER_IS_BETTER else 1
            cells[systems[system]][data, metric] = sign * record.scores[metric]
    return rank_methods(cells)


Data = tuple[str, int | None]  # a test file and its number of documents


def _sets(records: Sequence[ResultRecord]) -> list[Data]:
    return [(record.test, record.documents) for record in records]


def _shown_sets(sets: Sequence[Data]) -> list[str]:
    """Return names of data sets: what of their paths tells them apart, else their sizes."""
    tests = list(dict.fromkeys(test for test, _ in sets))
    alike = len(tests) > 1 and len({Path(test).name for test in tests}) == 1
    named = distinct(
        [Path(test).parent if alike else test for test in tests]
    )  # set, not test.jsonl
    short = dict(zip(tests, named, strict=True))
    several = {test for test in tests if sum(other == test for other, _ in sets) > 1}
    return [
        f"{short[test]} ({_number(documents)} documents)" if test in several else short[test]
        for test, documents in sets
    ]


def _number(documents: int | None) -> str:
    return "?" if documents is None else f"{documents:,}"


def _systems(records: Sequence[ResultRecord], sets: Sequence[Data]) -> list[str]:
    """Return the name of each record's system."""
    by_model = [record.model for record in records]
    by_folder = [record.tagger for record in records]
    for names in (by_model, by_folder):
        if len(set(zip(names, sets, strict=True))) == len(records):
            return names
    seen: dict[tuple[str, Data], str] = {}
    for name, data, record in zip(by_folder, sets, records, strict=True):
        if (name, data) in seen:
            raise InputError(
                f"{seen[name, data]} and {record.file} are both of {name!r} on {record.test!r}: "
                "give one of them, or name the taggers' folders differently"
            )
        seen[name, data] = record.file
    raise AssertionError("two records are alike")  # since they are fewer as a set


def _metrics(records: Sequence[ResultRecord], wanted: Sequence[str] | None) -> tuple[str, ...]:
    common = [name for name in records[0].scores if all(name in r.scores for r in records)]
    if wanted is None:
        chosen = [name for name in METRICS if name in common] or common
        if not chosen:
            raise InputError("the records have no metric in common: evaluate with the same --at")
        return tuple(chosen)
    for name in wanted:
        if name not in common:
            raise UnknownNameError("metric of all records", name, common)
    return tuple(dict.fromkeys(wanted))


def _missing(
    systems: Sequence[str], sets: Sequence[str], table: Mapping[tuple[int, int], ResultRecord]
) -> list[str]:
    gaps = [
        f"{system} has no result on {data}"
        for j, data in enumerate(sets)
        for i, system in enumerate(systems)
        if (i, j) not in table
    ]
    if not gaps:
        return []
    shown = "; ".join(gaps[:10]) + (f"; and {len(gaps) - 10} more" if len(gaps) > 10 else "")
    return [f"{shown}: average ranks are of the data sets that all have"]
