"""A model that ends or holds up its process, as a damaged one may."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import ClassVar

from stand_ins import Centroid


class Fragile(Centroid):
    """A `Centroid` that ends its process by SIGSEGV, or sleeps, once it is loaded.

    Parameters
    ----------
    when
        ``"load"`` or ``"sleep"`` at once; ``"flag"`` when it ranks and a file lies there.
    flag
        That file.
    """

    name: ClassVar[str] = "fragile"

    def __init__(self, when="load", flag="", power=1.0, *, seed=0, threads=None):
        super().__init__(power, seed=seed, threads=threads)
        self.when = when
        self.flag = flag

    def set_state(self, state):
        super().set_state(state)
        if self.when == "load":
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.when == "sleep":
            time.sleep(3600)

    def _rank(self, X, k):
        if self.when == "flag" and Path(self.flag).exists():
            os.kill(os.getpid(), signal.SIGSEGV)
        return super()._rank(X, k)
