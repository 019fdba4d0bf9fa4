"""The conductor: estimates, then trainings, the cheapest first, each in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelgrove.core.progress import Progress
from labelgrove.leaderboard import absences
from labelgrove.leaderboard.budget import Clock
from labelgrove.leaderboard.entrants import Entrant
from labelgrove.leaderboard.estimating import FAST, Estimates
from labelgrove.leaderboard.files import DataFiles, Survey
from labelgrove.leaderboard.folder import LABELS, TAGGERS, BoardFolder
from labelgrove.leaderboard.scoring import Memo, standings
from labelgrove.leaderboard.writing import write_quickly
from labelgrove.report.wording import duration, percent
from labelgrove.tuning.pool import Message, WorkerPool

WORKER = "labelgrove.leaderboard.worker"
SHORTEST = 60.0  # seconds that a training is given at least, where they are left
TIMES = 3.0  # its estimate, by which a training may be wrong
TOLD = 60.0  # seconds after which it is said how long a training has taken


@dataclass(frozen=True)
class Conditions:
    """What all trainings share.

    Parameters
    ----------
    files
        What they learn from and are tested on.
    seeds
        How many trainings there are of each model, with the seeds 0, 1, 2, ...
    encoder
        A folder or name for models that read by pretrained vectors.
    validation
        Share of the training documents that is held out, for thresholds and early stopping.
    threads
        Of each training.
    limit
        Most seconds of one training; None for three times its estimate.
    keep
        Whether the taggers are kept.
    fast
        Whether models that take long are left out.
    """

    files: DataFiles
    seeds: int
    encoder: str | None
    validation: float
    threads: int
    limit: float | None
    keep: bool
    fast: bool

    def order(self, entrant: Entrant, **more: Any) -> Message:
        """Return what a process is told of an entrant."""
        shared = {"files": self.files.record(), "encoder": self.encoder, "threads": self.threads}
        return {**entrant.record(), **shared, "validation": self.validation, **more}


class Conductor:
    """Runs what is not finished yet, as long as there is time."""

    def __init__(
        self,
        folder: BoardFolder,
        shared: Conditions,
        found: Survey,
        clock: Clock,
        progress: Progress,
        entrants: Sequence[Entrant],
        papers: Sequence[str],
    ) -> None:
        self._folder, self._shared, self._survey = folder, shared, found
        self._clock, self._progress = clock, progress
        self._entrants, self._papers = entrants, papers
        self.estimates = Estimates(folder, entrants)
        self._memo: Memo = {}

    def run(self) -> bool:
        """Estimate and train; return True if a user stopped it."""
        try:
            self.estimates.make(self._shared, self._survey, self._clock, self._progress)
            for seed in range(self._shared.seeds):
                for entrant in self.estimates.cheapest_first(self._shared.fast):
                    self._consider(entrant, seed)
        except KeyboardInterrupt:
            return True
        return False

    def absent(self) -> list[absences.Absence]:
        """Return what is missing in the tables, and why."""
        return absences.find(
            self._folder, self._entrants, self.estimates, self._shared.seeds, self._shared.fast
        )

    def _consider(self, entrant: Entrant, seed: int) -> None:
        """Train, unless it is finished, has no chance, or does not fit into what is left."""
        before = self._folder.note(entrant, seed)
        if before is not None and before["status"] == "finished":
            return
        if seed and (self._folder.note(entrant, 0) or {}).get("status") != "finished":
            return
        seconds, left = self._expected(entrant), self._clock.left()
        limit = min(left, self._shared.limit or self._usual_limit(seconds, left))
        again = before is not None and before["status"] == "overrun"
        if again and before is not None and limit <= 1.05 * before["limit"]:
            return
        if left <= 0 or (seconds is not None and seconds > left):
            return
        self._train(entrant, seed, seconds, limit)
        write_quickly(
            standings(
                self._folder,
                self._entrants,
                self._survey,
                self.absent(),
                self._shared.seeds,
                self._papers,
                tests=False,
                memo=self._memo,
            ),
            self._folder.path,
        )

    def _expected(self, entrant: Entrant) -> float | None:
        """Return what a training should take: as long as the first one, else its estimate."""
        first = self._folder.note(entrant, 0)
        if first is not None and first["status"] == "finished":
            return float(first["wall"])
        return self.estimates.seconds(entrant)

    def _usual_limit(self, seconds: float | None, left: float) -> float:
        if seconds is not None:
            return max(SHORTEST, TIMES * seconds)
        return max(SHORTEST, min(left / 2, FAST) if self._shared.fast else left / 2)

    def _train(self, entrant: Entrant, seed: int, seconds: float | None, limit: float) -> None:
        place = self._folder.renewed(entrant, seed)
        kept = self._folder.path / TAGGERS / place.name if self._shared.keep else None
        order = self._shared.order(
            entrant,
            do="train",
            seed=seed,
            folder=str(place),
            keep=None if kept is None else str(kept),
            labels=str(self._folder.path / LABELS),
        )
        order["settings"] = {**entrant.settings, **self.estimates.added(entrant)}
        title = f"{entrant.name}, seed {seed}"
        expected = "time unknown" if seconds is None else f"about {duration(seconds)}"
        self._progress.say(
            f"{title}: {expected}; {duration(self._clock.left())} of the budget are left"
        )
        began = time.monotonic()
        answer = self._watched(order, place, title, limit)
        wall = time.monotonic() - began
        note = {"wall": wall, "limit": limit, "estimate": seconds, **self._status(answer, limit)}
        self._folder.write_note(entrant, seed, note)
        if note["status"] == "finished":
            self._progress.say(f"{title}: {duration(wall)}, {_held(note)}")
        else:
            self._progress.say(f"{title}: {note['why']}")

    def _watched(self, order: Message, place: Path, title: str, limit: float) -> Message | None:
        """Return the answer of a process, or None after ``limit`` seconds, with which it ends."""
        ends = time.monotonic() + limit
        with WorkerPool(1, self._shared.threads, place, WORKER) as pool:
            pool.submit(0, order)
            while (left := ends - time.monotonic()) > 0:
                received = pool.receive(min(left, TOLD))
                if received is not None:
                    return received[1]
                if (left := ends - time.monotonic()) > 0:
                    spent, more = duration(limit - left), duration(self._clock.left())
                    self._progress.say(f"{title}: {spent} so far; {more} of the budget are left")
        return None

    def _status(self, answer: Message | None, limit: float) -> dict[str, Any]:
        if answer is None:
            why = f"stopped after {duration(limit)}"
            used_up = self._clock.left() <= 1
            return {
                "status": "overrun",
                "why": f"{why}: the budget was used up"
                if used_up
                else f"{why}, the limit of one training (--limit)",
            }
        for status, key in (("needs", "needs"), ("failed", "error")):
            if key in answer:
                return {"status": status, "why": answer[key]}
        return {"status": "finished", **answer}


def _held(note: Mapping[str, Any]) -> str:
    scores = note["held_out"]
    if "nDCG@5" not in scores:
        return "no documents held out"
    return f"nDCG@5 {percent(scores['nDCG@5'])} on held-out documents"
