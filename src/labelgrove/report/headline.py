"""The scores at the head of a report: with intervals, in plain words, and by k."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labelgrove.core.wording import several
from labelgrove.evaluation import Interval, additive, bootstrap
from labelgrove.evaluation.resampling import enough_samples
from labelgrove.report.assessment import Assessment
from labelgrove.report.figures import SERIES, drawn, grouped
from labelgrove.report.page import Section, captioned, listed, paragraph, text
from labelgrove.report.tables import Table
from labelgrove.report.wording import percent

MEANINGS = {
    "P": "of the first {k} labels are right",
    "R": "of a document's labels are among the first {k}",
    "nDCG": "right labels near the top, of the best possible order",
    "PSP": "right among the first {k}, rare labels counting more",
    "micro-F1": "balance of precision and recall, all labels together",
    "macro-F1": "the same for each label, then averaged: rare ones count as much",
    "samples-F1": "the same for each document, then averaged",
}
FIRST_RIGHT = "how often the first label is right"
CURVES = ("P", "R", "nDCG", "PSP")
FURTHEST = 10  # the last k of the curves
MOST_DEPTHS = 10  # rows of the table
FEW = 30  # documents below which an interval is rough
Intervals = Mapping[str, Interval]


def intervals(assessment: Assessment) -> dict[str, Interval]:
    """Return each score, and those of the curves by k, with its interval.

    Coverage is no sum over documents and has none; hierarchical metrics are shown without.
    """
    scored = assessment.scored
    listed = {*map(str, _listed(assessment)), ""}
    names = [
        name
        for name in assessment.scores
        if not name.startswith(("coverage", "hierarchical")) and name.partition("@")[2] in listed
    ]
    names += [f"{metric}@{k}" for metric in CURVES for k in _ks(assessment)]
    parts = additive(
        scored.Y,
        scored.ranking,
        dict.fromkeys(names),
        propensities=assessment.space.propensities(n_columns=scored.Y.shape[1]),
        threshold=assessment.decision,
        n_labels=assessment.n_used,
    )
    return bootstrap(parts, resamples=enough_samples(len(scored)))


def headline(assessment: Assessment, spans: Intervals) -> Section:
    """Return the most important scores as cards, and those of label sets in a table."""
    n = len(assessment.scored)
    rows = [
        [name, percent(value), _span(spans.get(name), n)]
        for name, value in assessment.scores.items()
        if "@" not in name
    ]
    table = Table(["labels given", "%", "95% interval"], rows)
    body = [
        _cards(assessment, spans),
        paragraph(_about_intervals(n), kind="quiet"),
        listed(notes(assessment), kind="note"),
        table.html(),
        *_without_learned_texts(assessment),
    ]
    return Section("Scores", "\n".join(body))


def _without_learned_texts(assessment: Assessment) -> list[str]:
    """Return all scores beside those on the documents that training did not know."""
    scores = assessment.scores
    others = scores.without_learned_texts
    if others is None:
        return []
    rows = [[name, percent(value), percent(others[name])] for name, value in scores.items()]
    columns = ["%", "all documents", scores.about_learned_texts]
    return [Table(columns, rows).html()]


def notes(assessment: Assessment) -> list[str]:
    """Return what a reader should know of the scores, and what is not as it should be."""
    lines = list(assessment.scores.notes)
    n = len(assessment.scored)
    if assessment.skipped:
        lines.append(f"{several(assessment.skipped, 'bad row')} of the test file skipped")
    if n < FEW:
        lines.append(f"the test set has {several(n, 'document')}: no score here is certain")
    if not assessment.given.any():
        lines.append(
            "no label reaches the threshold in any document, so precision, recall and F1 are 0: "
            "choose a lower one with --threshold"
        )
    return lines


def by_k(assessment: Assessment, spans: Intervals) -> Section:
    """Return how scores change with the number of labels that are looked at."""
    n, ks, scores = len(assessment.scored), _ks(assessment), assessment.scores
    metrics = dict.fromkeys(name.partition("@")[0] for name in scores if "@" in name)
    rows = []
    for metric in metrics:
        row = [metric]
        for name in (f"{metric}@{k}" for k in _listed(assessment)):
            span = f" ({_span(spans[name], n)})" if name in spans and n > 1 else ""
            row.append(percent(scores[name]) + span)
        rows.append(row)
    shown, n_depths = _listed(assessment), len(set(assessment.ks))
    body = [Table(["%, with 95% interval", *(f"@{k}" for k in shown)], rows).html()]
    if len(ks) > 1:
        body.insert(0, _curves(spans, ks, with_bands=n > 1))
    if len(shown) < n_depths:
        body.append(paragraph(f"{len(shown)} of {n_depths:,} places are listed.", kind="quiet"))
    return Section("Scores by k", "\n".join(body))


def _curves(spans: Intervals, ks: Sequence[int], *, with_bands: bool) -> str:
    def draw(axes: Any) -> None:
        for metric, marker, colour in zip(CURVES, "os^D", SERIES[: len(CURVES)], strict=True):
            values = [spans[f"{metric}@{k}"] for k in ks]
            axes.plot(
                ks, [100 * each.value for each in values], marker=marker, color=colour, label=metric
            )
            if with_bands:
                low, high = ([100 * each[i] for each in values] for i in (1, 2))
                axes.fill_between(ks, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.set_xlabel("k, labels looked at")
        axes.set_ylabel("%")
        axes.set_ylim(0, 102)
        axes.set_xticks(ks)
        axes.xaxis.set_major_formatter(grouped)
        axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))

    caption = (
        "P falls and R rises with the number of labels that are looked at; they cross where it is "
        "that of a usual document."
    )
    return captioned(drawn(draw, label="P, R, nDCG and PSP by k"), text(caption))


def _ks(assessment: Assessment) -> list[int]:
    """Return the depths at which curves are drawn: the first few, as far as there are labels."""
    return list(range(1, min(FURTHEST, assessment.space.n_labels) + 1))


def _listed(assessment: Assessment) -> list[int]:
    """Return the depths of the table: those asked for, of many the first ones and the last."""
    ks = sorted(set(assessment.ks))
    return ks if len(ks) <= MOST_DEPTHS else [*ks[: MOST_DEPTHS - 1], ks[-1]]


def _cards(assessment: Assessment, spans: Intervals) -> str:
    first, last, n = min(assessment.ks), max(assessment.ks), len(assessment.scored)
    names = [f"P@{first}", f"P@{last}", f"R@{last}", f"nDCG@{last}", f"PSP@{last}"]
    cards = []
    for name in dict.fromkeys([*names, "micro-F1", "macro-F1", "samples-F1"]):
        metric, _, k = name.partition("@")
        meaning = FIRST_RIGHT if name == "P@1" else MEANINGS[metric].format(k=k)
        cards.append(
            f'<li class="card"><span>{name}</span><b>{percent(spans[name].value)}%</b>'
            + (f"<small>{_span(spans[name], n)}</small>" if n > 1 else "")
            + f"<small>{text(meaning)}</small></li>"
        )
    return '<ul class="cards">\n' + "\n".join(cards) + "\n</ul>"


def _span(interval: Interval | None, n: int) -> str:
    """Return an interval, or a dash where there is none or one document only."""
    if interval is None or n == 1:
        return "–"
    return f"{percent(interval.low)} to {percent(interval.high)}"


def _about_intervals(n: int) -> str:
    if n == 1:
        return "One document says nothing about luck, so there are no intervals."
    return (
        f"Below each score: where it lies in 95% of {enough_samples(n):,} samples of {n:,} "
        "documents, drawn with replacement from the test set (percentile bootstrap, the samples "
        "moved so that their mean is the score)."
    )
