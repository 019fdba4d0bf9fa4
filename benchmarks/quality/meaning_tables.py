"""Tables and figure of meaning.py, made of its lines of results."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markdown_tables import table

sys.path.append(str(Path(__file__).parents[1] / "speed"))
from figure import Panel, draw
from machine import installed, machine

Line = dict[str, Any]
FIGURE = "meaning.svg"
BEGIN = "## The figures\n"  # what stands above it is written by hand
SETS = ("reuters", "arxiv", "debtags", "congress", "tibkat", "finna")
SIZES = (100, 300, 1000, 4000, 0)
COMPARED = {
    "without vectors": ("bonsai", "grove"),
    "static vectors": ("bonsai, static", "grove, static"),
    "MiniLM": ("bonsai, MiniLM", "grove, MiniLM"),
    "static vectors in bonsai": ("bonsai", "bonsai, static"),
    "all of it": ("bonsai", "grove, static"),
}
PARTS = ("bonsai", "label-match", "knn")  # what a grove without vectors is made of
BY_NAME = ("tibkat", "finna")  # where names tell more than a few thousand documents do
GOALS = (  # what, how it is made of the differences, the least that it should be
    ("mean of all sets and sizes", "mean", 2.0),
    ("mean with 300 documents", "mean at 300", 4.0),
    ("worst", "worst", -0.3),
)
SCORES = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5", "micro-F1", "macro-F1")
CURVES = ("bonsai", "bonsai, static", "grove", "grove, static")


def tables(lines: Sequence[Line]) -> list[str]:
    """Return all that is written below the words."""
    good = [line for line in lines if "error" not in line]
    shown = [_machine(), "", "### grove minus bonsai", "", *goal_table(good)]
    for title in COMPARED:
        shown += [f"#### {title}", "", *difference_table(good, *COMPARED[title])]
    shown += ["#### against the best of its parts", "", *part_table(good)]
    for size in (300, 4000):
        title = f"### All systems with {size:,} documents, nDCG@5"
        shown += [title, "", *overview_table(good, size)]
    shown += ["### Time and size", "", *cost_table(good), "### All results", ""]
    for where in SETS:
        for size in SIZES:
            here = [line for line in good if (line["where"], line["size"]) == (where, size)]
            if here:
                documents = f"{size or here[0]['documents']:,}"
                whole = "" if size else ", all that there are"
                shown += [f"#### {where}, {documents} documents{whole}", "", *score_table(here)]
    failed = sorted({_told_failure(line) for line in lines if "error" in line})
    return shown + (["### Not measured", "", *failed, ""] if failed else [])


def with_tables(old: str, made: Sequence[str]) -> str:
    """Return the page with new tables below the words that it has."""
    words = old.partition(BEGIN)[0] if BEGIN in old else "# Meaning and groves\n\n"
    return words + "\n".join([BEGIN, *made]).rstrip() + "\n"


# --- parts ----------------------------------------------------------------------------------------


def by_seed(lines: Sequence[Line], where: str, size: int, system: str) -> dict[int, Line]:
    key = (where, size, system)
    return {
        line["seed"]: line for line in lines if (line["where"], line["size"], line["system"]) == key
    }


def matched(
    lines: Sequence[Line], first: str, second: str
) -> Iterator[tuple[str, int, list[tuple[Line, Line]]]]:
    """Yield for each set and size the results of two systems with the same documents."""
    for where in SETS:
        for size in SIZES:
            ours, theirs = (by_seed(lines, where, size, name) for name in (second, first))
            both = [(theirs[seed], ours[seed]) for seed in sorted(ours.keys() & theirs.keys())]
            if both:
                yield where, size, both


def gains(lines: Sequence[Line], first: str, second: str) -> dict[tuple[str, int], list[float]]:
    """Return the differences of nDCG@5 in points, one for each seed, by set and size."""
    return {
        (where, size): [100 * (b["scores"]["nDCG@5"] - a["scores"]["nDCG@5"]) for a, b in both]
        for where, size, both in matched(lines, first, second)
    }


def goal_table(lines: Sequence[Line]) -> list[str]:
    """Say for each kind of vectors which goals are met, in points of nDCG@5."""
    kinds = list(COMPARED)[:3]
    rows = []
    for what, how, least in GOALS:
        cells = []
        for kind in kinds:
            means = {key: float(np.mean(x)) for key, x in gains(lines, *COMPARED[kind]).items()}
            cells.append(_goal(means, how, least))
        rows.append([what, f"{least:+.1f}", *cells])
    for what, sizes in (("mean", SIZES), ("mean with 300 documents", (300,))):
        cells = []
        for kind in kinds:
            found = gains(lines, *COMPARED[kind]).items()
            some = [np.mean(x) for key, x in found if key[0] not in BY_NAME and key[1] in sizes]
            cells.append(f"{np.mean(some):+.2f}" if some else "")
        rows.append([f"{what}, without {' and '.join(BY_NAME)}", "", *cells])
    return table(["nDCG@5, points", "goal", *kinds], rows)


def _goal(means: dict[tuple[str, int], float], how: str, least: float) -> str:
    if how == "worst":
        if not means:
            return ""
        where, size = min(means, key=lambda key: means[key])
        value, told = means[where, size], f" ({where}, {_size(size)})"
    else:
        some = [x for (_, size), x in means.items() if how == "mean" or size == 300]
        if not some:
            return ""
        value, told = float(np.mean(some)), ""
    return f"{value:+.2f}{told}, {'met' if value >= least else 'not met'}"


def difference_table(lines: Sequence[Line], first: str, second: str) -> list[str]:
    """Return points of nDCG@5 by set and size, with the means of both."""
    found = gains(lines, first, second)
    sizes = [size for size in SIZES if any(key[1] == size for key in found)]
    rows = []
    for where in (where for where in SETS if any(key[0] == where for key in found)):
        own = [float(np.mean(found[where, size])) for size in sizes if (where, size) in found]
        cells = [_spread(found.get((where, size), [])) for size in sizes]
        rows.append([where, *cells, f"{np.mean(own):+.2f}"])
    columns = [[float(np.mean(x)) for key, x in found.items() if key[1] == size] for size in sizes]
    means = [f"{np.mean(column):+.2f}" for column in columns]
    every = f"{np.mean([float(np.mean(x)) for x in found.values()]):+.2f}" if found else ""
    rows.append(["mean", *means, every])
    return table([f"{second} minus {first}", *map(_size, sizes), "mean"], rows)


def part_table(lines: Sequence[Line]) -> list[str]:
    """Return what a grove adds to the best of the models that it is made of, as test scores say."""
    rows = []
    for size in SIZES:
        cells, values = [], []
        for where in SETS:
            parts = [by_seed(lines, where, size, system).get(0) for system in PARTS]
            grove = by_seed(lines, where, size, "grove").get(0)
            known = [part for part in parts if part is not None]
            if grove is None or len(known) < len(PARTS):
                cells.append("")
                continue
            best = max(known, key=lambda part: float(part["scores"]["nDCG@5"]))
            values.append(100 * (grove["scores"]["nDCG@5"] - best["scores"]["nDCG@5"]))
            cells.append(f"{values[-1]:+.2f} ({best['system']})")
        if values:
            rows.append([f"{_size(size)} documents", *cells, f"{np.mean(values):+.2f}"])
    return table(["grove minus the best part", *SETS, "mean"], rows)


def overview_table(lines: Sequence[Line], size: int) -> list[str]:
    """Return nDCG@5 of the first seed for all systems that were measured on every set."""
    found = {
        (line["system"], line["where"]): 100 * line["scores"]["nDCG@5"]
        for line in lines
        if (line["size"], line["seed"]) == (size, 0)
    }
    systems = dict.fromkeys(line["system"] for line in sorted(lines, key=_order))
    rows = []
    for system in systems:
        own = [found.get((system, where)) for where in SETS]
        scores = [score for score in own if score is not None]
        if len(scores) >= len(SETS) - 1:  # names of labels are found nowhere in some sets
            mean = f"{np.mean(scores):.1f}" if len(scores) == len(SETS) else ""
            cells = ["" if score is None else f"{score:.1f}" for score in own]
            rows.append([system, *cells, mean])
    return table(["system, first seed", *SETS, "mean"], rows)


def cost_table(lines: Sequence[Line]) -> list[str]:
    """Return what a grove takes for what bonsai takes, the median over sets, by size."""
    figures = {
        "training, seconds": "train_s",
        "training, seconds of CPU": "cpu_s",
        "ms a document": "ms_per_document",
        "bytes on disk": "disk",
    }
    rows = []
    for kind in list(COMPARED)[:3]:
        both = list(matched(lines, *COMPARED[kind]))
        for title, key in figures.items():
            cells = []
            for size in SIZES:
                some = [b[key] / a[key] for _, n, found in both if n == size for a, b in found]
                cells.append(f"{np.median(some):.1f}" if some else "")
            if any(cells):
                rows.append([f"{kind}: {title}", *cells])
    head = ["grove / bonsai, median", *map(_size, SIZES)]
    return table(head, rows)


def score_table(lines: Sequence[Line]) -> list[str]:
    """Return all figures of the systems, means over seeds, the best score of a column in bold."""
    systems = list(dict.fromkeys(line["system"] for line in sorted(lines, key=_order)))
    means = {
        system: {
            name: float(np.mean([x["scores"][name] for x in lines if x["system"] == system]))
            for name in SCORES
            if all(name in x["scores"] for x in lines if x["system"] == system)
        }
        for system in systems
    }
    best = {name: max(each.get(name, 0.0) for each in means.values()) for name in SCORES}
    rows = []
    for system in systems:
        own = [line for line in lines if line["system"] == system]
        cells = [_score(means[system].get(name), best[name]) for name in SCORES]
        cost = [_mean(own, "train_s", 1, 1), _mean(own, "cpu_s", 1, 1)]
        cost += [_mean(own, "ms_per_document", 1, 2), _mean(own, "disk", 1e-6, 1)]
        rows.append([system, str(len(own)), *cells, *cost, _makers(own)])
    head = ["system", "seeds", *SCORES, "train s", "CPU s", "ms/doc", "disk MB", "kept makers"]
    return table(head, rows)


def figure(lines: Sequence[Line]) -> str:
    """Return the learning curves, a panel for each set."""
    good = [line for line in lines if "error" not in line]
    panels = []
    for where in SETS:
        series = {}
        for system in CURVES:
            points = [
                (size or results[0]["documents"], 100 * np.mean(values))
                for size in SIZES
                if (results := list(by_seed(good, where, size, system).values()))
                and (values := [each["scores"]["nDCG@5"] for each in results])
            ]
            series[system] = ([x for x, _ in points], [float(y) for _, y in points])
        if any(xs for xs, _ in series.values()):
            panels.append(Panel(where, "nDCG@5, %", series, "training documents", "learning"))
    return draw("What groves and vectors of meaning add to bonsai", panels)


# --- words and cells ------------------------------------------------------------------------------


def _machine() -> str:
    told = machine(installed("labelgrove", "lightgbm", "numpy", "scipy", "torch"))
    return (
        "Made with `python benchmarks/quality/meaning.py --data DIR --work DIR --encoder FOLDER "
        f"--part 1`, two threads, on {told} Other work ran on the same two cores, so seconds are "
        "good for rough ratios only; those of peers are without reading texts and making features, "
        "the others with them. Scores are per cent, ± is the standard deviation over seeds."
    )


def _told_failure(line: Line) -> str:
    case = f"{line['where']}, {_size(line['size'])}, seed {line['seed']}"
    return f"- {line['system']} on {case}: {line['error']}"


def _order(line: Line) -> int:
    known = [system for pair in list(COMPARED.values())[:3] for system in pair]
    return known.index(line["system"]) if line["system"] in known else len(known)


def _size(size: int) -> str:
    return f"{size:,}" if size else "all"


def _spread(values: list[float]) -> str:
    if not values:
        return ""
    spread = f" ± {np.std(values):.1f}" if len(values) > 1 else ""
    return f"{np.mean(values):+.2f}{spread}"


def _score(value: float | None, best: float) -> str:
    if value is None:
        return ""
    return f"**{100 * value:.1f}**" if value == best else f"{100 * value:.1f}"


def _mean(lines: list[Line], key: str, factor: float, digits: int) -> str:
    return f"{factor * np.mean([line[key] for line in lines]):,.{digits}f}"


def _makers(lines: list[Line]) -> str:
    """Return which makers were kept, with how often where that differs between seeds."""
    kept = [maker for line in lines for maker in line.get("makers", [])]
    counts = {maker: kept.count(maker) for maker in dict.fromkeys(kept)}
    return ", ".join(
        maker if count == len(lines) else f"{maker} ({count} of {len(lines)})"
        for maker, count in counts.items()
    )
