"""How long each model will take, and which cannot run here."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelgrove.core.progress import Progress
from labelgrove.leaderboard.budget import Clock
from labelgrove.leaderboard.entrants import Entrant
from labelgrove.leaderboard.files import Survey
from labelgrove.leaderboard.folder import BoardFolder
from labelgrove.models import MODELS
from labelgrove.tuning.pool import Message, WorkerPool

if TYPE_CHECKING:
    from labelgrove.leaderboard.conductor import Conditions

FAST = 300.0  # seconds that a training of a fast model takes at most
PART = 0.25  # of the budget, for all estimates
UNKNOWN = float("inf")
# what learns 4,000 documents in a few seconds of one CPU, the quickest first
QUICK = ("most-frequent", "knn", "label-match", "bonsai", "parabel", "fasttext", "one-vs-rest")
LEAST, MOST, SHARE = 30.0, 300.0, 0.02  # seconds for one estimate, and its share of the budget


class Estimates:
    """Estimates of all entrants, kept in the leaderboard's folder.

    Parameters
    ----------
    folder
        Of the leaderboard.
    entrants
        Who takes part.
    """

    def __init__(self, folder: BoardFolder, entrants: Sequence[Entrant]) -> None:
        self._folder, self.entrants = folder, entrants
        # what could not run may have what it needs now
        known = folder.estimates()
        self._told = {name: each for name, each in known.items() if "why" not in each}

    def make(self, shared: Conditions, found: Survey, clock: Clock, progress: Progress) -> None:
        """Estimate those of which nothing is known, in a process that serves several of them."""
        waiting = lightest_first([each for each in self.entrants if self._is_unknown(each)])
        limit = min(max(LEAST, SHARE * clock.seconds), MOST)
        if not waiting:
            return
        own = Clock(PART * clock.left())
        with progress.task("estimating", len(waiting), unit="models") as bar:
            while waiting and own.left() > 0:
                self._some(waiting, shared, found, min(limit, own.left()), own, bar.advance)
        if waiting:
            names = ", ".join(each.name for each in waiting)
            progress.say(
                f"a quarter of the budget went into estimates; these come last, without: {names}"
            )

    def _is_unknown(self, entrant: Entrant) -> bool:
        if (self._folder.note(entrant, 0) or {}).get("status") == "finished":
            return False
        return entrant.name not in self._told

    def _some(
        self,
        waiting: list[Entrant],
        shared: Conditions,
        found: Survey,
        limit: float,
        clock: Clock,
        advance: Any,
    ) -> None:
        """Estimate until one takes too long or its process dies; the next has a new process."""
        with (
            tempfile.TemporaryDirectory(prefix="labelgrove-") as logs,
            WorkerPool(1, shared.threads, Path(logs), "labelgrove.leaderboard.worker") as pool,
        ):
            while waiting and clock.left() > 0:
                entrant = waiting.pop(0)
                began = time.monotonic()
                order = shared.order(
                    entrant,
                    do="estimate",
                    seed=0,
                    documents=found.facts["train"]["documents"],
                    limit=limit,
                )
                pool.submit(0, order)
                told, answered = _listen(pool, limit)
                told["wall"] = time.monotonic() - began
                self._told[entrant.name] = told
                self._folder.write_estimates(self._told)
                advance(1)
                if not answered:
                    return

    def seconds(self, entrant: Entrant) -> float | None:
        """Return what a training should take, or None if that is not known."""
        seconds = self._told.get(entrant.name, {}).get("seconds")
        return None if seconds is None else float(seconds)

    def why_not(self, entrant: Entrant) -> str | None:
        """Return why it cannot run here, or None if it can."""
        why = self._told.get(entrant.name, {}).get("why")
        return None if why is None else str(why)

    def added(self, entrant: Entrant) -> dict[str, Any]:
        """Return the settings it needs beside its own, such as an encoder."""
        return dict(self._told.get(entrant.name, {}).get("settings") or {})

    def cheapest_first(self, fast: bool) -> list[Entrant]:
        """Return those that can run here, those without an estimate last.

        Parameters
        ----------
        fast
            Leave out those that are expected to take long.
        """
        can = [each for each in self.entrants if self.why_not(each) is None]
        if fast:
            can = [each for each in can if not self.is_slow(each)]
        return sorted(lightest_first(can), key=self._cost)

    def is_slow(self, entrant: Entrant) -> bool:
        """Tell whether it is known to take longer than a fast model."""
        return FAST < self._cost(entrant) < UNKNOWN

    def _cost(self, entrant: Entrant) -> float:
        first = self._folder.note(entrant, 0)
        if first is not None and first["status"] == "finished":
            return float(first["wall"])
        seconds = self.seconds(entrant)
        return UNKNOWN if seconds is None else seconds


def lightest_first(entrants: Sequence[Entrant]) -> list[Entrant]:
    """Return entrants in the order of what they are likely to take, before anything is measured.

    Quick models come first, then others by the libraries they need: none, those of networks,
    pretrained ones.

    Examples
    --------
    >>> given = [Entrant(name, name) for name in ("transformer", "xml-cnn", "sleec", "knn")]
    >>> [each.name for each in lightest_first(given)]
    ['knn', 'sleec', 'xml-cnn', 'transformer']
    """
    extras = {name: entry.extra for name, entry in MODELS.entries().items()}
    weights = {"": 0, "transformers": 2}

    def weight(each: Entrant) -> tuple[int, int]:
        if each.model in QUICK:
            return -1, QUICK.index(each.model)
        return weights.get(extras[each.model], 1), 0

    return sorted(entrants, key=weight)


def _listen(pool: WorkerPool, limit: float) -> tuple[dict[str, Any], bool]:
    """Return what a process tells of a model, and whether it told all of it in time."""
    told: dict[str, Any] = {}
    ends = time.monotonic() + limit
    while (left := ends - time.monotonic()) > 0:
        received = pool.receive(left)
        if received is None:
            break
        message: Message = received[1]
        if "step" in message:
            told = {"seconds": message["seconds"], "how": message["how"]}
            pool.reply(0, {})
            continue
        if "needs" in message:
            return {"why": message["needs"]}, True
        if "error" in message:  # the training itself will tell
            return {**told, "failed": message["error"]}, True
        return message, True
    return {**told, "how": told.get("how", "unknown")}, False
