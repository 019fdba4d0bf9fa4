"""The tables of leaderboard.py: one for each set, and ranks over the sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from markdown_tables import cell, table, write_below
from result_lines import Line

from labelgrove.report.wording import duration, size

METRICS = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@5", "micro-F1", "macro-F1")
MAIN = "nDCG@5"
TOLD = ("P@1", MAIN)  # metrics whose intervals are kept
MARK = "<!-- what follows is written by leaderboard.py --page -->"


def write_page(page: Path, lines: Sequence[Line], sets: Sequence[str], models: list[str]) -> None:
    """Write all tables below the text of a page.

    Parameters
    ----------
    page
        The file.
    lines
        The trainings.
    sets
        Names of the data sets, in the order of the tables.
    models
        Names of all models that there are.
    """
    written = ranks_table(lines, sets)
    for where in sets:
        written += set_table(where, [line for line in lines if line["set"] == where], models)
    write_below(page, MARK, written)


def ranks_table(lines: Iterable[Line], sets: Sequence[str]) -> list[str]:
    """Return the average ranks of the models that have results on all sets."""
    means = {where: _means([each for each in lines if each["set"] == where]) for where in sets}
    shared = sorted(set.intersection(*(set(own) for own in means.values())))
    if not shared:
        return []
    ranks = np.mean([_ranks([means[where][name] for name in shared]) for where in sets], axis=0)
    order = np.argsort(ranks, kind="stable")
    rows = [
        [shared[i], *(f"{100 * means[where][shared[i]]:.1f}" for where in sets), f"{ranks[i]:.2f}"]
        for i in order
    ]
    return [
        f"## {MAIN} on all sets",
        f"{len(shared)} models have results on all of them.",
        "",
        *table(["", *sets, "average rank"], rows),
    ]


def set_table(where: str, lines: Sequence[Line], models: Iterable[str]) -> list[str]:
    """Return the scores and costs of all trainings on a set, the best model first."""
    means = _means(lines)
    names = sorted(means, key=lambda name: -means[name])
    own = {name: [line for line in lines if line["model"] == name] for name in names}
    best = {m: max((_mean(own[name], m) for name in names), default=0.0) for m in METRICS}
    rows = []
    for name in names:
        scores = [_score(own[name], m, best[m]) for m in METRICS]
        interval = own[name][-1]["intervals"][MAIN]
        within = "–" if interval is None else "{:.1f} to {:.1f}".format(*np.multiply(interval, 100))
        seconds = float(np.mean([line["train_seconds"] for line in own[name]]))
        disk = size(round(float(np.mean([line["size"] for line in own[name]]))))
        rows.append([name, str(len(own[name])), *scores, within, duration(seconds), disk])
    head = ["", "trainings", *METRICS, f"{MAIN}, 95%", "training", "on disk"]
    missing = [name for name in models if name not in means]
    told = [f"Not trained so far: {', '.join(missing)}.", ""] if missing else []
    return [f"## {where}", *table(head, rows), *told]


def _score(lines: Sequence[Line], metric: str, best: float) -> str:
    found = cell([100 * line["scores"][metric] for line in lines])
    return f"**{found}**" if _mean(lines, metric) == best else found


def _mean(lines: Sequence[Line], metric: str) -> float:
    return float(np.mean([line["scores"][metric] for line in lines]))


def _means(lines: Sequence[Line]) -> dict[str, float]:
    """Return each model's mean of the main metric."""
    names = dict.fromkeys(line["model"] for line in lines)
    return {name: _mean([x for x in lines if x["model"] == name], MAIN) for name in names}


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, 1 for the greatest; equal ones share their mean rank."""
    return [1 + sum(b > a for b in values) + (sum(b == a for b in values) - 1) / 2 for a in values]
