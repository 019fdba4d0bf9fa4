"""SIGHUP, which has two meanings: reload the taggers, or the terminal was closed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Terminal:
    """The terminal with which a service ends: that from which it was started, if it has one.

    Parameters
    ----------
    was
        Whether there was one.
    """

    was: bool

    @classmethod
    def of_this_process(cls) -> Terminal:
        """Return the terminal of this process; ``nohup`` lets one go on without it."""
        ignored = hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        return cls(not ignored and _is_there())

    def is_gone(self) -> bool:
        """Tell whether there was one and it was closed."""
        return self.was and not _is_there()


def block_sighup() -> None:
    """Block SIGHUP until `unblock_sighup`, also for processes that are started meanwhile."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])


def unblock_sighup() -> None:
    """Deliver SIGHUP again, also one that arrived while it was blocked."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGHUP])


@contextmanager
def sighup_blocked() -> Iterator[None]:
    """Block SIGHUP inside a ``with`` block."""
    block_sighup()
    try:
        yield
    finally:
        unblock_sighup()


def ending(code: int) -> str:
    """Say how a process ended, by its exit code.

    Examples
    --------
    >>> ending(-11), ending(3)
    ('was ended by SIGSEGV', 'ended with code 3')
    """
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _is_there() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
