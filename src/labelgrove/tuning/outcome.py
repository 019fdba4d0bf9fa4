"""What a search found: its trials, the best of them, and a recipe to train it by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from labelgrove._version import __version__
from labelgrove.core.errors import LabelgroveError
from labelgrove.tagger import Tagger
from labelgrove.tuning.metric import Metric
from labelgrove.tuning.space import Space, Values


@dataclass(frozen=True)
class Trial:
    """One trial that is over.

    Parameters
    ----------
    number
        In the study; numbers of trials that were interrupted are missing.
    state
        ``"finished"``, ``"pruned"`` (given up early) or ``"failed"``.
    values
        Of the settings that are searched.
    score
        By the metric of the search, on held-out documents; None unless it is finished.
    scores
        All metrics there.
    seconds
        That it took.
    steps
        What it reported on the way: after each epoch of a network, or from a part of the documents.
    message
        Why it failed.
    default
        True of the one with the settings that are the default.
    repeats
        The number of an earlier trial with the same values, whose scores these are.
    """

    number: int
    state: Literal["finished", "pruned", "failed"]
    values: Values
    score: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    steps: Mapping[int, float] = field(default_factory=dict)
    message: str = ""
    default: bool = False
    repeats: int | None = None

    def record(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {**vars(self), "steps": {str(step): score for step, score in self.steps.items()}}


@dataclass(frozen=True)
class Search:
    """What a search found.

    Parameters
    ----------
    space
        What was searched.
    metric
        By which trials are compared.
    trials
        Those that are over, in their order.
    importances
        How much each setting mattered, summing to 1, the largest first; empty where trials are
        too few to tell.
    facts
        On what it was made: documents, labels, how many of them judge, the seed.
    seconds
        That this call took; a resumed search took longer in all.
    complete
        False if it was stopped before its trials or its time were up.
    """

    space: Space
    metric: Metric
    trials: tuple[Trial, ...]
    importances: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    complete: bool = True

    @property
    def best(self) -> Trial:
        """The trial with the best score; the earliest of equal ones."""
        return best_of(self.trials, self.metric)

    @property
    def default(self) -> Trial | None:
        """The trial with the default settings, if it is finished."""
        return next((t for t in self.trials if t.default and t.score is not None), None)

    def count(self, state: str) -> int:
        """Return how many trials ended so."""
        return sum(trial.state == state for trial in self.trials)

    def record(self) -> dict[str, Any]:
        """Return what was found, for JSON."""
        best, default = self.best, self.default
        return {
            "labelgrove": __version__,
            "model": self.space.model,
            "metric": self.metric.name,
            "best": {"trial": best.number, "values": dict(best.values), "score": best.score},
            "default": None
            if default is None
            else {"values": dict(default.values), "score": default.score},
            "documents": self.facts.get("documents to judge by"),
            "trials": {state: self.count(state) for state in ("finished", "pruned", "failed")},
            "seconds": self.seconds,
            "complete": self.complete,
        }

    def tagger(self, **settings: Any) -> Tagger:
        """Return a tagger with the best settings that has learned nothing.

        Parameters
        ----------
        settings
            Of the `Tagger`, such as ``validation``; the seed is that of the search.
        """
        values: dict[str, Any] = {"seed": self.facts.get("seed", 0), "threads": None, **settings}
        model = self.space.create(self.best.values, seed=values["seed"], threads=values["threads"])
        return Tagger(model, features=self.space.chosen(self.best.values)[1] or None, **values)

    def recipe(self) -> dict[str, Any]:
        """Return the best settings, as a recipe holds them, and what is known about them."""
        settings, features = self.space.chosen(self.best.values)
        about: dict[str, Any] = {
            "metric": self.metric.name,
            "selected": self.best.score,
            "trials": len(self.trials),
            "note": "selected is the best score of all trials on held-out documents, and so "
            "optimistic; other documents tell what it is worth",
        }
        if self.default is not None:
            about["default"] = self.default.score
        content = {"model": self.space.model, "settings": settings, "features": features}
        return {**{key: value for key, value in content.items() if value}, "about": about}


def best_of(trials: tuple[Trial, ...], metric: Metric) -> Trial:
    """Return the trial with the best score, or say why there is none."""
    best: Trial | None = None
    for trial in trials:
        if trial.score is not None and (
            best is None or best.score is None or metric.better(trial.score, best.score)
        ):
            best = trial
    if best is not None:
        return best
    failed = [trial for trial in trials if trial.state == "failed"]
    if not failed:
        raise LabelgroveError("no trial was finished: give the search more time or trials")
    raise LabelgroveError(
        f"all {len(failed)} trials failed; the first: {failed[0].message}; change the ranges or "
        "what is fixed"
    )
