"""Frequent and rare labels: how well each are found, and how labels are spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.ranking import RANKING_DEPTH
from labelgrove.core.wording import several
from labelgrove.evaluation import areas_by_frequency, by_frequency, counts_by_label
from labelgrove.evaluation.frequency import frequency_groups
from labelgrove.report.assessment import Assessment
from labelgrove.report.figures import FAINT, SERIES, drawn, grouped
from labelgrove.report.page import Section, beside, captioned, paragraph, text
from labelgrove.report.tables import Table
from labelgrove.report.wording import ABOUT_AREAS, ABOUT_GROUPS, GROUPS, percent

LEAST = 5  # test documents of a label that areas are computed for
POINTS = 400  # labels drawn in a curve


def frequent_and_rare(assessment: Assessment) -> Section:
    """Return the scores of three groups of labels with equal shares of all occurrences."""
    scored = assessment.scored
    sets = by_frequency(
        scored.Y,
        scored.ranking,
        assessment.counts,
        n_groups=len(GROUPS),
        threshold=assessment.decision,
    )
    ranked = areas_by_frequency(
        scored.Y,
        scored.ranking.top(RANKING_DEPTH),
        assessment.counts,
        n_groups=len(GROUPS),
        least=LEAST,
    )
    body = [paragraph(ABOUT_GROUPS), _bars(sets, ranked), _sets_table(assessment, sets)]
    if any(each["labels"] for each in ranked):
        body.append(_areas_table(ranked))
    else:
        body.append(
            paragraph(f"No label has {LEAST} test documents, so there are no areas.", kind="note")
        )
    return Section("Frequent and rare labels", "\n".join(body))


def _bars(sets: Sequence[Mapping[str, float]], ranked: Sequence[Mapping[str, float]]) -> str:
    values = [
        _bar_figure(
            {"precision": "micro-precision", "recall": "micro-recall", "F1": "micro-F1"},
            sets,
            "Precision, recall and F1 of the labels given, by frequency of the labels.",
        )
    ]
    if any(each["labels"] for each in ranked):
        caption = "How well the documents of a label are ranked above others (AUC, AUPR)."
        values.append(_bar_figure({"AUC": "AUC", "AUPR": "AUPR"}, ranked, caption))
    return beside(values)


def _bar_figure(
    bars: Mapping[str, str], groups: Sequence[Mapping[str, float]], caption: str
) -> str:
    def draw(axes: Any) -> None:
        width = 0.8 / len(bars)
        for number, (name, key) in enumerate(bars.items()):
            positions = np.arange(len(groups)) + (number - (len(bars) - 1) / 2) * width
            heights = [100 * np.nan_to_num(each[key]) for each in groups]
            axes.bar(positions, heights, width * 0.9, label=name, color=SERIES[number])
        axes.set_xticks(range(len(groups)), GROUPS)
        axes.grid(visible=False, axis="x")
        axes.set_ylim(0, 102)
        axes.set_ylabel("%")
        axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))

    return captioned(drawn(draw, label=caption), text(caption))


def _sets_table(assessment: Assessment, sets: Sequence[Mapping[str, float]]) -> str:
    counts = assessment.counts
    used = (counts > 0) | (assessment.scored.n_positives > 0)  # not concepts that nobody uses
    groups = frequency_groups(counts, len(GROUPS))
    keys = ("micro-precision", "micro-recall", "micro-F1", "macro-F1")
    rows = []
    for number, (name, each) in enumerate(zip(GROUPS, sets, strict=True)):
        own = counts[used & (groups == number)]
        spread = f"{own.min():,} to {own.max():,}" if len(own) else "–"
        scores = [percent(each[key]) if len(own) else "–" for key in keys]
        rows.append([name, f"{len(own):,}", spread, *scores])
    heads = ["group", "labels", "documents each", "precision", "recall", "F1", "macro-F1"]
    return Table(heads, rows, title="Labels given, %; documents are those of training").html()


def _areas_table(ranked: Sequence[Mapping[str, float]]) -> str:
    rows = [
        [name]
        + [f"{each[key]:,.0f}" for key in ("labels", "occurrences")]
        + [percent(each[key]) for key in ("AUC", "AUPR")]
        for name, each in zip(GROUPS, ranked, strict=True)
    ]
    table = Table(
        ["group", "labels", "occurrences", "AUC", "AUPR"],
        rows,
        title="Labels ranked, %",
    )
    how = (
        f"Groups of the labels with at least {LEAST} test documents, from the best "
        f"{RANKING_DEPTH} labels of each document; a document for which its label is "
        "not among these earns nothing. Labels are divided by their training documents; Table 6 of "
        "the AttentionXML paper divides them by their test documents."
    )
    return table.html() + paragraph(ABOUT_AREAS, kind="quiet") + paragraph(how, kind="quiet")


def spread(assessment: Assessment) -> Section:
    """Return how frequent labels are in training, and which were ever given."""
    n_labels = assessment.space.n_labels
    by_label = counts_by_label(assessment.scored, assessment.given)
    counts = assessment.space.counts
    order = np.argsort(-counts, kind="stable")
    given, true = by_label.given[:n_labels] > 0, by_label.true[:n_labels] > 0
    figures = [_curve(counts[order], given[order])]
    if true.any():
        figures.append(_ever_given(counts[true], by_label.correct[:n_labels][true] > 0))
    lead = (
        f"Of {several(n_labels, 'label')} in training, {given.sum():,} were given to some test "
        f"document. Test documents have {true.sum():,} of them, of which "
        f"{(true & ~given).sum():,} were never given."
    )
    return Section("How labels are spread", paragraph(lead) + beside(figures))


def _curve(counts: NDArray[np.int64], given: NDArray[np.bool_]) -> str:
    """Return documents of each label against its rank; both (L,), the frequent first."""
    shown = np.unique(np.geomspace(1, len(counts), POINTS).astype(np.int64)) - 1

    def draw(axes: Any) -> None:
        for kind, name, colour, marker in (
            (given, "given to some test document", SERIES[0], "o"),
            (~given, "never given", SERIES[1], "x"),
        ):
            own = shown[kind[shown]]
            heights = np.maximum(counts[own], 0.5)
            axes.plot(own + 1, heights, marker, label=name, color=colour, markersize=3.5)
        axes.set_xscale("log")
        axes.set_yscale("log")
        _plain_ticks(axes.xaxis, len(counts))
        _plain_ticks(axes.yaxis, int(counts.max(initial=1)))
        axes.set_xlabel("rank of the label")
        axes.set_ylabel("training documents")
        axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=2, columnspacing=1)

    caption = "Training documents of each label, the most frequent first (logarithmic axes)."
    if len(shown) < len(counts):
        caption += (
            f" {len(shown):,} of {len(counts):,} labels are drawn, fewer where points lie close."
        )
    return captioned(drawn(draw, label=caption), text(caption))


def _plain_ticks(axis: Any, most: int) -> None:
    """Let a logarithmic axis show 1, 10, 100 and no small ticks."""
    axis.set_major_locator(_ticker().LogLocator(10, numticks=12))
    axis.set_minor_locator(_ticker().NullLocator())
    axis.set_major_formatter(grouped)
    axis.axes.set(**{f"{axis.axis_name}lim": (0.7, max(most, 9) * 1.5)})


def _ticker() -> Any:
    from labelgrove.core.extras import need

    return need("matplotlib.ticker", "report", "a report with figures")


def _ever_given(counts: NDArray[np.int64], given: NDArray[np.bool_]) -> str:
    """Return the share of labels that were ever given rightly, by training documents; (labels,)."""
    powers = np.floor(np.log2(np.maximum(counts, 1))).astype(np.int64)
    edges = np.arange(powers.max() + 1)
    totals = np.bincount(powers, minlength=len(edges))
    shares = 100 * np.bincount(powers, given, len(edges)) / np.maximum(totals, 1)

    def draw(axes: Any) -> None:
        filled = totals > 0
        axes.bar(edges[filled], np.full(filled.sum(), 100.0), 0.85, color=FAINT, alpha=0.5)
        axes.bar(edges[filled], shares[filled], 0.85, color=SERIES[2])
        step = -(-len(edges) // 6)
        axes.set_xticks(edges[::step], [f"{2**edge:,}" for edge in edges[::step]])
        axes.set_xlabel("training documents of the label, from")
        axes.set_ylabel("labels found, %")
        axes.grid(visible=False, axis="x")
        axes.set_ylim(0, 102)

    caption = (
        "Of the labels that test documents have, how many were given rightly at least once; by how "
        "often training saw them."
    )
    return captioned(drawn(draw, label=caption), text(caption))
