"""Says at the start of a training that it will take hours."""

from __future__ import annotations

import time

LONG = 3600.0  # seconds
SECONDS = 5.0  # of steps that a projection wants, or
STEPS = 20  # steps, if that is sooner


class Pace:
    """Projects the time of a whole training from its first steps, once.

    Parameters
    ----------
    documents
        Documents of all epochs that are still to come.
    device
        Where the network learns: ``"cpu"``, ``"cuda"`` ...
    """

    def __init__(self, documents: int, device: str) -> None:
        self._documents, self._device = documents, device
        self._steps = self._done = 0
        self._began = 0.0
        self._judged = False

    def note(self, documents: int) -> str | None:
        """Count a step of so many documents; return a line if training will take hours, once."""
        self._steps += 1
        if self._steps == 1:  # it also finds memory
            self._began = time.monotonic()
            return None
        self._done += documents
        spent = time.monotonic() - self._began
        if self._judged or (spent < SECONDS and self._steps < STEPS):
            return None
        self._judged = True
        seconds = spent * self._documents / self._done
        return None if seconds < LONG else long_note(seconds, self._device)


def long_note(seconds: float, device: str) -> str:
    """Return what is said of a training that takes so long.

    Examples
    --------
    >>> long_note(9000, "cuda")
    'training takes about 2.5 hours at this speed, less if it stops early'
    """
    told = f"training takes about {seconds / 3600:.1f} hours at this speed, less if it stops early"
    if device != "cpu":
        return told
    return (
        f"{told}: this machine has no GPU, or device=cpu. To wait less, stop it (Ctrl-C) and lower "
        "epochs or length, judge few labels of a text (first=bonsai), or train bonsai or grove"
    )
