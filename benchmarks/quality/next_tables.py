"""Tables and figure of next.py, made of its lines of results."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from markdown_tables import table
from numpy.typing import NDArray
from result_lines import Line
from scipy.stats import t as student

sys.path.append(str(Path(__file__).parents[1] / "speed"))
from figure import Panel, draw
from machine import installed, machine

HERE = Path(__file__).parent
BEGIN = "## The figures\n"  # what stands above it is written by hand
TITLES = {
    "chosen": "Where the default was chosen, from 100 documents on",
    "judged": "Where it was judged, from 100 documents on",
    "later": "Where it was judged, from 500 documents on",
    "first": "The first 100 documents, chosen without a tagger",
}
AT = (100, 200, 300, 500, 1000)  # documents
LABELS, ASSIGNED = -2, -1  # columns behind the metrics: labels met, and how often any was given
SHOWN = ("random", "labels", "mixed", "uncertainty", "diversity")  # in the figure
Curves = Mapping[int, NDArray[np.float64]]  # by seed: (documents, metrics ..., labels, assigned)


def write_page(lines: Sequence[Line], metrics: Sequence[str]) -> None:
    """Write the tables below the words of next.md, and the figure."""
    page = HERE / "next.md"
    old = page.read_text(encoding="utf-8") if page.exists() else "# Documents to label next\n\n"
    shown = [
        "Made with `python benchmarks/quality/next.py --data DIR`, one thread, on "
        + machine(installed("labelgrove", "numpy", "scipy")),
        "",
    ]
    for phase, title in TITLES.items():
        sets = dict.fromkeys(line["where"] for line in lines if line["phase"] == phase)
        for where in sets:
            curves = _curves(lines, phase, where)
            if len(curves) > 1:
                shown += [f"### {title}: {where}", "", *_tables(curves, metrics)]
    page.write_text(old.partition(BEGIN)[0] + "\n".join([BEGIN, *shown]).rstrip() + "\n")
    (HERE / "next.svg").write_text(_figure(lines), encoding="utf-8")


def _curves(lines: Sequence[Line], phase: str, where: str) -> dict[str, Curves]:
    """Return the curves of each strategy, of seeds that random choice was measured with too."""
    found: dict[str, dict[int, NDArray[np.float64]]] = {}
    for line in lines:
        if (line["phase"], line["where"]) == (phase, where):
            found.setdefault(line["strategy"], {})[line["seed"]] = np.array(line["points"])
    seeds = found.get("random", {}).keys()
    kept = {name: {s: by[s] for s in sorted(by.keys() & seeds)} for name, by in found.items()}
    return {name: kept[name] for name in ("random", *kept) if len(kept.get(name, ())) > 1}


def _tables(curves: Mapping[str, Curves], metrics: Sequence[str]) -> list[str]:
    """Return two tables: scores by the number of documents, and what is gained over random."""
    random = curves["random"]
    one = next(iter(random.values()))
    at = [n for n in AT if n > one[0, 0] or len(one) == 1]
    at = [n for n in at if n <= one[-1, 0]]
    rows = [[name, *(_at(by, 1, n) for n in at), *(_at(by, 4, n) for n in at)]
            for name, by in curves.items()]  # fmt: skip
    heads = [f"{metric} at {n:,}" for metric in (metrics[0], metrics[3]) for n in at]
    gained = []
    for name, by in curves.items():
        if name == "random":
            continue
        cells = [_interval([100 * _mean(by[s] - random[s], i) for s in by], 2)
                 for i in range(1, len(metrics) + 1)]  # fmt: skip
        saved = [_interval([_saved(by[s], random[s], i) for s in by], 0)
                 if len(one) > 1 else "" for i in (1, 3)]  # fmt: skip
        met = np.mean([by[s][-1, LABELS] - random[s][-1, LABELS] for s in by])
        work = np.mean([by[s][-1, ASSIGNED] / random[s][-1, ASSIGNED] for s in by])
        gained.append([name, str(len(by)), *cells, *saved, f"{met:+.0f}", f"{work:.2f}"])
    heads_gained = [f"{metric}, points" for metric in metrics]
    saves = [f"saved of 100, by {metric}" for metric in (metrics[0], metrics[2])]
    return [
        *table(["%, mean", *heads], rows),
        *table(
            ["minus random", "seeds", *heads_gained, *saves, "labels met", "labels to give"], gained
        ),
    ]


def _at(by: Curves, column: int, n: int) -> str:
    found = [points[points[:, 0] == n, column] for points in by.values()]
    return f"{100 * np.mean(np.concatenate(found)):.1f}"


def _mean(points: NDArray[np.float64], column: int) -> float:
    """Return the mean over a curve, without the start that all strategies share."""
    return float(points[1 if len(points) > 1 else 0 :, column].mean())


def _saved(ours: NDArray[np.float64], random: NDArray[np.float64], column: int) -> float:
    """Return how many of 100 random documents are saved to reach what ours reaches half way.

    Random choice cannot be seen beyond its end, so what is saved is told as less there.
    """
    half = len(ours) // 2
    reached = np.maximum.accumulate(random[:, column])
    needed = np.interp(ours[half, column], reached, random[:, 0])
    return float(100 * (1 - ours[half, 0] / needed))


def _interval(values: Sequence[float], digits: int) -> str:
    """Return the mean and, of three seeds and more, how far it may be off (95 %)."""
    told = f"{np.mean(values):+.{digits}f}"
    if len(values) < 3:
        return told
    width = student.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{told} ± {width:.{digits}f}"


def _figure(lines: Sequence[Line]) -> str:
    panels = []
    for where in dict.fromkeys(line["where"] for line in lines if line["phase"] == "judged"):
        curves = _curves(lines, "judged", where)
        for column, metric in ((1, "nDCG@5"), (4, "macro-F1")):
            series = {}
            for name in (name for name in SHOWN if name in curves):
                mean = np.mean(list(curves[name].values()), axis=0)
                series[name] = (mean[:, 0].tolist(), (100 * mean[:, column]).tolist())
            panels.append(Panel(where, f"{metric}, %", series, "training documents", "learning"))
    return draw("Documents chosen by labelgrove next, and random ones", panels)
