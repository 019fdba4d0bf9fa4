"""What is missing in a leaderboard, and why: a row for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from labelgrove.core.wording import several
from labelgrove.leaderboard.entrants import Entrant
from labelgrove.leaderboard.estimating import FAST, Estimates
from labelgrove.leaderboard.folder import BoardFolder
from labelgrove.report.wording import duration


class Absence(NamedTuple):
    """A model without scores, or with fewer trainings than were asked for.

    Parameters
    ----------
    name
        Of the entrant.
    status
        ``needs``, ``failed``, ``overrun``, ``slow``, ``no time`` or ``fewer``.
    why
        What happened, and what helps.
    """

    name: str
    status: str
    why: str


def find(
    folder: BoardFolder, entrants: Sequence[Entrant], estimates: Estimates, seeds: int, fast: bool
) -> list[Absence]:
    """Return what is missing, in the order of the entrants."""
    found = []
    for entrant in entrants:
        notes = [folder.note(entrant, seed) for seed in range(seeds)]
        finished = sum(note is not None and note["status"] == "finished" for note in notes)
        ended = [note for note in notes if note is not None and note["status"] != "finished"]
        if finished == seeds:
            continue
        if finished and not ended:
            continue  # there was no time for more, which the trainings' number tells
        if finished:
            told = f"{finished} of {several(seeds, 'training')}: {ended[0]['why']}"
            found.append(Absence(entrant.name, "fewer", told))
        elif (needs := estimates.why_not(entrant)) is not None:
            found.append(Absence(entrant.name, "needs", needs))
        elif ended:
            found.append(Absence(entrant.name, ended[0]["status"], ended[0]["why"]))
        else:
            found.append(_untrained(entrant, estimates, fast))
    return found


def _untrained(entrant: Entrant, estimates: Estimates, fast: bool) -> Absence:
    seconds = estimates.seconds(entrant)
    if fast and seconds is not None and estimates.is_slow(entrant):
        why = f"a training takes about {duration(seconds)}; the limit of 'fast' is {duration(FAST)}"
        return Absence(entrant.name, "slow", why)
    if seconds is None:
        return Absence(entrant.name, "no time", "no time was left for it: give a larger --budget")
    why = f"a training takes about {duration(seconds)}, more than was left: give a larger --budget"
    return Absence(entrant.name, "no time", why)
