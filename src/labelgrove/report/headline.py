"""The scores at the head of a report: with intervals, in plain words, and by k."""

from __future__ import annotations

from typing import Any

from labelgrove.evaluation import Interval, additive, bootstrap, evaluate
from labelgrove.report.assessment import Assessment
from labelgrove.report.figures import drawn, grouped
from labelgrove.report.page import Section, captioned, paragraph, text
from labelgrove.report.tables import Table
from labelgrove.report.wording import percent, several

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
MANY = 50_000  # documents from which on fewer samples are drawn
SAMPLES, FEWER_SAMPLES = 1000, 200
FEW = 30  # documents below which an interval is rough
FURTHEST = 10  # the last k of the curves


def headline(assessment: Assessment) -> Section:
    """Return the most important scores as cards, and all of them in a table."""
    n = len(assessment.judged)
    found = intervals(assessment)
    body = [paragraph(note, kind="note") for note in notes(assessment)]
    body += [_cards(assessment, found), paragraph(_about_intervals(n), kind="quiet")]
    rows = [
        [name, percent(value), f"{percent(found[name].low)} to {percent(found[name].high)}"]
        if name in found and n > 1
        else [name, percent(value), "–"]
        for name, value in assessment.scores.items()
    ]
    table = Table(["metric", "%", "95% interval"], rows)
    body += ["<h3>All scores</h3>", table.html()]
    return Section("Scores", "\n".join(body))


def intervals(assessment: Assessment) -> dict[str, Interval]:
    """Return each score with its interval; coverage, which is no sum over documents, has none."""
    judged, space = assessment.judged, assessment.space
    metrics = [name for name in assessment.scores if not name.startswith("coverage")]
    parts = additive(
        judged.Y,
        judged.ranking,
        metrics,
        propensities=space.propensities(n_columns=judged.Y.shape[1]),
        threshold=assessment.decision,
    )
    return bootstrap(parts, resamples=_samples(len(judged)))


def notes(assessment: Assessment) -> list[str]:
    """Return what is not as it should be, beside the notes of the scores themselves."""
    found = list(assessment.scores.notes)
    n = len(assessment.judged)
    if assessment.skipped:
        found.append(f"{several(assessment.skipped, 'bad row')} of {assessment.test} were skipped")
    if n < FEW:
        found.append(f"the test set has {several(n, 'document')}: no score here is certain")
    if not assessment.given.any():
        found.append(
            "no label reaches the threshold in any document, so F1 and its kin are 0: "
            "choose a lower one with --threshold"
        )
    return found


def by_k(assessment: Assessment) -> Section:
    """Return how scores change with the number of labels that are looked at."""
    judged, space = assessment.judged, assessment.space
    last = max(min(FURTHEST, space.n_labels), *assessment.ks)
    ks = sorted({*range(1, min(last, FURTHEST) + 1), *assessment.ks})
    propensities = space.propensities(n_columns=judged.Y.shape[1])
    values = evaluate(judged.Y, judged.ranking, ks=ks, propensities=propensities)
    metrics = ("P", "R", "nDCG", "PSP")

    def draw(axes: Any) -> None:
        for metric, marker in zip(metrics, "os^D", strict=True):
            shares = [100 * values[f"{metric}@{k}"] for k in ks]
            axes.plot(ks, shares, marker=marker, label=metric)
        axes.set_xlabel("k, labels looked at")
        axes.set_ylabel("%")
        axes.set_ylim(0, 102)
        axes.set_xticks([k for k in ks if k <= FURTHEST] if last <= FURTHEST else assessment.ks)
        axes.xaxis.set_major_formatter(grouped)
        axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))

    figure = drawn(draw, label="P, R, nDCG and PSP by the number of labels looked at")
    caption = "P falls and R rises with k; where they cross is about the usual number of labels."
    shown = [k for k in ks if k in {1, 2, 3, 5, 10, *assessment.ks}]
    rows = [[m, *(percent(values[f"{m}@{k}"]) for k in shown)] for m in metrics]
    table = Table(["%", *(f"@{k}" for k in shown)], rows)
    body = captioned(figure, text(caption)) if len(ks) > 1 else ""
    return Section("Scores by k", body + "\n" + table.html())


def _cards(assessment: Assessment, found: dict[str, Interval]) -> str:
    first, last = min(assessment.ks), max(assessment.ks)
    names = [f"P@{first}", f"P@{last}", f"R@{last}", f"nDCG@{last}", f"PSP@{last}"]
    cards = []
    for name in dict.fromkeys([*names, "micro-F1", "macro-F1", "samples-F1"]):
        metric, _, k = name.partition("@")
        meaning = FIRST_RIGHT if name == "P@1" else MEANINGS[metric].format(k=k)
        each = found[name]
        span = f"{percent(each.low)} to {percent(each.high)}"
        cards.append(
            f'<li class="card"><span>{name}</span><b>{percent(each.value)}%</b>'
            + (f"<small>{span}</small>" if len(assessment.judged) > 1 else "")
            + f"<small>{text(meaning)}</small></li>"
        )
    return '<ul class="cards">\n' + "\n".join(cards) + "\n</ul>"


def _about_intervals(n: int) -> str:
    if n == 1:
        return "One document says nothing about luck, so there are no intervals."
    return (
        f"Below each score: where it lies in 95% of {_samples(n):,} samples of {n:,} documents, "
        "drawn with replacement from the test set (percentile bootstrap)."
    )


def _samples(n: int) -> int:
    return SAMPLES if n <= MANY else FEWER_SAMPLES
