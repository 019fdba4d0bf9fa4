"""Where each system stands: means over trainings, intervals, tests, ranks, costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from labelgrove.evaluation import (
    LOWER_IS_BETTER,
    Ranks,
    best_of,
)
from labelgrove.evaluation.significance import Difference, Interval
from labelgrove.leaderboard.absences import Absence
from labelgrove.leaderboard.entrants import Entrant
from labelgrove.leaderboard.machine import machine
from labelgrove.report.luck import LEVEL, MAIN

RANKED = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "PSP@1", "PSP@3", "PSP@5")
OF_SETS = (
    *("hamming-loss", "micro-precision", "micro-recall", "micro-F1"),
    *("macro-precision", "macro-recall", "macro-F1"),
)
LOSS = "hamming-loss"
METRICS = ("nDCG@1", *RANKED, *OF_SETS)


class Lead(NamedTuple):
    """How far a system is behind the best one by a metric.

    Parameters
    ----------
    best
        Name of the best system.
    gap
        The best minus this one, with interval and p-value of the bootstrap, after Holm.
    wilcoxon
        p-value of the signed-rank test over documents after Holm; None for metrics that are no
        means over documents.
    """

    best: str
    gap: Difference
    wilcoxon: float | None


@dataclass(frozen=True, eq=False)
class System:
    """What a model reached.

    Parameters
    ----------
    entrant
        The model and its settings.
    trainings
        What came of each training that was finished.
    scores
        For each training its metrics.
    intervals
        Each metric's mean over trainings with its 95% interval; empty while tests are left out.
    leads
        For each metric how far it is behind the best, unless it is the best.
    """

    entrant: Entrant
    trainings: Sequence[Mapping[str, Any]]
    scores: Sequence[Mapping[str, float]]
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    leads: Mapping[str, Lead] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What it is called."""
        return self.entrant.name

    def mean(self, metric: str) -> float:
        """Return the mean of a metric over trainings."""
        return float(np.mean([each[metric] for each in self.scores]))

    def deviation(self, metric: str) -> float | None:
        """Return the standard deviation over trainings, or None of a single one."""
        if len(self.scores) < 2:
            return None
        return float(np.std([each[metric] for each in self.scores], ddof=1))

    def cost(self, key: str) -> float | None:
        """Return the mean of a cost over trainings, or None where one does not tell it."""
        told = [each[key] for each in self.trainings]
        return None if None in told else float(np.mean(told))

    def is_level(self, metric: str) -> bool:
        """Tell whether it is behind the best by what may be luck."""
        lead = self.leads.get(metric)
        return lead is not None and lead.gap.p >= LEVEL


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Systems side by side.

    Parameters
    ----------
    systems
        The best by the main metric first.
    absent
        Models that are missing, or have fewer trainings than asked for.
    facts
        Of the data: files, documents, labels.
    seeds
        Trainings of each that were asked for.
    main
        The metric that orders the systems.
    notes
        What a reader should know.
    ranks
        Average ranks of the systems over documents by the main metric, in their order; None while
        tests are left out, and of a single system.
    machine
        Where times were measured.
    papers
        Names of papers whose tables are shown.
    """

    systems: Sequence[System]
    absent: Sequence[Absence]
    facts: Mapping[str, Any]
    seeds: int
    notes: Sequence[str]
    main: str = MAIN
    ranks: Ranks | None = None
    machine: Mapping[str, Any] = field(default_factory=machine)
    papers: Sequence[str] = ()

    @property
    def documents(self) -> int:
        """Number of test documents."""
        return int(self.facts["test"]["documents"])

    @property
    def repeated(self) -> bool:
        """Whether a system was trained several times."""
        return any(len(each.trainings) > 1 for each in self.systems)

    @property
    def equals(self) -> list[list[str]]:
        """Names of systems that have exactly the same scores in all trainings."""
        groups: dict[str, list[str]] = {}
        for each in self.systems:
            groups.setdefault(repr(each.scores), []).append(each.name)
        return [names for names in groups.values() if len(names) > 1]

    def best(self, metric: str) -> set[int]:
        """Return the numbers of the systems with the best mean."""
        means = [each.mean(metric) for each in self.systems]
        return best_of(means, lower_is_better=metric in LOWER_IS_BETTER)
