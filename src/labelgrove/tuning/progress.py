"""What a search prints while it runs."""

from __future__ import annotations

import time

from labelgrove.core.progress import Task
from labelgrove.tuning.outcome import Trial, best_of
from labelgrove.tuning.plan import Plan


class SearchProgress:
    """Prints a line for each finished trial, with the best score so far.

    Parameters
    ----------
    plan
        The plan of the search.
    bar
        The progress bar.
    done
        Number of trials from before a resume.
    """

    def __init__(self, plan: Plan, bar: Task, done: int) -> None:
        self._plan, self._bar, self._before = plan, bar, done
        self._began = time.monotonic()

    def report(self, trials: tuple[Trial, ...], number: int) -> None:
        """Print the result of a trial."""
        plan = self._plan
        trial = next(each for each in trials if each.number == number)
        if trial.score is not None:
            what = f"{plan.metric.name} {100 * trial.score:.2f}"
        else:
            what = "given up early" if trial.state == "pruned" else f"failed: {trial.message}"
        best = ""
        if any(each.score is not None for each in trials):
            winner = best_of(trials, plan.metric)
            assert winner.score is not None
            best = f", best {100 * winner.score:.2f} (trial {winner.number})"
        spent = time.monotonic() - self._began
        left = (plan.trials - len(trials)) * spent / max(len(trials) - self._before, 1)
        if (most := plan.left()) is not None:
            left = min(left, most)
        plan.progress.say(
            f"trial {number} ({len(trials)} of {plan.trials}): {what}{best}, {left:.0f} s left"
        )
        self._bar.advance(1)
