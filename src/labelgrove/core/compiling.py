"""Says once that kernels are compiled: on a machine's first use that is long, silent work.

numba tells of every compilation, and of none that it finds in its cache on the disk.
"""

from __future__ import annotations

import time

from numba.core import event

from labelgrove.core.progress import Progress

KIND = "numba:compile"
LONG = 0.5  # seconds of compilation from which on it is said
MESSAGE = "compiling for this machine, once: later runs need not"


class _Listener(event.Listener):  # type: ignore[misc]
    """Adds up what compilations take; one inside another counts once."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._depth, self._spent, self._started, self._said = 0, 0.0, 0.0, False

    def on_start(self, event: event.Event) -> None:
        if self._depth == 0:
            self._started = time.monotonic()
        self._depth += 1
        self._say()

    def on_end(self, event: event.Event) -> None:
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
    event.register(KIND, _listeners[0])


def be_silent() -> None:
    """Say nothing more of compiling."""
    while _listeners:
        event.unregister(KIND, _listeners.pop())
