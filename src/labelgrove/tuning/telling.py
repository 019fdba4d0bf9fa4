"""What a search says while it goes on."""

from __future__ import annotations

import time

from labelgrove.core.progress import Task
from labelgrove.tuning.outcome import Trial, best_of
from labelgrove.tuning.plan import Plan


class Teller:
    """Tells of each trial that is over, and of the best so far.

    Parameters
    ----------
    plan
        Of the search.
    shown
        The bar.
    done
        Trials that were there before.
    """

    def __init__(self, plan: Plan, shown: Task, done: int) -> None:
        self._plan, self._shown, self._before = plan, shown, done
        self._began = time.monotonic()

    def tell(self, trials: tuple[Trial, ...], number: int) -> None:
        """Tell of the trial of that number."""
        plan = self._plan
        trial = next(each for each in trials if each.number == number)
        if trial.score is not None:
            what = f"{plan.metric.name} {100 * trial.score:.2f}"
        else:
            what = "given up early" if trial.state == "pruned" else f"failed: {trial.message}"
        best = ""
        if any(each.score is not None for each in trials):
            found = best_of(trials, plan.metric)
            assert found.score is not None
            best = f", best {100 * found.score:.2f} (trial {found.number})"
        spent = time.monotonic() - self._began
        left = (plan.trials - len(trials)) * spent / max(len(trials) - self._before, 1)
        if (most := plan.left()) is not None:
            left = min(left, most)
        plan.progress.say(
            f"trial {number} ({len(trials)} of {plan.trials}): {what}{best}, {left:.0f} s left"
        )
        self._shown.advance(1)
