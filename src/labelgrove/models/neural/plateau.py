"""Warns of a network that learned little more than how frequent labels are."""

from __future__ import annotations

from collections.abc import Sequence

from labelgrove.models.neural.settings import NeuralSettings
from labelgrove.models.neural.training.loop import Event

NEAR = 0.1  # share of what frequencies leave to be gained, up to which little was learned


def plateau_above(frequency: float) -> float:
    """Return the score up to which a network learned little, if frequencies alone reach another.

    Examples
    --------
    >>> round(plateau_above(0.2), 2)
    0.28
    """
    return frequency + NEAR * (1.0 - frequency)


def plateau_note(
    measure: str,
    history: Sequence[Event],
    frequency: float | None,
    settings: NeuralSettings,
    alone: bool,
) -> str | None:
    """Return a warning if training ended near what the frequency of labels alone gives, or None.

    Near is within a tenth of what is missing to a perfect ranking.

    Parameters
    ----------
    measure
        Name of the score on held-out documents.
    history
        The evaluations of a training; the best one was kept.
    frequency
        The score of a ranking by frequency on the same documents, None if nothing is held out.
    settings
        Of the model, for advice.
    alone
        Whether there was no first stage.
    """
    scores = [event["score"] for event in history if "score" in event]
    if frequency is None or not scores:
        return None
    best = max(scores)
    if best > plateau_above(frequency):
        return None
    return (
        f"warning: this network learned little more than how frequent labels are: {measure} on "
        f"held-out documents is {best:.3f}, and {frequency:.3f} if every text gets the most "
        f"frequent labels. Try {_ways_out(settings, alone)}"
    )


def _ways_out(settings: NeuralSettings, alone: bool) -> str:
    ways = [f"more epochs (epochs={2 * settings.epochs}) or a smaller batch"]
    if alone and settings.allows_first:
        ways.append("a first stage (first=bonsai), from whose ranking it starts")
    if settings.form == "words":
        if settings.vectors == "random":
            ways.append("word vectors (vectors=corpus, or a file of GloVe)")
        ways.append("a pretrained encoder (encoder=NAME)")
    return "; ".join(ways)
