"""Warns of a network that learned little more than how frequent labels are."""

from __future__ import annotations

from collections.abc import Sequence

from labelgrove.models.neural.settings import NO_FIRST, NeuralSettings
from labelgrove.models.neural.training.loop import Event

NEAR = 0.1  # share of what frequencies leave to be gained


def plateau_note(
    measure: str, history: Sequence[Event], frequency: float | None, settings: NeuralSettings
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
    """
    scores = [event["score"] for event in history if "score" in event]
    if frequency is None or not scores:
        return None
    best = max(scores)
    if best - frequency > NEAR * (1.0 - frequency):
        return None
    return (
        f"warning: this network learned little more than how frequent labels are: {measure} on "
        f"held-out documents is {best:.3f}, and {frequency:.3f} if every text gets the most "
        f"frequent labels. Try {_ways_out(settings)}"
    )


def _ways_out(settings: NeuralSettings) -> str:
    ways = [f"more epochs (epochs={2 * settings.epochs}) or a smaller batch"]
    if settings.first == NO_FIRST:
        ways.append("a first stage (first=bonsai), which it starts as good as")
    if settings.form == "words":
        if settings.vectors == "random":
            ways.append("word vectors (vectors=corpus, or a file of GloVe)")
        ways.append("a pretrained encoder (encoder=NAME)")
    return "; ".join(ways)
