"""Tables of audit.py, made of its lines of results."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from markdown_tables import cell, table, write_below
from result_lines import Line

sys.path.append(str(Path(__file__).parents[1] / "speed"))
from machine import installed, machine

HERE = Path(__file__).parent
MARK = "<!-- written by audit.py -->"
KINDS, AT = ("missing", "wrong"), (100, 1_000)
EDGES = {"missing": (0.5, 0.6, 0.7, 0.8, 0.9), "wrong": (0.1, 0.3, 0.5, 0.7, 0.9)}  # of scores
OWN = "labelgrove audit"


def write_page(lines: Sequence[Line], systems: Iterable[str]) -> None:
    """Write the tables below the words of audit.md."""
    told = [
        "Made with `python benchmarks/quality/audit.py --data DIR --work DIR`, one thread, on "
        + machine(installed("labelgrove", "numpy", "scipy", "cleanlab")),
        "",
    ]
    for name in dict.fromkeys(line["set"] for line in lines):
        own = [line for line in lines if line["set"] == name]
        seeds = ", ".join(str(seed) for seed in sorted({line["seed"] for line in own}))
        told += [
            f"## {name}",
            f"{own[0]['documents']:,} documents, {_mean(own, 'labels'):,.0f} different labels, "
            f"{_mean(own, 'given'):,.0f} given; {_mean(own, 'planted missing'):,.0f} deleted and "
            f"{_mean(own, 'planted wrong'):,.0f} added; seeds {seeds}",
            "",
            *_precision(own, systems),
            *_by_score([line for line in own if line["system"] == OWN]),
        ]
    write_below(HERE / "audit.md", MARK, told)


def _mean(lines: Sequence[Line], key: str) -> float:
    return float(np.mean([line[key] for line in lines]))


def _precision(lines: Sequence[Line], systems: Iterable[str]) -> list[str]:
    """Return the share of planted mistakes among the first findings of each system."""
    head = ["%, mean ± deviation", *(f"{kind}, first {k:,}" for kind in KINDS for k in AT)]
    chance = {
        "missing": [x["planted missing"] / (x["documents"] * x["labels"] - x["given"])
                    for x in lines],
        "wrong": [x["planted wrong"] / x["given"] for x in lines],
    }  # fmt: skip
    rows = [["random choice", *(f"{100 * np.mean(chance[kind]):.2f}" for kind in KINDS for _ in AT),
             ""]]  # fmt: skip
    for system in systems:
        runs = [line for line in lines if line["system"] == system]
        if runs:
            cells = [_cell(runs, kind, k) for kind in KINDS for k in AT]
            rows.append([system, *cells, f"{_mean(runs, 'seconds'):.0f}"])
    shared = _mean(lines, "shared_seconds")
    note = f"CPU seconds are beside {shared:.0f} for the models that all of these use."
    return [*table([*head, "CPU seconds"], rows), note, ""]


def _cell(runs: Sequence[Line], kind: str, k: int) -> str:
    """Return a mean, and how many were found where these are fewer than asked for."""
    told, found = cell([run[f"{kind}@{k}"] for run in runs]), _mean(runs, f"found {kind}")
    return told if found >= k else f"{told} (of {found:,.0f})"


def _by_score(lines: Sequence[Line]) -> list[str]:
    """Return the share of planted mistakes among suggestions of a score."""
    rows = []
    for kind in KINDS:
        edges = (0, *EDGES[kind], 1)
        counts = np.sum([line[f"{kind} by score"] for line in lines], axis=0)
        for low, high, (found, planted) in zip(edges[:-1], edges[1:], counts, strict=True):
            if found:
                share = f"{100 * planted / found:.0f}"
                rows.append([f"{kind}, {low:g} to {high:g}", f"{found / len(lines):.0f}", share])
    head = [f"first {max(AT):,} of {OWN} by score", "suggestions", "planted, %"]
    return table(head, rows)
