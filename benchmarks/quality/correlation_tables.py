"""The tables and the figure of correlation.py: LACO's Tables 2 to 6 and its Figures 2 and 3.

Every table has the plain transformer in it, which Tables 5 and 6 of the paper leave out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from trial import Panel, Result, cell, read, score_table, table, told_machine

from labelgrove.evaluation import (
    Difference,
    compare_convergence,
    compare_runs,
    convergence_curve,
    mean_curve,
)
from labelgrove.evaluation.resampling import Sums

BASELINE = "transformer"
SET_NAMES = ("hamming-loss", "micro-precision", "micro-recall", "micro-F1", "macro-precision",
             "macro-recall", "macro-F1", "subset-accuracy")  # fmt: skip
PER_DOCUMENT = ("hamming-loss", "micro-F1")  # the columns of Table 3
DRAWN = (BASELINE, "laco", "laco-plcp", "laco-clcp", "seqtag")
Found = Mapping[str, list[Result]]


class About(NamedTuple):
    """What was run: where results lie, systems and sizes of each set."""

    work: Path
    encoder: str
    seeds: tuple[int, ...]
    wanted: Mapping[str, Sequence[str]]
    train: Mapping[str, int]
    tokens: Mapping[str, int]
    most: Mapping[str, int]
    epochs: int
    test: int


def results(about: About, where: str) -> dict[str, list[Result]]:
    """Return the results of all seeds of each system that has any."""
    found = {name: read(about.work, where, name, about.seeds) for name in about.wanted[where]}
    return {name: runs for name, runs in found.items() if runs}


def set_table(found: Found, threshold: str) -> list[str]:
    """Return Hamming loss, precision, recall and F1, subset accuracy (Table 2)."""
    rows = []
    for system, runs in found.items():
        each = [run["sets"][threshold]["scores"] for run in runs]
        loss = cell([scores["hamming-loss"] for scores in each], digits=4)
        rest = [cell([100 * scores[name] for scores in each]) for name in SET_NAMES[1:]]
        rows.append([system, loss, *rest, f"{np.mean([run['train_s'] for run in runs]):.0f}"])
    head = ["Hamming", "Mi-P", "Mi-R", "Mi-F1", "Ma-P", "Ma-R", "Ma-F1", "subset", "train s"]
    return table(["system", *head], rows)


def difference_table(found: Found, baseline: str, threshold: str) -> list[str]:
    """Return how much systems are above a baseline, with p-values (Tables 3 and 4)."""
    if baseline not in found or len(found) < 2:
        return []
    runs = {
        system: [
            {name: Sums(*map(np.array, sums)) for name, sums in _documents(run, threshold).items()}
            for run in own
        ]
        for system, own in found.items()
    }
    compared = compare_runs(runs, baseline)
    rows = []
    for system, own in compared.items():
        loss, f1 = (own[name] for name in PER_DOCUMENT)
        rows.append([system, *_told(loss, 1, 4), *_told(f1, 100, 1)])
    head = [f"{name}{part}" for name in ("Hamming", "Mi-F1") for part in ("", ", 95 %", ", p")]
    return table([f"against {baseline}", *head], rows)


def _documents(run: Result, threshold: str) -> Mapping[str, tuple[list[float], list[float]]]:
    found: Mapping[str, tuple[list[float], list[float]]] = run["sets"][threshold]["documents"]
    return found


def _told(found: Difference, factor: float, digits: int) -> list[str]:
    value, low, high = (f"{factor * each:+.{digits}f}" for each in found[:3])
    return [value, f"{low} to {high}", f"{found.p:.3f}"]


def analysis_table(found: Found, threshold: str) -> list[str]:
    """Return combinations, divergences of pairs, and macro-F1 by frequency (Tables 5, 6; Figure 2).

    The first row is the test documents' own, as the paper's "Ground Truth".
    """
    truth = next(iter(found.values()))[0]["truth"]
    rows = [["the documents", *_correlation_cells([truth]), *["100.0"] * 4]]
    for system, runs in found.items():
        each = [run["sets"][threshold] for run in runs]
        groups = np.array([own["frequency"] for own in each])  # (seeds, 4)
        quarters = [cell([100 * value for value in column]) for column in groups.T]
        rows.append([system, *_correlation_cells(each), *quarters])
    head = ["sets", "unseen", "of them right", "exact", "pairs, train", "test", "test, as printed"]
    return table(["system", *head, *(f"F1 group {n}" for n in (1, 2, 3, 4))], rows)


def _correlation_cells(each: list[Result]) -> list[str]:
    def told(get: Callable[[Result], float], digits: int) -> str:
        return cell([get(own) for own in each], digits)

    counts = ("given", "given-unseen", "found-unseen")
    far = ("train whole-KL", "test whole-KL", "test KL")
    return [
        *(told(lambda own, name=name: own["combinations"][name], 0) for name in counts),
        told(lambda own: 100 * own["combinations"]["subset-accuracy"], 1),
        *(told(lambda own, name=name: own["divergence"][name], 2) for name in far),
    ]


def speed_table(found: Found) -> list[str]:
    """Return how many steps networks need to learn what the baseline learns (Figure 3)."""
    curves = {name: [run["history"] for run in runs] for name, runs in found.items()}
    curves = {name: own for name, own in curves.items() if all(own)}
    if BASELINE not in curves:
        return []
    shares = (0.8, 0.9, 0.95, 1.0)
    near = [compare_convergence(curves, BASELINE, share=share) for share in shares]
    rows = [
        [name, *(_steps(each[name]) for each in near), f"{100 * near[0][name]['best']:.1f}"]
        for name in curves
    ]
    head = [f"{100 * share:.0f} %" for share in shares]
    return table(["system", *head, "its own best F1"], rows)


def _steps(values: Mapping[str, float]) -> str:
    if not values["reached"]:
        return "never"
    some = "" if values["reached"] == 1 else f" ({100 * values['reached']:.0f} % of runs)"
    return f"{values['steps']:.0f}{some}"


def panels(about: About) -> list[Panel]:
    """Return micro-F1 of held-out documents against steps, the mean over seeds (Figure 3)."""
    found = []
    for where in about.train:
        lines = {}
        for name, runs in results(about, where).items():
            if name in DRAWN and all(run["history"] for run in runs):
                curve = mean_curve([convergence_curve(run["history"]) for run in runs])
                lines[name] = (curve.steps.tolist(), (100 * curve.scores).tolist())
        if len(lines) > 1:
            found.append(Panel(where, "held-out micro-F1, %", lines, "steps", "curves"))
    return found


def report(about: About, figure: str) -> str:
    """Return the page."""
    lines = ["# Labels that go together", "", *_introduction(about, figure)]
    for where in about.train:
        if found := results(about, where):
            lines += [f"## {where}", "", *score_table(found), *_set_tables(found)]
    return "\n".join(lines).rstrip() + "\n"


def _introduction(about: About, figure: str) -> list[str]:
    sizes = "; ".join(
        f"{where} {n:,} documents, {about.tokens[where]} tokens" for where, n in about.train.items()
    )
    most = ", ".join(f"of {where} its {n} most frequent labels" for where, n in about.most.items())
    seeds = "one seed" if len(about.seeds) == 1 else f"{len(about.seeds)} seeds, mean ± deviation"
    return [
        f"{Path(about.encoder).parent.name or about.encoder}, fine-tuned for {about.epochs} "
        f"epochs: {sizes}; {most}. A tenth of the documents is held out, {about.test:,} are "
        f"tested, all drawn at random, {seeds}. Labels begin as the words "
        "of their names. On debtags and congress LACO judges the 64 best "
        "candidates of bonsai. Labels are given from a calibrated probability of 0.5, or from the "
        "threshold with the best micro-F1 on held-out documents. bonsai and its like read whole "
        "texts. Per cent, but for counts, Hamming loss and divergences. Made with `python "
        "benchmarks/quality/correlation.py --data DIR --work DIR --encoder FOLDER`, on "
        + told_machine()
        + " Times with one thread for each of two runs at once: good for their ratios only.",
        "",
        f"![held-out micro-F1 as training goes on]({figure})",
        "",
    ]


def _set_tables(found: Found) -> list[str]:
    lines: list[str] = []
    for threshold, told in (("tuned", "the tuned threshold"), ("0.5", "a threshold of 0.5")):
        lines += [f"With {told}:", "", *set_table(found, threshold)]
    lines += [
        "Differences with the tuned threshold, interval and p-value from samples of documents and "
        "seeds, not corrected for their number; with one seed they tell nothing of another:",
        "",
        *difference_table(found, BASELINE, "tuned"),
        *difference_table(found, "laco", "tuned"),
        "Different sets of labels given, those that no training document has, how many of these "
        "are some document's own, and documents whose set is exact; divergence of label pairs from "
        "training and test documents, whole and as printed in equation 8; macro-F1 by frequency, a "
        "quarter of all uses each, the most frequent labels first; tuned threshold:",
        "",
        *analysis_table(found, "tuned"),
        f"Steps until the held-out micro-F1 reaches a share of the best that {BASELINE} reached:",
        "",
        *speed_table(found),
    ]
    return lines
