"""Ctrl-C in long work: held back until a step is whole, or what must be written is written."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def between_steps() -> Iterator[Callable[[], bool]]:
    """Hold back Ctrl-C until a step is whole; a second one is not held back.

    What it gives tells whether Ctrl-C was pressed.
    """
    asked = threading.Event()

    def note(number: int, frame: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    with _handled_by(note):
        yield asked.is_set


@contextmanager
def held_back() -> Iterator[None]:
    """Hold back every Ctrl-C until this is done, and answer one then."""
    pressed = threading.Event()
    before = signal.getsignal(signal.SIGINT)
    with _handled_by(lambda number, frame: pressed.set()):
        yield
    if pressed.is_set() and callable(before):
        before(signal.SIGINT, None)


@contextmanager
def _handled_by(handler: Callable[[int, Any], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is interrupted
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
