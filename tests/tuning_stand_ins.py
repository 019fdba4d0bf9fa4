"""A model with a planted optimum, for searches; its processes find it by an entry point."""

import os
import signal
import time
from pathlib import Path
from typing import ClassVar

import numpy as np

from labelgrove.core.errors import InputError
from labelgrove.core.ranges import Real
from labelgrove.core.ranking import Ranking
from stand_ins import Centroid

BEST = 3.0


class Planted(Centroid):
    """Centroids that rank ever more texts at random the further ``x`` is from 3.

    ``mood`` is how training goes: well, or badly in one of several ways. Files "over-..." in
    ``notes`` tell of each training; while a file "hold" holds a number, and so many trainings are
    over, the next one waits.
    """

    name: ClassVar[str] = "planted"
    power = 1.0

    def __init__(
        self, x: float = 0.0, mood: str = "well", notes: str = "", *, seed: int = 0, threads=None
    ) -> None:
        self.x, self.mood, self.notes = x, mood, notes
        self.seed, self.threads = seed, threads

    @classmethod
    def ranges(cls):
        return {"x": Real(-10.0, 10.0)}

    def _fit(self, X, Y, context):
        if self.notes:
            self._note(Path(self.notes))
        if self.mood == "fails":
            raise InputError("this mood never learns")
        if self.mood == "memory":
            raise MemoryError
        if self.mood == "breaks":
            raise ZeroDivisionError("a bug")
        if self.mood == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        super()._fit(X, Y, context)

    def _note(self, folder):
        hold = folder / "hold"
        if hold.exists() and len([*folder.glob("over-*")]) >= int(hold.read_text()):
            (folder / "part").write_text(str(os.getpid()))
            (folder / "part").rename(folder / "holding")  # whoever sees it can read it
            while hold.exists():
                time.sleep(0.01)
        cores = f"{self.threads} {os.environ['OMP_NUM_THREADS']}"
        (folder / f"over-{time.time_ns()}").write_text(f"{os.getpid()} {cores}")

    def _rank(self, X, k):
        ranking = super()._rank(X, k)
        lost = (np.arange(X.shape[0]) % 40) / 2 < abs(self.x - BEST)
        labels = np.where(lost[:, None], (ranking.labels + 1) % self.n_labels_, ranking.labels)
        return Ranking(labels.astype(np.int32), ranking.scores)


class Watching(Planted):
    """One that stops early by itself: it keeps what it was given, and reports twice."""

    name: ClassVar[str] = "watching"
    uses_validation: ClassVar[bool] = True

    def _fit(self, X, Y, context):
        super()._fit(X, Y, context)
        self.given_ = (X, Y, context.validation)
        if context.run.report is not None:
            for epoch in (1, 2, 1, 2, 3):  # two networks
                context.run.report(epoch, epoch / 10)
