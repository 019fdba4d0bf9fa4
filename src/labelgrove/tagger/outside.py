"""Tells a user that a tagger sends texts elsewhere, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from labelgrove.core.estimator import Classifier
from labelgrove.core.progress import Progress, Silent


@contextmanager
def told_outside(model: Classifier, progress: Progress) -> Iterator[None]:
    """Say before texts are ranked where they are sent, and afterwards what the model notes.

    Where nobody listens, the notes stay with the model for whoever asks for them next.
    """
    if type(progress) is Silent:
        yield
        return
    for line in lines_before(model):
        progress.say(line)
    yield
    for note in model.take_notes():
        progress.note(note)


def lines_before(model: Classifier) -> list[str]:
    """Return a line for each address to which a model sends texts."""
    return [f"the texts are sent to {address}" for address in model.sends_to()]
