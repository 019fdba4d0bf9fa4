"""The search's memory and judgement: a study of Optuna in a SQLite file."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from labelgrove.core.errors import InputError
from labelgrove.core.extras import need
from labelgrove.core.interrupts import held_back
from labelgrove.core.random import generator
from labelgrove.core.ranges import Choice, Range, Whole, as_text
from labelgrove.tuning.metric import Metric
from labelgrove.tuning.outcome import Trial
from labelgrove.tuning.plan import Plan
from labelgrove.tuning.space import Space, Values
from labelgrove.tuning.study_file import FACTS, NAME, connected, is_study, make_study

AT_RANDOM = 8  # trials before the search learns from those before
UNTOUCHED = 4  # finished trials before any is given up early
ENOUGH = 10  # finished trials that can tell which settings mattered
STATES = {"COMPLETE": "finished", "PRUNED": "pruned", "FAIL": "failed"}
# facts that may differ when a search goes on
FREE = ("labelgrove",)


class Study:
    """Asks for trials and remembers what came of them.

    Ctrl-C waits for what is being written. Trials that were under way when a search was
    interrupted are lost: they are marked as failed, do not count, and are tried again. Every
    trial draws from random numbers of its own, so that a search that goes on is the same as one
    that was never interrupted. What is next follows from the trials in the file alone, so that
    this holds for a search that was killed between any two writes.

    Parameters
    ----------
    optuna
        The library.
    study
        Its study.
    space
        What is searched.
    metric
        By which trials are compared.
    seed
        Of the search.
    """

    def __init__(self, optuna: Any, study: Any, space: Space, metric: Metric, seed: int) -> None:
        self._optuna, self._study, self._space = optuna, study, space
        self._metric, self._seed = metric, seed
        self._open: dict[int, Any] = {}  # trials under way
        self._over: tuple[Trial, ...] | None = None  # the others, unless they have to be read

    # --- trials -------------------------------------------------------------------------------

    @held_back()
    def ask(self) -> tuple[int, Values]:
        """Return the number and the values of a new trial, the default ones first."""
        drawn = generator(self._seed, "trial", self.n_begun).integers(2**31)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that constant_liar was experimental until version 5
            self._study.sampler = self._optuna.samplers.TPESampler(
                seed=int(drawn),
                n_startup_trials=AT_RANDOM,
                constant_liar=bool(self._open),  # trials side by side are to differ
            )
        waiting = self._next()
        if waiting is not None:
            self._study.enqueue_trial(*waiting)
        trial = self._study.ask()
        start = self._space.start if trial.user_attrs.get("default") else {}
        values: dict[str, Any] = {}
        for key, span in self._space.ranges.items():
            outside = key in start and not span.holds(start[key])
            values[key] = start[key] if outside else _suggested(trial, key, span)
        self._open[trial.number] = trial
        return trial.number, values

    @held_back()
    def report(self, number: int, step: int, score: float) -> bool:
        """Note how far a trial has come; return whether it should go on."""
        trial = self._open[number]
        trial.report(score, step)
        return not trial.should_prune()

    @held_back()
    def finish(self, number: int, **facts: Any) -> None:
        """Note the scores of a trial: ``scores``, ``seconds``, and what it ``repeats`` if any."""
        trial = self._noted(number, facts)
        self._study.tell(trial, facts["scores"][self._metric.name])

    @held_back()
    def prune(self, number: int, **facts: Any) -> None:
        """Note that a trial was given up early."""
        trial = self._noted(number, facts)
        self._study.tell(trial, state=self._optuna.trial.TrialState.PRUNED)

    @held_back()
    def fail(self, number: int, **facts: Any) -> None:
        """Note that a trial failed, with its ``message``."""
        trial = self._noted(number, facts)
        self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)

    def _noted(self, number: int, facts: Mapping[str, Any]) -> Any:
        trial = self._open.pop(number)
        trial.set_user_attr("facts", dict(facts))  # at once: each takes a write to the disk
        self._over = None
        return trial

    def _next(self) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Return values and attributes of a trial that is due, or None to draw values.

        The first is the one with the default settings, then come those that were lost. One that
        was lost while its values were drawn is drawn again, by the same random numbers.
        """
        trials = self._study.get_trials(deepcopy=False)
        lost = {*self._lost}
        begun = [trial for trial in trials if trial.number not in lost]
        if not any(trial.user_attrs.get("default") for trial in begun):
            return self._inside(), {"default": True}
        again = {_first_try(trial) for trial in begun}
        if any(trial.state.name == "WAITING" for trial in begun):
            return None  # killed here before
        for trial in trials:
            if trial.number not in lost or trial.user_attrs.get("default"):
                continue
            drawn = self._space.ranges.keys() <= trial.params.keys()
            if drawn and _first_try(trial) not in again:
                return trial.params, {"again": _first_try(trial)}
        return None

    def _inside(self) -> dict[str, Any]:
        """Return the default values that lie in their ranges, as the study keeps them."""
        start = self._space.start
        return {
            key: _stored(span, start[key])
            for key, span in self._space.ranges.items()
            if span.holds(start[key])
        }

    @held_back()
    def lose(self) -> None:
        """Mark the trials under way as lost, to be tried again."""
        running = self._optuna.trial.TrialState.RUNNING
        lost = [trial.number for trial in self._study.get_trials(False, states=(running,))]
        if not lost:
            return
        self._over = None
        self._study.set_user_attr("lost", sorted({*self._lost, *lost}))
        for number in lost:
            self._open.pop(number, None)
            self._study.tell(number, state=self._optuna.trial.TrialState.FAIL)

    @property
    def _lost(self) -> list[int]:
        return list(self._study.user_attrs.get("lost", []))

    @property
    def n_begun(self) -> int:
        """Trials that are over or under way."""
        return len(self.trials()) + len(self._open)

    # --- what is known ------------------------------------------------------------------------

    @held_back()
    def trials(self) -> tuple[Trial, ...]:
        """Return the trials that are over and not lost."""
        if self._over is None:
            lost = {*self._lost}
            self._over = tuple(
                self._trial(each)
                for each in self._study.get_trials(deepcopy=False)
                if each.state.name in STATES and each.number not in lost
            )
        return self._over

    def _trial(self, frozen: Any) -> Trial:
        state: Any = STATES[frozen.state.name]
        facts = frozen.user_attrs.get("facts", {})
        return Trial(
            number=frozen.number,
            state=state,
            values={
                key: _value(each, frozen.params[key]) if key in frozen.params else
                self._space.start[key]
                for key, each in self._space.ranges.items()
            },
            score=frozen.value if state == "finished" else None,
            scores=facts.get("scores", {}),
            seconds=facts.get("seconds", 0.0),
            steps=dict(frozen.intermediate_values),
            message=facts.get("message", ""),
            default=bool(frozen.user_attrs.get("default")),
            repeats=facts.get("repeats"),
        )  # fmt: skip

    def importances(self) -> dict[str, float]:
        """Return how much each setting mattered, the largest first, if there is enough to tell."""
        done = [trial for trial in self.trials() if trial.state == "finished"]
        scores = {trial.score for trial in done}
        if len(done) < ENOUGH or len(scores) < 3 or len(self._space.ranges) < 2:
            return {}
        evaluator = self._optuna.importance.PedAnovaImportanceEvaluator
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it was experimental until version 5
            judge = evaluator(target_quantile=max(0.25, 3 / len(done)))
            shares = self._optuna.importance.get_param_importances(self._study, evaluator=judge)
        return {key: float(value) for key, value in shares.items()}


@contextmanager
def opened(
    path: Path, work: Path, plan: Plan, *, facts: Mapping[str, Any], resume: bool
) -> Iterator[Study]:
    """Open the study in a file, made if need be, and let go of it afterwards.

    Parameters
    ----------
    path
        The file.
    work
        A folder on the same disk.
    plan
        Of the search.
    facts
        What must be the same when a search goes on.
    resume
        Go on with the study that is there, if there is one.
    """
    optuna = need("optuna", "tune", "a search")
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    pruners = optuna.pruners
    try:
        if not (resume and is_study(path)):
            less = plan.metric.less_is_better
            make_study(optuna, path, work, facts, direction="minimize" if less else "maximize")
        with connected(optuna, path) as storage:
            study = optuna.load_study(
                storage=storage,
                study_name=NAME,
                pruner=pruners.MedianPruner(UNTOUCHED) if plan.prune else pruners.NopPruner(),
            )
            _check_same(study.user_attrs[FACTS], facts, path)
            span = Study(optuna, study, plan.space, plan.metric, plan.seed)
            span.lose()
            yield span
            span.lose()
    finally:
        optuna.logging.set_verbosity(verbosity)


def _first_try(trial: Any) -> int:
    """Return the number of the trial that this one repeats after it was lost, or its own."""
    return int(trial.user_attrs.get("again", trial.number))


def _check_same(known: Mapping[str, Any], facts: Mapping[str, Any], path: Path) -> None:
    """Refuse to go on with a search of something else."""
    for name in {**facts, **known}:  # in this order: what a user gave comes first
        if name not in FREE and known.get(name) != facts.get(name):
            raise InputError(
                f"the search in {path.parent} cannot go on: its {name} was {known.get(name)}, now "
                f"it is {facts.get(name)}; give the same data and settings, choose another folder, "
                "or begin anew (--overwrite)"
            )


def _suggested(trial: Any, key: str, span: Range) -> Any:
    """Return the value that a trial is to have, drawn or put there before."""
    if isinstance(span, Choice):
        return _value(span, trial.suggest_categorical(key, [*map(as_text, span.values)]))
    if isinstance(span, Whole):
        return int(trial.suggest_int(key, span.low, span.high, log=span.log))
    return _value(span, trial.suggest_float(key, span.low, span.high, log=span.log))


def _stored(span: Range, value: Any) -> Any:
    """Return a value as the study keeps it: of a choice its text, since it may be a list."""
    return as_text(value) if isinstance(span, Choice) else value


def _value(span: Range, stored: Any) -> Any:
    """Return the value that the study keeps, of numbers four digits: more mean nothing."""
    if isinstance(span, Choice):
        return {as_text(value): value for value in span.values}[stored]
    if isinstance(span, Whole):
        return stored
    return min(max(float(f"{stored:.4g}"), span.low), span.high)
