"""How a neural model learned: loss and validation score as training went on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from labelgrove.core.wording import several
from labelgrove.report.assessment import Assessment
from labelgrove.report.figures import SERIES, drawn, grouped
from labelgrove.report.page import Section, beside, captioned, paragraph, text
from labelgrove.report.wording import duration, percent

POINTS = 300  # events drawn of a network
Event = Mapping[str, float]


def learning_curves(assessment: Assessment) -> Section | None:
    """Return the curves of a model that has a training history, or None."""
    history: Sequence[Event] = getattr(assessment.tagger.model_, "history_", ())
    if not history:
        return None
    networks = networks_of(history)
    steps = sum(int(events[-1]["step"]) for events in networks)
    seconds = sum(events[-1]["seconds"] for events in networks)
    lead = f"Training took {duration(seconds)} and {several(steps, 'step')}"
    lead += f" for {several(len(networks), 'network')}." if len(networks) > 1 else "."
    scored = [own for own in ([e for e in events if "score" in e] for events in networks) if own]
    if scored:
        best = [max(event["score"] for event in events) for events in scored]
        lead += f" Best score on held-out documents: {', '.join(map(percent, best[-3:]))}%."
    figures = []
    learned = [[event for event in events if "loss" in event] for events in networks]
    if max(map(len, learned)) > 1:  # a single event is no curve
        caption = "Mean loss of the training documents, lower is better."
        figures.append(_figure(learned, "loss", caption))
    if max(map(len, scored), default=0) > 1:
        caption = "Score on held-out documents, higher is better; the best weights are kept."
        figures.append(_figure(scored, "score", caption))
    return Section("How it learned", paragraph(lead) + (beside(figures) if figures else ""))


def networks_of(history: Sequence[Event]) -> list[list[Event]]:
    """Part the events of networks that were trained one after another: steps begin anew.

    Examples
    --------
    >>> [len(events) for events in networks_of([{"step": 1}, {"step": 2}, {"step": 1}])]
    [2, 1]
    """
    networks: list[list[Event]] = []
    for event in history:
        if not networks or event["step"] <= networks[-1][-1]["step"]:
            networks.append([])
        networks[-1].append(event)
    return networks


def _figure(networks: Sequence[Sequence[Event]], key: str, caption: str) -> str:
    few = len(networks) <= len(SERIES)

    def draw(axes: Any) -> None:
        for number, events in enumerate(networks):
            shown = np.unique(np.linspace(0, len(events) - 1, POINTS).astype(np.int64))
            axes.plot(
                [events[i]["step"] for i in shown],
                [events[i][key] for i in shown],
                marker="o" if len(shown) < 30 else None,
                color=SERIES[number if few else 0],
                alpha=1.0 if few else 0.5,
                label=f"network {number + 1}",
            )
        axes.set_xlabel("training steps")
        axes.set_ylabel(key)
        axes.xaxis.set_major_formatter(grouped)
        axes.xaxis.get_major_locator().set_params(integer=True)
        if few and len(networks) > 1:
            axes.legend()

    return captioned(drawn(draw, label=caption), text(caption))
