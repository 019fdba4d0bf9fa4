"""Ctrl-C in long work: held back until a step is whole, or what must be written is written.

SIGTERM, by which schedulers end a job, can be answered in the same way.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

TERMINATED = threading.Event()  # set when SIGTERM was answered as Ctrl-C


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
def terminated_like_interrupted() -> Iterator[None]:
    """Answer SIGTERM as Ctrl-C, once, unless the program has its own answer."""

    def pass_on(number: int, frame: Any) -> None:
        answer = signal.getsignal(signal.SIGINT)
        if callable(answer) and not TERMINATED.is_set():  # a second one must not stop the clearing
            TERMINATED.set()
            answer(signal.SIGINT, frame)

    TERMINATED.clear()
    own = signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    with nullcontext() if own else _handled_by(pass_on, signal.SIGTERM):
        yield


@contextmanager
def _handled_by(
    handler: Callable[[int, Any], None], number: signal.Signals = signal.SIGINT
) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is interrupted
        return
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)
