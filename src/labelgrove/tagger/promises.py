"""``precision=0.9`` and ``recall=0.9``: thresholds that keep a promise, and what to expect."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import floor
from typing import TypeGuard

from labelgrove.core.errors import InputError
from labelgrove.core.types import Tag
from labelgrove.core.wording import several
from labelgrove.evaluation import HeldOutPlaces, Promise, promise_precision, promise_recall
from labelgrove.evaluation.promises import CONFIDENCE, fewest_documents
from labelgrove.tagger.state import FittedState

MAKERS = {"precision": promise_precision, "recall": promise_recall}


def is_promise(threshold: float | str | None) -> TypeGuard[str]:
    """Tell whether a threshold is written as a promise, such as ``precision=0.9``."""
    return isinstance(threshold, str) and threshold.partition("=")[0] in MAKERS


def promised_threshold(learned: FittedState, threshold: str) -> float:
    """Return the threshold that keeps a promise; raise an error where none does.

    Parameters
    ----------
    learned
        With scores and hits of held-out documents.
    threshold
        ``"precision=0.9"`` or ``"recall=0.9"``, with any share.
    """
    name, share = read_promise(threshold)
    promise = _promise(_places(learned, threshold), name, share)
    if promise.threshold is None:
        raise InputError(_refusal(_places(learned, threshold), name, share, promise))
    return promise.threshold


def read_promise(threshold: str) -> tuple[str, float]:
    """Return what is promised, and how much.

    Examples
    --------
    >>> read_promise("precision=0.9")
    ('precision', 0.9)
    """
    name, _, value = threshold.partition("=")
    try:
        share = float(value)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise InputError(
            f"the threshold {threshold!r} promises no share: give one above 0 and below 1, such as "
            f"{name}=0.9"
        )
    return name, share


def what_thresholds_give(learned: FittedState) -> list[dict[str, float]]:
    """Return what thresholds give on the held-out documents, as plain values; highest first.

    It is empty without held-out documents.
    """
    return [] if learned.places is None else [each._asdict() for each in learned.places.table()]


def promise_note(learned: FittedState, threshold: str) -> str:
    """Return in one line what a promise rests on, and what the held-out documents were given."""
    name, share = read_promise(threshold)
    places = _places(learned, threshold)
    outcome = places.at(promised_threshold(learned, threshold))
    found = {
        "precision": f"{outcome.precision:.0%} of the labels it gave were right",
        "recall": f"{outcome.recall:.0%} of the true labels were found",
    }
    other = next(said for each, said in found.items() if each != name)
    return (
        f"{threshold}: labels with a probability of at least {outcome.threshold:.3g}. On "
        f"{len(places):,} held-out documents {found[name]}, so at least {share:.4g} holds on new "
        f"documents like these with {CONFIDENCE:.0%} confidence; {other}, and "
        f"{outcome.documents:.0%} of the documents got a label"
    )


class Workload:
    """What a promise left to people: counts documents as they are tagged.

    Parameters
    ----------
    learned, threshold, k
        What tags, and how; as for `Tagger.tag`.
    """

    def __init__(self, learned: FittedState, threshold: str, k: int) -> None:
        least = promised_threshold(learned, threshold)
        self.expected = _places(learned, threshold).at(least, k)
        self.documents, self.without, self.labels = 0, 0, 0

    def add(self, tagged: Sequence[Sequence[Tag]]) -> None:
        """Count documents, by the labels that each was given."""
        self.documents += len(tagged)
        self.without += sum(not tags for tags in tagged)
        self.labels += sum(map(len, tagged))

    def summary(self) -> str:
        """Return in one line what was assigned, and what is left."""
        assigned = self.documents - self.without
        right = self.labels * self.expected.precision
        said = (
            f"{several(self.labels, 'label')} assigned to {assigned:,} of "
            f"{several(self.documents, 'document')}, about {round(right):,} of them right; "
            f"{several(self.without, 'document')} got none"
        )
        if self.expected.recall:
            missed = round(right * (1 / self.expected.recall - 1))
            said += f"; about {several(missed, 'true label')} left to find by hand"
        return said


def _places(learned: FittedState, threshold: str) -> HeldOutPlaces:
    if learned.places is not None:
        return learned.places
    why = "no documents were held out"
    if learned.tuned:
        why = (
            "the scores of its held-out documents are not there: its labels were changed by "
            "'labelgrove migrate', or an earlier version saved it"
        )
    raise InputError(
        f"this tagger cannot promise {threshold}: {why}; train again, or use Tagger.calibrate with "
        "documents that it has not learned from"
    )


# a service is asked again and again; few, since each keeps a tagger's places that may be gone
@lru_cache(maxsize=8)
def _promise(places: HeldOutPlaces, name: str, share: float) -> Promise:
    return MAKERS[name](places, share)


def _refusal(places: HeldOutPlaces, name: str, share: float, promise: Promise) -> str:
    """Return why a promise cannot be made, and what could be promised instead."""
    needed = fewest_documents(share)
    if len(places) < needed:
        why = (
            f"that takes at least {needed:,} held-out documents even without an error, and this "
            f"tagger has {len(places):,}"
        )
    elif name == "precision":
        why = f"on its {len(places):,} held-out documents too few labels are right so often"
    else:
        why = f"its {len(places):,} held-out documents have too many labels that it does not find"
    best = floor(100 * promise.best) / 100
    instead = f"the most it can promise is {name}={best}" if best else f"it can promise no {name}"
    if name == "recall" and len(places) >= needed:
        way = "A tagger that learned from more documents finds more of their labels"
    else:
        way = (
            "More held-out documents allow more: train with --validation 0.2, or use "
            "Tagger.calibrate"
        )
    return f"this tagger cannot promise {name}={share:.4g}: {why}; {instead}. {way}"
