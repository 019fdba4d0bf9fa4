"""Tables and figure of papers.py, made of its lines of results."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from markdown_tables import cell, table
from result_lines import Line
from trial import Panel, draw, group_table, told_machine

from labelgrove.evaluation import convergence_curve, rank_methods

FIGURE = "papers.svg"
SHOWN = ("P@1", "P@3", "P@5", "nDCG@5")
FAMILIES = {
    "P@k": {1: "P@1", 3: "P@3", 5: "P@5"},
    "nDCG@k": {1: "P@1", 3: "nDCG@3", 5: "nDCG@5"},  # nDCG@1 is P@1
}
AGAINST = "bonsai"
LATE, FLAT = 0.8, 0.002  # a curve is flat if its last fifth gains less than 0.2 points of nDCG@5
CURVES = {"paper": "as in its paper", "on bonsai": "on bonsai"}
Found = Mapping[str, list[Line]]


def tables(lines: Sequence[Line]) -> list[str]:
    """Return all that was found, as lines of Markdown."""
    good = [line for line in lines if "error" not in line]
    sets = dict.fromkeys(line["where"] for line in good)
    shown = [_about(), ""]
    for where in sets:
        found = by_method([line for line in good if line["where"] == where])
        shown += [f"## {where}", "", *score_table(found)]
        shown += ["By test frequency of the labels (Table 6 of AttentionXML):", ""]
        shown += group_table(found, "test_groups")
    for family, metrics in FAMILIES.items():
        shown += rank_section(good, family, metrics)
    failed = [
        f"- {_name(line)} on {line['where']}: {line['error']}" for line in lines if "error" in line
    ]
    return shown + (["## Not measured", "", *failed, ""] if failed else [])


def by_method(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """Return the lines of each method, one a seed."""
    methods = dict.fromkeys(_name(line) for line in lines)
    return {name: [line for line in lines if _name(line) == name] for name in methods}


def score_table(found: Found) -> list[str]:
    """Return scores, steps, whether curves were flat, and what it cost, the best score in bold."""
    means = {
        name: [np.mean([line["scores"][metric] for line in own]) for metric in SHOWN]
        for name, own in found.items()
    }
    best = np.max(list(means.values()), axis=0)
    rows = []
    for name, own in found.items():
        cells = [score(own, metric) for metric in SHOWN]
        marked = [
            f"**{told}**" if mean == top else told
            for told, mean, top in zip(cells, means[name], best, strict=True)
        ]
        rows.append([name, str(len(own)), *marked, *_course(own), *_cost(own)])
    head = ["method", "seeds", *SHOWN, "steps", "best at step", "curve", "CPU s", "ranks a second"]
    return table(head, rows)


def score(lines: Sequence[Line], metric: str) -> str:
    """Return the mean and spread over seeds, or of one seed the bootstrap's 95% interval."""
    told = cell([100 * line["scores"][metric] for line in lines])
    if len(lines) > 1:
        return told
    low, high = (100 * end for end in lines[0]["intervals"][metric])
    return f"{told} ({low:.1f} to {high:.1f})"


def is_flat(line: Line) -> bool:
    """Tell whether the last fifth of a training gained nothing worth speaking of."""
    curve = convergence_curve(line["history"])
    early = curve.scores[curve.steps <= LATE * curve.steps[-1]]
    return bool(len(early)) and float(curve.scores.max() - early.max()) < FLAT


def _course(lines: Sequence[Line]) -> list[str]:
    own = [line for line in lines if line.get("history")]
    if not own:
        return ["", "", ""]
    curves = [convergence_curve(line["history"]) for line in own]
    ends = [float(curve.steps[-1]) for curve in curves]
    best = [float(curve.steps[curve.scores.argmax()]) for curve in curves]
    rising = sum(not is_flat(line) for line in own)
    told = "flat" if not rising else f"rising ({rising} of {len(own)})"
    return [f"{np.mean(ends):,.0f}", f"{np.mean(best):,.0f}", told]


def _cost(lines: Sequence[Line]) -> list[str]:
    spent = [line["cpu_s"] for line in lines if line.get("cpu_s") is not None]
    speed = np.mean([line["documents_per_s"] for line in lines])
    return [f"{np.mean(spent):,.0f}" if spent else "", f"{speed:,.0f}"]


# --- over all sets ------------------------------------------------------------------------------


def cells(lines: Sequence[Line], metrics: Mapping[int, str]) -> dict[str, dict[Hashable, float]]:
    """Return the mean score over seeds of each method in every cell: a set and a k."""
    found: dict[str, dict[Hashable, float]] = {}
    for name, own in by_method(lines).items():
        for where in dict.fromkeys(line["where"] for line in own):
            here = [line for line in own if line["where"] == where]
            for k, metric in metrics.items():
                mean = np.mean([line["scores"][metric] for line in here])
                found.setdefault(name, {})[where, k] = float(mean)
    return found


def rank_section(lines: Sequence[Line], family: str, metrics: Mapping[int, str]) -> list[str]:
    """Return average ranks, and Wilcoxon's test against bonsai, over all sets and k at once."""
    scores = cells(lines, metrics)
    every = scores.get(AGAINST, {})
    whole = {name: own for name, own in scores.items() if own.keys() >= every.keys()}
    title = [f"## Average ranks by {family}", ""]
    if AGAINST not in whole or len(whole) < 2:
        return [*title, f"There are no methods to compare with {AGAINST} yet.", ""]
    found = rank_methods(
        {name: {cell: own[cell] for cell in every} for name, own in whole.items()}, against=AGAINST
    )
    tested = {test.second: test for test in found.tests}
    rows = []
    for name, rank in sorted(found.average.items(), key=lambda each: each[1]):
        test = tested.get(name)
        against = ["", "", ""]
        if test is not None:
            against = [f"{test.losses} / {test.wins}", _p(test.p), _p(test.corrected)]
        rows.append([name, f"{rank:.2f}", *against])
    left = sorted(scores.keys() - whole.keys())
    about = (
        f"{len(found.cells)} cells (a set and a k), all in one Wilcoxon test against {AGAINST}. "
        "Cells of one set are not independent, so p is too small; the paper does not correct for "
        "the number of tests, the last column does (Holm)."
    )
    if left:
        about += f" Without cells on every set, and so without a rank: {'; '.join(left)}."
    head = ["method", "average rank", f"cells above / below {AGAINST}", "p", "p, after Holm"]
    return [*title, about, "", *table(head, rows)]


def _p(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"


# --- figure and words ---------------------------------------------------------------------------


def figure(lines: Sequence[Line]) -> str:
    """Return the learning curves of the first seed, two panels for each set."""
    good = [line for line in lines if line.get("history") and line["seed"] == 0]
    panels = []
    for where in dict.fromkeys(line["where"] for line in good):
        for form, told in CURVES.items():
            series = {}
            for line in good:
                if (line["where"], line["form"]) == (where, form):
                    curve = convergence_curve(line["history"])
                    series[line["model"]] = (curve.seconds.tolist(), (100 * curve.scores).tolist())
            if series:
                unit = "held-out nDCG@5, %"
                panels.append(Panel(f"{where}, {told}", unit, series, "seconds", "curves"))
    return draw("How the five systems learn", panels)


def _name(line: Line) -> str:
    return line["model"] if line["form"] == "plain" else f"{line['model']}, {line['form']}"


def _about() -> str:
    return (
        "Per cent. ± is the standard deviation over seeds (other training documents, other first "
        "weights); where there is one seed, the 95% interval of the bootstrap over test documents "
        f"stands in brackets. A curve is flat if its last fifth gained less than {100 * FLAT:.1f} "
        f"points of held-out nDCG@5. Machine: {told_machine()}"
    )
