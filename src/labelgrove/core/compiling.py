"""Says once that kernels are compiled: on a machine's first use that is long, silent work.

numba tells of every compilation, and of none that it finds in its cache on the disk.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from labelgrove.core.progress import Progress

KIND = "numba:compile"
LONG = 0.5  # seconds of compilation from which on it is said
MESSAGE = "compiling for this machine, once: later runs need not"


class _Listener:
    """Adds up what compilations take; one inside another counts once."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._depth, self._spent, self._started, self._said = 0, 0.0, 0.0, False
        self.attached = False

    def notify(self, event: Any) -> None:
        """Take what numba tells."""
        if event.is_start:
            if self._depth == 0:
                self._started = time.monotonic()
            self._depth += 1
        elif self._depth:
            self._depth -= 1
            if self._depth == 0:
                self._spent += time.monotonic() - self._started
        self._say()

    def _say(self) -> None:
        running = time.monotonic() - self._started if self._depth else 0.0
        if not self._said and self._spent + running >= LONG:
            self._said = True
            self._progress.say(MESSAGE)


_listeners: list[_Listener] = []


def announce(progress: Progress) -> None:
    """Say there, and no longer elsewhere, when compiling takes a while."""
    be_silent()
    _listeners.append(_Listener(progress))
    if "numba" in sys.modules:
        listen()


def listen() -> None:
    """Begin to listen, once numba is loaded: only then can anything be compiled."""
    from numba.core import event

    event.Listener.register(_Listener)
    for each in _listeners:
        if not each.attached:
            event.register(KIND, each)
            each.attached = True


def be_silent() -> None:
    """Say nothing more of compiling."""
    while _listeners:
        last = _listeners.pop()
        if last.attached:
            from numba.core import event

            event.unregister(KIND, last)
